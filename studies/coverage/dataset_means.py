"""Means over data sets: intervals of the mean and of a difference, with shared training runs.

Two methods see images in eight dimensions, in part the same and in part their own, and answer by
the nearest class mean.  A training run weighs the dimensions, by exp(σ u) of normal u, alike on all
data sets, as one trained network does; so both methods are equal whatever the runs, and runs of one
are high or low on all data sets together.  For new images the classes of a data set are fixed, for
new classes they are drawn anew.  The truth of the difference is 0.

On the lines of trades each method separates the classes of one of two data sets better than those
of the other, the second method the other way round; both harmonic means are equal.

A line gives in per cent how often the interval of the difference holds it, its mean half-width over
1.96 true standard deviations, how often it would hold if runs were taken for independent from
data set to data set, and how often the interval of the difference of harmonic means holds it.

A second part is of logs whose runs drew tasks of their own, on three data sets of 12 classes of 30
images, and goes by :func:`fslbench_data.score`: accuracies are the sum of effects of images, of
which each method has its own, of the runs, alike on all data sets, and of tasks.
"""

from __future__ import annotations

import argparse
import re
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

import fslbench_data as fb
from analysis_sql.intervals.counts import RunTerms, for_new_runs
from analysis_sql.leave_one_out.design import LeftOut, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Influences
from benchmark_spec.protocol import Protocol
from fslbench_data.sampling.draw import draw_closed
from studies.common import LEVEL, Array, Z, head, marked, row
from studies.coverage.nearest_means import (
    DIMENSIONS,
    OF_CLASSES,
    OF_IMAGES,
    correct,
    in_part_own,
)

LIMIT = 93.0
PROTOCOL = Protocol(5, 1, 5)
TASKS = 300
TURNS = 10


@dataclass(frozen=True)
class Line:
    """Class sizes of each data set, runs and their spread; `question`: what is drawn anew.

    `apart` are the distances between classes on the data set that a method is good at, and on the
    other; `own` is the share of images that is each method's own.
    """

    name: str
    sizes: tuple[tuple[int, ...], ...]
    runs: int
    spread: float
    question: LeftOut
    apart: tuple[float, float] = (1.0, 1.0)
    own: float = OF_IMAGES

    def scales(self, dataset: int) -> Array:
        """Return the distances between classes on a data set (2,), of each method."""
        return np.roll(self.apart, dataset)


EQUAL = ((60,) * 20,) * 3
UNEQUAL = ((60,) * 20, (40,) * 12, (120,) * 10, (30,) * 40, tuple(range(30, 130, 5)))
LINES = [
    Line(name, sizes, runs, spread, question)
    for name, sizes, runs, spread in (
        ("three alike", EQUAL, 1, 0.0),
        ("five unlike", UNEQUAL, 1, 0.0),
        ("three alike, shared runs", EQUAL, 3, 0.4),
        ("five unlike, shared runs", UNEQUAL, 5, 0.4),
    )
    for question in ("images", "classes")
] + [
    Line(name, ((60,) * classes,) * 2, 1, 0.0, question, apart, own)
    for name, classes, apart, own in (
        ("a trade of two", 20, (2.0, 0.7), OF_IMAGES),
        ("the same images", 20, (2.0, 0.7), 0.0),
        ("few classes", 8, (1.5, 0.5), 0.0),
    )
    for question in ("images", "classes")
]


def centres(line: Line, rng: np.random.Generator) -> list[Array]:
    """Draw the centres of the classes of each data set (2, C, DIMENSIONS)."""
    if line.apart == (1.0, 1.0):
        own = OF_CLASSES if line.question == "classes" else 0.0
        return [in_part_own(rng, 2, len(sizes), own) for sizes in line.sizes]
    shared = [in_part_own(rng, 2, len(sizes), 0.0) for sizes in line.sizes]
    return shared if line.question == "classes" else shared[:1] * len(shared)


def answered(
    line: Line, dataset: int, rng: np.random.Generator, of: Array, weights: Array
) -> tuple[Array, Array]:
    """Draw and answer one data set: accuracies of runs (2, R), and half-widths.

    Those of both methods and of their difference.
    """
    sizes = line.sizes[dataset]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    seed = int(rng.integers(1 << 31))
    drawn = draw_closed(sizes, PROTOCOL, dataset="means", seed=seed, tasks=TASKS)
    start = (np.cumsum(sizes) - np.array(sizes))[drawn.class_ids][..., None]
    support, query = drawn.support + start, drawn.query + start
    of = of * line.scales(dataset)[:, None, None]
    seen = of[:, owner] + in_part_own(rng, 2, owner.size, line.own)
    y = np.array(
        [
            [correct(seen[m] * w, support, query) / query[0].size for w in weights[m]]
            for m in range(2)
        ]
    )
    design = TaskDesign.of(drawn.class_ids, np.concatenate([support, query], axis=2), owner)
    own = y.mean(axis=1)
    values = np.concatenate([own, own[:1] - own[1:]])
    found = getattr(Influences(design, values).own(LEVEL), line.question)
    return 100 * y.mean(axis=2), 100 * np.ravel(found.halfwidth)


