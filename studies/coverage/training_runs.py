"""Training runs: how often equal methods are told apart, and what is found of a true difference.

Methods see images in eight dimensions: the centre of the class and the image itself are in part the
same for all of them and in part their own.  A training run adds noise of its own to every image, of
standard deviation exp(g u)/2, and answers by the nearest class mean; u is drawn for each run from
one law for all methods, so that methods are equal whatever g is, and runs differ in what they are
good at even if g is 0.
*images*: methods share the centres of classes, and are equal on any classes; *classes*: they do
not, and are equal over all classes.  Tasks are of 5 classes, 1 shot and 5 queries: 300 that reuse
the images of 12 classes of 40, and open ones of 20 classes of 60.

The part training-runs gives, in per cent of the data sets of a line: two equal methods told apart,
on tasks that reuse images and on open ones; some pair of five equal ones after Holm; two told apart
that are 4 points apart; and the mean half-width of a difference over 1.96 times its true standard
deviation.  *before* are the same intervals without the term of runs.

The part one-run compares one run of a method with three of another.  Its intervals are about the
one trained model.  So the first two columns have a run whose accuracy is the mean of all runs; in
those that follow it is a run like others, and the interval is read, wrongly, as the method's.

The part few-runs has ten methods of equal mean, whose runs differ up to far more than 200 tasks do
that share no image; in each line, the first two have as many runs as it says, and so in turn.

The part own-task-runs has two methods whose run r answered 300 tasks that no other run did, and
own-task-means one method whose tasks share no image and whose runs may have unequally many.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.comparisons import INCONCLUSIVE, conclusive, holm
from analysis_sql.interval_kinds import ADDITIONAL_KINDS, pair_p
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import halfwidths
from analysis_sql.leave_one_out.design import LeftOut, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import FirstTasks
from benchmark_spec.protocol import IntervalKind, Protocol
from fslbench_data.sampling.draw import DrawnTasks, draw_closed, draw_open
from studies.common import LEVEL, Array, Z, head, marked, row
from studies.coverage.nearest_means import OF_CLASSES, OF_IMAGES, correct, in_part_own

METHODS, MOST_RUNS = 5, 5
PROTOCOL = Protocol(5, 1, 5)
QUERIES, TASKS = 25, 300
POOL, OPEN_POOL = (40,) * 12, (60,) * 20
RUNS = 2, 3, 5
AHEAD = 4.0
LIMIT, MEAN_LIMIT = 6.5, 5.5
SPREADS = {"0": 0.0, "0.3": 0.025, "1.5": 0.115}
"""g by the standard deviation between runs that it makes, percentage points."""

TYPICAL = 0.707
"""At u = 0.707 g a run is as accurate as runs are on average: (d²a/du²)/(2 da/du) at g = 1."""

Found = dict[tuple[int, str], float]
"""What is found in a data set, by runs and heading of the table."""


@dataclass(frozen=True)
class Line:
    """A process: what differs between methods, how much between runs, and by which law."""

    question: str
    spread: float
    law: str = "normal"

    @property
    def kinds(self) -> tuple[IntervalKind, IntervalKind]:
        """The kinds of interval that are asked: where tasks reuse images, and of open tasks."""
        return ("images", "open") if self.question == "images" else ("classes", "class-aware")

    def noises(self, rng: np.random.Generator, methods: int) -> Array:
        """Draw the standard deviation of each run's noise (methods, MOST_RUNS)."""
        shape = methods, MOST_RUNS
        u = rng.standard_normal(shape)
        if self.law == "heavy tails":
            u = rng.standard_t(3, shape) / np.sqrt(3)
        if self.law == "one run in five deviates":
            u *= np.where(rng.random(shape) < 0.2, 3.0, 0.5)
        return np.asarray(0.5 * np.exp(self.spread * u))

    def images(self, rng: np.random.Generator, methods: int, sizes: tuple[int, ...]) -> Array:
        """Draw classes and images (methods, N, DIMENSIONS)."""
        of_classes = OF_CLASSES if self.question == "classes" else 0.0
        centres = in_part_own(rng, methods, len(sizes), of_classes)
        return np.repeat(centres, sizes[0], axis=1) + in_part_own(
            rng, methods, sum(sizes), OF_IMAGES
        )

    def answers(
        self, rng: np.random.Generator, methods: int, drawn: DrawnTasks, sizes: tuple[int, ...]
    ) -> Array:
        """Draw classes, images and runs; count right answers (methods, MOST_RUNS, T)."""
        images = self.images(rng, methods, sizes)
        noises = self.noises(rng, methods)
        return np.array(
            [[run_of(rng, seen, noise, drawn, sizes) for noise in own]
             for seen, own in zip(images, noises, strict=True)]
        )  # fmt: skip


