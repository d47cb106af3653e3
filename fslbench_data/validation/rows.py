"""A submission's rows, numbered by group and in DuckDB, and the counts that come out of it."""

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

from analysis_sql.intervals.arrays import Ints
from analysis_sql.intervals.counts import EXACT, RightQueries, run_means
from analysis_sql.queries.engine import new_database, view_by_task, working_database
from benchmark_spec.errors import (
    FSLBenchError,
    MissingTaskError,
    TooLargeError,
    UnknownNameError,
    rows,
)
from benchmark_spec.protocol import MAX_QUERIES, suite_of
from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import Binding, GroupKey
from fslbench_data.submission.columns import marks
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.predictions import Labels, Predictions

if TYPE_CHECKING:
    import duckdb

Array = NDArray[Any]

_ROWS = 1 << 18
"""Rows with counts that are read at once; of more, there is a database of their own."""


class Key(Struct, frozen=True):
    """Method, run and task set of a group of rows; `run` is None where the rows have none."""

    method: str
    run: str | None
    info: TaskSetInfo

    @property
    def bound_by(self) -> GroupKey:
        """The key of this group, and of all its runs, in a submission's bindings."""
        return self.method, self.info.dataset, str(self.info.name)

    def __str__(self) -> str:
        run = f" (run {self.run})" if self.run else ""
        return f"{self.method}{run} on {self.info}"


