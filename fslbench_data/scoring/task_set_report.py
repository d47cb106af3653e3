"""The result of scoring on one task set: scores, and every pair that was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import hypot

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.pairs import KIND
from analysis_sql.comparison.pairs import PairArrays, compare_with, pair_arrays
from analysis_sql.comparison.verdicts import (
    NOT_ESTIMABLE,
    VERDICTS,
    Comparison,
    PairInterval,
    Verdict,
    direct_verdict,
    unconcluded,
)
from analysis_sql.interval_kinds import BESIDE, Designs, kinds_of
from analysis_sql.intervals.arrays import Ints
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import Interval
from analysis_sql.ranking.evidence import Evidence
from analysis_sql.ranking.ties_with_best import Contest, Ties, contest
from analysis_sql.ranking.told_apart import p_matrix
from benchmark_spec.suites import IntervalKind
from fslbench_data.scoring.comparisons import Comparisons
from fslbench_data.scoring.designs import Units
from fslbench_data.scoring.pairs_of_kind import PairsOfKind, evidence_of_row
from fslbench_data.scoring.scores import PREFIX, ByKind, Score
from fslbench_data.scoring.signature import ScoredSet
from fslbench_data.scoring.stopped_runs import verdict_by_rule


@dataclass(frozen=True, eq=False, repr=False)
class TaskSetReport:
    """The results on one task set: scores, and every pair that was asked for.

    Pairs are held as arrays; a :class:`Comparison` is made when it is looked at.

    Attributes
    ----------
    scores, counts
        Of the submission's methods, then of the reference methods: M in all.
    asked : bool (F, M)
        Which of the F methods of the submission are compared with which of all M.
    designs, units
        By kind of interval beside the carried one; what another experiment would draw anew.
    closed
        Intervals on the closed set of the same data and protocol, by method.
    """

    scored: ScoredSet
    interval_kind: IntervalKind
    level: float
    scores: tuple[Score, ...]
    asked: NDArray[np.bool_]
    counts: Counts
    designs: Designs
    units: Units
    closed: Mapping[str, Interval]
    _arrays: dict[IntervalKind, PairArrays] = field(default_factory=dict, init=False)

    def __repr__(self) -> str:
        about = f"{len(self.scores)} methods, {int(self.asked.sum())} comparisons"
        return f"<TaskSetReport on {self.scored}: {about}, level {self.level:g}>"

    @property
    def kinds(self) -> tuple[IntervalKind, ...]:
        """Kinds of interval: the one that the task set carries, then those beside it."""
        return kinds_of(self.interval_kind, self.designs)

    @property
    def leaves_out(self) -> bool:
        """Whether images recur, and intervals for new ones leave some out."""
        return "images" in self.designs

    @property
    def shown_kinds(self) -> tuple[IntervalKind, ...]:
        """Kinds as people read them: those about new images first, without the closed one."""
        return self.kinds[1:] if self.leaves_out else self.kinds

    @property
    def design(self) -> ClassDesign | None:
        """The classes of the tasks; None where tasks reuse images."""
        return self.designs.get(KIND)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Names in the order of rows and columns."""
        return tuple(score.method for score in self.scores)

    @cached_property
    def has_closed(self) -> bool:
        """Whether some pair that was asked for has closed results of both methods."""
        missing = self._either([name not in self.closed for name in self.methods])
        return bool((self.asked & ~missing).any())

    @property
    def pairs(self) -> PairArrays:
        """Of the kind that the task set carries; see :meth:`pairs_of`."""
        return self.pairs_of(self.interval_kind)

    def pairs_of(self, kind: IntervalKind) -> PairArrays:
        """Return intervals and verdicts of the pairs that were asked for, as arrays (F, M).

        Of a kind beside the carried one there is nothing about runs that had a rule to stop.
        """
        if kind not in self._arrays:
            own = kind == self.interval_kind
            self._arrays[kind] = self._carried_pairs() if own else self._pairs_beside(kind)
        return self._arrays[kind]

    def _carried_pairs(self) -> PairArrays:
        pairs = pair_arrays(self.counts, self.asked, self.interval_kind, self.level)
        stopped, prefix = self.asked & self.of_stopped, self.asked & self.of_prefix
        pairs.verdict[stopped | prefix] = pairs.direct[stopped | prefix] = NOT_ESTIMABLE
        pairs.halfwidth[stopped] = np.nan
        for row, column in np.argwhere(stopped).tolist():
            pairs.verdict[row, column] = VERDICTS.index(self._by_rule(row, column)[0])
        return pairs

    def _pairs_beside(self, kind: IntervalKind) -> PairArrays:
        width, verdict, direct = self._beside[kind].arrays()
        verdict[self.asked & self.of_prefix] = direct[self.asked & self.of_prefix] = NOT_ESTIMABLE
        width[self.of_stopped] = np.nan
        verdict[self.of_stopped] = direct[self.of_stopped] = -1
        return replace(self.pairs, halfwidth=width, verdict=verdict, direct=direct)

    @cached_property
    def _beside(self) -> dict[IntervalKind, PairsOfKind]:
        """The pairs by the kinds that stand beside the carried one."""
        of_set = self.counts, self.level
        made = {kind: BESIDE[kind].pairs(self.designs[kind], *of_set) for kind in self.kinds[1:]}
        return {kind: PairsOfKind(maker, self.asked) for kind, maker in made.items()}

    def p_values(self, kind: IntervalKind) -> NDArray[np.float64]:
        """Return two-sided p-values (F, M), NaN where nothing was asked or nothing can be said.

        That is of runs that had a rule to stop, and of a prefix that its submitter chose.
        """
        wanted = self.asked & ~self.of_stopped & ~self.of_prefix
        return p_matrix(self.counts, wanted, kind, self.designs.get(kind))

    @cached_property
    def of_stopped(self) -> NDArray[np.bool_]:
        """Pairs (F, M) one of which had a rule to stop: no ordinary interval of them holds."""
        return self._either([score.stopped is not None for score in self.scores])

    @cached_property
    def of_prefix(self) -> NDArray[np.bool_]:
        """Pairs (F, M) one of which is a prefix that its submitter chose: without a verdict."""
        return self._either([score.prefix for score in self.scores])

    def _either(self, marked: Sequence[bool]) -> NDArray[np.bool_]:
        marks = np.array(marked, np.bool_)
        return np.asarray(marks[: len(self.asked), None] | marks)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Pairs (F, M) that were asked for and count where comparisons are counted."""
        return self.asked & ~self.of_prefix

    @property
    def counted_tasks(self) -> list[int]:
        """Numbers of tasks of :attr:`counted` comparisons, each once, rising."""
        return [int(tasks) for tasks in np.unique(self.pairs.tasks[self.counted])]

    def reason(self, row: int, column: int) -> str:
        """Return why nothing is concluded where the two methods' tasks as such would allow it."""
        if self.of_stopped[row, column]:
            return self._by_rule(row, column)[1]
        return PREFIX if self.of_prefix[row, column] else ""

    @cached_property
    def ties(self) -> Ties | None:
        """Ties among compared methods that answered all tasks, Holm-adjusted; None below three."""
        return None if self.contest is None else self.contest.at(self.level)

    @cached_property
    def contest(self) -> Contest | None:
        """What :attr:`ties` follow from at every level."""
        judged = (self.counts.tasks == self.scored.n_tasks) & [s.ordinary for s in self.scores]
        rows = np.intersect1d(np.flatnonzero(judged), np.nonzero(self.asked)).tolist()
        if len(rows) < 3:
            return None
        names = tuple(self.methods[i] for i in rows)
        return contest(names, self.counts.some(rows), self.interval_kind, self.designs)

    def evidence_of(self, row: int) -> list[Evidence]:
        """Return what stands beside each comparison of :meth:`comparisons_of`."""
        columns, reserved = np.flatnonzero(self.asked[row]), (self.of_stopped | self.of_prefix)[row]
        how = self.interval_kind, self.level, self.design
        return evidence_of_row(self.counts, row, columns, reserved[columns], *how)

    def only(self, names: Sequence[str]) -> TaskSetReport:
        """Return the same of some methods, in that order, each compared with every other."""
        rows = [self.methods.index(name) for name in names if name in self.methods]
        scores = tuple(self.scores[i] for i in rows)
        asked = np.triu(np.ones((len(rows), len(rows)), bool), 1)
        return replace(self, scores=scores, counts=self.counts.some(rows), asked=asked)

    @property
    def comparisons(self) -> Comparisons:
        """The comparisons that were asked for."""
        return Comparisons((self,))

    @property
    def counted_comparisons(self) -> Iterator[Comparison]:
        """Those of :attr:`counted`."""
        for row, counted in enumerate(self.counted):
            yield from self.comparisons_of(row, np.flatnonzero(counted))

    def comparisons_of(self, row: int, columns: Ints | None = None) -> list[Comparison]:
        """Compare the submission's method number `row` with all that was asked for, or some."""
        columns = np.flatnonzero(self.asked[row]) if columns is None else columns
        kind = self.interval_kind
        by_kind = {kind: compare_with(self.counts, row, columns, kind, self.level)}
        by_kind |= {kind: pairs.of_row(row, columns) for kind, pairs in self._beside.items()}
        return [
            self._comparison(row, column, {kind: pairs[i] for kind, pairs in by_kind.items()})
            for i, column in enumerate(columns.tolist())
        ]

    def _comparison(
        self, row: int, column: int, by_kind: Mapping[IntervalKind, PairInterval]
    ) -> Comparison:
        kind, own, other = self.interval_kind, self.scores[row], self.scores[column]
        about = (self.scored.dataset, self.scored.task_set, own.method, other.method, kind)
        if self.of_stopped[row, column]:  # no ordinary interval holds
            verdict, reason = self._by_rule(row, column)
            carried = by_kind[kind]
            means = carried.mean, carried.versus_mean, carried.difference
            mean, versus, apart = (replace(interval, halfwidth=None) for interval in means)
            by_rule = PairInterval(mean, versus, apart, verdict, Verdict.NOT_ESTIMABLE)
            return Comparison(*about, {kind: by_rule}, reason=reason)
        ends = [self.closed[s.method] for s in (own, other) if s.method in self.closed]
        closed = direct_verdict(*ends) if len(ends) == 2 else None
        errors = [e for e in (own.run_error, other.run_error) if e is not None]
        error = hypot(*errors) if len(errors) == 2 else None
        single = tuple(score.method for score in (own, other) if score.of_one_model)
        pairs = ByKind(by_kind, self.units.missing)
        comparison = Comparison(*about, pairs, closed, run_error=error, of_one_model=single)
        return unconcluded(comparison, PREFIX) if self.of_prefix[row, column] else comparison

    def _by_rule(self, row: int, column: int) -> tuple[Verdict, str]:
        own, other = self.scores[row], self.scores[column]
        return verdict_by_rule((own.method, other.method), (own.stopped, other.stopped), self.level)
