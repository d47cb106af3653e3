"""What can be concluded about two methods: the paired verdict, and the ones it replaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.comparison.multiplicity import conclusive
from analysis_sql.intervals.intervals import Interval
from analysis_sql.intervals.moments import Integers, Moments
from analysis_sql.intervals.sign_flip import constant_p
from analysis_sql.intervals.training_runs import for_new_runs
from benchmark_spec.suites import IntervalKind


class Verdict(StrEnum):
    """The conclusion of a comparison, from the first method's side."""

    BETTER = "+"
    WORSE = "-"
    INCONCLUSIVE = "0"
    IDENTICAL = "="
    NOT_ESTIMABLE = "?"


VERDICTS = tuple(Verdict)
"""Verdicts in the order in which arrays of them count."""
BETTER, WORSE, INCONCLUSIVE, IDENTICAL, NOT_ESTIMABLE = range(len(VERDICTS))


@dataclass(frozen=True)
class PairInterval:
    """What one kind of interval says of two methods.

    Attributes
    ----------
    mean, versus_mean
        Each method's own accuracy over the tasks that both answered.
    difference
        Of the first method minus the second, paired by task.
    verdict
        Of the paired difference.
    verdict_direct
        Of comparing the two intervals `mean` and `versus_mean`: conclusive when they do not
        overlap.
    """

    mean: Interval
    versus_mean: Interval
    difference: Interval
    verdict: Verdict
    verdict_direct: Verdict


@dataclass(frozen=True, eq=False)
class PairColumns:
    """What one kind of interval says of a method and P others, as columns (P,).

    Attributes
    ----------
    tasks
        That both answered.
    mean, halfwidth, constant : (3, P)
        Of the method, of the other, and of the paired difference; half-widths are NaN where there
        is no interval.
    verdict, direct
        Positions in :data:`VERDICTS`, int8.
    """

    kind: IntervalKind
    level: float
    tasks: NDArray[np.int64]
    mean: NDArray[np.float64]
    halfwidth: NDArray[np.float64]
    constant: NDArray[np.bool_]
    verdict: NDArray[np.int8]
    direct: NDArray[np.int8]

    @classmethod
    def join(cls, parts: Sequence[PairColumns]) -> PairColumns:
        """Join those of one kind, at least one."""
        columns = ([getattr(part, name) for part in parts] for name in _COLUMNS)
        joined = (np.concatenate(column, axis=-1) for column in columns)
        return cls(parts[0].kind, parts[0].level, *joined)

    def some(self, places: NDArray[Any]) -> PairColumns:
        """Return those of some pairs, by positions or a mask."""
        columns = (getattr(self, name)[..., places] for name in _COLUMNS)
        return PairColumns(self.kind, self.level, *columns)

    def intervals(self) -> list[PairInterval]:
        """Return the same as an object a pair."""
        tasks, about = self.tasks.tolist(), (self.kind, self.level)
        three = (
            [
                Interval(*about, t, mean, None if isnan(width) else width, constant)
                for t, mean, width, constant in zip(tasks, *rows, strict=True)
            ]
            for rows in zip(
                self.mean.tolist(), self.halfwidth.tolist(), self.constant.tolist(), strict=True
            )
        )
        verdicts = (
            [VERDICTS[code] for code in codes.tolist()] for codes in (self.verdict, self.direct)
        )
        return list(map(PairInterval, *three, *verdicts))


