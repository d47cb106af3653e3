"""Expected half-widths and detectable differences of a planned experiment (docs/planning.md).

For each number of queries Q, the sizes of a data set's classes give the number of tasks and which
of them share classes; a pilot gives the variances of an accuracy or a paired difference
(:mod:`analysis_sql.planning.variance_budget`). Class c of n_c images can be in u_c = floor(n_c /
(S+Q)) tasks: `open` sets are drawn by Algorithm 2 of Lafargue et al., `balanced` sets use classes
as evenly as sizes allow (Madow 1949). If the estimates are true and all effects normal::

    closed       z · sqrt(E[s²]/T)              T independent tasks; E[s²] with R = K(1 - K/C)
    open         t(T-1) · sqrt(E[s²]/T)
    class-aware  mean half-width over simulated sets

The ranges of detectable differences are quantiles over the likely components of the pilot.
Training runs widen them: :mod:`analysis_sql.planning.planned_runs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import nan, sqrt
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple, replace
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.intervals.power import detectable_difference_of
from analysis_sql.intervals.random_stream import Stream
from analysis_sql.planning.planned_runs import PlannedRuns
from analysis_sql.planning.variance_budget import (
    Components,
    LikelyComponents,
    Range,
    Shares,
    detectable,
    detectable_class_aware,
    detectable_open,
    simulated_halfwidths,
)
from benchmark_spec.errors import SpecError

PLANNED_SUITES = ("open", "balanced")

MAX_TASKS = 2000
"""Where Lafargue et al. stop."""

SEEDS = 3
"""Sequences of classes that are simulated for each Q."""


def class_uses(class_sizes: Sequence[int] | NDArray[Any], per_class: int) -> Ints:
    """Count the tasks (C,) that each class can be in, if a task takes `per_class` of its images."""
    return np.asarray(np.asarray(class_sizes, np.int64) // per_class)


def designs(
    class_sizes: Sequence[int],
    *,
    way: int,
    shot: int,
    query: int,
    suite: str = "open",
    seeds: int = SEEDS,
) -> list[ClassDesign]:
    """Simulate the classes of tasks, one design for each seed; none if no task can be drawn."""
    uses = class_uses(class_sizes, shot + query)
    if np.count_nonzero(uses) < way:
        return []
    streams = (Stream("plan", suite, way, shot, query, seed) for seed in range(seeds))
    return [ClassDesign.of(draw_classes(suite, uses, way, stream)) for stream in streams]


def draw_classes(suite: str, uses: Ints, way: int, stream: Stream, most: int = MAX_TASKS) -> Ints:
    """Draw the classes of at most `most` tasks of a set, int64 (T, K), from their uses (C,)."""
    draw = _draw_open if suite == "open" else _draw_balanced
    return draw(uses, way, stream, most)


def most_tasks(uses: Ints, way: int) -> int:
    """Compute the largest T with Σ_c min(u_c, T) >= K·T, by descent."""
    tasks = int(uses.sum()) // way
    while (fewer := int(np.minimum(uses, tasks).sum()) // way) < tasks:
        tasks = fewer
    return tasks


def _draw_open(uses: Ints, way: int, stream: Stream, most: int) -> Ints:
    """Run Algorithm 2 on classes, task by task."""
    left: list[int] = uses.tolist()
    available = [c for c, n in enumerate(left) if n]
    words = iter(stream.words(min(most, sum(left) // way) * way).tolist())
    tasks: list[list[int]] = []
    while len(available) >= way and len(tasks) < most:
        for i in range(way):  # the first K of a random order (Fisher and Yates)
            j = i + next(words) % (len(available) - i)
            available[i], available[j] = available[j], available[i]
        task = available[:way]
        tasks.append(task)
        for c in task:
            left[c] -= 1
        if not all(left[c] for c in task):
            available = [c for c in available if left[c]]
    return np.array(tasks, np.int64).reshape(-1, way)


def _draw_balanced(uses: Ints, way: int, stream: Stream, most: int) -> Ints:
    """Draw as many tasks as possible, with each class used as evenly as its size allows."""
    tasks = min(most, most_tasks(uses, way))
    if not tasks:
        return np.zeros((0, way), np.int64)
    left = _even_uses(uses, way * tasks, tasks, stream)
    classes = np.empty((tasks, way), np.int64)
    orders = stream.permutations(tasks, uses.size)
    offsets = stream.words(tasks).tolist()
    for task, order in enumerate(orders):
        remaining = tasks - task
        # no class has more uses left than `remaining`, so these marks fall on different classes
        marks = offsets[task] % remaining + remaining * np.arange(way)
        classes[task] = order[np.cumsum(left[order]).searchsorted(marks, side="right")]
        left[classes[task]] -= 1
    return classes


def _even_uses(uses: Ints, places: int, tasks: int, stream: Stream) -> Ints:
    """Choose uses (C,) of sum `places`: of each class at most a level, or one more by lot."""
    filled = np.array([np.minimum(uses, level).sum() for level in range(tasks + 1)])
    level = int(filled.searchsorted(places, side="right")) - 1
    chosen = np.minimum(uses, level)
    larger = np.flatnonzero(uses > level)
    lot = stream.permutations(1, larger.size)[0] if larger.size else larger
    chosen[larger[lot[: places - int(chosen.sum())]]] += 1
    return chosen


CLOSED_TASKS = 600
"""Tasks of the field's closed sets (Lafargue et al., TMLR 2024)."""


