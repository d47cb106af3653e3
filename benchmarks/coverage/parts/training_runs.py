"""Training runs: how often equal methods are told apart, and what is found of a true difference.

Five methods see images in eight dimensions: the centre of the class and the image itself are in
part the same for all of them and in part their own.  A training run adds noise of its own to every
image, of standard deviation exp(g u)/2, and answers by the nearest class mean; u is drawn for each
run from one law for all methods, so that methods are equal whatever g is, and runs differ in what
they are good at even if g is 0.
*images*: methods share the centres of classes, and are equal on any classes; *classes*: they do
not, and are equal over all classes.  Tasks are of 5 classes, 1 shot and 5 queries: 300 that reuse
the images of 12 classes of 40, and open ones of 20 classes of 60.

Each line gives, in per cent of the data sets: two equal methods told apart, on tasks that reuse
images and on open ones; some pair of five equal ones after Holm; two told apart that are 4 points
apart; and the mean half-width of a difference over 1.96 times its true standard deviation.
*before* are the same intervals without the term of runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.comparison.multiplicity import adjust
from analysis_sql.interval_kinds import BESIDE
from analysis_sql.intervals.counts import Counts
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.kinds import FirstTasks
from analysis_sql.ranking.told_apart import pair_p
from benchmark_spec.protocol import Protocol
from benchmark_spec.suites import IntervalKind
from benchmarks.coverage.measure import LEVEL, Z, head, marked, row
from fslbench_data.tasks.drawn import DrawnTasks
from fslbench_data.tasks.uniform import draw_closed, draw_open

METHODS, DIMENSIONS, MOST_RUNS = 5, 8, 5
PROTOCOL = Protocol(5, 1, 5)
QUERIES, TASKS = 25, 300
POOL, OPEN_POOL = (40,) * 12, (60,) * 20
RUNS = 2, 3, 5
OWN_TASKS = 200
OF_IMAGES, OF_CLASSES = 0.5, 0.3
LIMIT, MEAN_LIMIT = 6.5, 5.5
RIGHT = np.repeat(np.arange(PROTOCOL.way), PROTOCOL.query)
SPREADS = {"0": 0.0, "0.3": 0.025, "1.5": 0.115}
"""g by the standard deviation between runs that it makes, percentage points."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Line:
    """A process: what differs between methods, how much between runs, and by which law."""

    question: str
    spread: float
    law: str = "normal"

    def noises(self, rng: np.random.Generator, methods: int) -> Array:
        """Draw the standard deviation of each run's noise (methods, MOST_RUNS)."""
        shape = methods, MOST_RUNS
        u = rng.standard_normal(shape)
        if self.law == "heavy tails":
            u = rng.standard_t(3, shape) / np.sqrt(3)
        if self.law == "one run in five deviates":
            u *= np.where(rng.random(shape) < 0.2, 3.0, 0.5)
        return np.asarray(0.5 * np.exp(self.spread * u))

    def answers(
        self, rng: np.random.Generator, methods: int, drawn: DrawnTasks, sizes: tuple[int, ...]
    ) -> Array:
        """Draw classes, images and runs; count right answers (methods, MOST_RUNS, T)."""
        of_classes = OF_CLASSES if self.question == "classes" else 0.0
        centres = _in_part_own(rng, methods, len(sizes), of_classes)
        images = np.repeat(centres, sizes[0], axis=1)
        images += _in_part_own(rng, methods, sum(sizes), OF_IMAGES)
        start = sizes[0] * drawn.class_ids[..., None]
        support, query = start + drawn.support, start + drawn.query
        noises = self.noises(rng, methods)
        counts = np.empty((*noises.shape, len(support)), np.int64)
        for method, run in np.ndindex(noises.shape):
            seen = images[method] + noises[method, run] * rng.standard_normal(images[0].shape)
            means = seen[support].mean(axis=2)
            asked = seen[query].reshape(len(query), -1, DIMENSIONS)
            near = (means**2).sum(-1)[:, None] - 2 * asked @ means.swapaxes(1, 2)
            counts[method, run] = (near.argmin(axis=2) == RIGHT).sum(axis=1)
        return counts


def _in_part_own(rng: np.random.Generator, methods: int, count: int, share: float) -> Array:
    """Draw vectors that methods share in part (methods, count, DIMENSIONS)."""
    common = rng.standard_normal((count, DIMENSIONS))
    own = rng.standard_normal((methods, count, DIMENSIONS))
    return np.asarray(np.sqrt(1 - share) * common + np.sqrt(share) * own)


