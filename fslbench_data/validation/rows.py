"""Number a submission's rows by group, load them into DuckDB, and count correct queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.engine import new_database, view_by_task, working_database
from analysis_sql.intervals.arrays import Ints
from analysis_sql.intervals.counts import EXACT, RightQueries, run_means
from benchmark_spec.errors import (
    FSLBenchError,
    MissingTaskError,
    TooLargeError,
    UnknownNameError,
    rows,
)
from benchmark_spec.protocol import MAX_QUERIES, suite_of
from fslbench_data.release.release import Release
from fslbench_data.submission.columns import marks
from fslbench_data.submission.model import Binding, GroupKey, Submission
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.predictions import Labels, Predictions

if TYPE_CHECKING:
    import duckdb

Array = NDArray[Any]

_BLOCK_ROWS = 1 << 18
"""Rows whose counts are read at once; more rows get a database of their own."""


class Key(Struct, frozen=True):
    """Method, run and task set of a group of rows; `run` is None if the rows name none."""

    method: str
    run: str | None
    info: TaskSetInfo

    @property
    def without_run(self) -> GroupKey:
        """Method, data set and task set: the key of all runs in a submission's bindings."""
        return self.method, self.info.dataset, str(self.info.name)

    def __str__(self) -> str:
        run = f" (run {self.run})" if self.run else ""
        return f"{self.method}{run} on {self.info}"


