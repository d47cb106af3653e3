"""Baseline++, RFS and both networks beside the code that FewSTAB's authors released.

Theirs and ours hold the same weights and see the same images.  Baseline++ draws its random numbers
in the same order, so one seed gives both the same first weights and batches.  Its classifiers are
compared in float64: rounding grows over hundreds of steps of Adam.

Two things of theirs are set otherwise.  RFS's loss has weight 1 where ``rfs.yaml`` has 0.5.  Its
logistic regression runs on to a gradient of 1e-12 where scikit-learn stops at 1e-4, and does
without ``multi_class`` and ``penalty``, whose values are today's defaults.  Answers are also
compared as released.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from builders.training.method import Labelled, Method
from builders.training.methods.baseline_plus_plus import BaselinePlusPlus
from builders.training.methods.rfs import RFS
from builders.training.networks import Conv4, Network, ResNet12

WAY, QUERY, CLASSES, SIDE, SEED = 5, 15, 64, 84, 3
INNER = {
    "Adam": {"lr": 1e-2},
    "SGD": {"lr": 1e-2, "momentum": 0.9, "dampening": 0.9, "weight_decay": 1e-3},
}
"""Of their ``config/baseline++.yaml``, and of ``reproduce/Baseline++``."""


def compare(repo: Path) -> Iterator[tuple[str, str, float]]:
    """Yield method, what is compared, and the largest absolute difference."""
    with _core(repo):
        torch.manual_seed(0)
        yield from _networks()
        with _double():
            yield from _baseline_plus_plus()
        yield from _rfs()


def _networks() -> Iterator[tuple[str, str, float]]:
    four = importlib.import_module("core.model.backbone.conv_four").Conv64F
    twelve = importlib.import_module("core.model.backbone.resnet_12").resnet12
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
        _same(ours, theirs)
        images = torch.randn(8, 3, SIDE, SIDE)
        for mode in ("train", "eval"):  # training moves the statistics that "eval" then reads
            with torch.no_grad():
                maps = [network.train(mode == "train")(images) for network in (ours, theirs)]
            yield "networks", f"{name}: maps, {mode}", _apart(*maps)
        buffers = zip(ours.buffers(), theirs.buffers(), strict=True)
        yield "networks", f"{name}: running statistics", max(_apart(*pair) for pair in buffers)


def _baseline_plus_plus() -> Iterator[tuple[str, str, float]]:
    module = importlib.import_module("core.model.finetuning.baseline_plus")
    for shot in (1, 5):
        for optimiser, settings in INNER.items():
            inner = {
                "inner_optim": {"name": optimiser, "kwargs": settings},
                "inner_train_iter": 100,
                "inner_batch_size": 4,
            }
            theirs = module.BaselinePlus(1600, CLASSES, inner, **_given(shot))
            network = Conv4(inputs=3)
            ours = BaselinePlusPlus(
                network, classes=CLASSES, side=SIDE, optimiser=optimiser, seed=SEED
            )
            _same(network, theirs.emb_func)
            _set(ours.classifier.lengths, theirs.classifier.fc.weight_g[:, 0])
            _set(ours.classifier.directions, theirs.classifier.fc.weight_v)
            if optimiser == "Adam" and shot == 1:
                for what, apart in _losses(theirs, ours):
                    yield "Baseline++", what, apart
            images = torch.randn(WAY, shot + QUERY, 3, SIDE, SIDE)
            theirs.eval(), ours.eval()
            torch.manual_seed(SEED)
            scores, _ = theirs.set_forward((images.flatten(0, 1), None))
            own = ours.scores(images[:, :shot], images[:, shot:].flatten(0, 1))
            what = f"scores after 100 passes, {WAY}-way {shot}-shot, {optimiser}"
            yield "Baseline++", what, _apart(own, scores)


def _rfs() -> Iterator[tuple[str, str, float]]:
    core: Any = sys.modules["core.model"]
    core.DistillKLLoss = importlib.import_module("core.model.loss").DistillKLLoss
    module = importlib.import_module("core.model.finetuning.rfs_model")
    for shot in (1, 5):
        theirs = module.RFSModel(1600, CLASSES, gamma=1.0, alpha=0.0, **_given(shot))
        network = Conv4(inputs=3)
        ours = RFS(network, classes=CLASSES, side=SIDE)
        _same(network, theirs.emb_func)
        _same(ours.classifier, theirs.classifier)
        if shot == 1:
            for what, apart in _losses(theirs, ours):
                yield "RFS", what, apart
        images = torch.randn(WAY, shot + QUERY, 3, SIDE, SIDE)
        theirs.eval(), ours.eval()
        own = ours.scores(images[:, :shot], images[:, shot:].flatten(0, 1))
        task = f"{WAY}-way {shot}-shot"
        with patch.object(module, "LogisticRegression", _regression(1e-4)):
            answers, _ = theirs.set_forward((images.flatten(0, 1), None))
        other = torch.from_numpy(answers[0]) != own.argmax(dim=1)
        yield "RFS", f"share of {WAY * QUERY} answers, {task}", float(other.double().mean())
        with patch.object(module, "LogisticRegression", _regression(1e-12)), torch.no_grad():
            support, query, target, _ = theirs.split_by_episode(
                theirs.emb_func(images.flatten(0, 1)).double(), None, mode=1
            )
            fitted = theirs.set_forward_adaptation(support[0], target[0])
        unit = nn.functional.normalize(query[0], dim=1).numpy()
        logits = torch.from_numpy(fitted.decision_function(unit))
        yield "RFS", f"logits, {task}", _apart(_centred(own), _centred(logits))


def _losses(theirs: Any, ours: Method) -> Iterator[tuple[str, float]]:
    """Compare the loss of labelled images, and its gradients by all weights of the network."""
    images = torch.randn(16, 3, SIDE, SIDE)
    classes = torch.randint(CLASSES, (16,))
    theirs.train(), ours.train()
    _, _, loss = theirs.set_forward_loss((images, classes))
    own = ours.loss(None, Labelled(images, classes))
    yield "loss", _apart(own, loss)
    loss.backward()
    own.backward()
    pairs = zip(ours.network.parameters(), theirs.emb_func.parameters(), strict=True)
    yield "gradients by the network", max(_apart(a.grad, b.grad) for a, b in pairs)


def _given(shot: int) -> dict[str, Any]:
    """Give what their trainer hands to every method."""
    four = importlib.import_module("core.model.backbone.conv_four").Conv64F
    numbers = {"way_num": WAY, "shot_num": shot, "query_num": QUERY}
    return {**numbers, "device": "cpu", "emb_func": four(is_flatten=True)}


def _regression(tolerance: float) -> Any:
    def make(**settings: Any) -> LogisticRegression:
        del settings["multi_class"], settings["penalty"]
        return LogisticRegression(**settings | {"tol": tolerance, "max_iter": 10_000})

    return make


def _same(ours: Network | nn.Module, theirs: nn.Module) -> None:
    """Give ours the tensors of theirs, which stand in the same order."""
    for own, other in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        _set(own, other)


def _set(own: Tensor, other: Tensor) -> None:
    if own.shape != other.shape:
        raise ValueError(f"theirs has shape {[*other.shape]}, ours {[*own.shape]}")
    own.data.copy_(other)


def _centred(scores: Tensor) -> Tensor:
    return scores - scores.mean(dim=1, keepdim=True)


def _apart(ours: Tensor, theirs: Tensor) -> float:
    return float((ours - theirs).detach().abs().max())


@contextmanager
def _double() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextmanager
def _core(repo: Path) -> Iterator[None]:
    """Let their modules be imported without all that their packages import besides."""
    if not (repo / "core/model/finetuning/rfs_model.py").is_file():
        raise FileNotFoundError(f"{repo} has no core/model: give a clone of gtzheng/FewSTAB")
    with patch.dict(sys.modules):
        folders = ("", "/utils", "/model", "/model/backbone", "/model/finetuning")
        for folder in folders:
            package = ModuleType(f"core{folder}".replace("/", "."))
            package.__path__ = [f"{repo}/core{folder}"]
            sys.modules[package.__name__] = package
        utils: Any = sys.modules["core.utils"]
        utils.__dict__.update(vars(importlib.import_module("core.utils.enum_type")))
        utils.accuracy = importlib.import_module("core.utils.utils").accuracy
        yield