class Planned(Struct, frozen=True):
    """Expected widths and detectable differences with Q queries per class, percentage points."""

    query: int
    tasks: tuple[int, ...]
    """Q, and the T of each simulated sequence of classes."""
    closed: float | None
    open: float | None
    class_aware: float | None
    """Expected half-widths; None where there is no interval (T < 2, or all tasks have the same
    classes), or nothing varies."""
    detectable_open: float | None
    detectable_class_aware: float | None
    """The smallest true difference for which the interval excludes 0 with the requested power."""
    budget: Shares
    open_budget: Shares
    """Shares of the variance of the mean over new classes, and of the open interval's squared
    width."""
    class_share: Range | None = None
    range_open: Range | None = None
    range_class_aware: Range | None = None
    """Intervals of the classes' share in `budget`, and of both detectable differences, where the
    uncertainty of the components is known."""
    open_of_tasks: float | None = None
    class_aware_of_tasks: float | None = None
    """Half-widths as if runs did not differ, where several were planned; the others count runs."""

    def with_runs(self, runs: PlannedRuns, level: float) -> Planned:
        """Return the plan with half-widths and differences that training runs widen."""
        widened: dict[str, Any] = {}
        for kind in ("open", "class_aware"):
            width, smallest = getattr(self, kind), getattr(self, f"detectable_{kind}")
            if width is None:
                continue
            widened |= {f"{kind}_of_tasks": width, kind: runs.widen(width, level)}
            if smallest is not None:
                ratio = width / smallest
                differences = (smallest, *(getattr(self, f"range_{kind}") or ()))
                wider = [runs.widen(ratio * delta, level) / ratio for delta in differences]
                widened[f"detectable_{kind}"] = wider[0]
                widened[f"range_{kind}"] = tuple(wider[1:]) or None
        return replace(self, **widened)

    @property
    def mean_tasks(self) -> float:
        """Mean T."""
        return sum(self.tasks) / len(self.tasks)