class Rows(Struct, frozen=True, eq=False, dict=True):
    """A submission's rows, numbered by group, and the release that they are checked against.

    Attributes
    ----------
    keys, first
        Key and first row of each group, in the order of these rows.
    groups : int16 (N,), or int32 if there are many
        The group of each row.
    taken
        Names that the methods may not have.
    allow_unbound
        Whether results need no fingerprint.
    """

    submission: Submission
    release: Release
    keys: tuple[Key, ...]
    first: tuple[int, ...]
    groups: Array
    taken: Collection[str] = ()
    allow_unbound: bool = True

    @property
    def where(self) -> str:
        """The submission's source, for messages."""
        return self.submission.source

    @property
    def columns(self) -> list[str]:
        """Names of the submission's columns."""
        return self.submission.columns

    def column(self, name: str) -> Array:
        """Return a column of numbers (N,)."""
        values: Array = self.submission.table.column(name).to_numpy()
        return values

    def error(
        self, kind: type[FSLBenchError], what: str, bad: Array, expected: str = "", fix: str = ""
    ) -> FSLBenchError:
        """Return the error about bad rows; it names the group of the first."""
        where = f"{self.where}, {rows(bad)} ({self.keys[self.groups[bad[0]]]})"
        return kind(what, where=where, expected=expected, fix=fix)

    @cached_property
    def infos(self) -> tuple[TaskSetInfo, ...]:
        """The task sets of all groups."""
        return tuple({key.info.text: key.info for key in self.keys}.values())

    @cached_property
    def results(self) -> dict[tuple[str, str], list[int]]:
        """The groups of each method and task set: a single one, or one for each run."""
        results: dict[tuple[str, str], list[int]] = {}
        for group, key in enumerate(self.keys):
            results.setdefault((key.method, key.info.text), []).append(group)
        return results

    def binding(self, key: Key) -> Binding | None:
        """Return the binding of a group in the metadata, if any."""
        return self.submission.bindings.get(key.without_run) if self.submission.bindings else None

    @cached_property
    def expected(self) -> list[int]:
        """Number of tasks that each group declares: all of its set, or a prefix."""
        expected = []
        for key in self.keys:
            binding = self.binding(key)
            prefix = None if binding is None else binding.tasks
            expected.append(key.info.n_tasks if prefix is None else prefix)
        return expected

    @cached_property
    def fingerprints(self) -> dict[tuple[int, str | None], int]:
        """The first row of each group and fingerprint; empty without that column."""
        if "fingerprint" not in self.columns:
            return {}
        column = self.submission.table.column("fingerprint")
        texts, codes = [*column.chunk(0).dictionary.to_pylist(), None], _codes(column)
        first: dict[tuple[int, str | None], int] = {}
        for row in _changes([self.groups, codes]).tolist():
            first.setdefault((int(self.groups[row]), texts[codes[row]]), row)
        return first

    def rows_with(self, fingerprints: Collection[tuple[int, str | None]]) -> Array:
        """Return the rows that have one of these pairs of group and fingerprint."""
        texts = self.submission.table.column("fingerprint").to_pylist()
        pairs = zip(self.groups.tolist(), texts, strict=True)
        return np.array([row for row, pair in enumerate(pairs) if pair in fingerprints])

    @cached_property
    def bound(self) -> list[bool]:
        """Whether each group has a fingerprint, in the metadata or in the column."""
        with_text = {group for group, text in self.fingerprints if text is not None}
        return [
            group in with_text or self.binding(key) is not None
            for group, key in enumerate(self.keys)
        ]

    @cached_property
    def sizes(self) -> tuple[Ints, Ints]:
        """Classes and queries of each row's task (N,); arbitrary if there is no such task."""
        protocols = [key.info.protocol for key in self.keys]
        by_group = np.array([(p.way, p.n_query) for p in protocols], np.int32)
        ways, queries = by_group.T[:, self.groups]
        for info in self.infos:
            if info.name.varies:
                members = np.array([key.info is info for key in self.keys])[self.groups]
                labels, task = Labels.of(self.release, info), self.column("task_id")[members]
                ways[members] = labels.ways.take(task, mode="clip")
                queries[members] = labels.queries.take(task, mode="clip")
        return ways, queries

    @cached_property
    def predictions(self) -> Predictions | None:
        """The predictions; None without a column of them or of right queries."""
        if not {"predictions", "correct"} & {*self.columns}:
            return None
        infos = [key.info for key in self.keys]
        return Predictions(self.submission.table, self.groups, infos, self.release)

    @cached_property
    def database(self) -> duckdb.DuckDBPyConnection:
        """The rows in a database.

        Its table `rows` has the submission's rows in their order (`rowid`): group, task_id,
        n_correct and n_query. `groups` holds what is expected of each group. The expected `queries`
        are in `groups`, or in `rows` if tasks of one set differ.
        """
        # closing a database returns its memory; opening one is too slow for few rows
        large = len(self.groups) > _BLOCK_ROWS
        connection = new_database() if large else working_database()
        names = ("task_id", "n_correct", "n_query")
        numbers = {name: self.submission.table.column(name) for name in names}
        varies = any(info.name.varies for info in self.infos)
        if varies:
            n_tasks = np.array([key.info.n_tasks for key in self.keys])[self.groups]
            unknown = self.column("task_id") // n_tasks != 0
            numbers["queries"] = pa.array(self.sizes[1], mask=unknown)
        connection.register("piece", _narrow(pa.table({"group": self.groups, **numbers})))
        connection.execute("CREATE TEMP TABLE rows AS FROM piece")
        connection.unregister("piece")
        answers = {key: answer for answer, key in enumerate(self.results)}
        groups = {
            "group": pa.array(range(len(self.keys)), pa.int32()),
            "answer": pa.array([answers[k.method, k.info.text] for k in self.keys], pa.int32()),
            "run": pa.array([key.run for key in self.keys], pa.string()),
            "n_tasks": pa.array([key.info.n_tasks for key in self.keys], pa.int32()),
            "expected": pa.array(self.expected, pa.int32()),
        }
        if not varies:
            queries = [key.info.protocol.n_query for key in self.keys]
            groups["queries"] = pa.array(queries, pa.int32())
        connection.register("groups", pa.table(groups))
        return connection

    def close(self) -> None:
        """Close the database, if one was opened."""
        if "database" in vars(self):
            self.database.close()

    def counts(self) -> list[Array]:
        """Count correct queries of each task of each result, over its runs.

        Read from the view `by_task`: int16 (expected,), or int32 if there are runs or more than
        32,767 queries. Episodes, which differ in queries, have accuracies. All rules must be met,
        and runs of a method must have as many tasks.
        """
        firsts = [members[0] for members in self.results.values()]
        runs = np.array([len(members) for members in self.results.values()])
        tasks = np.array([self.expected[group] for group in firsts])
        queries = max(info.protocol.n_query for info in self.infos)
        kind = np.int16 if runs.max() == 1 and queries <= MAX_QUERIES else np.int32
        view_by_task(self.database)
        sql = "SELECT correct, asked FROM by_task WHERE method BETWEEN ? AND ?"
        counts: list[Array] = []
        block = np.cumsum(runs * tasks) // _BLOCK_ROWS
        for results in np.split(np.arange(len(runs)), np.flatnonzero(np.diff(block)) + 1):
            columns = self.database.execute(sql, results[[0, -1]].tolist()).fetchnumpy()
            ends = np.cumsum(tasks[results])[:-1]
            correct, asked = (np.split(columns[name], ends) for name in ("correct", "asked"))
            for number, n_correct, n_query in zip(results.tolist(), correct, asked, strict=True):
                varies = self.keys[firsts[number]].info.name.varies
                counts.append(n_correct / n_query if varies else n_correct.astype(kind))
        return counts

    @cached_property
    def inductive(self) -> set[str]:
        """Names of the methods marked inductive, in the metadata or in all of their rows."""
        pairs = marks(self.submission.table, "inductive")
        unmarked = {name for name, mark in pairs if not mark}
        declared = {name for name, method in self.submission.methods.items() if method.inductive}
        return declared | {name for name, _ in pairs} - unmarked

    def right_queries(self) -> dict[int, RightQueries]:
        """Return which queries were right, by the position of the result.

        Results of inductive methods on tasks that reuse images and are drawn uniformly, and all
        results on tasks of all classes, have it if it is known for all their tasks.
        """
        found: dict[int, RightQueries] = {}
        if self.predictions is None:
            return found
        for number, ((method, _), members) in enumerate(self.results.items()):
            info = self.keys[members[0]].info
            suite, runs = suite_of(info.name.suite), len(members)
            if not suite.whole and not (method in self.inductive and suite.uniform):
                continue
            if all(map(self.predictions.complete, members)):
                right, *others = [self.predictions.right_by_task(group) for group in members]
                if others:
                    counts = np.uint8 if runs < 256 else np.uint16
                    right = np.sum([right, *others], axis=0, dtype=counts)
                regained = [self.predictions.regained(g) for g in members if suite.whole]
                known = [of_run for of_run in regained if of_run is not None]
                stacked = np.stack(known) if len(known) == runs else None
                found[number] = RightQueries(right, runs, stacked)
        return found


