"""New superclasses: intervals that count superclasses as a sample, against fresh truths.

Classes come in superclasses that are themselves a sample, of equal size or half of them single.
Three processes, on the class sequences of open sets, 5-way 5-shot with 5 queries:

- *normal*: effects of 3 points, a share of whose variance is common to a superclass, and a normal
  error of 3 points of each task: the model itself;
- *heavy*: effects follow Student's law of 3 degrees of freedom, and tasks have errors of 6 points;
- *images*: NCC on Gaussian images (:mod:`studies.coverage.gaussian`) whose class centres lie
  about the centres of superclasses: classes of one superclass are harder to tell apart, and
  effects neither add up nor are normal.  Judged are NCC on 8 dimensions and its difference to 6.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from scipy.stats import chi2

from analysis_sql.class_aware.intervals import mixtures_of, relative_halfwidths
from analysis_sql.class_aware.superclasses import SuperclassDesign
from benchmark_spec.protocol import Protocol
from fslbench_data.sampling.draw import draw_open
from studies.common import LEVEL, Array, Z, head, marked, row, spread_out
from studies.coverage.gaussian import DIMENSIONS, WAY, answers

PROTOCOL = Protocol(5, 5, 5)
SEQUENCES = 8
SIZES = (
    (160, 60, 8, False),
    (40, 60, 8, False),
    (30, 60, 6, False),
    (60, 60, 20, False),
    (40, 60, 8, True),
    (60, 60, 20, True),
    (60, 600, 20, False),
)
"""Classes, images of each, superclasses, and whether half of these have a single class."""
SPREAD, DEGREES = 3.0, 3
PROCESSES: dict[str, tuple[float, tuple[float, ...]]] = {
    "normal": (3.0, (0.0, 0.5, 0.9)),
    "heavy": (6.0, (0.0, 0.5, 0.9)),
    "images": (0.0, (0.0, 0.9)),
}
"""Of each process: the error of a task, in points, and the shares that superclasses have."""
CENTRES = 1.0
TRUTH_TASKS = 400_000
LEAST = 91.0
"""Per cent that must be covered, with two Monte Carlo errors."""


@dataclass(frozen=True)
class Cell:
    """A population of superclasses, a process, the share of a superclass, and tasks' error."""

    classes: int
    images: int
    superclasses: int
    unequal: bool
    process: str
    common: float
    error: float
    seed: int
    sets: int

    @property
    def words(self) -> str:
        """What the cell is, in a few words."""
        sizes = ", unequal" if self.unequal else ""
        return f"{self.superclasses} of {self.classes}, {self.images}{sizes}"

    @property
    def superclass_of_class(self) -> Array:
        """The superclass of each class (C,)."""
        g, c = self.superclasses, self.classes
        if not self.unequal:
            return np.arange(c) % g
        single = np.arange(g // 2)
        return np.concatenate([single, g // 2 + np.arange(c - g // 2) % (g - g // 2)])


@dataclass(frozen=True)
class Held:
    """One statistic of one sequence: tasks, errors and both half-widths (sets,), in points."""

    tasks: int
    error: Array
    superclasses: Array
    classes: Array


def cells(seed: int, sets: int) -> Iterator[Cell]:
    """Yield all cells, in the order of the table."""
    for size in SIZES:
        for process, (error, shares) in PROCESSES.items():
            for common in shares:
                yield Cell(*size, process, common, error, seed, sets)


def run(cell: Cell) -> list[tuple[str, list[Held]]]:
    """Judge a cell: what is judged, and the results of each of its class sequences."""
    statistics: dict[str, list[Held]] = {}
    for sequence in range(SEQUENCES):
        name = f"{cell.classes} classes of {cell.images}"
        drawn = draw_open(
            [cell.images] * cell.classes, PROTOCOL, dataset=name, seed=cell.seed + sequence
        )
        design = SuperclassDesign.of(drawn.class_ids, cell.superclass_of_class)
        key = [cell.classes, cell.images, sequence, *(ord(letter) for letter in cell.process)]
        rng = np.random.default_rng([cell.seed, 11, *key, int(100 * cell.common), int(cell.error)])
        judged = _images if cell.process == "images" else _additive
        for what, y, truth in judged(cell, design, rng):
            statistics.setdefault(what, []).append(_judge(design, y, truth))
    return list(statistics.items())


def _judge(design: SuperclassDesign, y: Array, truth: float) -> Held:
    mean = y.mean(axis=1)
    norm2 = np.square(y - mean[:, None]).sum(axis=1)
    coordinates = design.coordinates(y)
    u, _ = design.split(coordinates)
    size = np.sqrt(norm2)
    classes = relative_halfwidths(mixtures_of(design.classes, u, norm2), LEVEL) * size
    widths = relative_halfwidths(mixtures_of(design, coordinates, norm2), LEVEL) * size
    return Held(design.tasks, mean - truth, np.maximum(widths, classes), classes)


def _additive(
    cell: Cell, design: SuperclassDesign, rng: np.random.Generator
) -> Iterator[tuple[str, Array, float]]:
    share = cell.sets // SEQUENCES

    def effects(many: int) -> Array:
        if cell.process == "normal":
            return rng.standard_normal((share, many))
        scaled: Array = rng.standard_t(DEGREES, (share, many)) / np.sqrt(DEGREES / (DEGREES - 2))
        return scaled

    own = SPREAD * np.sqrt(1 - cell.common) * effects(design.classes.classes)
    shared = SPREAD * np.sqrt(cell.common) * effects(design.superclasses)
    y = cell.error * rng.standard_normal((share, design.tasks))
    for slot, label in zip(design.classes.members.T, design.labels.T, strict=True):
        y += own[:, slot] + shared[:, label]
    yield "effects", y, 0.0


def _images(
    cell: Cell, design: SuperclassDesign, rng: np.random.Generator
) -> Iterator[tuple[str, Array, float]]:
    share, unit = cell.sets // SEQUENCES, PROTOCOL.n_query
    own, shared = np.sqrt(1 - cell.common), np.sqrt(cell.common)
    both: list[list[Array]] = [[], []]
    for _ in range(share):
        classes = rng.standard_normal((DIMENSIONS, design.classes.classes), np.float32)
        of = rng.standard_normal((DIMENSIONS, design.superclasses), np.float32)
        centres = own * classes[:, design.classes.members] + shared * of[:, design.labels]
        for counts, right in zip(both, _answers(rng, centres), strict=True):
            counts.append(right)
    rows = rng.integers(design.tasks, size=TRUTH_TASKS // SEQUENCES)
    same = design.labels[:, :, None] == design.labels[:, None, :]
    first = same.argmax(axis=2)[rows]  # the first slot of a task that has the same superclass
    classes, of = rng.standard_normal((2, DIMENSIONS, len(rows), WAY), np.float32)
    of = np.take_along_axis(of, np.broadcast_to(first, of.shape), axis=2)
    truths = [100 * right.mean() / unit for right in _answers(rng, own * classes + shared * of)]
    eight, six = (100 * np.stack(counts) / unit for counts in both)
    yield "NCC", eight, truths[0]
    yield "difference", eight - six, truths[0] - truths[1]


def _answers(rng: np.random.Generator, centres: Array) -> tuple[Array, Array]:
    """Count correct answers of tasks whose class centres are (D, tasks, K)."""
    turned = np.ascontiguousarray(CENTRES * centres.transpose(0, 2, 1), np.float32)
    return answers(rng, turned, PROTOCOL)


def part(options: argparse.Namespace) -> int:
    """Print coverage and widths of each cell, and what intervals for new classes cover."""
    jobs = list(cells(options.seed, options.sets))
    print(
        head(
            "superclasses of C, N",
            "T",
            "process",
            "common",
            "true sd",
            "new classes",
            "new superclasses",
            "width",
            "over new classes'",
        )
    )
    missed = 0
    for cell, results in zip(jobs, spread_out(run, jobs, options.processes), strict=True):
        for what, parts in results:
            error, wide, narrow = (
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("error", "superclasses", "classes")
            )
            deviation = float(error.std())
            of_classes, covered = (100 * float((abs(error) <= h).mean()) for h in (narrow, wide))
            allowed = LEAST - 200 * (LEAST / 100 * (1 - LEAST / 100) / error.size) ** 0.5
            missed += covered < allowed
            print(
                row(
                    cell.words,
                    round(np.mean([part.tasks for part in parts])),
                    cell.process if what == "effects" else f"{cell.process}, {what}",
                    f"{100 * cell.common:.0f} %",
                    f"{deviation:.2f}",
                    of_classes,
                    marked(covered, covered < allowed),
                    f"{wide.mean() / (Z * deviation):.2f}",
                    f"{wide.mean() / narrow.mean():.2f}",
                )
            )
    return missed


SUPERCLASSES, STRENGTHS = (6, 8, 20), (0.0, 0.25, 1.0, 3.0, 10.0, 100.0)
QUANTILES, STEPS = 2000, 60


X = np.exp(np.arange(-10.0, 14.125, 0.25))
PRIORS: dict[str, Array] = {
    "chosen": np.sqrt(X / (1 + X)),
    "half-Cauchy, median 1": np.sqrt(X) / (1 + X),
    "half-Cauchy, median 4": np.sqrt(X) / (1 + X / 16),
    "flat": np.sqrt(X),
}
"""Of d ln(x)."""


def _halfwidths(prior: Array, rank: int, squares: Array) -> Array:
    """Return the half-widths (S,) by sums of squares (S,), from halving ln(h)."""
    log_weights = -rank / 2 * np.log1p(X) - squares[:, None] / 2 / (1 + X) + np.log(prior)
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    error = np.sqrt(1 + X)
    low, high = np.zeros(len(squares)), np.full(len(squares), np.log(Z * error[-1]))
    for _ in range(STEPS):
        middle = (low + high) / 2
        outside = (weights * 2 * ndtr(-np.exp(middle)[:, None] / error)).sum(axis=1)
        low = np.where(outside > 1 - LEVEL, middle, low)
        high = np.where(outside > 1 - LEVEL, high, middle)
    return np.asarray(np.exp(high))


def prior_part(_: argparse.Namespace) -> int:
    """Print coverage in per cent, and mean half-width over 1.96 true standard deviations."""
    print(head("superclasses", "prior", *(f"x = {x:g}" for x in STRENGTHS)))
    share = (np.arange(QUANTILES) + 0.5) / QUANTILES
    for superclasses in SUPERCLASSES:
        for name, prior in PRIORS.items():
            cells = []
            for x in STRENGTHS:
                squares = (1 + x) * chi2.ppf(share, superclasses - 1)
                widths = _halfwidths(prior, superclasses - 1, squares) / np.sqrt(1 + x)
                coverage = 100 * (1 - 2 * float(ndtr(-widths).mean()))
                cells.append(f"{coverage:.1f} / {widths.mean() / Z:.2f}")
            print(row(superclasses, name, *cells))
    return 0
