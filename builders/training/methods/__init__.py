"""The methods that can be trained, by name."""

from __future__ import annotations

from builders.training.method import Method
from builders.training.methods.protonet import ProtoNet

METHODS: dict[str, type[Method]] = {"ProtoNet": ProtoNet}
