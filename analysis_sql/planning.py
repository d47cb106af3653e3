"""What an experiment will be able to say, before it is made.

From the sizes of a data set's classes follow, for each number of queries Q, how many tasks there
will be and which of them share classes (:mod:`analysis_sql.class_sequences`); from a pilot, what an
accuracy or a paired difference varies by (:mod:`analysis_sql.variance_budget`).  Together, with the
pilot's estimates taken for the truth and all effects for normal::

    closed       z · sqrt(E[s²]/T)              T independent tasks; E[s²] with R = K(1 - K/C)
    open         t(T-1) · sqrt(E[s²]/T)         the root mean square: the mean is less by about
                                                1/(4T) of it
    class-aware  mean over simulated sets of the very half-width of analysis_sql.class_aware

A set is simulated by its coordinates alone, u_i² = σ_e²(1 + gλ_i) χ²(1) and rss = σ_e² χ²(T-1-k).
Each coordinate's quantiles are spread evenly over the sets, in an order of its own (Latin hypercube
sampling; McKay, Beckman and Conover 1979), which leaves under 1 % of noise in what is told.

The smallest detectable difference in the open sense is :mod:`analysis_sql.power`'s.  Over new
classes the mean of T tasks is normal with variance Var(mean) = σ_b²V + σ_e²/T around δ, and
independent of the coordinates, and so of the half-width h (exactly if all tasks have equally used
classes); it is the δ at which the mean over the simulated sets of::

    P(|mean| > h) = Φ((δ - h)/sd) + Φ((-δ - h)/sd)            sd = sqrt(Var(mean))

is the power.  If σ_b² of a few classes is estimated to be 0, a class-aware width is still far from
the open one: few classes cannot show that they do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr, ndtri, stdtrit

from analysis_sql.class_aware import relative_halfwidths
from analysis_sql.class_effects import ClassDesign
from analysis_sql.class_sequences import MAX_TASKS, PLANNED_SUITES, class_uses, draw_classes
from analysis_sql.intervals import check_level
from analysis_sql.power import check_power, detectable_factor
from analysis_sql.stream import Stream
from analysis_sql.variance_budget import Components, Shares
from benchmark_spec.errors import SpecError, UnknownNameError

Floats = NDArray[np.float64]

CLOSED_TASKS = 600
"""Tasks of the field's closed sets (Lafargue et al., TMLR 2024)."""

SEEDS = 3
"""Sequences of classes that are simulated for each Q."""

SETS = 200
"""Sets of results that are simulated on each."""

_STEPS = 200


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
    class_share
        From and to: the share of the classes in `budget`, where it is known how sure σ_b² is.
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
    class_share: tuple[float, float] | None = None

    @property
    def mean_tasks(self) -> float:
        """Mean T."""
        return sum(self.tasks) / len(self.tasks)


