"""All classes at once on real images: what two halves of a data set say of each other.

The images of each class are split into two halves, group by group, `--sets` times.  In each half
supports are drawn, and NCC and ridge regression answer all classes at once; intervals are for new
test images and new draws.  If they are right, the estimates of the two halves lie further apart
than √(h1² + h2²) at most 5 times in 100.  Fashion-MNIST has a training and a test part in each
half, pixels in blocks of two; of the glyphs in the package, one drawing of each design, on the
features that it holds, all that are no support are asked.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import torch

from builders.baselines.heads import Predictor
from fslbench_data.release.release import load_release
from studies.common import LEVEL, Array, Z, head, image_owners, marked, row
from studies.coverage import fashion
from studies.coverage.all_ways import LIMIT, WIDEST, spread

HEADS = "NCC", "RidgeRegression"
TESTED = 500
"""Test images of each class of clothes in a half."""
FEATURES = "efficientnet_lite0-pca128"
LEAST = 8
"""Designs of a character whose designs are split."""


@dataclass(frozen=True)
class Half:
    """Images by class, of which supports are drawn and which are asked; a draw asks no support."""

    train: list[Array]
    test: list[Array]


def clothes(owner: Array, groups: Array, rng: np.random.Generator) -> list[Half]:
    """Split each class of Fashion-MNIST, and each half into a training and a test part."""
    of_class = [rng.permutation(np.flatnonzero(owner == c)) for c in range(owner.max() + 1)]
    halves = [
        [own[: own.size // 2] for own in of_class],
        [own[own.size // 2 :] for own in of_class],
    ]
    return [Half([own[TESTED:] for own in of], [own[:TESTED] for own in of]) for of in halves]


def glyphs(owner: Array, groups: Array, rng: np.random.Generator) -> list[Half]:
    """Take one image of each group, and split the groups of each class that has eight or more."""
    order = rng.permutation(owner.size)
    one = order[np.unique(groups[order], return_index=True)[1]]
    every = [rng.permutation(one[owner[one] == c]) for c in range(owner.max() + 1)]
    of_class = [own for own in every if own.size >= LEAST]
    halves = [
        [own[: own.size // 2] for own in of_class],
        [own[own.size // 2 :] for own in of_class],
    ]
    return [Half(of, of) for of in halves]


Split = Callable[[Array, Array, np.random.Generator], list[Half]]
LINES: dict[str, tuple[Split, int]] = {"fashion_mnist": (clothes, 16), "glyphs_sample": (glyphs, 2)}
"""How images are split, and shots."""


@lru_cache(maxsize=1)
def data_of(dataset: str, raw: Path) -> tuple[Array, Array, list[Predictor]]:
    """Read the class and group of each image (N,), and make the methods; a process keeps them."""
    torch.set_num_threads(1)
    if dataset == "fashion_mnist":
        images = fashion.population(raw).fine
        owner = np.repeat(np.arange(len(images)), len(images[0]))
        groups, features = np.arange(owner.size), images.reshape(owner.size, -1)
    else:
        release = load_release()
        owner, groups = image_owners(release, dataset)
        features = np.asarray(release.features(dataset, FEATURES))
    return owner, groups, [Predictor(name, features) for name in HEADS]


def answered(
    half: Half, shots: int, draws: int, methods: list[Predictor], rng: np.random.Generator
) -> tuple[Array, Array]:
    """Answer draws: x (methods, R, n) of all test images, NaN of a draw's support; and classes."""
    test = np.concatenate(half.test)
    label = np.repeat(np.arange(len(half.test)), [own.size for own in half.test])
    right = np.full((len(methods), draws, test.size), np.nan)
    for draw in range(draws):
        support = np.stack([rng.choice(own, shots, replace=False) for own in half.train])
        asked = ~np.isin(test, support)
        for number, predict in enumerate(methods):
            found = predict(support[None], test[asked][None])[0]
            right[number, draw, asked] = found == label[asked]
    return right, label


def of_split(dataset: str, raw: Path, number: int) -> tuple[int, Array]:
    """Return C, means and half-widths (draws, 2 halves, [one, other, difference], 2)."""
    (split, shots), (owner, groups, methods) = LINES[dataset], data_of(dataset, raw)
    rng = np.random.default_rng([14, number])
    found, halves = np.empty((len(WIDEST), 2, 3, 2)), split(owner, groups, rng)
    for side, half in enumerate(halves):
        right, label = answered(half, shots, max(WIDEST), methods, rng)
        overlap = shots / float(np.mean([own.size for own in half.train]))
        for at, draws in enumerate(WIDEST):
            first = right[:, :draws]
            for of, x in enumerate((first[0], first[1], first[0] - first[1])):
                one = spread(x, label, LEVEL, overlap=overlap)
                found[at, side, of] = one.mean, one.halfwidth
    return len(halves[0].test), found


def part(options: argparse.Namespace) -> int:
    """Print a line for each number of draws; count those that miss the limit."""
    print(head("", "C, S", "draws", "of", "mean ±", "halves agree", "width"))
    missed = 0
    for dataset, (_, shots) in LINES.items():
        work = partial(of_split, dataset, options.raw)
        with ProcessPoolExecutor(options.processes) as pool:
            made = [*pool.map(work, range(options.sets))]
        classes, every = made[0][0], np.array([found for _, found in made])
        means, widths = every[..., 0], every[..., 1]
        apart, reach = means[:, :, 0] - means[:, :, 1], np.hypot(widths[:, :, 0], widths[:, :, 1])
        for at, draws in enumerate(WIDEST):
            for of, which in (("one", [0, 1]), ("difference", [2])):
                error, own = apart[:, at, which], reach[:, at, which]
                holds = 100 * (np.abs(error) <= own).mean()
                width = own.mean() / (Z * np.sqrt((error**2).mean()))
                mean = 100 * widths[:, at][:, :, which].mean()
                cells = f"{mean:.2f}", marked(holds, holds < LIMIT), f"{width:.2f}"
                print(row(dataset, f"{classes}, {shots}", draws, of, *cells), flush=True)
                missed += int(holds < LIMIT)
    return missed
