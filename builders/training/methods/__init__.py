"""The methods that can be trained, by name."""

from __future__ import annotations

from builders.training.method import Method
from builders.training.methods.baseline_plus_plus import BaselinePlusPlus
from builders.training.methods.protonet import ProtoNet
from builders.training.methods.rfs import RFS

METHODS: dict[str, type[Method]] = {
    "Baseline++": BaselinePlusPlus,
    "ProtoNet": ProtoNet,
    "RFS": RFS,
}