_NAMES = ("method", "dataset", "task_set", "run")


def numbered(
    submission: Submission,
    release: Release,
    taken: Collection[str] = (),
    *,
    allow_unbound: bool = True,
) -> Rows:
    """Find the groups of rows, in the order of their first rows, and the group of each row.

    Raises an UnknownNameError for a data set or task set that the release lacks.
    """
    table = submission.table.select([name for name in _NAMES if name in submission.columns])
    changes = _changes(map(_codes, table.columns))  # lazily: one array of codes in memory
    groups = np.zeros(changes.size, np.int64)
    for column in table.columns:
        codes = _codes(column)[changes]
        numbers = pa.array(groups * (int(codes.max()) + 1) + codes)
        groups = numbers.dictionary_encode().indices.to_numpy()
    first = changes[np.diff(np.maximum.accumulate(groups), prepend=-1) > 0]
    kind = np.int16 if len(first) < 1 << 15 else np.int32
    groups = np.repeat(groups.astype(kind), np.diff(changes, append=len(table)))
    infos = {(info.dataset, str(info.name)): info for info in release.task_sets}
    keys = []
    for row, names in zip(first.tolist(), table.take(first).to_pylist(), strict=True):
        info = infos.get((names["dataset"], names["task_set"]))
        if info is None:
            raise _unknown(submission.source, names, row, release)
        keys.append(Key(names["method"], names.get("run"), info))
    first_rows = tuple(first.tolist())
    return Rows(submission, release, tuple(keys), first_rows, groups, taken, allow_unbound)


def _changes(columns: Iterable[Array]) -> Array:
    """Return the first row, and every row that differs in a column (N,) from the one before."""
    is_new: Array = np.zeros(0, np.bool_)
    for values in columns:
        if not is_new.size:
            is_new = np.zeros(len(values), np.bool_)
            is_new[:1] = True
        is_new[1:] |= values[1:] != values[:-1]
    return np.flatnonzero(is_new)


def _narrow(table: pa.Table) -> pa.RecordBatchReader:
    """Return a table with int32 columns as int16 where their values fit, to save memory."""
    schema = table.schema
    for index, field in enumerate(schema):
        if field.type == pa.int32():
            least, most = pc.min_max(table.column(index)).as_py().values()
            if least is not None and max(-least, most) < 1 << 15:
                schema = schema.set(index, field.with_type(pa.int16()))
    batches = (batch.cast(schema) for batch in table.to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)


def _codes(column: pa.ChunkedArray) -> Array:
    """Return the dictionary's codes of a column of names, whose chunks share one dictionary.

    A null, as merging files with and without runs leaves them, has the last code.
    """
    missing = len(column.chunk(0).dictionary)
    return np.concatenate([chunk.indices.fill_null(missing).to_numpy() for chunk in column.chunks])


def _unknown(source: str, names: dict[str, str], row: int, release: Release) -> UnknownNameError:
    where, dataset = f"{source}, from {rows([row])}", names["dataset"]
    if task_sets := [str(info.name) for info in release.task_sets if info.dataset == dataset]:
        return UnknownNameError(f"task set of {dataset}", names["task_set"], task_sets, where=where)
    fix = "if the tasks are another release's, name that one (--release)"
    return UnknownNameError("data set", dataset, release.datasets, where=where, fix=fix)