def run_of(
    rng: np.random.Generator, seen: Array, noise: float, drawn: DrawnTasks, sizes: tuple[int, ...]
) -> Array:
    """Draw a training run's noise; count its right answers (T,)."""
    start = sizes[0] * drawn.class_ids[..., None]
    noisy = seen + noise * rng.standard_normal(seen.shape)
    return correct(noisy, start + drawn.support, start + drawn.query)


@dataclass(frozen=True)
class Tasks:
    """One draw of tasks that reuse images, and one of open tasks, for all data sets of a block."""

    reused: DrawnTasks
    left_out: FirstTasks
    opened: DrawnTasks
    classes: ClassDesign

    @classmethod
    def of(cls, seed: int) -> Tasks:
        """Draw tasks."""
        reused = draw_closed(POOL, PROTOCOL, dataset="runs", seed=seed, tasks=TASKS)
        opened = draw_open(OPEN_POOL, PROTOCOL, dataset="runs", seed=seed)
        left_out = FirstTasks(TaskDesign.of(reused.class_ids, images_of(reused), owners()))
        return cls(reused, left_out, opened, ClassDesign.of(opened.class_ids))

    def open_p(self, line: Line, counts: Counts) -> float:
        """Compute the p-value of two methods on the open tasks."""
        kind = line.kinds[1]
        design = self.classes if kind == "class-aware" else None
        return float(pair_p(counts, np.array([0]), np.array([1]), kind, design)[0])

    def halfwidth(self, line: Line, counts: Counts) -> float:
        """Compute the half-width of the difference of two methods on tasks that reuse images."""
        pairs = ADDITIONAL_KINDS[line.kinds[0]].how.pairs(self.left_out, counts, LEVEL)
        return float(pairs.columns(0, np.array([1])).halfwidth[2, 0])


def images_of(drawn: DrawnTasks) -> Array:
    """Give numbers to the images of tasks through all classes (T, K, S+Q)."""
    images = np.concatenate([drawn.support, drawn.query], axis=2)
    return np.asarray(images + POOL[0] * drawn.class_ids[..., None])


def owners() -> Array:
    """Return the class of every image."""
    return np.repeat(np.arange(len(POOL)), POOL)


def counts_of(answers: list[Array], *, counted: bool = True) -> Counts:
    """Join the counts of methods, of each (its runs, T)."""
    runs = [len(own) for own in answers]
    spreads = [
        100 / QUERIES * own.mean(axis=1).std(ddof=1) if len(own) > 1 else None for own in answers
    ]
    terms = (spreads, runs) if counted else ()
    return Counts.of([own.sum(axis=0) for own in answers], [QUERIES * r for r in runs], *terms)


def difference(counts: Counts) -> float:
    """Return by how much the first method is ahead of the second, percentage points."""
    first, second = np.asarray(counts.moments().mean)[:2]
    return float(first - second)


def may_be_apart(counts: Counts, first: Array, second: Array) -> Array:
    """Return the pairs that Holm may tell apart: whose difference is beyond the least half-width.

    That of normal noise of the tasks and of what runs add.
    """
    apart = counts.differences(first, second, TASKS).moments()
    noise = np.var(counts.correct[first] - counts.correct[second], axis=1, ddof=1) / TASKS
    least = noise * (100 / counts.queries_per_task[first]) ** 2 + apart.run_variance
    return np.flatnonzero(np.abs(apart.mean) > -ndtri((1 - LEVEL) / 2 / len(first)) * least**0.5)


