"""The result of scoring on one task set: scores, and every pair that was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.pairs import ForNewClasses, own_intervals
from analysis_sql.comparison.pairs import PairArrays, pair_arrays, pair_at
from analysis_sql.comparison.verdicts import (
    VERDICTS,
    Comparison,
    NewClasses,
    Verdict,
    compare,
    unconcluded,
)
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import Interval
from analysis_sql.ranking.evidence import NO_EVIDENCE, Evidence, evidence
from analysis_sql.ranking.ties_with_best import Contest, contest
from benchmark_spec.protocol import IntervalKind, TaskSetName
from fslbench_data.scoring.scores import PREFIX, Score, ScoredSet

_FEWEST = 3
"""Methods from which on ties are spoken of."""

OF_OTHERS = "run to stop when conclusive about another method"
"""Why nothing is concluded about a run that had a rule to stop and others than its rival."""

NOT_ESTIMABLE = VERDICTS.index(Verdict.NOT_ESTIMABLE)

MOST_COUNTED = 5000
"""Comparisons up to which every kind of verdict is counted, and those for new classes are kept."""


@dataclass(frozen=True, eq=False)
class SetReport:
    """The results on one task set: scores, and every pair that was asked for.

    Pairs are held as arrays; a :class:`Comparison` is made when it is looked at.

    Attributes
    ----------
    scores
        Of the submission's methods, then of the reference methods.
    asked : bool (F, M)
        Which of the F methods of the submission are compared with which of all M.
    counts
        Of all M methods.
    design
        The classes of the tasks; None where tasks reuse images.
    closed
        Intervals on the closed set of the same data and protocol, by method.
    """

    scored: ScoredSet
    kind: IntervalKind
    level: float
    scores: tuple[Score, ...]
    asked: NDArray[np.bool_]
    counts: Counts
    design: ClassDesign | None
    closed: Mapping[str, Interval]

    @property
    def methods(self) -> tuple[str, ...]:
        """Names in the order of rows and columns."""
        return tuple(score.method for score in self.scores)

    @property
    def closed_set(self) -> str:
        """The closed set of the same data and protocol."""
        twin = TaskSetName.parse(self.scored.task_set).closed_twin
        return f"{self.scored.dataset}/{twin}"

    @cached_property
    def has_closed(self) -> bool:
        """Whether some pair that was asked for has closed results of both methods."""
        known = np.array([name in self.closed for name in self.methods])
        return bool((self.asked & known[: len(self.asked), None] & known).any())

    @cached_property
    def pairs(self) -> PairArrays:
        """Intervals and verdicts of the pairs that were asked for, as arrays (F, M)."""
        found = pair_arrays(self.counts, self.asked, self.kind, self.level)
        reserved = self.asked & (self.of_stopped | self.of_prefix)
        found.verdict[reserved] = found.direct[reserved] = NOT_ESTIMABLE
        found.halfwidth[self.asked & self.of_stopped] = np.nan
        for row, column in np.argwhere(self.asked & self.of_stopped).tolist():
            found.verdict[row, column] = VERDICTS.index(self._by_rule(row, column)[0])
        return found

    @cached_property
    def of_stopped(self) -> NDArray[np.bool_]:
        """Pairs (F, M) one of which had a rule to stop: no ordinary interval of them holds."""
        return self._either([score.stopped is not None for score in self.scores])

    @cached_property
    def of_prefix(self) -> NDArray[np.bool_]:
        """Pairs (F, M) one of which is a prefix that its submitter chose: without a verdict."""
        return self._either([score.prefix for score in self.scores])

    def _either(self, marked: Sequence[bool]) -> NDArray[np.bool_]:
        of = np.array(marked, np.bool_)
        return np.asarray(of[: len(self.asked), None] | of)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Pairs (F, M) that were asked for and count where comparisons are counted."""
        return self.asked & ~self.of_prefix

    @cached_property
    def counted_tasks(self) -> list[int]:
        """Numbers of tasks of :attr:`counted` comparisons, each once, rising."""
        tasks = np.broadcast_to(self.pairs.tasks, self.asked.shape)[self.counted]
        return [int(number) for number in np.unique(tasks)]

    def reason(self, row: int, column: int) -> str:
        """Why nothing is concluded about two methods where their tasks as such would allow it."""
        if self.of_stopped[row, column]:
            return self._by_rule(row, column)[1]
        return PREFIX if self.of_prefix[row, column] else ""

    @cached_property
    def new_classes(self) -> tuple[Interval | None, ...]:
        """Class-aware interval of each of `scores`; None where tasks reuse images."""
        if self.design is None:
            return (None,) * len(self.scores)
        found = own_intervals(self.design, self.counts, self.level)
        return tuple(
            replace(interval, halfwidth=None) if score.stopped else interval
            for interval, score in zip(found, self.scores, strict=True)
        )

    @cached_property
    def contest(self) -> Contest | None:
        """Ties among the methods that answered all tasks, Holm-adjusted; None below three."""
        whole = [
            i
            for i, score in enumerate(self.scores)
            if score.ordinary and score.accuracy.tasks == self.scored.n_tasks
        ]
        if len(whole) < _FEWEST:
            return None
        methods = self.methods
        names = tuple(methods[i] for i in whole)
        return contest(names, self.counts.some(whole), self.kind, self.level, self.design)

    def pairs_for_new_classes(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.int8]] | None:
        """Class-aware half-widths, verdicts and direct verdicts of the pairs asked for, (F, M).

        NaN and -1 elsewhere, and of runs that had a rule to stop; None where tasks reuse images.
        """
        if self.design is None:
            return None
        width = np.full(self.asked.shape, np.nan)
        verdict, direct = (np.full(self.asked.shape, -1, np.int8) for _ in range(2))
        for row in range(len(self.asked)):
            columns = np.flatnonzero(self.asked[row])
            if columns.size:
                found = self._for_new_classes_of.arrays(row, columns)
                width[row, columns], verdict[row, columns], direct[row, columns] = found
        verdict[self.asked & self.of_prefix] = direct[self.asked & self.of_prefix] = NOT_ESTIMABLE
        width[self.of_stopped] = np.nan
        verdict[self.of_stopped] = direct[self.of_stopped] = -1
        return width, verdict, direct

    def evidence_of(self, row: int) -> list[Evidence]:
        """What stands beside each comparison of :meth:`comparisons_of`."""
        columns = np.flatnonzero(self.asked[row])
        common = np.minimum(self.counts.tasks[row], self.counts.tasks[columns])
        found: dict[int, Evidence] = {}
        for tasks in np.unique(common).tolist():
            here = columns[common == tasks]
            apart = self.counts.differences(row, here, tasks)
            beside = evidence(
                apart.correct, apart.queries_per_task, self.kind, self.level, self.design
            )
            found |= dict(zip(here.tolist(), beside, strict=True))
        return [
            NO_EVIDENCE if reserved else found[column]
            for column, reserved in zip(
                columns.tolist(), (self.of_stopped | self.of_prefix)[row, columns], strict=True
            )
        ]

    def only(self, names: Sequence[str]) -> SetReport:
        """Those of some methods that are here, in that order, each compared with every other."""
        position = {name: i for i, name in enumerate(self.methods)}
        rows = [position[name] for name in names if name in position]
        counts = self.counts.some(rows)
        asked = np.triu(np.ones((len(rows), len(rows)), bool), 1)
        scores = tuple(self.scores[i] for i in rows)
        return replace(self, scores=scores, counts=counts, asked=asked)

    @property
    def comparisons(self) -> Comparisons:
        """The comparisons that were asked for."""
        return Comparisons((self,))

    @property
    def counted_comparisons(self) -> Iterator[Comparison]:
        """Those of :attr:`counted`."""
        for row, counted in enumerate(self.counted):
            here = counted[np.flatnonzero(self.asked[row])]
            yield from (c for c, does in zip(self.comparisons_of(row), here, strict=True) if does)

    def comparisons_of(self, row: int) -> list[Comparison]:
        """The comparisons of the submission's method number `row`."""
        columns = np.flatnonzero(self.asked[row])
        new_classes = self._for_new_classes(row, columns)
        return [
            self._comparison(row, column, found)
            for column, found in zip(columns.tolist(), new_classes, strict=True)
        ]

    def comparison(self, row: int, column: int) -> Comparison:
        """The comparison of two methods by their positions."""
        return self._comparison(row, column, *self._for_new_classes(row, np.array([column])))

    def _for_new_classes(self, row: int, columns: NDArray[np.int64]) -> Sequence[NewClasses | None]:
        if self.design is None:
            return [None] * len(columns)
        asked = np.flatnonzero(self.asked[row])
        if self.asked.sum() > MOST_COUNTED or not np.isin(columns, asked).all():
            return self._for_new_classes_of.compare(row, columns)
        if row not in self._new_classes_of:
            found = self._for_new_classes_of.compare(row, asked)
            self._new_classes_of[row] = dict(zip(asked.tolist(), found, strict=True))
        return [self._new_classes_of[row][column] for column in columns.tolist()]

    @cached_property
    def _for_new_classes_of(self) -> ForNewClasses:
        assert self.design is not None  # noqa: S101 - asked before
        return ForNewClasses(self.design, self.counts, self.level)

    @cached_property
    def _new_classes_of(self) -> dict[int, dict[int, NewClasses]]:
        """What was compared already, by row and column: tables and counts ask for it again."""
        return {}

    def _comparison(self, row: int, column: int, new_classes: NewClasses | None) -> Comparison:
        names = (self.scores[row].method, self.scores[column].method)
        if self.of_stopped[row, column]:
            return self._of_sequence(row, column)
        closed = [self.closed[name] for name in names if name in self.closed]
        found = compare(
            self.scored.dataset,
            self.scored.task_set,
            names,
            pair_at(self.counts, row, column),
            kind=self.kind,
            level=self.level,
            closed=(closed[0], closed[1]) if len(closed) == 2 else None,
            new_classes=new_classes,
        )
        return unconcluded(found, PREFIX) if self.of_prefix[row, column] else found

    def _by_rule(self, row: int, column: int) -> tuple[Verdict, str]:
        """The verdict on a run that had a rule to stop, or why there is none.

        It is the confidence sequence's where the two were compared while it ran, at the report's
        level, and not estimable elsewhere.
        """
        reason = OF_OTHERS
        verdicts = {1: Verdict.BETTER, -1: Verdict.WORSE, 0: Verdict.INCONCLUSIVE}
        for one, other, turn in ((row, column, 1), (column, row, -1)):
            stopped = self.scores[one].stopped
            if stopped is not None and stopped.versus == self.scores[other].method:
                if stopped.sequence is not None:
                    return verdicts[turn * stopped.sequence.sign], ""
                reason = f"run to stop at level {stopped.level:.8g}, not {self.level:.8g}"
        return Verdict.NOT_ESTIMABLE, reason

    def _of_sequence(self, row: int, column: int) -> Comparison:
        """A comparison with a run that had a rule to stop: no ordinary interval holds."""
        names = (self.scores[row].method, self.scores[column].method)
        found = compare(
            self.scored.dataset,
            self.scored.task_set,
            names,
            pair_at(self.counts, row, column),
            kind=self.kind,
            level=self.level,
        )
        verdict, reason = self._by_rule(row, column)
        return replace(
            found,
            mean=replace(found.mean, halfwidth=None),
            versus_mean=replace(found.versus_mean, halfwidth=None),
            difference=replace(found.difference, halfwidth=None),
            verdict=verdict,
            verdict_direct=Verdict.NOT_ESTIMABLE,
            reason=reason,
        )


class Comparisons(Sequence[Comparison]):
    """Comparisons of one or several task sets, made when they are looked at."""

    def __init__(self, sets: Sequence[SetReport]) -> None:
        self._sets = sets
        self._ends = np.cumsum([int(s.asked.sum()) for s in sets], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @overload
    def __getitem__(self, index: int) -> Comparison: ...
    @overload
    def __getitem__(self, index: slice) -> list[Comparison]: ...
    def __getitem__(self, index: int | slice) -> Comparison | list[Comparison]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(index)
        number = int(np.searchsorted(self._ends, at, side="right"))
        found = self._sets[number]
        if number:
            at -= int(self._ends[number - 1])
        rows = np.cumsum(found.asked.sum(axis=1))
        row = int(np.searchsorted(rows, at, side="right"))
        column = np.flatnonzero(found.asked[row])[at - (int(rows[row - 1]) if row else 0)]
        return found.comparison(row, int(column))

    def __iter__(self) -> Iterator[Comparison]:
        for found in self._sets:
            for row in range(len(found.asked)):
                yield from found.comparisons_of(row)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]
