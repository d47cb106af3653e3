"""The methods that can be trained, by name."""

from __future__ import annotations

from builders.training.method import Method
from builders.training.methods.anil import ANIL
from builders.training.methods.baseline_plus_plus import BaselinePlusPlus
from builders.training.methods.boil import BOIL
from builders.training.methods.can import CAN
from builders.training.methods.dn4 import DN4
from builders.training.methods.leo import LEO
from builders.training.methods.protonet import ProtoNet
from builders.training.methods.r2d2 import R2D2
from builders.training.methods.renet import RENet
from builders.training.methods.rfs import RFS

METHODS: dict[str, type[Method]] = {
    "ANIL": ANIL,
    "BOIL": BOIL,
    "Baseline++": BaselinePlusPlus,
    "CAN": CAN,
    "DN4": DN4,
    "LEO": LEO,
    "ProtoNet": ProtoNet,
    "R2D2": R2D2,
    "RENet": RENet,
    "RFS": RFS,
}
