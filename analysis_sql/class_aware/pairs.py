"""Comparing two methods for new classes: class-aware intervals, and what they conclude."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import (
    halfwidths,
    method_halfwidths,
    mixture,
    pair_coordinates,
    settled,
)
from analysis_sql.class_aware.likelihood import Shares
from analysis_sql.comparison.multiplicity import paired_p
from analysis_sql.comparison.verdicts import VERDICTS, NewClasses, Verdict, direct_verdicts
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import Interval
from analysis_sql.intervals.moments import Moments
from analysis_sql.intervals.sign_flip import constant_p

_BETTER, _WORSE, _INCONCLUSIVE, _IDENTICAL, _NOT_ESTIMABLE = (
    VERDICTS.index(verdict)
    for verdict in (
        Verdict.BETTER,
        Verdict.WORSE,
        Verdict.INCONCLUSIVE,
        Verdict.IDENTICAL,
        Verdict.NOT_ESTIMABLE,
    )
)


class ForNewClasses:
    """Compares methods of a task set for new classes, each pair over the tasks that both answered.

    What belongs to one method, its coordinates and its own interval, is computed once.

    Parameters
    ----------
    design
        Of the task set.
    counts
        Of all methods.
    level
        Of the intervals.
    """

    def __init__(self, design: ClassDesign, counts: Counts, level: float) -> None:
        self._design, self._counts, self._level = design, counts, level
        self._known: dict[int, _Prefix] = {}

    def compare(self, method: int, versus: NDArray[np.int64]) -> list[NewClasses]:
        """Compare a method with others (P,), by their positions in `counts`."""
        found: list[NewClasses | None] = [None] * len(versus)
        for of_these, arrays in self._by_tasks(method, versus):
            for at, each in zip(of_these.tolist(), _as_objects(arrays, self._level), strict=True):
                found[at] = each
        return [each for each in found if each is not None]

    def arrays(
        self, method: int, versus: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.int8]]:
        """The same as arrays (P,): half-widths of the differences, and both kinds of verdict.

        Verdicts of the differences, and of the separate intervals, are positions in
        :data:`analysis_sql.comparison.verdicts.VERDICTS`.
        """
        width = np.full(len(versus), np.nan)
        verdict, direct = (np.zeros(len(versus), np.int8) for _ in range(2))
        for of_these, found in self._by_tasks(method, versus):
            width[of_these] = found.paired
            verdict[of_these], direct[of_these] = found.verdict, found.direct
        return width, verdict, direct

    def _by_tasks(
        self, method: int, versus: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], _Arrays]]:
        """Which of the others have T tasks in common with the method, and what is found of them."""
        common = np.minimum(self._counts.tasks[method], self._counts.tasks[versus])
        for tasks in np.unique(common).tolist():
            if tasks not in self._known:
                self._known[tasks] = _Prefix(self._design.prefix(tasks), self._counts, self._level)
            of_these = np.flatnonzero(common == tasks)
            rows = np.concatenate([[method], versus[of_these]])
            yield of_these, self._known[tasks].compare(rows)


@dataclass(frozen=True, eq=False)
class _Arrays:
    """A method and P others: own moments and half-widths (1 + P,), and of the P differences."""

    own: Moments
    width: NDArray[np.float64]
    difference: Moments
    paired: NDArray[np.float64]
    verdict: NDArray[np.int8]
    direct: NDArray[np.int8]


def _as_objects(found: _Arrays, level: float) -> list[NewClasses]:
    means = _intervals(found.own, found.width, level)
    differences = _intervals(found.difference, found.paired, level)
    return [
        NewClasses(means[0], mean, each, VERDICTS[int(verdict)], VERDICTS[int(side)])
        for mean, each, verdict, side in zip(
            means[1:], differences, found.verdict, found.direct, strict=True
        )
    ]


class _Prefix:
    """The same over the first T tasks."""

    def __init__(self, design: ClassDesign, counts: Counts, level: float) -> None:
        self._design, self._counts, self._level = design, counts, level
        self._u: dict[int, NDArray[Any]] = {}
        self._width: dict[int, float] = {}

    def compare(self, rows: NDArray[np.int64]) -> _Arrays:
        """Compare the first of some methods with the others."""
        here, level = self._design, self._level
        some = self._first_tasks(rows)
        own = some.moments()
        self._prepare(rows)
        u = np.stack([self._u[row] for row in rows.tolist()])
        width = np.array([self._width[row] for row in rows.tolist()])
        others = np.arange(1, len(some))
        apart = some.differences(0, others, here.tasks)
        difference = apart.moments()
        coordinates = pair_coordinates(here, apart, some.queries_per_task, u, np.array([0]), others)
        paired = halfwidths(here, coordinates, difference, level)
        direct = direct_verdicts(own.mean[0], width[0], own.mean[1:], width[1:])
        verdicts = paired_verdicts(difference, paired, here, level)
        return _Arrays(own, width, difference, paired, verdicts, direct)

    def _prepare(self, rows: NDArray[np.int64]) -> None:
        """Coordinates and own half-widths of the methods that have none yet."""
        missing = [row for row in rows.tolist() if row not in self._u]
        if not missing:
            return
        some = self._first_tasks(missing)
        u = self._design.coordinates(some.correct)
        widths = halfwidths(self._design, u, some.moments(), self._level)
        self._u.update(zip(missing, u, strict=True))
        self._width.update(zip(missing, widths.tolist(), strict=True))

    def _first_tasks(self, rows: NDArray[np.int64] | list[int]) -> Counts:
        """Counts of some methods on these tasks alone."""
        some, tasks = self._counts.some(rows), self._design.tasks
        return Counts(
            some.correct[:, :tasks], np.full(len(some), tasks, np.int64), some.queries_per_task
        )


def own_intervals(design: ClassDesign, counts: Counts, level: float) -> list[Interval]:
    """Class-aware interval of each method, over the tasks that it answered."""
    return _intervals(counts.moments(), method_halfwidths(design, counts, level), level)


def paired_verdicts(
    difference: Moments, widths: NDArray[np.float64], design: ClassDesign, level: float
) -> NDArray[np.int8]:
    """Verdicts for new classes, as positions in VERDICTS, elementwise.

    Conclusive when 0 lies outside the class-aware interval.  Differences that are all 0 are
    *identical*.  Where all are equal but not 0, the exact sign-flip test of the D tasks that share
    no class stands in, as in :func:`analysis_sql.comparison.verdicts.paired_verdicts`: they are
    conclusive if 2^(1-D) <= 1 - level.  Any others that no interval can be computed of are not
    estimable.
    """
    mean = np.asarray(difference.mean)
    claim = np.where(mean > 0, _BETTER, _WORSE)
    alike = np.full(claim.shape, _NOT_ESTIMABLE)
    constant = np.asarray(difference.constant)
    if constant.any() and constant_p(design.disjoint_tasks) <= 1.0 - level + 1e-12:
        alike = np.where(constant, claim, _NOT_ESTIMABLE)
    outside = np.where(np.abs(mean) > np.nan_to_num(widths), claim, _INCONCLUSIVE)
    codes = np.where(np.isnan(widths), alike, outside)
    return np.where(np.asarray(difference.all_zero), _IDENTICAL, codes).astype(np.int8)


def p_values(
    design: ClassDesign, counts: Counts, methods: NDArray[np.int64], versus: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Two-sided p-values for new classes, (P,): 1 - the level at which 0 is just outside.

    The class-aware interval's own test, Σ_g weight(g) · 2 P(t_(T-1) > |mean| / se_g).  As in
    :func:`paired_verdicts`, 1 where two methods are identical, 2^(1-D) where all differences are
    equal but not 0, and NaN where nothing can be said.

    Parameters
    ----------
    methods, versus : int (P,)
        Positions of the methods of each pair in `counts`.
    """
    common = np.minimum(counts.tasks[methods], counts.tasks[versus])
    found = np.full(len(common), np.nan)
    for tasks in np.unique(common).tolist():
        rows = np.flatnonzero(common == tasks)
        here = design.prefix(tasks)
        u = here.coordinates(counts.correct[:, :tasks])
        i, j = methods[rows], versus[rows]
        apart = counts.differences(i, j, tasks)
        difference = apart.moments()
        coordinates = pair_coordinates(here, apart, counts.queries_per_task, u, i, j)
        norm2 = np.asarray(difference.scatter, np.float64) / tasks
        mean = np.abs(np.asarray(difference.total)) / tasks
        if here.disjoint:
            found[rows] = paired_p(difference, "open")
            continue
        found[rows] = np.where(np.asarray(difference.all_zero), 1.0, np.nan)
        if (alike := (norm2 == 0) & (mean > 0)).any():
            found[rows[alike]] = constant_p(here.disjoint_tasks)
        if here.obstacle is None:
            varied = np.flatnonzero(norm2 > 0)
            for one in varied.tolist():  # each by itself: the same whatever else is compared
                part = slice(one, one + 1)
                shares = Shares.of(here, coordinates[part], norm2[part])
                weights, errors = mixture(shares)
                score = -mean[one] / (errors[0] * np.sqrt(norm2[one]))
                p = 2.0 * weights[:1] @ stdtr(tasks - 1, score)
                found[rows[one]] = min(1.0, float(settled(p)[0]))
    return found


def _intervals(moments: Moments, widths: NDArray[Any], level: float) -> list[Interval]:
    tasks, mean, constant = np.broadcast_arrays(moments.tasks, moments.mean, moments.constant)
    return [
        Interval("class-aware", level, t, m, None if isnan(h) else h, c)
        for t, m, h, c in zip(
            tasks.tolist(), mean.tolist(), widths.tolist(), constant.tolist(), strict=True
        )
    ]
