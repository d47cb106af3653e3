"""The methods that can be trained, by name."""

from __future__ import annotations

from builders.training.method import Method
from builders.training.methods.anil import ANIL
from builders.training.methods.boil import BOIL
from builders.training.methods.leo import LEO
from builders.training.methods.protonet import ProtoNet
from builders.training.methods.r2d2 import R2D2

METHODS: dict[str, type[Method]] = {
    method.__name__: method for method in (ANIL, BOIL, LEO, ProtoNet, R2D2)
}
