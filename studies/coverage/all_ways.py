"""Coverage for new test images and new draws of the support, with all classes at once.

Classes are centres from N(0, I) in eight dimensions, images lie about them; two methods answer by
nearest means, on eight dimensions and on six.  Data sets of a line take CENTRES draws of classes in
turn; each has its own test images, and its own training images of which supports are drawn.  The
truth is the mean over supports and test images that no data set has.

The *habit* is ± t(R-1)·sd of the draws' means/√R; *images* counts the test images alone.

For new classes every data set has classes of its own, and the truth is the mean over TRUE_SETS
others.  *Shared* is a process that the jackknife over classes cannot see: in each draw both methods
weigh the dimensions by exp(N(0, ½²)), as a seed of training would.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import stdtrit

from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.leave_one_out.all_ways import Cells, squares_of_methods
from studies.common import LEVEL, Array, Z, head, marked, row
from studies.coverage.leave_one_out.lines import Classes, World

LIMIT, CENTRES, TRUE_DRAWS, TRUE_SETS = 93.0, 10, 400, 4000
WIDEST = {3: 2.0, 5: 1.4, 16: 1.15}
WORLD = World()
METHODS = 8, 6
"""Dimensions that each of both methods sees."""


@dataclass(frozen=True)
class Spread:
    """A mean over draws and test images, with its interval; fractions."""

    mean: float
    halfwidth: float
    draws: float
    """Share of the variance that new draws add; NaN of one draw."""
    p: float
    """Two-sided, of a mean of 0."""
    new_classes: float = float("nan")
    """Half-width for new classes; NaN where it is unknown."""
    p_new_classes: float = float("nan")


@dataclass(frozen=True)
class Line:
    """Test images of each class, shots, draws, and training images of a class (0: many)."""

    name: str
    sizes: tuple[int, ...]
    shots: int
    draws: int
    pool: int = 0
    world: World = WORLD
    shared: float = 0.0


LINES = (
    Line("1 shot", (100,) * 10, 1, 3),
    Line("16 shots", (50,) * 10, 16, 3),
    Line("16 shots", (50,) * 10, 16, 5),
    Line("16 shots", (50,) * 10, 16, 16),
    Line("many classes", (20,) * 100, 2, 3),
    Line("unequal classes", tuple(int(n) for n in np.geomspace(10, 200, 20)), 4, 3),
    Line("16 of 40 images", (50,) * 10, 16, 5, 40),
    Line("16 of 40 images", (50,) * 10, 16, 16, 40),
    Line("2 of 12 images", (50,) * 10, 2, 3, 12),
    Line("2 of 12 images", (50,) * 10, 2, 5, 12),
    Line("2 of 12 images", (50,) * 10, 2, 16, 12),
)


NEW_CLASSES = (
    Line("1 shot", (50,) * 10, 1, 3),
    Line("16 shots", (50,) * 10, 16, 3),
    Line("16 shots", (30,) * 30, 16, 3),
    Line("one draw", (30,) * 30, 4, 1),
    Line("few classes", (50,) * 5, 4, 3),
    Line("many classes", (20,) * 100, 2, 3),
    Line("unequal classes", tuple(int(n) for n in np.geomspace(10, 200, 20)), 4, 3),
    Line("hard classes", (30,) * 20, 4, 3, world=World(difficulty=0.6)),
    Line("shared", (30,) * 20, 4, 3, shared=0.5),
    Line("shared", (30,) * 20, 4, 1, shared=0.5),
)


def spread(
    right: NDArray[Any],
    class_of_image: Ints,
    level: float,
    *,
    alike: bool = True,
    overlap: float = 0.0,
    regained: Sequence[tuple[Floats, Ints]] = (),
) -> Spread:
    """Compute the intervals of one method, or of a difference.

    `right` is x (R, n), 0 or 1, or a difference of two; NaN where an image is in the draw's
    support. `regained` are, for new classes, x of the method, or of both, with what
    :meth:`Cells.means_without` takes. The others are as of :class:`Cells`.
    """
    x = np.asarray(right, np.float64)
    cells = Cells(~np.isnan(x), class_of_image, alike, overlap)
    found = cells.variances([*x[:, None]], squares_of_methods)
    mean, draws = float(found.means.mean()), len(x)
    images, df, of_draws, both = (float(values[0]) for values in found[:4])
    more, tail = max(of_draws - both, 0.0), (1.0 - level) / 2.0
    whole = max(images + more, of_draws)
    if not whole:
        return Spread(mean, 0.0 if mean == 0.0 else float("nan"), float("nan"), 1.0)
    share = of_draws / whole if draws > 1 else float("nan")

    def width(tail: float, own: float, df: float, more: float) -> float:
        t = float(stdtrit(max(draws - 1, 1), tail))
        both = float(stdtrit(df, tail)) ** 2 * own + t * t * more
        return float(np.sqrt(max(both, t * t * of_draws)))

    def p(*parts: float) -> float:
        """Find the level at which the interval ends at 0."""

        def apart(log: float) -> float:
            return width(float(np.exp(log)), *parts) - abs(mean)

        half, least = float(np.log(0.5)), -230.0
        return 0.0 if apart(least) < 0 else 2.0 * float(np.exp(brentq(apart, least, half)))

    of_images = images, df, more
    own = Spread(mean, width(tail, *of_images), share, p(*of_images))
    if not regained:
        return own
    without = [cells.means_without(*one) for one in regained]
    apart = without[0] if len(without) == 1 else without[0] - without[1]
    classes = float(np.square(apart - apart.mean()).sum()) * (apart.size - 1) / apart.size
    if not classes + of_draws:
        return own
    of_classes = classes, apart.size - 1.0, more
    wide, larger = max(width(tail, *of_classes), own.halfwidth), max(p(*of_classes), own.p)
    return replace(own, new_classes=wide, p_new_classes=larger)


def _right(means: Array, test: Array, label: Array) -> Array:
    """Tell which test images (n, D) both methods answer rightly (2, n), by class means (C, D)."""
    return np.array(
        [
            (2 * test[:, :d] @ means[:, :d].T - np.square(means[:, :d]).sum(1)).argmax(1) == label
            for d in METHODS
        ]
    )


def _fresh(line: Line, rng: np.random.Generator, classes: Classes, number: int) -> Array:
    """Draw support images (C, number, D)."""
    which = np.repeat(np.arange(len(line.sizes)), number)
    return line.world.images(rng, classes, which).reshape(len(line.sizes), number, -1)


def _truth(line: Line, rng: np.random.Generator, classes: Classes) -> Array:
    """Compute both methods' expected accuracies, all test images alike."""
    label = np.repeat(np.arange(len(line.sizes)), line.sizes)
    total = np.zeros(2)
    for _ in range(TRUE_DRAWS):
        means = _fresh(line, rng, classes, line.shots).mean(axis=1)
        total += _right(means, WORLD.images(rng, classes, label), label).mean(axis=1)
    return np.asarray(total / TRUE_DRAWS)