_COLUMNS = ("tasks", "mean", "halfwidth", "constant", "verdict", "direct")


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two methods on the T tasks of a task set that both answered.

    What belongs to the kind of interval that the task set carries can be read off directly:
    ``comparison.difference`` is ``comparison.intervals[comparison.interval_kind].difference``.

    Attributes
    ----------
    method, versus
        Names; all signs are from the side of `method`.
    interval_kind
        The kind that the task set carries.
    intervals
        By kind, that one first; others where they can be computed (:mod:`interval_kinds`).
    verdict_closed
        The direct verdict of the two methods' closed intervals; None where there are no such
        results.
    reason
        Why nothing is concluded where the tasks as such would allow it; else empty.
    run_error
        Standard error that training both anew adds to the difference, percentage points, which the
        intervals count; None where one method's is unknown.
    of_one_model
        Which of the two have one training run, and may differ from run to run: what is said holds
        for these trained models.
    """

    dataset: str
    task_set: str
    method: str
    versus: str
    interval_kind: IntervalKind
    intervals: Mapping[IntervalKind, PairInterval]
    verdict_closed: Verdict | None = None
    reason: str = ""
    run_error: float | None = None
    of_one_model: tuple[str, ...] = ()

    def __repr__(self) -> str:
        others = ", ".join(kind for kind in self.intervals if kind != self.interval_kind)
        beside = f"; other intervals: {others}" if others else ""
        return (
            f"<Comparison on {self.dataset}/{self.task_set}: {self.method} minus {self.versus}\n"
            f" = {self.difference}, verdict {self.verdict.value!r}{beside}>"
        )

    @property
    def about_new_images(self) -> Comparison | None:
        """The same led by what it says of new images; None if it says nothing of them.

        Where tasks reuse images that is the kind that leaves images out.  The interval that such a
        set carries is then the closed one, with which the field would compare.
        """
        if self.interval_kind != "closed":
            return self
        if "images" not in self.intervals:
            return None
        beside = dict(self.intervals)
        del beside["closed"]
        return replace(self, interval_kind="images", intervals=beside, verdict_closed=self.verdict)

    @property
    def shown(self) -> Comparison:
        """The same as people read it: about new images, if anything is said of them."""
        return self.about_new_images or self

    @property
    def _carried(self) -> PairInterval:
        return self.intervals[self.interval_kind]

    @property
    def mean(self) -> Interval:
        """Accuracy of `method` over these T tasks."""
        return self._carried.mean

    @property
    def versus_mean(self) -> Interval:
        """Accuracy of `versus` over these T tasks."""
        return self._carried.versus_mean

    @property
    def difference(self) -> Interval:
        """Paired difference, `method` minus `versus`."""
        return self._carried.difference

    @property
    def verdict(self) -> Verdict:
        """Of the paired difference."""
        return self._carried.verdict

    @property
    def verdict_direct(self) -> Verdict:
        """Of comparing the two methods' own intervals."""
        return self._carried.verdict_direct


def unconcluded(comparison: Comparison, reason: str) -> Comparison:
    """Return the comparison with its intervals, from which nothing is concluded for some reason."""
    none = Verdict.NOT_ESTIMABLE
    return replace(
        comparison,
        intervals={
            kind: replace(pair, verdict=none, verdict_direct=none)
            for kind, pair in comparison.intervals.items()
        },
        verdict_closed=None if comparison.verdict_closed is None else none,
        reason=reason,
    )


def paired_verdicts(
    difference: Moments,
    widths: Any,
    kind: IntervalKind,
    level: float,
    independent: Integers | None = None,
) -> NDArray[np.int8]:
    """Return verdicts of paired differences, as positions in :data:`VERDICTS`, elementwise.

    Conclusive when 0 lies outside the interval of the difference; *not estimable* where there is
    none (a half-width of NaN).  Differences that are all 0 are *identical*, whatever T.  Where all
    are equal but not 0, the exact sign-flip test stands in: conclusive if
    :func:`analysis_sql.intervals.sign_flip.constant_p` of the `independent` tasks, by default all
    T, is at most 1 - level, and else too few.  They are inconclusive where runs differ by as much,
    of all kinds but ``closed``, which leaves out the runs.
    """
    tasks, mean = np.asarray(difference.tasks), np.asarray(difference.mean)
    better, worse, inconclusive, none = map(np.int8, (BETTER, WORSE, INCONCLUSIVE, NOT_ESTIMABLE))
    claim = np.where(mean > 0, better, worse)
    codes = np.where(np.abs(mean) > widths, claim, inconclusive)
    codes = np.where(np.isnan(widths), none, codes)
    constant = np.asarray(difference.constant)
    if constant.any():  # rarely: it takes longer than all the rest
        alike = conclusive(constant_p(tasks if independent is None else independent), level)
        zeros = np.zeros(mean.shape)
        reach = zeros if kind == "closed" else for_new_runs(zeros, difference.run_terms, level)
        beyond = np.abs(mean) > reach
        alike = np.where(alike, np.where(beyond, claim, inconclusive), none)
        codes = np.where(constant, alike, codes)
        codes = np.where(np.asarray(difference.all_zero) & (tasks > 0), np.int8(IDENTICAL), codes)
    return np.asarray(codes)


def direct_verdicts(mean: Any, halfwidth: Any, versus_mean: Any, versus_halfwidth: Any) -> Any:
    """Verdicts of comparing two separate intervals, as positions in VERDICTS, elementwise.

    Conclusive when the intervals do not overlap; not estimable where one of them is NaN.
    """
    gap = np.subtract(mean, versus_mean)
    reach = np.add(halfwidth, versus_halfwidth)
    codes = np.where(np.abs(gap) > reach, np.where(gap > 0, BETTER, WORSE), INCONCLUSIVE)
    return np.where(np.isnan(reach), NOT_ESTIMABLE, codes).astype(np.int8)


def direct_verdict(method: Interval, versus: Interval) -> Verdict:
    """Verdict of comparing two separate intervals: conclusive when they do not overlap."""
    widths = [nan if i.halfwidth is None else i.halfwidth for i in (method, versus)]
    return VERDICTS[int(direct_verdicts(method.mean, widths[0], versus.mean, widths[1]))]
