"""Means over data sets: intervals of the mean and of a difference, with shared training runs.

Two methods see images in eight dimensions, in part the same and in part their own, and answer by
the nearest class mean.  A training run weighs the dimensions, by exp(σ u) of normal u, alike on all
data sets, as one trained network does; so both methods are equal whatever the runs, and runs of one
are high or low on all data sets together.  For new images the classes of a data set are fixed, for
new classes they are drawn anew.  The truth of the difference is 0.

A line gives in per cent how often the interval of the difference holds it, its mean half-width over
1.96 true standard deviations, and how often it would hold if runs were taken for independent from
data set to data set.
"""

from __future__ import annotations

import argparse
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import sqrt

import numpy as np

from analysis_sql.intervals.counts import for_new_runs
from analysis_sql.leave_one_out.design import LeftOut, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Influences
from benchmark_spec.protocol import Protocol
from fslbench_data.tasks.draw import draw_closed
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
    """Class sizes of each data set, runs and their spread; `question`: what is drawn anew."""

    name: str
    sizes: tuple[tuple[int, ...], ...]
    runs: int
    spread: float
    question: LeftOut


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
]


def centres(line: Line, rng: np.random.Generator) -> list[Array]:
    """Draw the centres of the classes of each data set (2, C, DIMENSIONS)."""
    own = OF_CLASSES if line.question == "classes" else 0.0
    return [in_part_own(rng, 2, len(sizes), own) for sizes in line.sizes]


def answered(
    sizes: tuple[int, ...], rng: np.random.Generator, of: Array, weights: Array, question: LeftOut
) -> tuple[Array, float]:
    """Draw and answer one data set: accuracies of runs (2, R), and the difference's half-width."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    seed = int(rng.integers(1 << 31))
    drawn = draw_closed(sizes, PROTOCOL, dataset="means", seed=seed, tasks=TASKS)
    start = (np.cumsum(sizes) - np.array(sizes))[drawn.class_ids][..., None]
    support, query = drawn.support + start, drawn.query + start
    seen = of[:, owner] + in_part_own(rng, 2, owner.size, OF_IMAGES)
    y = np.array(
        [
            [correct(seen[m] * w, support, query) / query[0].size for w in weights[m]]
            for m in range(2)
        ]
    )
    design = TaskDesign.of(drawn.class_ids, np.concatenate([support, query], axis=2), owner)
    apart = y.mean(axis=1)
    found = getattr(Influences(design, apart[:1] - apart[1:]).own(LEVEL), question)
    return 100 * y.mean(axis=2), 100 * float(found.halfwidth[0, 0])


def judged(line: Line, rng: np.random.Generator, fixed: list[Array] | None) -> list[float]:
    """Draw all data sets: the mean difference, and its half-width with runs shared and apart."""
    of_sets = centres(line, rng) if fixed is None else fixed
    weights = np.exp(line.spread * rng.standard_normal((2, line.runs, DIMENSIONS)))
    parts = [
        answered(sizes, rng, of, weights, line.question)
        for sizes, of in zip(line.sizes, of_sets, strict=True)
    ]
    runs = np.array([accuracies for accuracies, _ in parts])
    tasks = sqrt(sum(width**2 for _, width in parts)) / len(parts)
    widths = [tasks, tasks]
    if line.runs > 1:
        freedom = line.runs - 1
        shared = runs.mean(axis=0).var(axis=1, ddof=1) / line.runs
        apart = runs.var(axis=2, ddof=1) / line.runs
        terms = (
            (shared.sum(), (shared**2).sum() / freedom),
            (apart.sum() / len(parts) ** 2, (apart**2).sum() / freedom / len(parts) ** 4),
        )
        widths = [float(for_new_runs(tasks, term, LEVEL)) for term in terms]
    means = runs.mean(axis=(0, 2))
    return [float(means[0] - means[1]), *widths]


def some(line: Line, seed: int, sets: int, turn: int) -> list[list[float]]:
    """Draw data, of one draw of classes where they are fixed."""
    rng = np.random.default_rng([seed, LINES.index(line), turn])
    fixed = centres(line, rng) if line.question == "images" else None
    return [judged(line, rng, fixed) for _ in range(sets)]


def part(options: argparse.Namespace) -> int:
    """Print a row for each line; count those below the limit."""
    print(head("data sets", "runs", "new", "holds", "width", "runs apart hold"))
    total = 0
    with ProcessPoolExecutor(options.processes) as pool:
        for line in LINES:
            if not re.search(options.lines, f"{line.name} {line.question}"):
                continue
            work = partial(some, line, options.seed, options.sets // TURNS)
            made = np.concatenate([np.array(each) for each in pool.map(work, range(TURNS))])
            error, width, apart = made.T
            holds = 100 * float((np.abs(error) <= width).mean())
            total += holds < LIMIT
            print(
                row(
                    line.name,
                    line.runs,
                    line.question,
                    marked(holds, holds < LIMIT),
                    f"{width.mean() / (Z * error.std()):.2f}",
                    100 * float((np.abs(error) <= apart).mean()),
                ),
                flush=True,
            )
    return total
