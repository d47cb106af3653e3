"""What training runs do to planned half-widths, and what more of them would give.

With v = s²/R of each method, from the spread s between its pilot's runs and the R that are planned,
a planned half-width is widened as a report's is (:mod:`analysis_sql.intervals.training_runs`).
More tasks narrow what tasks add; what runs add, more runs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from analysis_sql.intervals.training_runs import for_new_runs, run_terms

MORE = (2, 3, 5, 10, 20)
"""Numbers of runs of which a plan tells the half-width, if they are more than are planned."""

_POINTS = 201
"""Half-widths of tasks among which the one with the narrowest interval is looked for."""


@dataclass(frozen=True)
class WithRuns:
    """One planned half-width and others that it could be, percentage points."""

    halfwidth: float
    of_tasks: float
    """As planned, and as if runs did not differ."""
    tasks_alone: float
    """The narrowest that more tasks can make it with the planned runs."""
    more: tuple[tuple[int, float], ...]
    """With more runs of every method whose runs differ: ``(runs, half-width)``."""


@dataclass(frozen=True)
class PlannedRuns:
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

    @property
    def numbers(self) -> tuple[int, ...]:
        """How many runs each method is planned with."""
        of_each = zip(self.runs, self.spreads, strict=True)
        return tuple(runs if s is None else self.planned or runs for runs, s in of_each)

    @property
    def terms(self) -> tuple[float, float]:
        """What training anew adds, by :func:`run_terms`, percentage points to powers."""
        return self._terms(self.numbers)

    @property
    def error(self) -> float | None:
        """Standard error that training anew adds; None where one method's is unknown."""
        return None if self.of_one_model else sqrt(self.terms[0])

    def _terms(self, runs: Sequence[int]) -> tuple[float, float]:
        variance, square = run_terms(self.spreads, runs)
        return float(variance.sum()), float(square.sum())

    def of(self, width: float, level: float, least: float = 0.0) -> WithRuns | None:
        """Widen a half-width as if runs did not differ; None where no two runs differ.

        `least` is what more tasks could at most narrow it to, as if runs did not differ.
        """
        if not self.terms[0]:
            return None
        between = np.linspace(least, width, _POINTS)
        most = max(n for n, s in zip(self.numbers, self.spreads, strict=True) if s is not None)
        more = {runs: self._terms([runs] * len(self.runs)) for runs in MORE if runs > most}
        return WithRuns(
            float(for_new_runs(width, self.terms, level)),
            width,
            float(for_new_runs(between, self.terms, level).min()),
            tuple((n, float(for_new_runs(width, terms, level))) for n, terms in more.items()),
        )
