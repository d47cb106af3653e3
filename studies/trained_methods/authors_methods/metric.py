"""ProtoNet, DN4, CAN and RENet beside the authors'."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from builders.training.method import Episode, Labelled, Method
from builders.training.methods.metric import CAN, DN4, ProtoNet
from builders.training.methods.renet import RENet
from builders.training.networks import Conv4, Network
from studies.trained_methods.authors_methods.checkout import (
    Checkout,
    apart,
    eight_bytes,
    gradients_apart,
    load_same,
    on_the_processor,
    shuffle_statistics,
)

WAY, QUERY, CLASSES, SIDE = 5, 2, 20, 84
RENET = {"temperature": 0.2, "temperature_attn": 5.0, "lambda_epi": 0.25}


class Maps(Network):
    """Maps as they are."""

    def __init__(self, channels: int, side: int) -> None:
        super().__init__()
        self.channels, self.side = channels, side

    def forward(self, images: Tensor) -> Tensor:
        """Return the maps."""
        return images

    def size(self, side: int) -> int:
        """Return h = w, whatever the images."""
        return self.side


def compare(repo: Path) -> Iterator[tuple[str, str, str, float]]:
    """Compare layers on maps (64, 7, 7) and, with Conv64F below, images of 84 x 84.

    All in eight bytes a number.
    """
    checkout = Checkout(repo)
    torch.manual_seed(0)
    with on_the_processor(), eight_bytes():
        for method in ("ProtoNet", "DN4", "CAN", "RENet"):
            for shot, whole in ((1, False), (5, False), (1, True), (5, True)):
                for what, difference in _differences(checkout, method, shot, whole):
                    where = "images" if whole else "maps"
                    yield method, what, f"{shot}-shot {where}", difference


def _differences(
    checkout: Checkout, method: str, shot: int, whole: bool
) -> Iterator[tuple[str, float]]:
    theirs, ours, pairs = _both(checkout, method, shot, whole)
    images = torch.randn(WAY, shot + QUERY, *((3, SIDE, SIDE) if whole else (64, 7, 7)))
    classes = torch.randperm(CLASSES)[:WAY]
    named = classes[:, None].expand(WAY, shot + QUERY)[None]
    labelled = Labelled(torch.randn(16, *images.shape[2:]), torch.randint(CLASSES, (16,)))
    episode = Episode(images[:, :shot], images[:, shot:], classes)
    theirs.eval(), ours.eval()
    with torch.no_grad():
        scores, _ = theirs.set_forward((images.flatten(0, 1), named))
        own = ours.scores(episode.support, episode.query.flatten(0, 1))
    yield "scores", apart(own, scores)
    theirs.train(), ours.train()
    beside = (labelled.images, labelled.classes) if method == "RENet" else ()
    _, _, loss = theirs.set_forward_loss((images.flatten(0, 1), named, *beside))
    own = ours.loss(episode, labelled)
    yield "loss", apart(own, loss)
    if pairs:
        loss.backward()
        own.backward()
        yield "gradients of the loss", gradients_apart(pairs)


def _both(
    checkout: Checkout, method: str, shot: int, whole: bool
) -> tuple[Any, Method, list[tuple[Tensor, Tensor]]]:
    """Make a method of theirs and of ours with the same weights, and pairs of these."""
    local = method == "DN4"  # no pooling last, and leaky rectifiers
    network: Network = Maps(64, 7)
    backbone: nn.Module = nn.Flatten() if method == "ProtoNet" else nn.Identity()
    if whole:
        network = Conv4(64, (True, True, True, not local), 0.2 if local else 0.0, inputs=3)
        backbone = checkout.module("model.backbone.conv_four").Conv64F(
            is_flatten=method == "ProtoNet", leaky_relu=local, last_pool=not local
        )
    common = {
        "way_num": WAY, "shot_num": shot, "query_num": QUERY, "device": "cpu", "emb_func": backbone
    }  # fmt: skip
    rows = network.size(SIDE)
    if method == "ProtoNet":
        theirs = checkout.module("model.metric.proto_net").ProtoNet(**common)
        ours: Method = ProtoNet(network)
        order = [backbone]
    elif method == "DN4":
        theirs = checkout.module("model.metric.dn4").DN4(**common)
        ours = DN4(network)
        order = [backbone]
    elif method == "CAN":
        theirs = checkout.module("model.metric.can").CAN(
            7, num_classes=CLASSES, nFeat=64, HW=rows, **common
        )
        ours = CAN(network, classes=CLASSES, side=SIDE)
        layer = theirs.cam_layer
        order = [
            backbone, layer.cam.conv1.conv, layer.cam.conv2, layer.cam.conv1.bn, layer.classifier
        ]  # fmt: skip
    else:
        theirs = checkout.module("model.finetuning.renet").RENet(
            64, **RENET, num_classes=CLASSES, **common
        )
        ours = RENet(network, classes=CLASSES)
        layer = theirs.cca_layer
        convolutions = [layer.cca_module.conv[0], layer.cca_module.conv[2]]
        separable = [part for one in convolutions for part in (one.conv2, one.conv1, one.proj)]
        order = [backbone, theirs.scr_layer, layer.cca_1x1, *separable, theirs.fc]
    shuffle_statistics(theirs)
    return theirs, ours, load_same(ours, order)