def plan(
    components: Components,
    class_sizes: Sequence[int],
    *,
    way: int,
    shot: int,
    queries: Sequence[int],
    suite: str = "open",
    level: float = 0.95,
    power: float | None = 0.8,
    likely: LikelyComponents | None = None,
    seeds: int = SEEDS,
) -> list[Planned]:
    """Compute expected widths for each number of queries for which there is a task.

    Components are of an accuracy (power None) or a paired difference; `likely` gives ranges;
    `seeds` sequences of classes are simulated for each Q.
    """
    rows = []
    for query in sorted(set(queries)):
        drawn = designs(class_sizes, way=way, shot=shot, query=query, suite=suite, seeds=seeds)
        if drawn:
            classes = int(np.count_nonzero(class_uses(class_sizes, shot + query)))
            rows.append(_planned(components, drawn, classes, query, level, power, likely))
    if not rows:
        raise SpecError(
            f"no {way}-way {shot}-shot task can be drawn from {len(class_sizes)} classes of "
            f"{min(class_sizes, default=0)} to {max(class_sizes, default=0)} images",
            expected=f"{way} classes with at least {shot} + Q images",
            fix="plan fewer ways, shots or queries",
        )
    return rows


def _planned(
    components: Components,
    drawn: list[ClassDesign],
    classes: int,
    query: int,
    level: float,
    power: float | None,
    likely: LikelyComponents | None,
) -> Planned:
    way = drawn[0].way
    closed = components.classes * way * (1.0 - way / classes) + components.within(query)
    z = float(-ndtri((1.0 - level) / 2.0))
    values = [
        _of_design(components, design, query, level, power, seed)
        for seed, design in enumerate(drawn)
    ]
    means = np.mean(values, axis=0).tolist()  # NaN where one is
    width, aware, smallest, smallest_aware = map(_points, means)

    def around(point: float | None, differences: Callable[..., Floats]) -> Range | None:
        """Return the likely range, in percentage points, widened to include `point`."""
        if likely is None or point is None:
            return None
        low, high = likely.range(differences(likely, drawn, query, level, power), level)
        return min(100.0 * low, point), max(100.0 * high, point)

    share = None
    if likely is not None:
        shares = [likely.class_share(design, query) for design in drawn]
        share = likely.range(np.asarray(np.mean(shares, axis=0)), level)
    return Planned(
        query=query,
        tasks=tuple(design.tasks for design in drawn),
        closed=_points(z * sqrt(closed / CLOSED_TASKS)),
        open=width,
        class_aware=aware,
        detectable_open=smallest,
        detectable_class_aware=smallest_aware,
        budget=_mean_shares(components.budget(design, query) for design in drawn),
        open_budget=_mean_shares(components.open_budget(design, query) for design in drawn),
        class_share=share,
        range_open=around(smallest, detectable_open),
        range_class_aware=around(smallest_aware, detectable_class_aware),
    )


def _of_design(
    components: Components,
    design: ClassDesign,
    query: int,
    level: float,
    power: float | None,
    seed: int,
) -> tuple[float, float, float, float]:
    """Compute both half-widths, then both detectable differences, as fractions; NaN without."""
    if design.tasks < 2:
        return nan, nan, nan, nan
    variance = components.between_tasks(design, query)
    width = float(-stdtrit(design.tasks - 1, (1.0 - level) / 2.0)) * sqrt(variance / design.tasks)
    smallest = nan
    if power is not None:
        smallest = float(detectable_difference_of(design.tasks, variance, level, power))
    if design.obstacle is not None:
        return width, nan, smallest, nan
    if design.disjoint:
        return width, width, smallest, smallest
    widths = simulated_halfwidths(components, design, query, level, seed=seed)
    sd = sqrt(components.variance_of_mean(design, query))
    aware = nan if power is None else detectable(widths, sd, power)
    return width, float(widths.mean()), smallest, aware


def _points(fraction: float) -> float | None:
    """Return a fraction in percentage points; None where it is not a number, or nothing varies."""
    return 100.0 * fraction if fraction > 0 else None


def _mean_shares(shares: Iterable[Shares]) -> Shares:
    means = np.mean([astuple(parts) for parts in shares], axis=0)
    return Shares(*means.tolist())
