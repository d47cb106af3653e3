"""Verdicts about two methods, and Holm's adjustment of many comparisons.

With p_(1) <= ... <= p_(n) the sorted p-values of a family, Holm (Scand. J. Statist. 1979) adjusts
p_(i) to max_{j<=i} min(1, (n - j + 1) p_(j)).  If comparisons at or below 1 - level are called
significant, the chance of any false difference is at most 1 - level.

A comparison that cannot be made (p is NaN) does not belong to the family; a comparison of identical
methods does, with p = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from analysis_sql.intervals.counts import REFERENCE, Integers, Moments, for_new_runs
from analysis_sql.intervals.intervals import Interval, of_columns, task_halfwidths
from benchmark_spec.protocol import IntervalKind


def conclusive(p: Any, level: float) -> NDArray[np.bool_]:
    """Return which p-values are at most 1 - level, up to rounding; NaN is not."""
    return np.asarray(p <= 1.0 - level + 1e-12)


def constant_p(tasks: Any) -> Any:
    """Return 2^(1-T), the two-sided p-value of T equal differences that are not 0; NaN if T < 2."""
    number = np.asarray(tasks, np.int64)
    return np.where(number < 2, np.nan, np.ldexp(1.0, 1 - number))


def paired_p(difference: Moments, kind: IntervalKind) -> Any:
    """Return two-sided p-values of paired differences, elementwise, of the tests intervals invert.

    They are 1 where methods are identical, those of the sign-flip test where all differences are
    equal, and NaN where T < 2.
    """
    tasks = np.asarray(difference.tasks)
    constant, deviation = np.asarray(difference.constant), np.asarray(difference.deviation)
    error = np.where(constant, 1.0, deviation / np.sqrt(np.maximum(tasks, 1)))
    score = -np.abs(difference.mean) / error
    tail = ndtr(score) if kind == "closed" else stdtr(np.maximum(tasks - 1, 1), score)
    p = np.where(constant, constant_p(tasks), np.minimum(2.0 * tail, 1.0))
    p = np.where(tasks < 2, np.nan, p)
    if kind != "closed":
        p = difference.p_for_new_runs(p, lambda: task_halfwidths(difference, kind, REFERENCE))
    return np.where(np.asarray(difference.all_zero) & (tasks > 0), 1.0, p)


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust the p-values of one family by Holm's procedure; NaN stays NaN."""
    adjusted = np.array(p, float)
    family = adjusted[~np.isnan(adjusted)]
    order = np.argsort(family, kind="stable")
    steps = np.maximum.accumulate(family[order] * np.arange(family.size, 0, -1))
    family[order] = np.minimum(steps, 1.0)
    adjusted[~np.isnan(adjusted)] = family
    return adjusted


class Verdict(StrEnum):
    """The conclusion of a comparison, from the first method's side."""

    BETTER = "+"
    WORSE = "-"
    INCONCLUSIVE = "0"
    IDENTICAL = "="
    NOT_ESTIMABLE = "?"


VERDICTS = tuple(Verdict)
"""Verdicts in the order of the positions that arrays of verdicts hold."""
BETTER, WORSE, INCONCLUSIVE, IDENTICAL, NOT_ESTIMABLE = range(len(VERDICTS))


class PairInterval(Struct, frozen=True):
    """The comparison of two methods by one kind of interval.

    `mean` and `versus_mean` are of each method, over the tasks that both answered; `difference` is
    paired by task; `verdict_direct` is conclusive where the two methods' intervals do not overlap.
    """

    mean: Interval
    versus_mean: Interval
    difference: Interval
    verdict: Verdict
    verdict_direct: Verdict


