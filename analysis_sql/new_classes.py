"""Comparing two methods for new classes: class-aware intervals, and what they conclude."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware import halfwidths
from analysis_sql.class_effects import ClassDesign
from analysis_sql.comparison import VERDICTS, NewClasses, Verdict, direct_verdicts
from analysis_sql.intervals import Interval
from analysis_sql.moments import Moments
from analysis_sql.pairs import Counts

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


def compare_new_classes(
    design: ClassDesign, counts: Counts, method: int, versus: NDArray[np.int64], level: float
) -> list[NewClasses]:
    """Compare a method with others, each over the tasks that both answered.

    Parameters
    ----------
    design
        Of the task set.
    method, versus : int, int (P,)
        Positions in `counts`.
    """
    found: list[NewClasses | None] = [None] * len(versus)
    common = np.minimum(counts.tasks[method], counts.tasks[versus])
    for tasks in np.unique(common).tolist():
        of_these = np.flatnonzero(common == tasks)
        here = design.prefix(tasks)
        rows = np.concatenate([[method], versus[of_these]])
        x = counts.correct[rows, :tasks].astype(np.int64)
        own, u = _moments(x, counts.unit), here.coordinates(x)
        difference = _moments(x[:1] - x[1:], counts.unit)
        width = halfwidths(here, u, own, level)
        paired = halfwidths(here, u[:1] - u[1:], difference, level)
        direct = direct_verdicts(own.mean[0], width[0], own.mean[1:], width[1:])
        verdicts = paired_verdicts(difference, paired, here.disjoint_tasks, level)
        means = _intervals(own, width, level)
        differences = _intervals(difference, paired, level)
        for i, at in enumerate(of_these.tolist()):
            found[at] = NewClasses(
                means[0],
                means[i + 1],
                differences[i],
                VERDICTS[int(verdicts[i])],
                VERDICTS[int(direct[i])],
            )
    return [each for each in found if each is not None]


def own_intervals(design: ClassDesign, counts: Counts, level: float) -> list[Interval]:
    """Class-aware interval of each method, over the tasks that it answered."""
    found: list[Interval | None] = [None] * len(counts)
    for tasks in np.unique(counts.tasks).tolist():
        rows = np.flatnonzero(counts.tasks == tasks)
        here = design.prefix(tasks)
        x = counts.correct[rows, :tasks].astype(np.int64)
        moments = _moments(x, counts.unit)
        widths = halfwidths(here, here.coordinates(x), moments, level)
        for at, interval in zip(rows.tolist(), _intervals(moments, widths, level), strict=True):
            found[at] = interval
    return [each for each in found if each is not None]


def paired_verdicts(
    difference: Moments, widths: NDArray[np.float64], disjoint_tasks: int, level: float
) -> NDArray[np.int8]:
    """Verdicts for new classes, as positions in VERDICTS, elementwise.

    Conclusive when 0 lies outside the class-aware interval.  Differences that are all 0 are
    *identical*.  Where all are equal but not 0, or no interval can be computed, the exact
    sign-flip test of the tasks that share no class stands in, as in
    :func:`analysis_sql.comparison.paired_verdicts`: D such tasks are conclusive if
    2^(1-D) <= 1 - level.
    """
    mean = np.asarray(difference.mean)
    claim = np.where(mean > 0, _BETTER, _WORSE)
    enough = 2.0 ** (1.0 - disjoint_tasks) <= 1.0 - level + 1e-12
    alike = np.where(np.asarray(difference.constant) & enough, claim, _NOT_ESTIMABLE)
    outside = np.where(np.abs(mean) > np.nan_to_num(widths), claim, _INCONCLUSIVE)
    codes = np.where(np.isnan(widths), alike, outside)
    return np.where(np.asarray(difference.all_zero), _IDENTICAL, codes).astype(np.int8)


def _moments(x: NDArray[np.int64], unit: int) -> Moments:
    """Moments of the rows of x (P, T)."""
    return Counts(x, np.full(len(x), x.shape[1], np.int64), unit).moments()


def _intervals(moments: Moments, widths: NDArray[Any], level: float) -> list[Interval]:
    tasks, mean, constant = np.broadcast_arrays(moments.tasks, moments.mean, moments.constant)
    return [
        Interval("class-aware", level, t, m, None if isnan(h) else h, c)
        for t, m, h, c in zip(
            tasks.tolist(), mean.tolist(), widths.tolist(), constant.tolist(), strict=True
        )
    ]