def designs(
    class_sizes: Sequence[int],
    *,
    way: int,
    shot: int,
    query: int,
    suite: str = "open",
    seeds: int = SEEDS,
    most: int = MAX_TASKS,
) -> list[ClassDesign]:
    """Classes of the tasks of simulated sets, one a seed; none where there is no task."""
    if suite not in PLANNED_SUITES:
        raise UnknownNameError("suite to plan", suite, PLANNED_SUITES)
    uses = class_uses(class_sizes, shot + query)
    if np.count_nonzero(uses) < way:
        return []
    found = []
    for seed in range(seeds):
        stream = Stream("plan", suite, way, shot, query, seed)
        found.append(ClassDesign.of(draw_classes(suite, uses, way, stream, most)))
    return found


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
    ends: tuple[Components, Components] | None = None,
    seeds: int = SEEDS,
    most: int = MAX_TASKS,
) -> list[Planned]:
    """What each number of queries promises; those that no task can be drawn with are left out.

    Parameters
    ----------
    components
        Of an accuracy or of a paired difference, at `shot` support images of `way` classes.
    class_sizes
        Images of each class.
    suite
        `open` or `balanced`.
    ends
        Of a range of components: :func:`analysis_sql.variance_budget.components_range`.
    seeds, most
        Sequences of classes to simulate for each Q, and at how many tasks to stop.

    Raises
    ------
    SpecError
        If no Q is left, or a setting is none.
    """
    check_power(power, check_level(level))
    found = []
    for query in sorted(set(queries)):
        drawn = designs(
            class_sizes, way=way, shot=shot, query=query, suite=suite, seeds=seeds, most=most
        )
        if drawn:
            classes = int(np.count_nonzero(class_uses(class_sizes, shot + query)))
            row = _planned(components, drawn, classes, query, level, power)
            if ends is not None:
                low, high = (_mean_shares([e.budget(d, query) for d in drawn]) for e in ends)
                row = replace(row, class_share=(low.classes, high.classes))
            found.append(row)
    if not found:
        raise SpecError(
            f"no {way}-way {shot}-shot task can be drawn from {len(class_sizes)} classes of "
            f"{min(class_sizes, default=0)} to {max(class_sizes, default=0)} images",
            expected=f"{way} classes with at least {shot} + Q images",
            fix="plan fewer ways, shots or queries",
        )
    return found


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
    each = [
        _of_design(components, design, query, level, power, seed)
        for seed, design in enumerate(drawn)
    ]
    means = [_points(value) for value in np.array(each).mean(axis=0).tolist()]  # NaN where one is
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
    """Open and class-aware half-width and detectable difference, as fractions; NaN if none."""
    if design.tasks < 2:
        return nan, nan, nan, nan
    se = sqrt(components.between_tasks(design, query) / design.tasks)
    t = float(-stdtrit(design.tasks - 1, (1.0 - level) / 2.0))
    smallest = detectable_factor(design.tasks, level, power)
    if design.obstacle is not None:
        return t * se, nan, smallest * se, nan
    if design.disjoint:
        return t * se, t * se, smallest * se, smallest * se
    widths = simulated_halfwidths(components, design, query, level, seed=seed)
    sd = sqrt(components.variance_of_mean(design, query))
    return t * se, float(widths.mean()), smallest * se, _detectable(widths, sd, power)


def simulated_halfwidths(
    components: Components,
    design: ClassDesign,
    query: int,
    level: float,
    *,
    sets: int = SETS,
    seed: int,
) -> Floats:
    """Class-aware half-widths (sets,) of simulated results, as fractions.

    NaN where nothing varies.
    """
    within = components.within(query)
    stream = Stream("plan", "results", seed)
    rank, rest = design.rank, design.tasks - 1 - design.rank
    stratum = stream.permutations(rank + 1, sets).T
    inside = stream.words(stratum.size).astype(np.float64).reshape(stratum.shape) / 2.0**64
    p = np.clip((stratum + inside) / sets, 1e-12, 1.0 - 1e-12)
    chi = ndtri((1.0 + p[:, :rank]) / 2.0)  # its square is of one degree of freedom
    u = chi * np.sqrt(within + components.classes * design.eigenvalues)
    norm2 = np.square(u).sum(axis=1)
    if rest:
        norm2 = norm2 + within * 2.0 * gammaincinv(rest / 2.0, p[:, rank])
    return np.asarray(relative_halfwidths(design, u, norm2, level) * np.sqrt(norm2))


def _detectable(widths: Floats, sd: float, power: float) -> float:
    """The δ at which the mean of Φ((δ-h)/sd) + Φ((-δ-h)/sd) over half-widths h is the power."""
    if not np.isfinite(widths).all():
        return nan

    def reached(difference: float) -> float:
        both = ndtr((difference - widths) / sd) + ndtr((-difference - widths) / sd)
        return float(both.mean())

    low, high = 0.0, float(widths.max()) + sd
    while reached(high) < power:
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if reached(middle) < power else (low, middle)
        if high - low <= 1e-12 * high:
            break
    return (low + high) / 2.0


def _points(fraction: float) -> float | None:
    """A fraction in percentage points; None where it is not a number, or nothing varies."""
    return 100.0 * fraction if fraction > 0 else None


def _mean_shares(each: list[Shares]) -> Shares:
    values = np.array([(s.classes, s.images, s.queries) for s in each]).mean(axis=0)
    return Shares(*values.tolist())