@dataclass(frozen=True)
class Reused:
    """One draw of tasks that reuse images, and one of open tasks, for all data sets of a block."""

    reused: DrawnTasks
    left_out: FirstTasks
    opened: DrawnTasks
    classes: ClassDesign

    @classmethod
    def of(cls, seed: int) -> Reused:
        """Draw tasks."""
        reused = draw_closed(POOL, PROTOCOL, dataset="runs", seed=seed, tasks=TASKS)
        opened = draw_open(OPEN_POOL, PROTOCOL, dataset="runs", seed=seed)
        images = np.concatenate([reused.support, reused.query], axis=2)
        images = images + POOL[0] * reused.class_ids[..., None]
        owner = np.repeat(np.arange(len(POOL)), POOL)
        design = TaskDesign.of(reused.class_ids, images, owner)
        return cls(reused, FirstTasks(design), opened, ClassDesign.of(opened.class_ids))


def counts_of(x: Array, runs: int, *, counted: bool = True, ahead: int = 0) -> Counts:
    """Join the counts of the first runs of methods; the first method `ahead` by so many queries."""
    some = x[:, :runs]
    spreads = 100 / QUERIES * some.mean(axis=2).std(axis=1, ddof=1)
    summed = some.sum(axis=1)
    summed[0] += ahead * runs
    terms = (spreads.tolist(), [runs] * len(x)) if counted else ()
    return Counts.of(list(summed), [QUERIES * runs] * len(x), *terms)


def judged(line: Line, tasks: Reused, rng: np.random.Generator) -> dict[tuple[int, str], float]:
    """Draw a data set and say, by runs and heading of the table, what is found in it."""
    kinds: dict[str, tuple[IntervalKind, IntervalKind]] = {
        "images": ("images", "open"),
        "classes": ("classes", "class-aware"),
    }
    left_out, of_open = kinds[line.question]
    x = line.answers(rng, METHODS, tasks.reused, POOL)
    opened = line.answers(rng, 2, tasks.opened, OPEN_POOL)
    first, second = np.triu_indices(METHODS, 1)
    found: dict[tuple[int, str], float] = {}
    for runs in RUNS:
        counts = counts_of(x, runs)
        p = pair_p(counts, first, second, left_out, tasks.left_out)
        found[runs, "reused"] = p[0] <= 0.05
        found[runs, "Holm"] = float(adjust(p, "holm").apart(LEVEL).any())
        one = first[:1], second[:1]
        plain = counts_of(x[:2], runs, counted=False)
        found[runs, "before"] = pair_p(plain, *one, left_out, tasks.left_out)[0] <= 0.05
        ahead = counts_of(x[:2], runs, ahead=1)
        found[runs, "found"] = pair_p(ahead, *one, left_out, tasks.left_out)[0] <= 0.05
        design = tasks.classes if of_open == "class-aware" else None
        found[runs, "open"] = pair_p(counts_of(opened, runs), *one, of_open, design)[0] <= 0.05
        pairs = BESIDE[left_out].pairs(tasks.left_out, counts, LEVEL)
        found[runs, "width"] = pairs.arrays(0, np.array([1]))[0][0]
        found[runs, "difference"] = np.diff(np.asarray(counts.moments().mean)[:2])[0]
    return found


def block(line: Line, seed: int, number: int, sets: int) -> list[dict[tuple[int, str], float]]:
    """Judge some data sets on one draw of tasks."""
    key = [seed, number, len(line.question), int(1e3 * line.spread), len(line.law)]
    rng = np.random.default_rng(key)
    tasks = Reused.of(number)
    return [judged(line, tasks, rng) for _ in range(sets)]


def lines() -> Iterator[tuple[str, Line]]:
    """All processes, with the standard deviation between runs in words."""
    for question in ("images", "classes"):
        for name, spread in SPREADS.items():
            yield name, Line(question, spread)
        for law in ("heavy tails", "one run in five deviates"):
            yield f"1.5, {law}", Line(question, SPREADS["1.5"], law)


def part(options: argparse.Namespace) -> int:
    """Print a line for each process and number of runs; count those above the limits."""
    names = "reused", "open", "Holm", "before", "found"
    print(head("equal for new", "sd of runs", "runs", *names, "width"))
    missed, rates = 0, []
    with ProcessPoolExecutor(options.processes) as pool:
        for spread, line in lines():
            size = min(50, options.sets)
            blocks = range(options.sets // size)
            work = partial(block, line, options.seed, sets=size)
            found = [each for some in pool.map(work, blocks) for each in some]
            for runs in RUNS:
                of = {name: np.array([each[runs, name] for each in found]) for name in
                      (*names, "width", "difference")}  # fmt: skip
                rate = {name: 100 * float(of[name].mean()) for name in names}
                false = [rate[name] for name in ("reused", "open", "Holm")]
                rates += false
                missed += sum(value > LIMIT for value in false)
                cells = [marked(rate[name], value > LIMIT) for name, value in
                         zip(("reused", "open", "Holm"), false, strict=True)]  # fmt: skip
                width = of["width"].mean() / (Z * of["difference"].std())
                print(row(line.question, spread, runs, *cells, rate["before"], rate["found"],
                          f"{width:.2f}"), flush=True)  # fmt: skip
    mean = float(np.mean(rates))
    print(f"\nmean of equal methods told apart: {mean:.2f} %")
    return missed + (mean > MEAN_LIMIT)
