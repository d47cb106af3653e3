"""One task set of a leaderboard: its lines, best first, held as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.intervals import Interval
from benchmark_spec.protocol import IntervalKind
from fslbench_data.leaderboard.acceptance import Result
from fslbench_data.scoring.scores import ScoredSet

REFERENCE = "reference"
"""Stands in place of a submission's digest where a method is one of the release's own."""

NUMBERS = np.dtype(
    [
        *((name, np.int64) for name in ("tasks", "common", "rank")),
        *((name, np.float64) for name in ("mean", "width", "width_new")),
        *((name, np.float64) for name in ("behind", "behind_width", "behind_width_new")),
        *((name, np.float64) for name in ("p", "p_new")),
        *((name, np.bool_) for name in ("constant", "behind_constant")),
        *((name, np.bool_) for name in ("possible", "possible_new")),
    ]
)
"""What is known of each method: `behind` is the difference from the leader over `common` tasks.

Means and half-widths are in percentage points, NaN where there are none; those that end in `new`
are about new classes.  A rank of 0 is none.
"""
_NAMES = tuple(NUMBERS.names or ())


@dataclass(frozen=True)
class Entry:
    """A method of the leaderboard on one task set: what it is called there and where it is from.

    Attributes
    ----------
    also
        Digests of other files that say the same, where none is known to be the first.
    came
        Of two, the smaller came first; a release's own methods were there before.
    """

    label: str
    source: str
    result: Result
    also: tuple[str, ...] = ()
    came: int = -1

    @property
    def sources(self) -> tuple[str, ...]:
        """All files that it is from, or ``reference``."""
        return (self.source, *self.also)


@dataclass(frozen=True)
class Row:
    """A method's line on one task set.

    Attributes
    ----------
    rank
        1 for the highest mean, the same for equal means; None where not all tasks that the leader
        answered are answered, or how many are was not fixed beforehand (a run that stopped by a
        rule, a prefix that its submitter chose): such methods stand below the others.
    method, submission, also
        What it is called here, and the SHA-256 of the file, or ``reference``; of other files that
        say the same, where nothing tells which came first.
    accuracy, new_classes
        Mean with its interval, and with the class-aware one (None for closed sets).
    difference, difference_new_classes
        Less the leader, paired, over the tasks that both answered; None for the leader itself.
    could_be_best, could_be_best_new_classes
        Whether it is in the set of :mod:`analysis_sql.ranking.best`; None where nothing is
        claimed: in closed sets, of runs that stopped by a rule, and of a prefix that its submitter
        chose.
    stopped
        The method that the run was compared with while it ran, if it stopped by a rule.
    runs, run_spread, transductive, prefix
        As in :class:`fslbench_data.scoring.scores.Score`.
    """

    rank: int | None
    method: str
    submission: str
    also: tuple[str, ...]
    accuracy: Interval
    new_classes: Interval | None
    difference: Interval | None
    difference_new_classes: Interval | None
    could_be_best: bool | None
    could_be_best_new_classes: bool | None
    stopped: str | None
    runs: int
    run_spread: float | None
    transductive: bool
    prefix: bool


@dataclass(frozen=True, eq=False)
class Standing:
    """A task set's table, best first; held as arrays, a :class:`Row` being made on demand.

    Attributes
    ----------
    scored, kind, level
        The task set, the interval it carries, and the confidence level.
    leader
        What the leader is called; None if no method has an ordinary interval.
    compared
        M, the methods among which it leads: all but runs that stopped by a rule, and those of a
        prefix that its submitter chose.
    aware
        Whether there are class-aware intervals: the set reuses no image.
    entries, numbers
        Best first, as the rows; numbers are of :data:`NUMBERS`.
    coincident
        Groups of methods whose counts are the same on every task; see :mod:`.coincidence`.
    """

    scored: ScoredSet
    kind: IntervalKind
    level: float
    leader: str | None
    compared: int
    aware: bool
    entries: tuple[Entry, ...]
    numbers: NDArray[Any] = field(repr=False)
    coincident: tuple[tuple[Entry, ...], ...]

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def could_be_best(self) -> int | None:
        """Methods that could be the best, of those that were compared; None in closed sets."""
        return self._counted("possible")

    @property
    def could_be_best_new_classes(self) -> int | None:
        """The same for new classes."""
        return self._counted("possible_new")

    def _counted(self, name: str) -> int | None:
        if self.kind == "closed" or self.leader is None:
            return None
        ordinary = np.array([entry.result.ordinary for entry in self.entries])
        return int((self.numbers[name] & ordinary).sum())

    def rows(self, most: int | None = None) -> Iterator[Row]:
        """The lines, best first; all of them, or the first ones."""
        return map(self.row, range(len(self) if most is None else min(most, len(self))))

    def rows_of(self, source: str) -> Iterator[Row]:
        """The lines of one submission, best first."""
        return (self.row(i) for i, entry in enumerate(self.entries) if source in entry.sources)

    def row(self, i: int) -> Row:
        """Line number `i`, from 0."""
        entry, found = self.entries[i], {name: self.numbers[name][i].item() for name in _NAMES}
        result = entry.result
        is_leader = self.leader is None or entry.label == self.leader
        claimed = self.kind != "closed" and result.ordinary and self.leader is not None

        def made(kind: IntervalKind, tasks: str, mean: str, width: str) -> Interval:
            known = result.stopped is None and not isnan(found[width])
            return Interval(
                kind,
                self.level,
                found[tasks],
                found[mean],
                found[width] if known else None,
                found["constant" if mean == "mean" else "behind_constant"],
            )

        apart = ("common", "behind")
        return Row(
            rank=found["rank"] or None,
            method=entry.label,
            submission=entry.source,
            also=entry.also,
            accuracy=made(self.kind, "tasks", "mean", "width"),
            new_classes=made("class-aware", "tasks", "mean", "width_new") if self.aware else None,
            difference=None if is_leader else made(self.kind, *apart, "behind_width"),
            difference_new_classes=made("class-aware", *apart, "behind_width_new")
            if self.aware and not is_leader
            else None,
            could_be_best=found["possible"] if claimed else None,
            could_be_best_new_classes=found["possible_new"] if claimed else None,
            stopped=result.stopped,
            runs=result.runs,
            run_spread=result.run_spread,
            transductive=result.transductive,
            prefix=result.prefix,
        )