class PairColumns(Struct, frozen=True, eq=False):
    """Comparisons of P pairs of methods by one kind of interval, as columns (P,).

    `mean`, `halfwidth` (NaN without an interval) and `constant` (3, P) are of the method, of the
    other and of the difference; verdicts are positions in :data:`VERDICTS`.
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
        """Join the columns of at least one part, all of one kind."""
        columns = ([getattr(part, name) for part in parts] for name in _COLUMNS)
        joined = (np.concatenate(column, axis=-1) for column in columns)
        return cls(parts[0].kind, parts[0].level, *joined)

    def select(self, rows: NDArray[Any]) -> PairColumns:
        """Return the comparisons of some pairs, by positions or a mask."""
        columns = (getattr(self, name)[..., rows] for name in _COLUMNS)
        return PairColumns(self.kind, self.level, *columns)

    def intervals(self) -> list[PairInterval]:
        """Return the comparisons as objects, one for each pair."""
        mean, versus_mean, difference = (
            of_columns(self.kind, self.level, self.tasks, *columns)
            for columns in zip(self.mean, self.halfwidth, self.constant, strict=True)
        )
        verdicts, direct = (
            [VERDICTS[code] for code in codes.tolist()] for codes in (self.verdict, self.direct)
        )
        return list(map(PairInterval, mean, versus_mean, difference, verdicts, direct))


_COLUMNS = ("tasks", "mean", "halfwidth", "constant", "verdict", "direct")


class Comparison(Struct, frozen=True):
    """Two methods on the T tasks of a task set that both answered.

    Values of the primary kind of interval are also attributes:
    ``comparison.difference`` is ``comparison.intervals[comparison.interval_kind].difference``.

    Attributes
    ----------
    method, versus
        Names; all signs are from the side of `method`.
    interval_kind
        The primary kind.
    intervals
        By kind, the primary kind first; others where they can be computed (:mod:`interval_kinds`).
    verdict_closed
        The direct verdict of the two methods' closed intervals; None without such results.
    reason
        Why nothing is concluded although the tasks would allow it; else empty.
    run_error
        Standard error of the difference due to training runs, percentage points, which the
        intervals count; None where it is unknown for a method.
    of_one_model
        Which of the two methods have one training run but may vary between runs: verdicts hold for
        these trained models.
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
    as_text: ClassVar[Callable[[Comparison], str] | None] = None

    def __str__(self) -> str:
        """Return the comparison as a sentence, by `as_text` where it is set."""
        write = type(self).as_text
        return repr(self) if write is None else write(self)

    def __repr__(self) -> str:
        additional = [
            f"{kind} {pair.difference.width} {pair.verdict.value!r}"
            for kind, pair in self.intervals.items()
            if kind != self.interval_kind
        ]
        ending = f"; {', '.join(additional)}" if additional else ""
        return (
            f"<Comparison on {self.dataset}/{self.task_set}: {self.method} minus {self.versus}\n"
            f" = {self.difference}, verdict {self.verdict.value!r}{ending}>"
        )

    @property
    def about_new_images(self) -> Comparison | None:
        """The comparison with the kind about new images as the primary one; None without it.

        Where tasks reuse images that is the kind that leaves images out; `verdict_closed` is then
        the verdict of the paired closed interval.
        """
        if self.interval_kind != "closed":
            return self
        if "images" not in self.intervals:
            return None
        intervals = dict(self.intervals)
        del intervals["closed"]
        return structs.replace(
            self, interval_kind="images", intervals=intervals, verdict_closed=self.verdict
        )

    @property
    def displayed(self) -> Comparison:
        """The comparison for display: about new images, if there is an interval for them."""
        return self.about_new_images or self

    @property
    def _primary(self) -> PairInterval:
        return self.intervals[self.interval_kind]

    @property
    def mean(self) -> Interval:
        """Accuracy of `method` over these T tasks."""
        return self._primary.mean

    @property
    def versus_mean(self) -> Interval:
        """Accuracy of `versus` over these T tasks."""
        return self._primary.versus_mean

    @property
    def difference(self) -> Interval:
        """Paired difference, `method` minus `versus`."""
        return self._primary.difference

    @property
    def verdict(self) -> Verdict:
        """Verdict by the paired difference."""
        return self._primary.verdict

    @property
    def verdict_direct(self) -> Verdict:
        """Verdict by the two methods' own intervals."""
        return self._primary.verdict_direct


def paired_verdicts(
    difference: Moments,
    widths: Any,
    kind: IntervalKind,
    level: float,
    independent: Integers | None = None,
) -> NDArray[np.int8]:
    """Return verdicts of paired differences, as positions in :data:`VERDICTS`, elementwise.

    A difference is conclusive if 0 lies outside its interval, *not estimable* without an interval
    (a half-width of NaN).  Methods whose differences are all 0 are *identical*, unless they answer
    other queries rightly, which gives a half-width.  Where all differences are equal but not 0, the
    exact sign-flip test of the `independent` tasks decides, unless there are 0 of these.
    """
    tasks, mean = np.asarray(difference.tasks), np.asarray(difference.mean)
    better, worse, inconclusive, none = map(np.int8, (BETTER, WORSE, INCONCLUSIVE, NOT_ESTIMABLE))
    claim = np.where(mean > 0, better, worse)
    codes = np.where(np.abs(mean) > widths, claim, inconclusive)
    codes = np.where(np.isnan(widths), none, codes)
    constant = np.asarray(difference.constant)
    if constant.any():  # rare, and it takes longer than all the rest
        enough = conclusive(constant_p(tasks if independent is None else independent), level)
        zeros = np.zeros(mean.shape)
        of_runs = zeros if kind == "closed" else for_new_runs(zeros, difference.run_terms, level)
        beyond = np.abs(mean) > of_runs
        of_constant = np.where(enough, np.where(beyond, claim, inconclusive), none)
        codes = codes if independent == 0 else np.where(constant, of_constant, codes)
        of_zeros = np.where(np.asarray(widths) > 0, inconclusive, np.int8(IDENTICAL))
        codes = np.where(np.asarray(difference.all_zero) & (tasks > 0), of_zeros, codes)
    return np.asarray(codes)


def direct_verdicts(mean: Any, halfwidth: Any, versus_mean: Any, versus_halfwidth: Any) -> Any:
    """Return verdicts of comparing two separate intervals: conclusive where they do not overlap."""
    gap = np.subtract(mean, versus_mean)
    reach = np.add(halfwidth, versus_halfwidth)
    codes = np.where(np.abs(gap) > reach, np.where(gap > 0, BETTER, WORSE), INCONCLUSIVE)
    return np.where(np.isnan(reach), NOT_ESTIMABLE, codes).astype(np.int8)