def judged(line: Line, tasks: Tasks, rng: np.random.Generator) -> Found:
    """Draw a data set and judge all pairs of five methods."""
    x = line.answers(rng, METHODS, tasks.reused, POOL)
    opened = line.answers(rng, 2, tasks.opened, OPEN_POOL)
    first, second = np.triu_indices(METHODS, 1)
    found: Found = {}
    for runs in RUNS:
        counts = counts_of(list(x[:, :runs]))
        likely = may_be_apart(counts, first, second)
        p = np.ones(len(first))
        p[likely] = pair_p(counts, first[likely], second[likely], line.kinds[0], tasks.left_out)
        width, apart = tasks.halfwidth(line, counts), difference(counts)
        plain = tasks.halfwidth(line, counts_of(list(x[:2, :runs]), counted=False))
        found[runs, "reused"] = abs(apart) > width
        found[runs, "open"] = tasks.open_p(line, counts_of(list(opened[:, :runs]))) <= 1 - LEVEL
        found[runs, "Holm"] = float(conclusive(holm(p), LEVEL).any())
        found[runs, "before"] = abs(apart) > plain
        found[runs, "found"] = abs(apart + AHEAD) > width
        found[runs, "width"], found[runs, "difference"] = width, apart
    return found


def judged_one_run(line: Line, tasks: Tasks, rng: np.random.Generator) -> Found:
    """Draw a data set and compare one run of the first method with three of the second."""
    found: Found = {}
    apart: dict[str, Counts] = {}
    for name, drawn, sizes in (("", tasks.reused, POOL), ("open", tasks.opened, OPEN_POOL)):
        images = line.images(rng, 2, sizes)
        typical = 0.5 * np.exp(TYPICAL * line.spread**2)
        (any_run, *_), three = line.noises(rng, 2)
        second = np.array([run_of(rng, images[1], s, drawn, sizes) for s in three[:3]])
        for run, noise in (("", typical), ("any", any_run)):
            own = run_of(rng, images[0], noise, drawn, sizes)[None]
            apart[f"{name}{run}"] = counts_of([own, second])
    for run in ("", "any"):
        counts = apart[run]
        width = tasks.halfwidth(line, counts)
        found[1, f"{run} reused"] = abs(difference(counts)) > width
        found[1, f"{run} open"] = tasks.open_p(line, apart[f"open{run}"]) <= 1 - LEVEL
        if not run:
            found[1, "width"], found[1, "difference"] = width, difference(counts)
    return found


@dataclass(frozen=True)
class OwnTasks:
    """Draws of tasks that reuse images, one for each run, and those of the first R together."""

    drawn: list[DrawnTasks]
    joined: dict[int, tuple[FirstTasks, Array]]

    @classmethod
    def of(cls, seed: int) -> OwnTasks:
        """Draw tasks; nobody has answered them yet."""
        drawn = [
            draw_closed(POOL, PROTOCOL, dataset=f"run {run}", seed=seed, tasks=TASKS)
            for run in range(MOST_RUNS)
        ]
        joined = {}
        for runs in RUNS[1:]:
            classes = np.concatenate([each.class_ids for each in drawn[:runs]])
            images = np.concatenate([images_of(each) for each in drawn[:runs]])
            design = FirstTasks(TaskDesign.of(classes, images, owners()))
            joined[runs] = design, np.repeat(np.arange(runs), TASKS)
        return cls(drawn, joined)


