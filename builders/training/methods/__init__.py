"""The methods that can be trained, by name."""

from __future__ import annotations

from builders.training.method import Method
from builders.training.methods.adapting import ANIL, BOIL, LEO
from builders.training.methods.metric import CAN, DN4, R2D2, ProtoNet
from builders.training.methods.renet import RENet
from builders.training.methods.transfer import RFS, BaselinePlusPlus

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
