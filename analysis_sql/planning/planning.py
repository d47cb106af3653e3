"""What an experiment will be able to say, before it is made.

From the sizes of a data set's classes follow, for each number of queries Q, how many tasks there
will be and which of them share classes (:mod:`analysis_sql.planning.class_sequences`); from a
pilot, what an accuracy or a paired difference varies by
(:mod:`analysis_sql.planning.variance_budget`).  Together, with the pilot's estimates taken for the
truth and all effects for normal::

    closed       z · sqrt(E[s²]/T)              T independent tasks; E[s²] with R = K(1 - K/C)
    open         t(T-1) · sqrt(E[s²]/T)         the root mean square: the mean is less by about
                                                1/(4T) of it
    class-aware  mean over simulated sets of the very half-width of
    analysis_sql.class_aware.intervals

The smallest detectable difference in the open sense is :mod:`analysis_sql.intervals.power`'s, of
the standard deviation sqrt(E[s²]): where the plan is for the pilot's own tasks and queries, that
of the pilot's report.  Over new classes it comes from simulated sets
(:mod:`analysis_sql.planning.simulated_sets`).

The pilot's estimates are no truth.  With
:class:`analysis_sql.planning.likely_components.LikelyComponents` each detectable difference has a
range: its quantiles under the components that the pilot leaves likely, with the point within.

If σ_b² of a few classes is estimated to be 0, a class-aware width is still far from
the open one: few classes cannot show that they do not matter.
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
from analysis_sql.planning.likely_components import (
    LikelyComponents,
    Range,
    detectable_class_aware,
    detectable_open,
)
from analysis_sql.planning.simulated_sets import detectable, simulated_halfwidths
from analysis_sql.planning.variance_budget import Components, Shares
from benchmark_spec.errors import SpecError

CLOSED_TASKS = 600
"""Tasks of the field's closed sets (Lafargue et al., TMLR 2024)."""


@dataclass(frozen=True)
class Planned:
    """What Q queries per class promise; widths and differences in percentage points.

    Attributes
    ----------
    query, tasks
        Q, and the T of each simulated sequence of classes.
    closed, open, class_aware
        Expected half-widths; None where there is no interval (T < 2, or all tasks have the same
        classes), or nothing varies.
    detectable_open, detectable_class_aware
        The smallest true difference that the interval excludes 0 for with the power asked for.
    budget, open_budget
        Shares of the variance of the mean over new classes, and of the open interval's squared
        width.
    class_share, range_open, range_class_aware
        From and to, at the level: the share of the classes in `budget`, and both detectable
        differences, where it is known how sure the components are.
    open_of_tasks, class_aware_of_tasks
        Half-widths as if runs did not differ, where several were planned; the others count them.
    """

    query: int
    tasks: tuple[int, ...]
    closed: float | None
    open: float | None
    class_aware: float | None
    detectable_open: float | None
    detectable_class_aware: float | None
    budget: Shares
    open_budget: Shares
    class_share: Range | None = None
    range_open: Range | None = None
    range_class_aware: Range | None = None
    open_of_tasks: float | None = None
    class_aware_of_tasks: float | None = None

    def of_an_accuracy(self) -> Planned:
        """Return the same without differences: an accuracy is none."""
        return replace(
            self,
            detectable_open=None,
            detectable_class_aware=None,
            range_open=None,
            range_class_aware=None,
        )

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
    power: float = 0.8,
    likely: LikelyComponents | None = None,
    seeds: int = SEEDS,
    most: int = MAX_TASKS,
) -> list[Planned]:
    """Compute what each number of queries promises, but those that leave no task.

    Raises a SpecError if no Q is left, or a setting is none.

    Parameters
    ----------
    components
        Of an accuracy or of a paired difference, at `shot` support images of `way` classes.
    class_sizes
        Images of each class.
    suite
        `open` or `balanced`.
    likely
        The components that a pilot leaves likely, for ranges.
    seeds, most
        Sequences of classes to simulate for each Q, and at how many tasks to stop.
    """
    check_power(power, check_level(level))
    rows = []
    for query in sorted(set(queries)):
        drawn = designs(
            class_sizes, way=way, shot=shot, query=query, suite=suite, seeds=seeds, most=most
        )
        if drawn:
            classes = int(np.count_nonzero(class_uses(class_sizes, shot + query)))
            row = _planned(components, drawn, classes, query, level, power)
            rows.append(row if likely is None else _ranged(row, likely, drawn, level, power))
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
    power: float,
) -> Planned:
    way = drawn[0].way
    closed = components.classes * way * (1.0 - way / classes) + components.within(query)
    z = float(-ndtri((1.0 - level) / 2.0))
    values = [
        _of_design(components, design, query, level, power, seed)
        for seed, design in enumerate(drawn)
    ]
    means = [_points(mean) for mean in np.array(values).mean(axis=0).tolist()]  # NaN where one is
    return Planned(
        query=query,
        tasks=tuple(design.tasks for design in drawn),
        closed=_points(z * sqrt(closed / CLOSED_TASKS)),
        open=means[0],
        class_aware=means[1],
        detectable_open=means[2],
        detectable_class_aware=means[3],
        budget=_mean_shares([components.budget(design, query) for design in drawn]),
        open_budget=_mean_shares([components.open_budget(design, query) for design in drawn]),
    )


def _of_design(
    components: Components,
    design: ClassDesign,
    query: int,
    level: float,
    power: float,
    seed: int,
) -> tuple[float, float, float, float]:
    """Compute both half-widths, then both detectable differences, as fractions; NaN if none."""
    if design.tasks < 2:
        return nan, nan, nan, nan
    se = sqrt(components.between_tasks(design, query) / design.tasks)
    t = float(-stdtrit(design.tasks - 1, (1.0 - level) / 2.0))
    variance = components.between_tasks(design, query)
    smallest = float(detectable_difference_of(design.tasks, variance, level, power))
    if design.obstacle is not None:
        return t * se, nan, smallest, nan
    if design.disjoint:
        return t * se, t * se, smallest, smallest
    widths = simulated_halfwidths(components, design, query, level, seed=seed)
    sd = sqrt(components.variance_of_mean(design, query))
    return t * se, float(widths.mean()), smallest, detectable(widths, sd, power)


def _ranged(
    row: Planned, likely: LikelyComponents, drawn: list[ClassDesign], level: float, power: float
) -> Planned:
    """Return the row with the ranges that the pilot leaves."""
    query = row.query
    shares = np.mean([likely.class_share(design, query) for design in drawn], axis=0)
    row = replace(row, class_share=likely.range(shares, level))
    if row.detectable_open is not None:
        values = detectable_open(likely, drawn, query, level, power)
        row = replace(row, range_open=_around(row.detectable_open, likely.range(values, level)))
    if row.detectable_class_aware is not None:
        values = detectable_class_aware(likely, drawn, query, level, power)
        around = _around(row.detectable_class_aware, likely.range(values, level))
        row = replace(row, range_class_aware=around)
    return row


def _around(point: float, between: Range) -> Range:
    """Return a range in percentage points, widened to hold `point`."""
    low, high = (100.0 * end for end in between)
    return min(low, point), max(high, point)


def _points(fraction: float) -> float | None:
    """A fraction in percentage points; None where it is not a number, or nothing varies."""
    return 100.0 * fraction if fraction > 0 else None


def _mean_shares(shares: list[Shares]) -> Shares:
    values = np.array([(s.classes, s.images, s.queries) for s in shares]).mean(axis=0)
    return Shares(*values.tolist())
