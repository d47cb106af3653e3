"""What an experiment will be able to say, before it is made (docs/planning.md).

From the sizes of a data set's classes follow, for each number of queries Q, how many tasks there
will be and which of them share classes (:mod:`analysis_sql.planning.class_sequences`); from a
pilot, what an accuracy or a paired difference varies by
(:mod:`analysis_sql.planning.variance_budget`). With the pilot's estimates taken for the truth and
all effects for normal::

    closed       z · sqrt(E[s²]/T)              T independent tasks; E[s²] with R = K(1 - K/C)
    open         t(T-1) · sqrt(E[s²]/T)
    class-aware  mean half-width over simulated sets

Detectable differences have ranges, the quantiles under the components that the pilot leaves likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.power import check_power, detectable_difference_of
from analysis_sql.intervals.training_runs import for_new_runs
from analysis_sql.planning.class_sequences import (
    MAX_TASKS,
    SEEDS,
    class_uses,
    designs,
)
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

CLOSED_TASKS = 600
"""Tasks of the field's closed sets (Lafargue et al., TMLR 2024)."""


@dataclass(frozen=True)
class Planned:
    """What Q queries per class promise; widths and differences in percentage points."""

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
    """The smallest true difference that the interval excludes 0 for with the power asked for."""
    budget: Shares
    open_budget: Shares
    """Shares of the variance of the mean over new classes, and of the open interval's squared
    width."""
    class_share: Range | None = None
    range_open: Range | None = None
    range_class_aware: Range | None = None
    """From and to, at the level: the share of the classes in `budget`, and both detectable
    differences, where it is known how sure the components are."""
    open_of_tasks: float | None = None
    class_aware_of_tasks: float | None = None
    """Half-widths as if runs did not differ, where several were planned; the others count them."""

    def for_new_runs(self, terms: tuple[float, float], level: float) -> Planned:
        """Return the same, widened by what training anew adds; closed intervals leave it out.

        Differences grow as the intervals do, as in a report
        (:func:`analysis_sql.intervals.power.detectable_difference`).  `terms` are those of
        :func:`analysis_sql.intervals.training_runs.for_new_runs`.
        """
        widened: dict[str, Any] = {}
        for kind in ("open", "class_aware"):
            width, least = getattr(self, kind), getattr(self, f"detectable_{kind}")
            if width is None:
                continue
            widened[f"{kind}_of_tasks"] = width
            widened[kind] = float(for_new_runs(width, terms, level))
            if least is None:
                continue
            of_width = width / least  # of a difference to be detected
            ends = [least, *(getattr(self, f"range_{kind}") or ())]
            wider = [float(for_new_runs(of_width * end, terms, level)) / of_width for end in ends]
            widened[f"detectable_{kind}"] = wider[0]
            if len(wider) > 1:
                widened[f"range_{kind}"] = min(wider), max(wider)
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
    most: int = MAX_TASKS,
) -> list[Planned]:
    """Compute what each number of queries promises, but those that leave no task.

    Components are of an accuracy (power None) or of a paired difference, at `shot` support
    images of `way` classes; class sizes are in images; `likely` gives ranges; `seeds` sequences of
    classes are simulated for each Q, of at most `most` tasks.  Raises a SpecError if no Q is left,
    or a setting is none.
    """
    check_level(level)
    if power is not None:
        check_power(power, level)
    rows = []
    for query in sorted(set(queries)):
        drawn = designs(
            class_sizes, way=way, shot=shot, query=query, suite=suite, seeds=seeds, most=most
        )
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
    means = np.array(values).mean(axis=0).tolist()  # NaN where one is
    width, aware, smallest, smallest_aware = (_points(mean) for mean in means)
    share = range_open = range_aware = None
    if likely is not None:
        shares = np.mean([likely.class_share(design, query) for design in drawn], axis=0)
        share = likely.range(shares, level)
        if power is not None and smallest is not None:
            ones = detectable_open(likely, drawn, query, level, power)
            range_open = _around(smallest, likely.range(ones, level))
        if power is not None and smallest_aware is not None:
            ones = detectable_class_aware(likely, drawn, query, level, power)
            range_aware = _around(smallest_aware, likely.range(ones, level))
    return Planned(
        query=query,
        tasks=tuple(design.tasks for design in drawn),
        closed=_points(z * sqrt(closed / CLOSED_TASKS)),
        open=width,
        class_aware=aware,
        detectable_open=smallest,
        detectable_class_aware=smallest_aware,
        budget=_mean_shares([components.budget(design, query) for design in drawn]),
        open_budget=_mean_shares([components.open_budget(design, query) for design in drawn]),
        class_share=share,
        range_open=range_open,
        range_class_aware=range_aware,
    )


def _around(point: float, between: Range) -> Range:
    """Return a range in percentage points, widened to hold `point`."""
    low, high = (100.0 * end for end in between)
    return min(low, point), max(high, point)


def _of_design(
    components: Components,
    design: ClassDesign,
    query: int,
    level: float,
    power: float | None,
    seed: int,
) -> tuple[float, float, float, float]:
    """Compute both half-widths, then both detectable differences, as fractions; NaN if none."""
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
    """A fraction in percentage points; None where it is not a number, or nothing varies."""
    return 100.0 * fraction if fraction > 0 else None


def _mean_shares(shares: list[Shares]) -> Shares:
    values = np.array([(s.classes, s.images, s.queries) for s in shares]).mean(axis=0)
    return Shares(*values.tolist())
