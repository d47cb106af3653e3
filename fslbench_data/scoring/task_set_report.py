"""Report the results on a task set; make tables of scores and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from math import isnan, nan
from typing import Any, overload

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.kinds import CLASS_AWARE
from analysis_sql.comparisons import (
    NOT_ESTIMABLE,
    VERDICTS,
    Comparison,
    PairArrays,
    PairColumns,
    Pairs,
    PrimaryKind,
    Verdict,
    direct_verdicts,
    pair_arrays,
)
from analysis_sql.interval_kinds import ABOUT, ADDITIONAL_KINDS, Designs, kinds_of, pair_p
from analysis_sql.intervals.arrays import Ints
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import Interval
from analysis_sql.leave_one_out.all_ways import AllWayDesign, AllWaySums
from analysis_sql.leave_one_out.leave_one_out import FirstTasks
from analysis_sql.multiple_comparisons import (
    FEW_TASKS,
    NO_EVIDENCE,
    Evidence,
    PairwiseTests,
    Ties,
    evidence,
    pairwise_tests,
)
from benchmark_spec.errors import many
from benchmark_spec.protocol import IntervalKind, TaskSetName
from fslbench_data.scoring.designs import Units
from fslbench_data.scoring.scores import (
    PREFIX,
    ByKind,
    Score,
    intervals_by_kind,
    verdict_by_rule,
)
from fslbench_data.submission.frames import AsFrame
from fslbench_data.tasks import TaskSetInfo

_ARROW = {str: pa.string(), bool: pa.bool_(), int: pa.int32(), float: pa.float64()}


def schema(*columns: tuple[str, type]) -> pa.Schema:
    """Make a schema from pairs of blank-separated names and their type."""
    return pa.schema([(name, _ARROW[kind]) for names, kind in columns for name in names.split()])


SCORES = schema(
    ("dataset task_set method", str),
    ("is_reference", bool),
    ("interval", str),
    ("tasks", int),
    ("mean halfwidth level", float),
    ("runs", int),
    ("run_spread", float),
    ("transductive prefix stopped trained", bool),
    ("run_error", float),
    ("of_one_model is_bound", bool),
)
COMPARISONS = schema(
    ("dataset task_set method versus interval", str),
    ("tasks", int),
    ("mean mean_halfwidth versus_mean versus_halfwidth difference halfwidth level", float),
    ("verdict verdict_direct verdict_closed", str),
    ("p", float),
    ("reason", str),
    ("run_error", float),
    ("of_one_model", str),
    ("is_bound", bool),
)
COMPARED = pa.schema([*COMPARISONS, *schema(("trained versus_trained", bool))])
"""The columns of :data:`COMPARISONS`, and whether the two methods are trained."""


def score_batch(scores: Iterable[Score]) -> pa.RecordBatch:
    """Return scores as rows of :data:`SCORES`, one a score and kind of interval."""
    rows = []
    for score in scores:
        values = {name: getattr(score, name) for name in SCORES.names if hasattr(score, name)}
        values["stopped"] = score.stopped is not None
        for kind, interval in score.intervals.items():
            for name in ("tasks", "mean", "halfwidth", "level"):
                values[name] = getattr(interval, name)
            is_bound = kind in score.intervals.units.bounded
            rows.append({**values, "interval": kind, "is_bound": is_bound})
    return pa.RecordBatch.from_pylist(rows, SCORES)


def comparison_batches(sets: Iterable[TaskSetReport]) -> Iterator[pa.RecordBatch]:
    """Yield rows of :data:`COMPARISONS` in batches, each of pairs on one task set."""
    for task_set in sets:
        for batch in task_set.batches():
            yield batch.select(COMPARISONS.names)


class Scores(AsFrame, Sequence[Score]):
    """Scores of one or several task sets.

    As a table: one row a score and kind of interval, with the columns of :data:`SCORES`.
    """

    def __init__(self, scores: Iterable[Score]) -> None:
        self._scores = tuple(scores)

    def __len__(self) -> int:
        return len(self._scores)

    @overload
    def __getitem__(self, index: int) -> Score: ...
    @overload
    def __getitem__(self, index: slice) -> Scores: ...
    def __getitem__(self, index: int | slice) -> Score | Scores:
        found = self._scores[index]
        return Scores(found) if isinstance(found, tuple) else found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._scores == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        sets = {(score.dataset, score.task_set) for score in self}
        return f"<Scores: {len(self)} on {many(len(sets), 'task set')}; .to_pandas(), .to_arrow()>"

    def to_arrow(self) -> pa.Table:
        """Return the scores as a table, one row a score and kind of interval."""
        return pa.Table.from_batches([score_batch(self)], SCORES)


class Comparisons(AsFrame, Sequence[Comparison]):
    """Comparisons of one or several task sets, made on access.

    A table has one row per comparison and kind of interval, and the columns of :data:`COMPARISONS`.
    """

    def __init__(self, sets: Sequence[TaskSetReport]) -> None:
        self._sets = sets

    def __len__(self) -> int:
        return sum(int(task_set.requested.sum()) for task_set in self._sets)

    @overload
    def __getitem__(self, index: int) -> Comparison: ...
    @overload
    def __getitem__(self, index: slice) -> list[Comparison]: ...
    def __getitem__(self, index: int | slice) -> Comparison | list[Comparison]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        for task_set in self._sets:
            number = int(task_set.requested.sum())
            if position < number:
                row, column = np.argwhere(task_set.requested)[position]
                return task_set.comparisons_of(int(row), np.array([column]))[0]
            position -= number
        raise IndexError(index)

    def __iter__(self) -> Iterator[Comparison]:
        for task_set in self._sets:
            for row in range(len(task_set.requested)):
                yield from task_set.comparisons_of(row)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        about = f"{len(self)} on {many(len(self._sets), 'task set')}"
        return f"<Comparisons: {about}; .to_pandas(), .to_arrow()>"

    def to_arrow(self) -> pa.Table:
        """Return the comparisons as a table, one row per comparison and kind of interval."""
        return pa.Table.from_batches(comparison_batches(self._sets), COMPARISONS)


MOST_COUNTED = 5000
"""Comparisons up to which every kind of verdict is counted."""

WHICH_OF_TWO = {
    (False, False): "",
    (True, False): "method",
    (False, True): "versus",
    (True, True): "both",
}
"""Words for which methods of a pair something holds for."""
_HOLDS_FOR = {word: holds for holds, word in WHICH_OF_TWO.items()}

_PAIRS_AT_ONCE = 1024
"""Pairs of a batch."""


class TaskSetReport(Struct, frozen=True, eq=False, dict=True):
    """The results on one task set: scores, and every requested comparison.

    `scores` and `counts` are of M methods: the F of the submission, then the references.
    `requested` (F, M) says which pairs are compared.  `closed` are intervals on the closed set of
    the same data set and protocol; `at_other_level` is the report at another level, if there is
    one.  A :class:`Comparison` is made when it is used.
    """

    scored: TaskSetInfo
    interval_kind: IntervalKind
    level: float
    scores: tuple[Score, ...]
    requested: NDArray[np.bool_]
    counts: Counts
    designs: Designs
    units: Units
    closed: Mapping[str, Interval]
    at_other_level: TaskSetReport | None = None

    def __repr__(self) -> str:
        methods = many(len(self.scores), "method")
        comparisons = many(int(self.requested.sum()), "comparison")
        return f"<TaskSetReport on {self.scored}: {methods}, {comparisons}, level {self.level:g}>"

    @property
    def kinds(self) -> tuple[IntervalKind, ...]:
        """The primary kind of interval, then the additional ones."""
        return kinds_of(self.interval_kind, self.designs)

    @property
    def leaves_out(self) -> bool:
        """Whether images recur in tasks, and intervals for new images leave some out."""
        return "images" in self.designs

    @property
    def displayed_kinds(self) -> tuple[IntervalKind, ...]:
        """The kinds in the order to read them: about new images first, without a closed one."""
        return self.kinds[1:] if self.leaves_out else self.kinds

    @property
    def has_exact_test(self) -> bool:
        """Whether few tasks give pairs a sign-flip test, which methods of several runs have not."""
        few = self.interval_kind == "open" and self.scored.n_tasks < FEW_TASKS
        return few and sum(not score.run_spread for score in self.scores) > 1

    def kind_about(self, about: str) -> IntervalKind | None:
        """Return the displayed kind about something, such as new classes, if there is one."""
        return next((kind for kind in self.displayed_kinds if ABOUT[kind] == about), None)

    @property
    def design(self) -> ClassDesign | None:
        """The design by classes of the tasks; None where tasks reuse images."""
        return self.designs.get(CLASS_AWARE)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Names in the order of rows and columns."""
        return tuple(score.method for score in self.scores)

    @cached_property
    def judged(self) -> NDArray[np.bool_]:
        """Which methods (M,) answered all tasks, whose number was fixed before."""
        whole: NDArray[np.bool_] = self.counts.tasks == self.scored.n_tasks
        return whole & np.array([score.ordinary for score in self.scores], np.bool_)

    @cached_property
    def has_closed(self) -> bool:
        """Whether both methods of some requested pair have closed results."""
        missing = self._either([name not in self.closed for name in self.methods])
        return bool((self.requested & ~missing).any())

    @property
    def pairs(self) -> PairArrays:
        """The pairs by the primary kind; see :meth:`pairs_of`."""
        return self.pairs_of(self.interval_kind)

    @cached_property
    def _arrays(self) -> dict[IntervalKind, PairArrays]:
        """The arrays that :meth:`pairs_of` has made, by kind."""
        return {}

    def pairs_of(self, kind: IntervalKind) -> PairArrays:
        """Return intervals and verdicts of the requested pairs, as arrays (F, M)."""
        if kind not in self._arrays:
            is_primary = kind == self.interval_kind
            pairs = self._primary_pairs() if is_primary else self._additional_pairs(kind)
            self._arrays[kind] = pairs
        return self._arrays[kind]

    def _primary_pairs(self) -> PairArrays:
        pairs = pair_arrays(self.counts, self.requested, self.interval_kind, self.level)
        stopped, prefix = self.requested & self.of_stopped, self.requested & self.of_prefix
        pairs.verdict[stopped | prefix] = pairs.direct[stopped | prefix] = NOT_ESTIMABLE
        pairs.halfwidth[stopped] = np.nan
        for row, column in np.argwhere(stopped).tolist():
            pairs.verdict[row, column] = VERDICTS.index(self._by_rule(row, column)[0])
        return pairs

    def _additional_pairs(self, kind: IntervalKind) -> PairArrays:
        halfwidth = np.full(self.requested.shape, np.nan)
        verdict, direct = (np.full(self.requested.shape, -1, np.int8) for _ in range(2))
        rows, columns = np.nonzero(self.requested & ~self.of_stopped)
        if rows.size:
            found = self._compare(self._by_kind[kind], rows, columns)
            halfwidth[rows, columns] = found.halfwidth[2]
            verdict[rows, columns], direct[rows, columns] = found.verdict, found.direct
        return replace(self.pairs, halfwidth=halfwidth, verdict=verdict, direct=direct)

    def _compare(self, pairs: Pairs, rows: Ints, columns: Ints) -> PairColumns:
        found = pairs.columns(rows, columns)
        stopped, prefix = self.of_stopped[rows, columns], self.of_prefix[rows, columns]
        found.verdict[stopped | prefix] = found.direct[stopped | prefix] = NOT_ESTIMABLE
        found.halfwidth[:, stopped] = np.nan
        if pairs.kind == self.interval_kind:
            for i in np.flatnonzero(stopped).tolist():
                verdict, _ = self._by_rule(int(rows[i]), int(columns[i]))
                found.verdict[i] = VERDICTS.index(verdict)
        return found

    @cached_property
    def _by_kind(self) -> dict[IntervalKind, Pairs]:
        return self._pairs_by_kind()

    def _pairs_by_kind(self) -> dict[IntervalKind, Pairs]:
        """Make the pairs by each kind, which cache what they compute of a method."""
        counts, level = self.counts, self.level
        pairs = {self.interval_kind: PrimaryKind(self.interval_kind).pairs(None, counts, level)}
        for kind in self.kinds[1:]:
            pairs[kind] = ADDITIONAL_KINDS[kind].how.pairs(self.designs[kind], counts, level)
        return pairs

    def p_values(self, kind: IntervalKind) -> NDArray[np.float64]:
        """Return two-sided p-values (F, M), NaN where there is no request or no interval."""
        p = np.full(self.requested.shape, nan)
        rows, columns = np.nonzero(self.requested)
        p[rows, columns] = self._p_of(kind, rows, columns)
        return p

    def _p_of(self, kind: IntervalKind, rows: Ints, columns: Ints) -> NDArray[np.float64]:
        """Return the two-sided p-values (P,) of pairs."""
        judged = self._judged(rows, columns)
        p = np.full(rows.size, nan)
        p[judged] = pair_p(self.counts, rows[judged], columns[judged], kind, self.designs.get(kind))
        return p

    def _judged(self, rows: Ints, columns: Ints) -> NDArray[np.bool_]:
        """Return whether each pair's number of tasks was fixed before the results were known."""
        return np.asarray(~(self.of_stopped[rows, columns] | self.of_prefix[rows, columns]))

    @cached_property
    def closed_verdicts(self) -> NDArray[np.int8]:
        """Verdicts (F, M) by the two methods' closed intervals, -1 where there are none."""
        intervals = [self.closed.get(name) for name in self.methods]
        mean = np.array([nan if i is None else i.mean for i in intervals])
        halfwidth = np.array([nan if i is None else i.halfwidth for i in intervals], float)
        own = slice(len(self.requested))
        verdicts = direct_verdicts(mean[own, None], halfwidth[own, None], mean, halfwidth)
        verdicts[self.of_prefix] = NOT_ESTIMABLE
        verdicts[self._either(np.isnan(mean)) | self.of_stopped] = -1
        return np.asarray(verdicts)

    @cached_property
    def of_stopped(self) -> NDArray[np.bool_]:
        """Pairs (F, M) with a run that had a rule to stop: no ordinary interval of them holds."""
        return self._either([score.stopped is not None for score in self.scores])

    @cached_property
    def of_prefix(self) -> NDArray[np.bool_]:
        """Pairs (F, M) with a prefix that its submitter chose: they have no verdict."""
        return self._either([score.prefix for score in self.scores])

    def _either(self, marked: ArrayLike) -> NDArray[np.bool_]:
        """Return the pairs (F, M) of which at least one method is marked."""
        marks = np.asarray(marked, np.bool_)
        return np.asarray(marks[: len(self.requested), None] | marks)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Requested pairs (F, M) whose verdicts are counted."""
        return self.requested & ~self.of_prefix

    def reason(self, row: int, column: int) -> str:
        """Return why a pair has no verdict, or an empty text if its tasks allow one."""
        if self.of_stopped[row, column]:
            return self._by_rule(row, column)[1]
        return PREFIX if self.of_prefix[row, column] else ""

    @cached_property
    def ties(self) -> Ties | None:
        """Holm-adjusted ties among compared methods that answered all tasks; None below three."""
        return None if self.pairwise_tests is None else self.pairwise_tests.at(self.level)

    @cached_property
    def pairwise_tests(self) -> PairwiseTests | None:
        """The tests from which :attr:`ties` follow at every level."""
        if self.at_other_level is not None:
            return self.at_other_level.pairwise_tests
        rows = np.intersect1d(np.flatnonzero(self.judged), np.nonzero(self.requested)).tolist()
        if len(rows) < 3:
            return None
        names = tuple(self.methods[i] for i in rows)
        return pairwise_tests(names, self.counts, self.interval_kind, self.designs, rows)

    def evidence_of(self, row: int) -> list[Evidence]:
        """Return the evidence on each comparison of :meth:`comparisons_of`, in its order."""
        columns = np.flatnonzero(self.requested[row])
        return self.evidence_at(np.full_like(columns, row), columns)

    def evidence_at(self, rows: Ints, columns: Ints) -> list[Evidence]:
        """Return the evidence on pairs; stopped runs and prefixes have none."""
        common = np.minimum(self.counts.tasks[rows], self.counts.tasks[columns])
        judged = self._judged(rows, columns)
        found = [NO_EVIDENCE] * rows.size
        for tasks in np.unique(common[judged]).tolist():
            pairs = np.flatnonzero((common == tasks) & judged)
            differences = self.counts.differences(rows[pairs], columns[pairs], tasks)
            of_pairs = evidence(differences, self.interval_kind, self.level, self.design)
            for i, of_pair in zip(pairs.tolist(), of_pairs, strict=True):
                found[i] = of_pair
        return found

    def only(self, names: Sequence[str]) -> TaskSetReport:
        """Return the report on some methods, in that order, each compared with every other."""
        rows = [self.methods.index(name) for name in names if name in self.methods]
        scores = tuple(self.scores[i] for i in rows)
        requested = np.triu(np.ones((len(rows), len(rows)), bool), 1)
        counts = self.counts.select(rows)
        return replace(self, scores=scores, counts=counts, requested=requested, at_other_level=None)

    @cached_property
    def over_classes(self) -> TaskSetReport | None:
        """The report with all classes weighted alike; None unless tasks have all classes."""
        tasks, counts = self.designs.get("images"), self.counts
        design = None if tasks is None else tasks.whole
        answers_known = counts.right and None not in counts.right
        all_tasks = (counts.tasks == self.scored.n_tasks).all()
        if not (isinstance(design, AllWayDesign) and answers_known and all_tasks):
            return None
        design = replace(design, alike=False)
        means = AllWaySums(design, counts.right).means
        counts = replace(counts, correct=means, queries_per_task=np.ones(len(counts), int))
        designs: Designs = dict.fromkeys(self.designs, FirstTasks(design))
        intervals = intervals_by_kind(counts, self.interval_kind, self.level, designs, self.units)
        scores = tuple(replace(s, intervals=intervals(i)) for i, s in enumerate(self.scores))
        return replace(self, scores=scores, counts=counts, designs=designs, at_other_level=None)

    @property
    def comparisons(self) -> Comparisons:
        """The requested comparisons."""
        return Comparisons((self,))

    def comparisons_of(self, row: int, columns: Ints | None = None) -> list[Comparison]:
        """Compare the submission's method number `row` with those requested, or some of them."""
        columns = np.flatnonzero(self.requested[row]) if columns is None else columns
        if not columns.size:
            return []
        rows = np.full_like(columns, row)
        found = [self._compare(self._by_kind[kind], rows, columns) for kind in self.kinds]
        return self.comparisons_at(rows, columns, found)

    def comparisons_at(
        self, rows: Ints, columns: Ints, found: Sequence[PairColumns]
    ) -> list[Comparison]:
        """Make comparisons of pairs, given their intervals of each kind."""
        facts = self._same_for_kinds(rows, columns)
        stopped, made = self.of_stopped[rows, columns], []
        for i, intervals in enumerate(zip(*(kind.intervals() for kind in found), strict=True)):
            names = self.methods[rows[i]], self.methods[columns[i]]
            kinds = self.kinds[:1] if stopped[i] else self.kinds
            by_kind = dict(zip(kinds, intervals, strict=False))
            closed, error = int(facts["verdict_closed"][i]), float(facts["run_error"][i])
            comparison = Comparison(
                self.scored.dataset,
                self.scored.task_set,
                *names,
                self.interval_kind,
                ByKind(by_kind, by_kind.__getitem__, self.units),
                None if closed < 0 else VERDICTS[closed],
                facts["reason"][i],
                None if isnan(error) else error,
                tuple(compress(names, _HOLDS_FOR[facts["of_one_model"][i]])),
            )
            made.append(comparison)
        return made

    def pairs_at_once(self) -> Iterator[tuple[Ints, Ints, dict[IntervalKind, PairColumns]]]:
        """Yield the requested pairs in batches, with the intervals of each kind."""
        requested, pairs_by_kind = np.argwhere(self.requested), self._pairs_by_kind()
        for start in range(0, len(requested), _PAIRS_AT_ONCE):
            rows, columns = requested[start : start + _PAIRS_AT_ONCE].T
            found = {k: self._compare(pairs, rows, columns) for k, pairs in pairs_by_kind.items()}
            yield rows, columns, found

    def batches(self, *, with_p: bool = True) -> Iterator[pa.RecordBatch]:
        """Yield the comparisons as rows of :data:`COMPARED`, in batches of pairs.

        There is a row for each comparison and kind of interval, the primary kind first.  Only the
        primary kind has the closed verdict; `p` is each kind's, unadjusted, and missing without
        `with_p`.
        """
        for rows, columns, found in self.pairs_at_once():
            yield self._batch(rows, columns, [*found.values()], with_p=with_p)

    def _batch(
        self, rows: Ints, columns: Ints, found: Sequence[PairColumns], *, with_p: bool
    ) -> pa.RecordBatch:
        facts = self._same_for_kinds(rows, columns)
        has_row = np.ones((rows.size, len(found)), np.bool_)
        has_row[self.of_stopped[rows, columns], 1:] = False  # only the primary kind
        pair, kind = np.nonzero(has_row)
        p = np.full((len(found), rows.size), nan)
        if with_p:
            p[:] = [self._p_of(name, rows, columns) for name in self.kinds]

        def joined(name: str) -> Any:
            return np.stack([getattr(of_kind, name) for of_kind in found], axis=-1)[..., has_row]

        def same(value: object) -> pa.Array:
            return pa.array([value] * pair.size)

        names, verdicts = pa.array(self.methods), pa.array([v.value for v in VERDICTS])
        trained = pa.array([score.trained for score in self.scores], pa.bool_())
        mean, halfwidth = joined("mean"), joined("halfwidth")
        closed = np.where(kind == 0, facts["verdict_closed"][pair], -1)
        values = {
            "dataset": same(self.scored.dataset),
            "task_set": same(self.scored.task_set),
            "method": names.take(pa.array(rows[pair])),
            "versus": names.take(pa.array(columns[pair])),
            "interval": pa.array(self.kinds).take(pa.array(kind)),
            "tasks": joined("tasks"),
            "mean": mean[0],
            "mean_halfwidth": halfwidth[0],
            "versus_mean": mean[1],
            "versus_halfwidth": halfwidth[1],
            "difference": mean[2],
            "halfwidth": halfwidth[2],
            "level": same(self.level),
            "verdict": verdicts.take(pa.array(joined("verdict"))),
            "verdict_direct": verdicts.take(pa.array(joined("direct"))),
            "verdict_closed": verdicts.take(pa.array(closed, mask=closed < 0)),
            "p": p[kind, pair],
            "reason": pa.array(facts["reason"]).take(pa.array(pair)),
            "run_error": facts["run_error"][pair],
            "of_one_model": pa.array(facts["of_one_model"]).take(pa.array(pair)),
            "is_bound": np.array([name in self.units.bounded for name in self.kinds])[kind],
            "trained": trained.take(pa.array(rows[pair])),
            "versus_trained": trained.take(pa.array(columns[pair])),
        }
        arrays = [
            pa.array(values[field.name], field.type, from_pandas=True)
            if isinstance(values[field.name], np.ndarray)
            else values[field.name]
            for field in COMPARED
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=COMPARED)

    def _same_for_kinds(self, rows: Ints, columns: Ints) -> dict[str, Any]:
        """Return the columns of pairs that are the same for all kinds of interval, by name.

        `verdict_closed` is -1 where there is none, an unknown `run_error` is NaN.
        """
        stopped = self.of_stopped[rows, columns]
        single = np.array([score.of_one_model for score in self.scores], np.bool_)
        error = np.sqrt(self.counts.terms_of_pairs(rows, columns)[0])
        first, second = (single[rows] & ~stopped).tolist(), (single[columns] & ~stopped).tolist()
        reasons = [""] * rows.size
        for i in np.flatnonzero(~self._judged(rows, columns)).tolist():
            reasons[i] = self.reason(int(rows[i]), int(columns[i]))
        return {
            "verdict_closed": self.closed_verdicts[rows, columns],
            "reason": reasons,
            "run_error": np.where(stopped | single[rows] | single[columns], nan, error),
            "of_one_model": [WHICH_OF_TWO[both] for both in zip(first, second, strict=True)],
        }

    def _by_rule(self, row: int, column: int) -> tuple[Verdict, str]:
        """Return the verdict of a stopped run's rule, or why there is none."""
        a, b = self.scores[row], self.scores[column]
        return verdict_by_rule((a.method, b.method), (a.stopped, b.stopped), self.level)