class Group(Struct, frozen=True, eq=False):
    """One method's complete results on one task set.

    Attributes
    ----------
    counts : int16 (tasks,), or int32 with several runs or more than 32,767 queries
        Correct queries of each task, summed over runs.  If a log has no counts: accuracies from 0
        to 1 as floats, averaged over runs.
    bound, runs
        Whether a fingerprint binds the results to these tasks; the names of the runs, if any.
    run_totals : int64 (runs,)
        Correct queries of each run, over all its tasks; or the sum of its accuracies.
    run_of_task : int64 (tasks,) or None
        The run of each task, 0..R-1, if every run of a log has tasks of its own.
    right
        Which queries were right, for an inductive method with all predictions known.
    """

    method: str
    info: TaskSetInfo
    counts: Array
    bound: bool
    runs: tuple[str, ...]
    run_totals: Array
    run_of_task: Array | None = None
    right: RightQueries | None = None

    @property
    def tasks(self) -> int:
        """Number of tasks: T of the set, or the declared prefix."""
        return len(self.counts)

    @property
    def queries_per_task(self) -> int:
        """Queries of a task, over all runs; 1 for accuracies."""
        return 1 if self._of_accuracies else self.info.protocol.n_query * max(len(self.runs), 1)

    @property
    def run_spread(self) -> float | None:
        """Standard deviation between runs' accuracies, percentage points; None below two runs."""
        if len(self.runs) < 2:
            return None
        if self.run_of_task is None and (self.run_totals == self.run_totals[0]).all():
            return 0.0  # np.std may round it to more
        return float(np.std([*self.run_means.values()], ddof=1))

    @property
    def run_means(self) -> dict[str, float]:
        """The mean of each run by its name, percentage points; empty below two runs."""
        if len(self.runs) < 2:
            return {}
        if self.run_of_task is not None:
            values = 100.0 * run_means(self.counts[None], self.run_of_task)[0]
        else:
            queries = 1 if self._of_accuracies else self.info.protocol.n_query
            values = 100.0 * self.run_totals / (self.tasks * queries)
        return dict(zip(self.runs, values.tolist(), strict=True))

    @property
    def _of_accuracies(self) -> bool:
        return bool(self.counts.dtype.kind == "f")


def sum_runs(table: Rows) -> list[Group]:
    """Sum runs to one group per method and task set, in the order of their first row.

    Raises a MissingTaskError if a method's runs have different tasks; a TooLargeError if there are
    too many runs to be compared exactly with as many of another method.
    """
    results = [*table.results.values()]
    for members in results:
        _check_runs(table, members)
    totals = _run_totals(table) if len(table.results) < len(table.keys) else np.empty(0)
    right = table.right_queries()
    groups = []
    for number, counts in enumerate(table.counts()):
        members = results[number]
        keys = [table.keys[member] for member in members]
        runs = tuple(key.run for key in keys if key.run is not None)
        kind = np.float64 if counts.dtype.kind == "f" else np.int64
        group = Group(
            method=keys[0].method,
            info=keys[0].info,
            counts=counts,
            bound=all(table.bound[member] for member in members),
            runs=runs,
            run_totals=np.array(totals[members] if len(members) > 1 else (), kind),
            right=right.get(number),
        )
        groups.append(group)
    return groups


def _run_totals(table: Rows) -> Array:
    """Sum the correct queries of each group, or its accuracies if tasks differ in queries."""
    correct: Array = table.column("n_correct")
    if any(info.name.varies for info in table.infos):
        varies = np.array([key.info.name.varies for key in table.keys])[table.groups]
        correct = np.where(varies, correct / table.column("n_query"), correct)
    return np.bincount(table.groups, correct)


def _check_runs(table: Rows, members: Sequence[int]) -> None:
    """Refuse runs that cannot be summed task by task, or not exactly."""
    method, info = table.keys[members[0]].method, table.keys[members[0]].info
    if len({table.expected[member] for member in members}) > 1:
        raise MissingTaskError(
            f"the runs of {method} on {info} answer different numbers of tasks",
            where=f"{table.where}: {', '.join(str(table.keys[member]) for member in members)}",
            expected="the same tasks in every run",
        )
    runs, tasks = len(members), table.expected[members[0]]
    # the counts of two methods have a common unit of at most K·Q times both numbers of runs
    most = isqrt(EXACT // (tasks * info.protocol.n_query))
    if runs > most:
        raise TooLargeError(
            f"{method} on {info} has {runs} runs",
            where=table.where,
            expected=f"at most {most} of {tasks} tasks of {info.protocol.n_query} queries: counts "
            "are compared in whole numbers of 63 bits",
            fix="leave out some runs",
        )