def judged_own_tasks(line: Line, tasks: OwnTasks, rng: np.random.Generator) -> Found:
    """Draw a data set of two methods, each run of which answered tasks of its own."""
    images, noises = line.images(rng, 2, POOL), line.noises(rng, 2)
    x = np.array(
        [[run_of(rng, seen, noise, drawn, POOL)
          for noise, drawn in zip(own, tasks.drawn, strict=True)]
         for seen, own in zip(images, noises, strict=True)]
    )  # fmt: skip
    kind: LeftOut = "images" if line.question == "images" else "classes"
    found: Found = {}
    for runs, (design, run) in tasks.joined.items():
        y = x[:, :runs].reshape(2, -1) / QUERIES
        several = [Counts.of_own_tasks(y, run), Counts(y, np.full(2, run.size), 1)]
        pairs = [ADDITIONAL_KINDS[kind].how.pairs(design, counts, LEVEL) for counts in several]
        after, before = (each.columns(0, np.array([1])) for each in pairs)
        found[runs, "false"] = after.verdict[0] != INCONCLUSIVE
        found[runs, "before"] = before.verdict[0] != INCONCLUSIVE
        found[runs, "width"] = after.halfwidth[2, 0]
        found[runs, "difference"] = 100 * float(y[0].mean() - y[1].mean())
    return found


def block(
    judge: Callable[[Line, Any, np.random.Generator], Found],
    draw: Callable[[int], Any],
    seed: int,
    sets: int,
    job: tuple[Line, int],
) -> list[Found]:
    """Judge some data sets on one draw of tasks."""
    line, number = job
    key = [seed, number, len(line.question), int(1e3 * line.spread), len(line.law)]
    rng = np.random.default_rng(key)
    tasks = draw(number)
    return [judge(line, tasks, rng) for _ in range(sets)]


def lines(*laws: str) -> Iterator[tuple[str, Line]]:
    """Yield all processes, with the standard deviation between runs in words."""
    for question in ("images", "classes"):
        for name, spread in SPREADS.items():
            yield name, Line(question, spread)
        for law in laws:
            yield f"1.5, {law}", Line(question, SPREADS["1.5"], law)