ORDER = ("pooled", "closed")
"""Suites whose verdicts on new images come first: they use the most of the images."""


def _rank(name: TaskSetName, *, of_new_images: bool) -> int:
    if not of_new_images:
        return len(ORDER) + 1
    return ORDER.index(name.suite) if name.suite in ORDER else len(ORDER)


def primary_comparisons(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Choose one comparison for each data set, ways, shots and pair of methods.

    It is about new images if possible: of the pooled set, else the closed, else another.
    """
    chosen: dict[tuple[str, int, int, str, str], tuple[int, Comparison]] = {}
    for comparison in comparisons:
        name = TaskSetName.parse(comparison.task_set)
        about = comparison.dataset, name.protocol.way, name.protocol.shot
        key = *about, comparison.method, comparison.versus
        rank = _rank(name, of_new_images=comparison.about_new_images is not None)
        if key not in chosen or rank < chosen[key][0]:
            chosen[key] = rank, comparison.displayed
    return [comparison for _, comparison in chosen.values()]


def primary_sets(sets: Iterable[TaskSetReport]) -> list[TaskSetReport]:
    """Choose one task set for each data set, ways and shots.

    It is the one of which most methods of the submission answer all tasks, without a rule to stop,
    else some; of several, as :func:`primary_comparisons` chooses.
    """
    chosen: dict[tuple[str, int, int], tuple[tuple[int, int, int], TaskSetReport]] = {}
    for task_set in sets:
        name = task_set.scored.name
        of_new_images = task_set.displayed_kinds[0] != "closed"
        n_own = len(task_set.requested)
        whole = int(task_set.judged[:n_own].sum())
        rank = -whole, 0 if whole else -n_own, _rank(name, of_new_images=of_new_images)
        key = task_set.scored.dataset, name.protocol.way, name.protocol.shot
        if key not in chosen or rank < chosen[key][0]:
            chosen[key] = rank, task_set
    datasets = [*dict.fromkeys(dataset for dataset, *_ in chosen)]
    order = sorted(chosen, key=lambda key: (datasets.index(key[0]), key[1:]))
    return [chosen[key][1] for key in order]


def own_methods(task_set: TaskSetReport) -> tuple[str, ...]:
    """Return the methods of the submission that answer a task set."""
    return task_set.methods[: len(task_set.requested)]
