"""Training runs of a planned experiment: expected half-widths with as many, and with more.

With v = s²/R of each method, from the spread s between its pilot's runs and the R that are planned,
half-widths are those that a report has on average: what runs add, more runs alone narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from msgspec import Struct
from scipy.special import chdtri

from analysis_sql.intervals.counts import RunTerms, for_new_runs, run_terms

MORE = (2, 3, 5, 10, 20)
"""Numbers of runs of which a plan has the half-width, if they are more than are planned."""

_POINTS = 40
_TAILS = (np.arange(_POINTS) + 0.5) / _POINTS


class WithRuns(Struct, frozen=True):
    """One planned half-width and others that it could be, percentage points."""

    halfwidth: float
    of_tasks: float
    """As planned, and as if runs did not differ."""
    tasks_alone: float
    """The narrowest that more tasks can make it with the planned runs."""
    more: tuple[tuple[int, float], ...]
    """With more runs of every method with differing runs: ``(runs, half-width)``."""


class PlannedRuns(Struct, frozen=True):
    """Training runs of the methods of a plan: one, or the two of a difference."""

    methods: tuple[str, ...]
    """Names."""
    runs: tuple[int, ...]
    """How many each has in the pilot."""
    spreads: tuple[float | None, ...]
    """s, the standard deviation between their means, percentage points; None of fewer than two."""
    planned: int | None = None
    """How many runs each of several will have; None stands for as many as the pilot's."""
    of_one_model: tuple[str, ...] = ()
    """Methods with one run that may differ from run to run, by nobody knows how much."""
    trained: bool = True
    """Whether runs may be training runs: no method of several says that it trains nothing."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """How many runs each method is planned with."""
        of_each = zip(self.runs, self.spreads, strict=True)
        return tuple(runs if s is None else self.planned or runs for runs, s in of_each)

    @property
    def variance(self) -> float:
        """What training anew adds to the variance of the mean, percentage points squared."""
        return float(run_terms(self.spreads, self.numbers).variance.sum())

    @property
    def error(self) -> float | None:
        """Standard error that training anew adds; None where one method's is unknown."""
        return None if self.of_one_model else sqrt(self.variance)

    def widen(self, width: float, level: float, runs: Sequence[int] | None = None) -> float:
        """Return the expected half-width of a half-width as if runs did not differ.

        Of as many `runs` as are planned, or of others: the mean over the variances that they may
        show, whose chi-square laws of R - 1 degrees of freedom have :data:`_POINTS` points each.
        """
        numbers = self.numbers if runs is None else runs
        several = [(s, n) for s, n in zip(self.spreads, numbers, strict=True) if s]
        if not several:
            return width
        shown = np.ix_(*(s**2 / n * chdtri(n - 1, _TAILS) / (n - 1) for s, n in several))
        parts = (RunTerms(v, v**2 / (n - 1)) for v, (_, n) in zip(shown, several, strict=True))
        return max(width, float(for_new_runs(width, RunTerms.joined(*parts), level).mean()))

    def of(self, width: float, level: float, least: float = 0.0) -> WithRuns | None:
        """Widen a half-width as if runs did not differ; more tasks narrow it to `least`."""
        if not self.variance:
            return None
        most = max(n for n, s in zip(self.numbers, self.spreads, strict=True) if s is not None)
        more = [runs for runs in MORE if runs > most]
        return WithRuns(
            self.widen(width, level),
            width,
            self.widen(least, level),
            tuple((n, self.widen(width, level, [n] * len(self.runs))) for n in more),
        )


ONE_RUN = PlannedRuns((), (), ())
"""One training run each."""