def _data_set(line: Line, rng: np.random.Generator, classes: Classes) -> tuple[Array, Array]:
    """Draw a data set: means (2,) and half-widths (3, 2): habit, images, both."""
    label = np.repeat(np.arange(len(line.sizes)), line.sizes)
    test = WORLD.images(rng, classes, label)
    pool = _fresh(line, rng, classes, line.pool) if line.pool else None
    answers = []
    for _ in range(line.draws):
        if pool is None:
            support = _fresh(line, rng, classes, line.shots)
        else:
            order = rng.random(pool.shape[:2]).argpartition(line.shots, axis=1)[:, : line.shots]
            support = np.take_along_axis(pool, order[..., None], axis=1)
        answers.append(_right(support.mean(axis=1), test, label))
    right = np.array(answers, float).swapaxes(0, 1)
    overlap = line.shots / line.pool if line.pool else 0.0
    means, half = [], []
    for x in (right[0], right[0] - right[1]):
        found = spread(x, label, LEVEL, overlap=overlap)
        alone = spread(x.mean(axis=0, keepdims=True), label, LEVEL)
        sd = x.mean(axis=1).std(ddof=1) / np.sqrt(line.draws)
        habit = -float(stdtrit(line.draws - 1, (1 - LEVEL) / 2)) * sd
        means.append(found.mean)
        half.append([habit, alone.halfwidth, found.halfwidth])
    return np.array(means), np.array(half).T


