"""Baseline++, RFS and both networks beside the code that FewSTAB's authors released.

Baseline++ draws its random numbers in the same order, so one seed gives both the same first weights
and batches.

Two things of theirs are set otherwise.  RFS's loss has weight 1 where ``rfs.yaml`` has 0.5.  Its
logistic regression runs on to a gradient of 1e-12 where scikit-learn stops at 1e-4, and does
without ``multi_class`` and ``penalty``, whose values are today's defaults.  Of images without
classes, on which all answers are near-ties, that early stop changes a quarter of the answers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import gcd
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from builders.training.method import Labelled, Method
from builders.training.methods.transfer import RFS, BaselinePlusPlus
from builders.training.networks import Conv4, ResNet12
from studies.trained_methods.authors_methods.checkout import (
    Checkout,
    apart,
    eight_bytes,
    gradients_apart,
    load_same,
    on_the_processor,
)

WAY, QUERY, CLASSES, SIDE, SEED = 5, 15, 64, 84, 3
Pairs = list[tuple[Tensor, Tensor]]
INNER: dict[Literal["Adam", "SGD"], dict[str, float]] = {
    "Adam": {"lr": 1e-2},
    "SGD": {"lr": 1e-2, "momentum": 0.9, "dampening": 0.9, "weight_decay": 1e-3},
}
"""Of their ``config/baseline++.yaml``, and of ``reproduce/Baseline++``."""


def compare(repo: Path) -> Iterator[tuple[str, str, str, float]]:
    """Compare networks, losses of labelled images and scores of tasks, in eight bytes a number."""
    checkout = Checkout(repo)
    torch.manual_seed(0)
    with on_the_processor(), eight_bytes():
        yield from _networks(checkout)
        yield _dropblock(checkout)
        yield from _baseline_plus_plus(checkout)
        yield from _rfs(checkout)


def _networks(checkout: Checkout) -> Iterator[tuple[str, str, str, float]]:
    four = checkout.module("model.backbone.conv_four").Conv64F
    twelve = checkout.module("model.backbone.resnet_12").resnet12
    plain = {"is_flatten": False, "avg_pool": False, "drop_rate": 0.0}
    pairs = {
        "Conv4": (four(), Conv4(inputs=3)),
        "Conv4, leaky, 2 pools": (
            four(leaky_relu=True, last_pool=False, maxpool_last2=False),
            Conv4(pools=(True, True, False, False), slope=0.2, inputs=3),
        ),
        "ResNet-12": (twelve(**plain), ResNet12(inputs=3)),
        "ResNet-12, 2 pools": (
            twelve(maxpool_last2=False, **plain),
            ResNet12(pools=(True, True, False, False), inputs=3),
        ),
    }
    for name, (theirs, ours) in pairs.items():
        load_same(ours, [theirs])
        images = torch.randn(8, 3, SIDE, SIDE)
        for mode in ("train", "eval"):  # training moves the statistics that "eval" then reads
            with torch.no_grad():
                maps = [network.train(mode == "train")(images) for network in (ours, theirs)]
            yield "networks", f"maps, {mode}", name, apart(*maps)
        buffers = zip(ours.buffers(), theirs.buffers(), strict=True)
        yield "networks", "running statistics", name, max(apart(*pair) for pair in buffers)


def _dropblock(checkout: Checkout) -> tuple[str, str, str, float]:
    """Compare maps in training where half of 40,000 passes are over: squares of the same centres.

    A centre is where the same uniform number is below the share that each computes.  Their number
    has no factor in common with the places of a square: theirs pairs a list of centres, repeated,
    with one of places, repeated, which only then gives each centre all of its places.
    """
    twelve = checkout.module("model.backbone.resnet_12").resnet12
    plain = {"is_flatten": False, "avg_pool": False, "dropblock_size": 3}
    theirs, ours = twelve(drop_rate=0.3, **plain), ResNet12(inputs=3, drop=0.3, drop_block=3)
    load_same(ours, [theirs])
    for module in theirs.modules():
        if hasattr(module, "drop_block"):
            module.num_batches_tracked = 20_000
    for module in ours.modules():
        if isinstance(module, nn.BatchNorm2d):
            torch.as_tensor(module.num_batches_tracked).fill_(20_000)
    numbers: Iterator[Tensor]

    def drawn(empty: Tensor, share: float) -> Tensor:
        centres = torch.lt(next(numbers)[: empty.numel()], share).nonzero()[:, 0]
        while len(centres) and gcd(len(centres), 9) > 1:
            centres = centres[1:]
        empty.zero_().view(-1)[centres] = 1.0
        return empty

    class Bernoulli:
        def __init__(self, share: float) -> None:
            self.share = share

        def sample(self, shape: tuple[int, ...]) -> Tensor:
            return drawn(torch.empty(shape), self.share)

    images, uniform = torch.randn(8, 3, SIDE, SIDE), torch.rand(2, 8 * 640 * 100)
    blocks, maps = checkout.module("model.backbone.utils.dropblock"), []
    with (
        patch.object(blocks, "Bernoulli", Bernoulli),
        patch.object(Tensor, "bernoulli_", drawn),
        torch.no_grad(),
    ):
        for network in (ours, theirs):
            numbers = iter(uniform)
            torch.manual_seed(SEED)  # of what the first two blocks drop
            maps.append(network.train()(images))
            assert next(numbers, None) is None, "two blocks drop squares"
    return "networks", "maps, train", "ResNet-12 with DropBlock", apart(*maps)


def _baseline_plus_plus(checkout: Checkout) -> Iterator[tuple[str, str, str, float]]:
    module = checkout.module("model.finetuning.baseline_plus")
    for shot in (1, 5):
        for optimiser, settings in INNER.items():
            inner = {
                "inner_optim": {"name": optimiser, "kwargs": settings},
                "inner_train_iter": 100,
                "inner_batch_size": 4,
            }
            theirs = module.BaselinePlus(1600, CLASSES, inner, **_settings(checkout, shot))
            network = Conv4(inputs=3)
            ours = BaselinePlusPlus(
                network, classes=CLASSES, side=SIDE, optimiser=optimiser, seed=SEED
            )
            pairs = load_same(network, [theirs.emb_func])
            own: Any = ours.classifier
            own.lengths.data.copy_(theirs.classifier.fc.weight_g[:, 0])
            own.directions.data.copy_(theirs.classifier.fc.weight_v)
            if optimiser == "Adam" and shot == 1:
                for what, difference in _losses(theirs, ours, pairs):
                    yield "Baseline++", what, "16 images", difference
            images = torch.randn(WAY, shot + QUERY, 3, SIDE, SIDE)
            theirs.eval(), ours.eval()
            torch.manual_seed(SEED)
            scores, _ = theirs.set_forward((images.flatten(0, 1), None))
            own = ours.scores(images[:, :shot], images[:, shot:].flatten(0, 1))
            what = f"scores after 100 passes, {optimiser}"
            yield "Baseline++", what, f"{shot}-shot", apart(own, scores)


def _rfs(checkout: Checkout) -> Iterator[tuple[str, str, str, float]]:
    core: Any = sys.modules["core.model"]
    core.DistillKLLoss = checkout.module("model.loss").DistillKLLoss
    module = checkout.module("model.finetuning.rfs_model")
    for shot in (1, 5):
        theirs = module.RFSModel(1600, CLASSES, gamma=1.0, alpha=0.0, **_settings(checkout, shot))
        ours = RFS(Conv4(inputs=3), classes=CLASSES, side=SIDE)
        pairs = load_same(ours, [theirs.emb_func, theirs.classifier])
        if shot == 1:
            for what, difference in _losses(theirs, ours, pairs):
                yield "RFS", what, "16 images", difference
        images = torch.randn(WAY, shot + QUERY, 3, SIDE, SIDE)
        theirs.eval(), ours.eval()
        own = ours.scores(images[:, :shot], images[:, shot:].flatten(0, 1))
        task = f"{shot}-shot"
        with patch.object(module, "LogisticRegression", _regression), torch.no_grad():
            answers, _ = theirs.set_forward((images.flatten(0, 1), None))
            support, query, target, _ = theirs.split_by_episode(
                theirs.emb_func(images.flatten(0, 1)), None, mode=1
            )
            fitted = theirs.set_forward_adaptation(support[0], target[0])
        other = torch.from_numpy(answers[0]) != own.argmax(dim=1)
        yield (
            "RFS",
            f"share of {WAY * QUERY} answers that differ",
            task,
            float(other.double().mean()),
        )
        unit = nn.functional.normalize(query[0], dim=1).numpy()
        logits = torch.from_numpy(fitted.decision_function(unit))
        yield "RFS", "logits", task, apart(_centred(own), _centred(logits))


def _losses(theirs: Any, ours: Method, pairs: Pairs) -> Iterator[tuple[str, float]]:
    """Compare the loss of labelled images, and its gradients by the weights of `pairs`."""
    images = torch.randn(16, 3, SIDE, SIDE)
    classes = torch.randint(CLASSES, (16,))
    theirs.train(), ours.train()
    _, _, loss = theirs.set_forward_loss((images, classes))
    own = ours.loss(None, Labelled(images, classes))
    yield "loss", apart(own, loss)
    loss.backward()
    own.backward()
    yield "gradients of the loss", gradients_apart(pairs)


def _settings(checkout: Checkout, shot: int) -> dict[str, Any]:
    """Make what their trainer hands to every method."""
    backbone = checkout.module("model.backbone.conv_four").Conv64F(is_flatten=True)
    numbers = {"way_num": WAY, "shot_num": shot, "query_num": QUERY}
    return {**numbers, "device": "cpu", "emb_func": backbone}


def _regression(**settings: Any) -> LogisticRegression:
    del settings["multi_class"], settings["penalty"]
    return LogisticRegression(**settings | {"tol": 1e-12, "max_iter": 10_000})


def _centred(scores: Tensor) -> Tensor:
    return scores - scores.mean(dim=1, keepdim=True)
