"""The methods that can be trained, by name."""

from __future__ import annotations

from builders.training.method import Method
from builders.training.methods.can import CAN
from builders.training.methods.dn4 import DN4
from builders.training.methods.protonet import ProtoNet
from builders.training.methods.renet import RENet

METHODS: dict[str, type[Method]] = {
    "CAN": CAN,
    "DN4": DN4,
    "ProtoNet": ProtoNet,
    "RENet": RENet,
}
