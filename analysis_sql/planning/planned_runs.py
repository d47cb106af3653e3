"""Training runs of a planned experiment: expected half-widths by their number.

With v = s²/R of each method, from the spread s between its pilot's runs and the planned R, the
half-widths are expected ones. The part that runs add is reduced by more runs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from msgspec import Struct
from scipy.special import chdtri

from analysis_sql.intervals.counts import RunTerms, for_new_runs, run_terms

MORE = (2, 3, 5, 10, 20)
"""Numbers of runs for which a plan has the half-width, where more than planned."""

_POINTS = 40
_TAILS = (np.arange(_POINTS) + 0.5) / _POINTS


class WithRuns(Struct, frozen=True):
    """A planned half-width, and those of other numbers of runs or tasks, percentage points."""

    halfwidth: float
    of_tasks: float
    """As planned, and as if runs did not differ."""
    tasks_alone: float
    """The half-width that endless tasks would have with the planned runs."""
    more: tuple[tuple[int, float], ...]
    """``(runs, half-width)`` with more runs of every method with differing runs."""


class PlannedRuns(Struct, frozen=True):
    """Training runs of the methods of a plan: one, or the two of a difference."""

    methods: tuple[str, ...]
    runs: tuple[int, ...]
    """Number of runs of each method in the pilot."""
    spreads: tuple[float | None, ...]
    """s, the standard deviation between run means, percentage points; None with one run."""
    planned: int | None = None
    """Planned runs of each method of several; None for as many as in the pilot."""
    of_one_model: tuple[str, ...] = ()
    """Methods with one run that may vary between runs, by an unknown amount."""
    trained: bool = True
    """Whether runs may be training runs: no method of several says that it trains nothing."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """Planned runs of each method."""
        pilot = zip(self.runs, self.spreads, strict=True)
        return tuple(runs if s is None else self.planned or runs for runs, s in pilot)

    @property
    def variance(self) -> float:
        """The variance that runs add to that of the mean, percentage points squared."""
        return float(run_terms(self.spreads, self.numbers).variance.sum())

    @property
    def error(self) -> float | None:
        """The standard error that runs add; None where it is unknown for a method."""
        return None if self.of_one_model else sqrt(self.variance)

    def widen(self, width: float, level: float, runs: Sequence[int] | None = None) -> float:
        """Return the expected half-width, from the `width` as if runs did not differ.

        With the planned numbers of `runs` or others, it is the mean over the variances that runs
        may show, :data:`_POINTS` quantiles of chi-square with R - 1 degrees of freedom for each
        method.
        """
        numbers = self.numbers if runs is None else runs
        several = [(s, n) for s, n in zip(self.spreads, numbers, strict=True) if s]
        if not several:
            return width
        shown = np.ix_(*(s**2 / n * chdtri(n - 1, _TAILS) / (n - 1) for s, n in several))
        parts = (RunTerms(v, v**2 / (n - 1)) for v, (_, n) in zip(shown, several, strict=True))
        return max(width, float(for_new_runs(width, RunTerms.joined(*parts), level).mean()))

    def widths(self, width: float, level: float, least: float = 0.0) -> WithRuns | None:
        """Widen a `width` as if runs did not differ, which more tasks narrow to `least`."""
        if not self.variance:
            return None
        most = max(n for n, s in zip(self.numbers, self.spreads, strict=True) if s is not None)
        more = [(n, self.widen(width, level, [n] * len(self.runs))) for n in MORE if n > most]
        return WithRuns(
            halfwidth=self.widen(width, level),
            of_tasks=width,
            tasks_alone=self.widen(least, level),
            more=tuple(more),
        )


ONE_RUN = PlannedRuns((), (), ())
"""One training run each."""