class Rows(Struct, frozen=True, eq=False, dict=True):
    """A submission's rows, numbered by group, and what they are checked against.

    Attributes
    ----------
    keys, first
        Key and first row of each group, in the order of these rows.
    groups : int16 (N,), or int32 where there are more
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
        """Return the error about some rows; it names the group of the first."""
        where = f"{self.where}, {rows(bad)} ({self.keys[self.groups[bad[0]]]})"
        return kind(what, where=where, expected=expected, fix=fix)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the order of their first row."""
        return tuple(dict.fromkeys(key.method for key in self.keys))

    @cached_property
    def infos(self) -> tuple[TaskSetInfo, ...]:
        """The task sets of all groups."""
        return tuple({key.info.text: key.info for key in self.keys}.values())

    @cached_property
    def results(self) -> dict[tuple[str, str], list[int]]:
        """The groups of each method and task set: one, or its runs."""
        results: dict[tuple[str, str], list[int]] = {}
        for group, key in enumerate(self.keys):
            results.setdefault((key.method, key.info.text), []).append(group)
        return results

    def binding(self, key: Key) -> Binding | None:
        """Return the binding of a group in the metadata, if any."""
        return self.submission.bindings.get(key.bound_by) if self.submission.bindings else None

    @cached_property
    def expected(self) -> list[int]:
        """Number of tasks that each group declares: all of its set, or a prefix."""
        declared = [(self.binding(key), key.info.n_tasks) for key in self.keys]
        return [n if b is None or b.tasks is None else b.tasks for b, n in declared]

    @cached_property
    def fingerprints(self) -> dict[tuple[int, str | None], int]:
        """The first row of each group and fingerprint; without a column none."""
        if "fingerprint" not in self.columns:
            return {}
        column = self.submission.table.column("fingerprint")
        texts, codes = [*column.chunk(0).dictionary.to_pylist(), None], _codes(column)
        found: dict[tuple[int, str | None], int] = {}
        for row in _starts([self.groups, codes]).tolist():
            found.setdefault((int(self.groups[row]), texts[codes[row]]), row)
        return found

    def rows_with(self, some: Collection[tuple[int, str | None]]) -> Array:
        """Return the rows of some groups that have one of some fingerprints."""
        texts = self.submission.table.column("fingerprint").to_pylist()
        pairs = zip(self.groups.tolist(), texts, strict=True)
        return np.array([row for row, pair in enumerate(pairs) if pair in some])

    @cached_property
    def bound(self) -> list[bool]:
        """Whether each group has a fingerprint, in the metadata or in the column."""
        said = {group for group, text in self.fingerprints if text is not None}
        return [n in said or self.binding(key) is not None for n, key in enumerate(self.keys)]

    @cached_property
    def sizes(self) -> tuple[Ints, Ints]:
        """Classes and queries of the task of each row (N,); of tasks that are not there any."""
        protocols = [key.info.protocol for key in self.keys]
        of_groups = np.array([(p.way, p.n_query) for p in protocols], np.int32)
        ways, queries = of_groups.T[:, self.groups]
        for info in self.infos:
            if info.name.varies:
                own = np.array([key.info is info for key in self.keys])[self.groups]
                labels, task = Labels.of(self.release, info), self.column("task_id")[own]
                ways[own] = labels.ways.take(task, mode="clip")
                queries[own] = labels.queries.take(task, mode="clip")
        return ways, queries

    @cached_property
    def predictions(self) -> Predictions | None:
        """Which queries are right; None if no column says so."""
        if not {"predictions", "correct"} & {*self.columns}:
            return None
        infos = [key.info for key in self.keys]
        return Predictions(self.submission.table, self.groups, infos, self.release)

    @cached_property
    def database(self) -> duckdb.DuckDBPyConnection:
        """The rows in a database.

        Its table `rows` has a row for each of the submission, in order (`rowid`): its group,
        task_id, n_correct and n_query. `groups` says what is expected of each group; the `queries`
        of tasks, too, unless some tasks of a set differ: then `rows` does.
        """
        # a database gives memory back when it is closed; opening one takes as long as checking few
        large = len(self.groups) > _ROWS
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
        number = {key: answer for answer, key in enumerate(self.results)}
        groups = {
            "group": pa.array(range(len(self.keys)), pa.int32()),
            "answer": pa.array([number[k.method, k.info.text] for k in self.keys], pa.int32()),
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
        """Count correct queries of each task of each result; its runs must have as many tasks.

        Read from the view `by_task`, int16 (expected,), or int32 if there are runs or more than
        32,767 queries: all rules are met. Of episodes, which differ in queries, accuracies.
        """
        firsts = [members[0] for members in self.results.values()]
        runs = np.array([len(members) for members in self.results.values()])
        tasks = np.array([self.expected[group] for group in firsts])
        queries = max(info.protocol.n_query for info in self.infos)
        kind = np.int16 if runs.max() == 1 and queries <= MAX_QUERIES else np.int32
        view_by_task(self.database)
        sql = "SELECT correct, asked FROM by_task WHERE method BETWEEN ? AND ?"
        counts: list[Array] = []
        block = np.cumsum(runs * tasks) // _ROWS
        for results in np.split(np.arange(len(runs)), np.flatnonzero(np.diff(block)) + 1):
            found = self.database.execute(sql, results[[0, -1]].tolist()).fetchnumpy()
            ends = np.cumsum(tasks[results])[:-1]
            split = zip(
                *(np.split(found[name], ends) for name in ("correct", "asked")), strict=True
            )
            for which, (correct, asked) in zip(results.tolist(), split, strict=True):
                varies = self.keys[firsts[which]].info.name.varies
                counts.append(correct / asked if varies else correct.astype(kind))
        return counts

    @cached_property
    def inductive(self) -> set[str]:
        """Names of the methods marked inductive, in the metadata or in all of their rows."""
        about = self.submission.methods
        said = marks(self.submission.table, "inductive")
        unsaid = {name for name, mark in said if not mark}
        names = {name for name, method in about.items() if method.inductive}
        return names | {name for name, _ in said} - unsaid

    def right_queries(self) -> dict[int, RightQueries]:
        """Return which queries were right, by the position of the result.

        Of inductive methods on tasks that reuse images and are drawn uniformly, and of all on tasks
        of all classes, where that is known of all tasks.
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
                known = [own for own in regained if own is not None]
                every = np.stack(known) if len(known) == runs else None
                found[number] = RightQueries(right, runs, every)
        return found


_NAMES = ("method", "dataset", "task_set", "run")


def numbered(
    submission: Submission,
    release: Release,
    taken: Collection[str] = (),
    *,
    allow_unbound: bool = True,
) -> Rows:
    """Give numbers to groups of rows, in the order of their first rows.

    Raises an UnknownNameError for a data set or task set that the release has not.
    """
    table = submission.table.select([name for name in _NAMES if name in submission.columns])
    at = _starts(map(_codes, table.columns))  # of which no two are held as arrays at once
    groups = np.zeros(at.size, np.int64)
    for column in table.columns:
        codes = _codes(column)[at]
        numbers = pa.array(groups * (int(codes.max()) + 1) + codes)
        groups = numbers.dictionary_encode().indices.to_numpy()
    first = at[np.diff(np.maximum.accumulate(groups), prepend=-1) > 0]
    kind = np.int16 if len(first) < 1 << 15 else np.int32
    groups = np.repeat(groups.astype(kind), np.diff(at, append=len(table)))
    infos = {(info.dataset, str(info.name)): info for info in release.task_sets}
    keys = []
    for row, named in zip(first.tolist(), table.take(first).to_pylist(), strict=True):
        info = infos.get((named["dataset"], named["task_set"]))
        if info is None:
            raise _unknown(submission.source, named, row, release)
        keys.append(Key(named["method"], named.get("run"), info))
    firsts = tuple(first.tolist())
    return Rows(submission, release, tuple(keys), firsts, groups, taken, allow_unbound)


def _starts(columns: Iterable[Array]) -> Array:
    """Return the rows at which one of some columns (N,) has another value than before."""
    is_new: Array = np.zeros(0, np.bool_)
    for values in columns:
        if not is_new.size:
            is_new = np.zeros(len(values), np.bool_)
            is_new[:1] = True
        is_new[1:] |= values[1:] != values[:-1]
    return np.flatnonzero(is_new)


def _narrow(table: pa.Table) -> pa.RecordBatchReader:
    """Give a table with numbers in two bytes where these hold all: many rows take less memory."""
    schema = table.schema
    for at, each in enumerate(schema):
        if each.type == pa.int32():
            least, most = pc.min_max(table.column(at)).as_py().values()
            if least is not None and max(-least, most) < 1 << 15:
                schema = schema.set(at, each.with_type(pa.int16()))
    batches = (batch.cast(schema) for batch in table.to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)


def _codes(column: pa.ChunkedArray) -> Array:
    """Return the numbers of names in a column; its chunks have one dictionary.

    A null, as of a file without runs that was merged with one with runs, has the last number.
    """
    missing = len(column.chunk(0).dictionary)
    return np.concatenate([chunk.indices.fill_null(missing).to_numpy() for chunk in column.chunks])


def _unknown(source: str, named: dict[str, str], row: int, release: Release) -> UnknownNameError:
    where, dataset = f"{source}, from {rows([row])}", named["dataset"]
    if there := [str(info.name) for info in release.task_sets if info.dataset == dataset]:
        return UnknownNameError(f"task set of {dataset}", named["task_set"], there, where=where)
    fix = "if the tasks are another release's, name that one (--release)"
    return UnknownNameError("data set", dataset, release.datasets, where=where, fix=fix)


class Group(Struct, frozen=True, eq=False):
    """One method's results on one task set, found complete.

    Attributes
    ----------
    counts : int16 (tasks,), or int32 where there are several runs or more than 32,767 queries
        Correct queries of each task, summed over runs.  Floats, accuracies of 0 to 1, where a log
        has no counts; of several runs their mean.
    bound, runs
        Whether a fingerprint binds the results to these tasks; the names of the runs, if any.
    run_totals : int64 (runs,)
        Correct queries of each run, over all its tasks; of accuracies their sum.
    run_of_task : int64 (tasks,) or None
        The run of each task, 0..R-1, where every run of a log has tasks of its own.
    right
        Which queries were right, of an inductive method with all predictions known.
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
        """Queries in a task, over all runs; 1 of accuracies."""
        return 1 if self._of_accuracies else self.info.protocol.n_query * max(len(self.runs), 1)

    @property
    def run_spread(self) -> float | None:
        """Sample standard deviation between runs' accuracies, percentage points; None below 2."""
        if len(self.runs) < 2:
            return None
        if self.run_of_task is None and (self.run_totals == self.run_totals[0]).all():
            return 0.0  # and no rounding of it
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
    """Sum runs to one group a method and task set, in the order of their first row.

    Raises a MissingTaskError if a method's runs have different tasks; a TooLargeError if they are
    more than can be compared exactly with as many runs of another method.
    """
    for members in table.results.values():
        _check_runs(table, members)
    totals = _run_totals(table) if len(table.results) < len(table.keys) else np.empty(0)
    right = table.right_queries()
    return [
        Group(
            method,
            table.keys[members[0]].info,
            counts,
            all(table.bound[i] for i in members),
            tuple(run for i in members if (run := table.keys[i].run) is not None),
            np.array(
                totals[members] if len(members) > 1 else (),
                np.float64 if counts.dtype.kind == "f" else np.int64,
            ),
            right=right.get(number),
        )
        for number, (((method, _), members), counts) in enumerate(
            zip(table.results.items(), table.counts(), strict=True)
        )
    ]


def _run_totals(table: Rows) -> Array:
    """Sum what each group has right; of tasks that differ in queries the accuracies."""
    correct: Array = table.column("n_correct")
    if any(info.name.varies for info in table.infos):
        varies = np.array([key.info.name.varies for key in table.keys])[table.groups]
        correct = np.where(varies, correct / table.column("n_query"), correct)
    return np.bincount(table.groups, correct)


def _check_runs(table: Rows, members: Sequence[int]) -> None:
    """Refuse runs that cannot be summed task by task, or not exactly."""
    method, info = table.keys[members[0]].method, table.keys[members[0]].info
    where = f"{table.where}: {', '.join(str(table.keys[i]) for i in members)}"
    if len({table.expected[i] for i in members}) > 1:
        raise MissingTaskError(
            f"the runs of {method} on {info} answer different numbers of tasks",
            where=where,
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