def _some(line: Line, seed: int, sets: int, turn: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([seed, turn, LINES.index(line)])
    classes = WORLD.classes(rng, len(line.sizes))
    one, other = _truth(line, rng, classes)
    made = [_data_set(line, rng, classes) for _ in range(sets)]
    means, half = (np.array(each) for each in zip(*made, strict=True))
    return means - np.array([one, one - other]), half


def part(options: argparse.Namespace) -> int:
    """Print the rows of each design; count those that miss a limit."""
    print(head("", "C, test images", "S", "draws", "of", "habit", "images", "both", "width"))
    missed = 0
    with ProcessPoolExecutor(options.processes) as pool:
        for line in LINES:
            work = partial(_some, line, options.seed, options.sets // CENTRES)
            found = list(pool.map(work, range(CENTRES)))
            errors, half = (np.concatenate(part) for part in zip(*found, strict=True))
            for column, of in enumerate(("one", "difference")):
                error = errors[:, column]
                holds = 100 * (np.abs(error)[:, None] <= half[:, :, column]).mean(axis=0)
                width = half[:, 2, column].mean() / (Z * np.sqrt((error**2).mean()))
                low, wide = holds[2] < LIMIT, width > WIDEST[line.draws]
                cells = [holds[0], holds[1], marked(holds[2], low), marked(width, wide, 2)]
                size = f"{len(line.sizes)}, {sum(line.sizes)}"
                print(row(line.name, size, line.shots, line.draws, of, *cells), flush=True)
                missed += int(low) + int(wide)
    return missed


def _answers(line: Line, rng: np.random.Generator, draws: int) -> tuple[Array, Array]:
    """Answer test images of new classes: best and second-best (2, methods, R, n), and labels."""
    label = np.repeat(np.arange(len(line.sizes)), rng.permutation(line.sizes))
    classes = line.world.classes(rng, len(line.sizes))
    test, found = line.world.images(rng, classes, label), []
    for _ in range(draws):
        means = _fresh(line, rng, classes, line.shots).mean(axis=1)
        weigh = np.exp(line.shared * rng.standard_normal(means.shape[1]))
        for d in METHODS:
            near = 2 * (test * weigh)[:, :d] @ means[:, :d].T - np.square(means[:, :d]) @ weigh[:d]
            found.append(np.argsort(-near, axis=1)[:, :2].T)
    return np.array(found).reshape(draws, 2, 2, -1).transpose(2, 1, 0, 3), label


def _of_new_classes(line: Line, seed: int, sets: int, turn: int) -> tuple[Array, Array]:
    """Return means and half-widths (sets, 2), of one method and of the difference."""
    rng = np.random.default_rng([seed, turn, len(LINES) + NEW_CLASSES.index(line)])
    means, half = [], []
    for _ in range(sets):
        (best, second), label = _answers(line, rng, line.draws)
        x = (best == label).astype(float)
        regained = [*zip(x, np.where(second == label, best, -1), strict=True)]
        found = [
            spread(apart, label, LEVEL, regained=of)
            for apart, of in ((x[0], regained[:1]), (x[0] - x[1], regained))
        ]
        means.append([one.mean for one in found])
        half.append([one.new_classes for one in found])
    return np.array(means), np.array(half)


def _true_means(line: Line, seed: int, sets: int, turn: int) -> Array:
    """Compute the means of other data sets: one method's, and the difference's (sets, 2)."""
    rng = np.random.default_rng([seed, turn, len(LINES) + NEW_CLASSES.index(line), 1])
    means = []
    for _ in range(sets):
        (best, _), label = _answers(line, rng, 1)
        one, other = (best == label).mean(axis=(1, 2))
        means.append([one, one - other])
    return np.array(means)


def new_classes(options: argparse.Namespace) -> int:
    """Print the rows of each design for new classes; count those that miss the limit."""
    print(head("", "C, test images", "S", "draws", "of", "new classes", "width"))
    missed = 0
    with ProcessPoolExecutor(options.processes) as pool:
        for line in NEW_CLASSES:
            turns = range(CENTRES)
            work = partial(_of_new_classes, line, options.seed, options.sets // CENTRES)
            made = [*pool.map(work, turns)]
            means, half = (np.concatenate(part) for part in zip(*made, strict=True))
            true = partial(_true_means, line, options.seed, TRUE_SETS // CENTRES)
            errors = means - np.concatenate([*pool.map(true, turns)]).mean(axis=0)
            for column, of in enumerate(("one", "difference")):
                error, own = errors[:, column], half[:, column]
                holds = 100 * (np.abs(error) <= own).mean()
                width = own.mean() / (Z * np.sqrt((error**2).mean()))
                cells = marked(holds, holds < LIMIT), f"{width:.2f}"
                size = f"{len(line.sizes)}, {sum(line.sizes)}"
                print(row(line.name, size, line.shots, line.draws, of, *cells), flush=True)
                missed += int(holds < LIMIT)
    return missed
