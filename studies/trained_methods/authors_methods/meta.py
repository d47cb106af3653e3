"""ANIL, BOIL, LEO and R2D2 beside the authors'."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

from builders.training.method import Episode, Method
from builders.training.methods.adapting import ANIL, BOIL, LEO, correlation
from builders.training.methods.metric import R2D2
from builders.training.networks import Conv4
from studies.trained_methods.authors_methods.checkout import (
    Checkout,
    apart,
    eight_bytes,
    gradients_apart,
    load_same,
    on_the_processor,
    shuffle_statistics,
)

WAY, QUERY, SIDE = 5, 4, 32
FEATURES = 64 * 2 * 2
INNER = {"lr": 1e-2, "train_iter": 5, "test_iter": 10}
LATENT_INNER = {"lr": 1e-2, "iter": 5, "finetune_lr": 1e-2, "finetune_iter": 5}

Pairs = list[tuple[Tensor, Tensor]]


def compare(repo: Path) -> Iterator[tuple[str, str, str, float]]:
    """Compare them above the same Conv64F, with one shot and five."""
    checkout = Checkout(repo)
    torch.manual_seed(0)
    with on_the_processor(), eight_bytes():
        for shot in (1, 5):
            task = f"{shot}-shot"
            for what, difference in _anil(checkout, shot):
                yield "ANIL", what, task, difference
            for what, difference in _boil(checkout, shot):
                yield "BOIL", what, task, difference
            for what, difference in _leo(checkout, shot):
                yield "LEO", what, task, difference
            for what, difference in _r2d2(checkout, shot):
                yield "R2D2", what, task, difference


def _anil(checkout: Checkout, shot: int) -> Iterator[tuple[str, float]]:
    theirs = checkout.module("model.meta.anil").ANIL(INNER, FEATURES, **_settings(checkout, shot))
    shuffle_statistics(theirs)
    ours = ANIL(Conv4(inputs=3), way=WAY, side=SIDE)
    pairs = load_same(ours, [theirs.emb_func, theirs.classifier])
    yield "scores, 10 steps", _scores_apart(ours, theirs, _task(shot))
    yield from _losses_apart(ours, theirs, _task(shot), pairs, "5 steps")


def _boil(checkout: Checkout, shot: int) -> Iterator[tuple[str, float]]:
    for name, rates in {"the paper's rates": (0.5, 0.0), "one rate, as run": (0.5, 0.5)}.items():
        inner = {"extractor_lr": 0.5, "classifier_lr": 0.0}
        settings = _settings(checkout, shot)
        theirs = checkout.module("model.meta.boil").BOIL(inner, FEATURES, "Once_update", **settings)
        if rates[1] == 0:  # its rate is that of weights with this in their names
            head = theirs.classifier.layers
            theirs.classifier.layers = nn.Sequential(OrderedDict(Linear=head[0]))
        shuffle_statistics(theirs)
        ours = BOIL(Conv4(inputs=3), way=WAY, side=SIDE, rate=rates[0], head_rate=rates[1])
        pairs = load_same(ours, [theirs.emb_func, theirs.classifier])
        yield f"scores, {name}", _scores_apart(ours, theirs, _task(shot))
        yield from _losses_apart(ours, theirs, _task(shot), pairs, name)
    theirs.testing_method, ours.nil = "NIL", True
    for parameter in theirs.parameters():
        parameter.fast = None
    yield "scores, NIL as released", _scores_apart(ours, theirs, _task(shot))


def _leo(checkout: Checkout, shot: int) -> Iterator[tuple[str, float]]:
    """Compare LEO: the same draws in training, means in tests, and only the penalties alike."""
    module = checkout.module("model.meta.leo")
    theirs = module.LEO(LATENT_INNER, FEATURES, 64, 1.0, 1.0, 0.0, **_settings(checkout, shot))
    shuffle_statistics(theirs)
    ours = LEO(
        Conv4(inputs=3), side=SIDE, kl_weight=1.0, encoder_weight=1.0, orthogonality_weight=0.0
    )
    load_same(ours, [theirs.emb_func, theirs.encoder, theirs.decoder])
    with patch.object(torch, "normal", lambda mean, deviation, size: torch.zeros(size)):
        yield "scores of means", _scores_apart(ours, theirs, _task(shot))
    theirs.train()
    theirs.emb_func.eval()
    losses = []
    images = _task(shot)
    for loss in (lambda: ours.loss(_episode(images, shot)), lambda: _their_loss(theirs, images)):
        torch.manual_seed(1)
        losses.append(loss())
    yield "loss with KL and encoder penalty, same draws", apart(*losses)
    weight = theirs.decoder.decoder_func.weight
    transposed = module.orthogonality(weight.T)
    yield "orthogonality, of latent dimensions", apart(correlation(weight.T), transposed)


def _r2d2(checkout: Checkout, shot: int) -> Iterator[tuple[str, float]]:
    theirs = checkout.module("model.meta.r2d2").R2D2(
        **_settings(checkout, shot), init_type="normal"
    )
    shuffle_statistics(theirs)
    for number, value in {"alpha": 2.0, "beta": 0.5, "gamma": 10.0}.items():
        theirs.classifier.get_parameter(number).data.fill_(value)
    ours = R2D2(Conv4(inputs=3))
    pairs = load_same(ours, [theirs.classifier, theirs.emb_func])
    yield "scores", _scores_apart(ours, theirs, _task(shot))
    yield from _losses_apart(ours, theirs, _task(shot), pairs, "learnt numbers")


def _settings(checkout: Checkout, shot: int) -> dict[str, Any]:
    backbone = checkout.module("model.backbone.conv_four").Conv64F(is_flatten=True)
    numbers = {"way_num": WAY, "shot_num": shot, "query_num": QUERY}
    return {**numbers, "device": "cpu", "emb_func": backbone}


def _task(shot: int) -> Tensor:
    """Draw images (K, S + Q, C, H, W)."""
    return torch.randn(WAY, shot + QUERY, 3, SIDE, SIDE)


def _episode(images: Tensor, shot: int) -> Episode:
    return Episode(images[:, :shot], images[:, shot:], torch.arange(WAY))


def _their_loss(theirs: Any, images: Tensor) -> Tensor:
    loss: Tensor = theirs.set_forward_loss((images.flatten(0, 1), None))[2]
    return loss


def _scores_apart(ours: Method, theirs: Any, images: Tensor) -> float:
    theirs.eval(), ours.eval()
    scores, _ = theirs.set_forward((images.flatten(0, 1), None))
    episode = _episode(images, images.shape[1] - QUERY)
    with torch.no_grad():
        return apart(ours.scores(episode.support, episode.query.flatten(0, 1)), scores)


def _losses_apart(
    ours: Method, theirs: Any, images: Tensor, pairs: Pairs, name: str
) -> Iterator[tuple[str, float]]:
    theirs.train(), ours.train()
    for parameter in theirs.parameters():
        parameter.grad = None
    own = ours.loss(_episode(images, images.shape[1] - QUERY), None)
    other = _their_loss(theirs, images)
    yield f"loss, {name}", apart(own, other)
    own.backward()
    other.backward()
    yield f"gradients of the loss, {name}", gradients_apart(pairs)