def judged(line: Line, rng: np.random.Generator, fixed: list[Array] | None) -> list[float]:
    """Draw all data sets: the mean difference, and its half-width with runs shared and apart.

    And the difference of harmonic means with its half-width.
    """
    of_sets = centres(line, rng) if fixed is None else fixed
    weights = np.exp(line.spread * rng.standard_normal((2, line.runs, DIMENSIONS)))
    parts = [answered(line, d, rng, of, weights) for d, of in enumerate(of_sets)]
    runs = np.array([accuracies for accuracies, _ in parts])
    squares = np.array([widths**2 for _, widths in parts]).T
    tasks = sqrt(squares[2].sum()) / len(parts)
    widths = [tasks, tasks]
    each = runs.mean(axis=2).T
    harmonic = len(parts) / (1 / each).sum(axis=1)
    w, u = (harmonic[:, None] / each) ** 2 / len(parts)
    a, b, both = squares
    both = np.maximum(both, (np.sqrt(a) - np.sqrt(b)) ** 2)
    wide = sqrt((w**2 * a + u**2 * b - w * u * (a + b - both)).sum())
    if line.runs > 1:
        freedom = line.runs - 1
        shared = runs.mean(axis=0).var(axis=1, ddof=1) / line.runs
        apart = runs.var(axis=2, ddof=1) / line.runs
        terms = (
            RunTerms(shared, shared**2 / freedom).sum(),
            RunTerms(apart / len(parts) ** 2, apart**2 / freedom / len(parts) ** 4).sum(),
        )
        widths = [float(for_new_runs(tasks, term, LEVEL)) for term in terms]
        v = np.array([(w @ runs[:, 0]).var(ddof=1), (u @ runs[:, 1]).var(ddof=1)]) / line.runs
        wide = float(for_new_runs(wide, RunTerms(v, v**2 / freedom).sum(), LEVEL))
    means = runs.mean(axis=(0, 2))
    return [float(means[0] - means[1]), *widths, float(harmonic[0] - harmonic[1]), wide]


def some(line: Line, seed: int, sets: int, turn: int) -> list[list[float]]:
    """Draw data, of one draw of classes where they are fixed."""
    rng = np.random.default_rng([seed, LINES.index(line), turn])
    fixed = centres(line, rng) if line.question == "images" else None
    return [judged(line, rng, fixed) for _ in range(sets)]


def part(options: argparse.Namespace) -> int:
    """Print a row for each line; count those below the limit."""
    print(head("data sets", "runs", "new", "holds", "width", "runs apart hold", "harmonic"))
    total = 0
    with ProcessPoolExecutor(options.processes) as pool:
        for line in LINES:
            if not re.search(options.lines, f"{line.name} {line.question}"):
                continue
            work = partial(some, line, options.seed, options.sets // TURNS)
            made = np.concatenate([np.array(each) for each in pool.map(work, range(TURNS))])
            error, width, apart, other, wide = made.T
            holds = 100 * float((np.abs(error) <= width).mean())
            harmonic = 100 * float((np.abs(other) <= wide).mean())
            total += (holds < LIMIT) + (harmonic < LIMIT)
            print(
                row(
                    line.name,
                    line.runs,
                    line.question,
                    marked(holds, holds < LIMIT),
                    f"{width.mean() / (Z * error.std()):.2f}",
                    100 * float((np.abs(error) <= apart).mean()),
                    marked(harmonic, harmonic < LIMIT),
                ),
                flush=True,
            )
    return total


OWN_TASKS = [
    (2, 0.02, 100),
    (3, 0.0, 60),
    (3, 0.01, 60),
    (3, 0.04, 60),
    (5, 0.0, 60),
    (5, 0.02, 60),
]
"""Runs, their standard deviation, and tasks of each on a data set."""
CLASSES, IMAGES, WAY, EACH = 12, 30, 5, 6


def own_log(runs: int, spread: float, tasks: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Draw the log of two methods, which are equal but for their images and runs."""
    of_run, rows = rng.normal(0, spread, (2, runs)), []
    for dataset in "abc":
        effects = rng.normal(0, 0.15, (2, CLASSES, IMAGES)) + rng.normal(0, 0.1, (CLASSES, IMAGES))
        for run, task in np.ndindex(runs, tasks):
            classes = rng.permutation(CLASSES)[:WAY]
            images = np.stack([rng.permutation(IMAGES)[:EACH] for _ in classes])
            ids = {
                "class_ids": classes.tolist(),
                "image_ids": (images + 100 * classes[:, None]).tolist(),
            }
            means = effects[:, classes[:, None], images].mean(axis=(1, 2))
            shares = np.clip(0.6 + of_run[:, run] + means + rng.normal(0, 0.05, 2), 0, 1)
            for method, share in zip("mn", shares.tolist(), strict=True):
                row = {"dataset": dataset, "method": method, "run": str(run), "accuracy": share}
                rows.append({**row, "task": f"{run}-{task}", **ids})
    return rows


def of_own_tasks(line: tuple[int, float, int], seed: int) -> tuple[float, float]:
    """Return the difference of the means over data sets for new images, and its half-width."""
    rng = np.random.default_rng([seed, OWN_TASKS.index(line)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = fb.score(fb.open_log(own_log(*line, rng)))
    mean = next(m for m in report.dataset_means if m.versus and m.about == "new images")
    assert mean.difference is not None
    assert mean.halfwidth is not None
    return mean.difference, mean.halfwidth


def own_tasks(options: argparse.Namespace) -> int:
    """Print a row for each line of runs with tasks of their own; count those below the limit."""
    print(head("runs", "sd of runs", "tasks of a run", "holds", "width"))
    missed = 0
    with ProcessPoolExecutor(options.processes) as pool:
        for line in OWN_TASKS:
            seeds = range(options.seed, options.seed + options.sets)
            found = np.array([*pool.map(partial(of_own_tasks, line), seeds, chunksize=10)])
            error, width = found.T
            holds = 100 * float((np.abs(error) <= width).mean())
            runs, spread, tasks = line
            cells = marked(holds, holds < LIMIT), f"{width.mean() / (Z * error.std()):.2f}"
            print(row(runs, 100 * spread, tasks, *cells), flush=True)
            missed += holds < LIMIT
    return missed
