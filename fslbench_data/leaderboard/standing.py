"""One task set of a leaderboard: its lines, best first, held as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.intervals import Interval, intervals
from analysis_sql.intervals.moments import Moments
from benchmark_spec.suites import IntervalKind
from fslbench_data.leaderboard.acceptance import Result
from fslbench_data.scoring.designs import Units
from fslbench_data.scoring.signature import ScoredSet

REFERENCE = "reference"
"""Stands in place of a submission's digest where a method is one of the release's own."""

KIND_NUMBERS = np.dtype(
    [*((name, np.float64) for name in ("width", "behind_width", "p")), ("possible", np.bool_)]
)
"""What one kind of interval says of each: half-widths of its mean and of its difference from the
leader, NaN where there are none; the one-sided p-value of "the leader is better"; and whether it
could be the best."""


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
class RankedInterval:
    """What one kind of interval says of a method on a leaderboard.

    Attributes
    ----------
    difference
        Less the leader, paired, over the tasks that both answered; None for the leader itself.
    could_be_best
        Whether it is in the set of :mod:`analysis_sql.ranking.best`; None where nothing is
        claimed: in closed sets, of runs that stopped by a rule, and of a prefix that its submitter
        chose.
    """

    accuracy: Interval
    difference: Interval | None
    could_be_best: bool | None


@dataclass(frozen=True)
class Row:
    """A method's line on one task set; what it shares with its :class:`.Result` is told there.

    Attributes
    ----------
    rank
        1 for the highest mean, the same for equal means; None where not all tasks that the leader
        answered are answered, or how many are was not fixed beforehand (a run that stopped by a
        rule, a prefix that its submitter chose): such methods stand below the others.
    method, submission, also
        What it is called here, and the SHA-256 of the file, or ``reference``; of other files that
        say the same, where nothing tells which came first.
    intervals
        By kind, first the one that the task set carries.
    """

    rank: int | None
    method: str
    submission: str
    also: tuple[str, ...]
    intervals: Mapping[IntervalKind, RankedInterval]
    stopped: str | None
    runs: int
    run_spread: float | None
    transductive: bool
    prefix: bool
    of_one_model: bool

    @property
    def _carried(self) -> RankedInterval:
        return next(iter(self.intervals.values()))

    @property
    def accuracy(self) -> Interval:
        """The mean with the interval that the task set carries."""
        return self._carried.accuracy

    @property
    def difference(self) -> Interval | None:
        """Less the leader, with the interval that the task set carries; None for the leader."""
        return self._carried.difference

    @property
    def could_be_best(self) -> bool | None:
        """Whether it could be the best, for new images of these classes."""
        return self._carried.could_be_best


@dataclass(frozen=True, eq=False, repr=False)
class Standing:
    """A task set's table, best first; held as arrays, a :class:`Row` being made on demand.

    Attributes
    ----------
    units
        What another experiment would draw anew.
    leader
        What the leader is called; None if no method has an ordinary interval.
    compared
        M, the methods among which it leads: all but runs that stopped by a rule, and those of a
        prefix that its submitter chose.
    entries, ranks
        Best first; a rank of 0 is none.
    own, behind
        Moments of the methods, and of their differences from the leader over the tasks that both
        answered, if there is a leader.
    by_kind
        Numbers of :data:`KIND_NUMBERS` by kind of interval, first the one that the set carries.
    duplicates
        Groups of methods whose counts are the same on every task; see :mod:`.duplicate_results`.
    """

    scored: ScoredSet
    units: Units
    interval_kind: IntervalKind
    level: float
    leader: str | None
    compared: int
    entries: tuple[Entry, ...]
    ranks: NDArray[np.int64]
    own: Moments
    behind: Moments | None
    by_kind: Mapping[IntervalKind, NDArray[Any]]
    duplicates: tuple[tuple[Entry, ...], ...]

    def __repr__(self) -> str:
        leader = f", led by {self.leader}" if self.leader else ""
        return f"<Standing on {self.scored}: {len(self)} methods{leader}>"

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def kinds(self) -> tuple[IntervalKind, ...]:
        """Kinds of interval: the one that the task set carries, then those beside it."""
        return tuple(self.by_kind)

    @property
    def claims(self) -> bool:
        """Whether anything is claimed of who could be the best."""
        return bool(self.claiming)

    @property
    def claiming(self) -> tuple[IntervalKind, ...]:
        """The kinds by which it is claimed: all that are about new images or new classes."""
        return tuple(kind for kind in self.kinds if kind != "closed")

    def could_be_best(self, kind: IntervalKind) -> int | None:
        """Return how many could be the best, of those compared; None where nothing is claimed."""
        if self.leader is None or kind not in self.claiming:
            return None
        ordinary = np.array([entry.result.ordinary for entry in self.entries])
        return int((self.by_kind[kind]["possible"] & ordinary).sum())

    def rows(self, most: int | None = None) -> Iterator[Row]:
        """Make the lines, best first; all of them, or the first ones."""
        return self._rows(range(len(self))[:most])

    def rows_of(self, source: str) -> Iterator[Row]:
        """Make the lines of one submission, best first."""
        return self._rows([i for i, entry in enumerate(self.entries) if source in entry.sources])

    def _rows(self, places: Sequence[int]) -> Iterator[Row]:
        by_kind = [self._intervals(places, kind) for kind in self.kinds]
        for i, *of_kinds in zip(places, *by_kind, strict=True):
            entry, result = self.entries[i], self.entries[i].result
            yield Row(
                rank=int(self.ranks[i]) or None,
                method=entry.label,
                submission=entry.source,
                also=entry.also,
                intervals=dict(zip(self.kinds, of_kinds, strict=True)),
                stopped=result.stopped,
                runs=result.runs,
                run_spread=result.run_spread,
                transductive=result.transductive,
                prefix=result.prefix,
                of_one_model=result.of_one_model,
            )

    def _intervals(self, places: Sequence[int], kind: IntervalKind) -> Iterator[RankedInterval]:
        """Say what one kind of interval says of some methods, by their positions."""
        at = np.array(places, np.int64)
        numbers = self.by_kind[kind][at]
        own = intervals(self.own.some(at), kind, self.level, numbers["width"])
        apart: Sequence[Interval | None] = [None] * len(at)
        if self.behind is not None:
            apart = intervals(self.behind.some(at), kind, self.level, numbers["behind_width"])
        possible = numbers["possible"].tolist()
        for i, mean, difference, could in zip(places, own, apart, possible, strict=True):
            entry = self.entries[i]
            claimed = kind in self.claiming and entry.result.ordinary and self.leader is not None
            behind = None if entry.label == self.leader else difference
            yield RankedInterval(mean, behind, could if claimed else None)