def table(
    judge: Callable[[Line, Any, np.random.Generator], Found],
    draw: Callable[[int], Any],
    laws: tuple[str, ...],
    limited: tuple[str, ...],
    others: tuple[str, ...],
    options: argparse.Namespace,
) -> int:
    """Print a line for each process and number of runs; count those above the limits.

    `limited` and `others` are headings of per cent, of which the first have limits.
    """
    print(head("equal for new", "sd of runs", "runs", *(n.strip() for n in (*limited, *others)),
               "width"))  # fmt: skip
    missed, rates = 0, []
    size = min(50, options.sets)
    work = partial(block, judge, draw, options.seed, size)
    with ProcessPoolExecutor(options.processes) as pool:
        for spread, line in lines(*laws):
            if not re.search(options.lines, f"{line.question} {spread}"):
                continue
            jobs = [(line, number) for number in range(options.sets // size)]
            found = [each for some in pool.map(work, jobs) for each in some]
            for runs in dict.fromkeys(runs for runs, _ in found[0]):
                of = {name: np.array([each[runs, name] for each in found], float)
                      for name in (*limited, *others, "width", "difference")}  # fmt: skip
                rate = {name: 100 * float(of[name].mean()) for name in (*limited, *others)}
                false = [rate[name] for name in limited]
                rates += false
                missed += sum(value > LIMIT for value in false)
                width = of["width"].mean() / (Z * of["difference"].std())
                print(row(line.question, spread, runs, *(marked(f, f > LIMIT) for f in false),
                          *(rate[name] for name in others), f"{width:.2f}"),
                      flush=True)  # fmt: skip
    mean = float(np.mean(rates))
    print(f"\nmean of equal methods told apart: {mean:.2f} %")
    return missed + (mean > MEAN_LIMIT)


part = partial(
    table,
    judged,
    Tasks.of,
    ("heavy tails", "one run in five deviates"),
    ("reused", "open", "Holm"),
    ("before", "found"),
)
one_run = partial(
    table, judged_one_run, Tasks.of, (), (" reused", " open"), ("any reused", "any open")
)
own_task_runs = partial(table, judged_own_tasks, OwnTasks.of, (), ("false",), ("before",))

SIZES = (300, 300), (300, 300, 300), (310, 30, 30), (300,) * 4, (310, 30, 30, 30), (300,) * 5, (
    300, 300, 300, 30, 30,
)  # fmt: skip
DEVIATION, RUN_DEVIATIONS = 10.0, (0.0, 0.5, 1.0, 4.0)
"""Of tasks within a run, and of runs, percentage points."""
LEAST = 92.5

NUMBERS = (2,), (2, 3), (3,), (2, 5), (2, 20), (5,), (2, 1)
"""Runs of one method after the other, in turn."""
EQUAL, FEW_TASKS, UNIT = 10, 200, 1000
FALSE = {"at 5 %": 5.7, "at 1 %": 1.3, "Holm": 5.7}
"""Limits of the share of equal methods told apart, per cent."""


def few_runs(options: argparse.Namespace) -> int:
    """Print how often equal methods of few runs are told apart, and a mean is held."""
    print(head("runs", "sd of runs", *FALSE, "a mean holds", "width"))
    first, second = np.triu_indices(EQUAL, 1)
    missed = 0
    for numbers in NUMBERS:
        runs = np.resize(numbers, EQUAL)
        for deviation in RUN_DEVIATIONS:
            rng = np.random.default_rng([options.seed, *numbers, int(10 * deviation)])
            found: list[list[float]] = []
            for _ in range(options.sets):
                counts = equal_methods(rng, runs, deviation)
                p = pair_p(counts, first, second, "open", None)
                moments = counts.moments()
                held = np.abs(moments.mean - 60) <= halfwidths(moments, "open", LEVEL)
                pair = counts.differences([0], [1], FEW_TASKS).moments()
                shares = [np.mean(p <= 0.05), np.mean(p <= 0.01),
                          conclusive(holm(p), LEVEL).any(), held[runs > 1].mean()]  # fmt: skip
                width = halfwidths(pair, "open", LEVEL)[0]
                found.append([*(100 * float(s) for s in shares), float(width), pair.mean[0]])
            *means, width, _ = np.mean(found, axis=0).tolist()
            over = [mean > most for mean, most in zip(means, FALSE.values(), strict=False)]
            over.append(means[-1] < LEAST)
            missed += sum(over)
            width /= Z * np.std([each[-1] for each in found])
            print(row(" and ".join(map(str, numbers)), f"{deviation:g}",
                      *map(marked, means, over), f"{width:.2f}"), flush=True)  # fmt: skip
    return missed


def equal_methods(rng: np.random.Generator, runs: Array, deviation: float) -> Counts:
    """Draw answers of methods whose mean is 60 %, by runs that differ by so many points.

    A method of one run is one trained model, of 60 % itself.
    """
    answers = []
    for number in runs.tolist():
        of_runs = rng.normal(0, deviation, number) if number > 1 else np.zeros(1)
        of_tasks = rng.normal(0, DEVIATION, FEW_TASKS)
        share = (60 + of_runs[:, None] + of_tasks) / 100
        answers.append(np.rint(np.clip(share, 0, 1) * UNIT).astype(np.int64))
    spreads = [100 / UNIT * own.mean(axis=1).std(ddof=1) if len(own) > 1 else None
               for own in answers]  # fmt: skip
    sums = [own.sum(axis=0) for own in answers]
    return Counts.of(sums, (UNIT * runs).tolist(), spreads, runs.tolist())


def own_task_means(options: argparse.Namespace) -> int:
    """Print how often the interval of one method's mean holds it, of tasks that share no image."""
    print(head("tasks of the runs", *(f"sd {deviation:g}" for deviation in RUN_DEVIATIONS)))
    missed = 0
    for number, sizes in enumerate(SIZES):
        rng = np.random.default_rng([options.seed, number])
        run, cells = np.repeat(np.arange(len(sizes)), sizes), []
        for deviation in RUN_DEVIATIONS:
            held = 0
            for _ in range(options.sets):
                level = 60 + rng.normal(0, deviation, len(sizes))
                y = level[run] + rng.normal(0, DEVIATION, run.size)
                moments = Counts.of_own_tasks(y[None] / 100, run).moments()
                width = halfwidths(moments, "open", LEVEL)
                held += abs(float(moments.mean[0]) - 60) <= width[0]
            share = 100 * held / options.sets
            missed += share < LEAST
            cells.append(marked(share, share < LEAST))
        print(row(", ".join(map(str, sizes)), *cells), flush=True)
    return missed
