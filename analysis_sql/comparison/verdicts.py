"""What can be concluded about two methods: the paired verdict, and the ones it replaces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from math import nan
from typing import Any

import numpy as np

from analysis_sql.intervals.intervals import Interval, halfwidths, interval
from analysis_sql.intervals.moments import Moments
from analysis_sql.intervals.sign_flip import constant_p
from benchmark_spec.protocol import IntervalKind


class Verdict(StrEnum):
    """The conclusion of a comparison, from the first method's side."""

    BETTER = "+"
    WORSE = "-"
    INCONCLUSIVE = "0"
    IDENTICAL = "="
    NOT_ESTIMABLE = "?"


VERDICTS = tuple(Verdict)
"""Verdicts in the order in which arrays of them count."""
_BETTER, _WORSE, _INCONCLUSIVE, _IDENTICAL, _NOT_ESTIMABLE = range(5)


@dataclass(frozen=True)
class NewClasses:
    """The same two methods with class-aware intervals: what holds for new classes.

    Attributes
    ----------
    mean, versus_mean, difference, verdict, verdict_direct
        As those of a :class:`Comparison`, of class-aware intervals.
    """

    mean: Interval
    versus_mean: Interval
    difference: Interval
    verdict: Verdict
    verdict_direct: Verdict


@dataclass(frozen=True)
class Comparison:
    """Two methods on the T tasks of a task set that both answered.

    Attributes
    ----------
    method, versus
        Names; all signs are from the side of `method`.
    mean, versus_mean
        Each method's own accuracy over these T tasks.
    difference
        Of `method` minus `versus`, paired by task.
    verdict
        Of the paired difference.
    verdict_direct
        Of comparing the two intervals `mean` and `versus_mean`: conclusive when they do not
        overlap.
    verdict_closed
        The same of the two methods' closed intervals; None where there are no such results.
    new_classes
        All of it with class-aware intervals; None where tasks reuse images.
    reason
        Why nothing is concluded where the tasks as such would allow it; else empty.
    """

    dataset: str
    task_set: str
    method: str
    versus: str
    mean: Interval
    versus_mean: Interval
    difference: Interval
    verdict: Verdict
    verdict_direct: Verdict
    verdict_closed: Verdict | None = None
    new_classes: NewClasses | None = None
    reason: str = ""


def unconcluded(found: Comparison, reason: str) -> Comparison:
    """The comparison with its intervals, from which nothing is concluded for some reason."""
    none, aware = Verdict.NOT_ESTIMABLE, found.new_classes
    return replace(
        found,
        verdict=none,
        verdict_direct=none,
        verdict_closed=None if found.verdict_closed is None else none,
        new_classes=None if aware is None else replace(aware, verdict=none, verdict_direct=none),
        reason=reason,
    )


@dataclass(frozen=True)
class PairMoments:
    """Moments of two methods' counts on the same T tasks, and of their differences.

    For many pairs at once the moments are arrays.
    """

    method: Moments
    versus: Moments
    difference: Moments


def paired_verdicts(
    difference: Moments, kind: IntervalKind, level: float, widths: Any = None
) -> Any:
    """Verdicts of paired differences, as positions in :data:`VERDICTS`, elementwise.

    Conclusive when 0 lies outside the interval of the difference.  Differences that are all 0
    are *identical*, whatever T.  T < 2 is *not estimable*.  Where all differences are equal but
    not 0, Student's interval has no width and says nothing of how sure one can be; the exact
    sign-flip test stands in: T tasks are conclusive if
    :func:`analysis_sql.intervals.sign_flip.constant_p` is at most 1 - level (T >= 6 at 95 %), and
    else too few.  `widths` are the half-widths of the differences, if they are known already.
    """
    tasks = np.asarray(difference.tasks)
    widths = halfwidths(difference, kind, level) if widths is None else widths
    enough = np.where(difference.constant, constant_p(tasks) <= 1.0 - level + 1e-12, tasks >= 2)
    mean = np.asarray(difference.mean)
    outside = np.abs(mean) > widths
    codes = np.where(outside, np.where(mean > 0, _BETTER, _WORSE), _INCONCLUSIVE)
    codes = np.where(enough & (tasks >= 2), codes, _NOT_ESTIMABLE)
    identical = np.asarray(difference.all_zero) & (tasks > 0)
    return np.where(identical, _IDENTICAL, codes).astype(np.int8)


def direct_verdicts(mean: Any, halfwidth: Any, versus_mean: Any, versus_halfwidth: Any) -> Any:
    """Verdicts of comparing two separate intervals, as positions in VERDICTS, elementwise.

    Conclusive when the intervals do not overlap; not estimable where one of them is NaN.
    """
    gap = np.subtract(mean, versus_mean)
    reach = np.add(halfwidth, versus_halfwidth)
    codes = np.where(np.abs(gap) > reach, np.where(gap > 0, _BETTER, _WORSE), _INCONCLUSIVE)
    return np.where(np.isnan(reach), _NOT_ESTIMABLE, codes).astype(np.int8)


def direct_verdict(method: Interval, versus: Interval) -> Verdict:
    """Verdict of comparing two separate intervals: conclusive when they do not overlap."""
    widths = [nan if i.halfwidth is None else i.halfwidth for i in (method, versus)]
    return VERDICTS[int(direct_verdicts(method.mean, widths[0], versus.mean, widths[1]))]


def compare(
    dataset: str,
    task_set: str,
    names: tuple[str, str],
    moments: PairMoments,
    *,
    kind: IntervalKind,
    level: float,
    closed: tuple[Interval, Interval] | None = None,
    new_classes: NewClasses | None = None,
) -> Comparison:
    """Compare two methods on a task set, all three ways side by side.

    Parameters
    ----------
    names
        The method and the one it is compared with.
    moments
        Over the tasks that both answered.
    kind
        The interval that the task set carries.
    closed
        Both methods' intervals on the closed set of the same data and protocol, if both have
        results there.
    new_classes
        From :func:`analysis_sql.class_aware.pairs.ForNewClasses`.
    """
    mean = interval(moments.method, kind, level)
    versus_mean = interval(moments.versus, kind, level)
    verdict = VERDICTS[int(paired_verdicts(moments.difference, kind, level))]
    difference = interval(moments.difference, kind, level)
    if verdict is Verdict.NOT_ESTIMABLE or (
        verdict is Verdict.IDENTICAL and difference.halfwidth is None
    ):
        width = 0.0 if verdict is Verdict.IDENTICAL else None
        difference = Interval(
            kind, level, difference.tasks, difference.mean, width, difference.constant
        )
    return Comparison(
        dataset=dataset,
        task_set=task_set,
        method=names[0],
        versus=names[1],
        mean=mean,
        versus_mean=versus_mean,
        difference=difference,
        verdict=verdict,
        verdict_direct=direct_verdict(mean, versus_mean),
        verdict_closed=None if closed is None else direct_verdict(*closed),
        new_classes=new_classes,
    )
