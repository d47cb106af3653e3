"""A submission's rows in DuckDB, numbered by group, and the counts that come out of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.intervals.counts import EXACT, RightQueries, run_means
from analysis_sql.queries.engine import make_facts, new_database, view_by_task, working_database
from benchmark_spec.errors import MissingTaskError, TooLargeError, UnknownNameError, rows
from benchmark_spec.protocol import MAX_QUERIES, suite_of
from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import Binding, GroupKey
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.predictions import Predictions

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
    """A submission's rows in a database.

    Its table `rows` has a row for each of the submission, in order (`rowid`): the number of its
    group, task_id, n_correct, n_query and the optional columns that are there; texts as numbers,
    and no lists of queries. `groups` has the key of each group, and what the release promises of
    it; `keys` are the same here, in the order of their first row, `first`.
    """

    submission: Submission
    connection: duckdb.DuckDBPyConnection
    keys: tuple[Key, ...]
    first: tuple[int, ...]
    predictions: Predictions | None

    @property
    def where(self) -> str:
        """The submission's source, for messages."""
        return self.submission.source

    @property
    def columns(self) -> list[str]:
        """Names of the submission's columns."""
        return self.submission.columns

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
    def bound(self) -> list[bool]:
        """Whether each group has a fingerprint, in the metadata or in the column."""
        numbers: set[int] = set()
        if "fingerprint" in self.columns:
            self.facts("group_fingerprints")
            sql = 'SELECT DISTINCT "group" FROM group_fingerprints ORDER BY "group"'
            numbers = {number for (number,) in self.connection.execute(sql).fetchall()}
        bound = enumerate(self.keys)
        return [number in numbers or self.binding(key) is not None for number, key in bound]

    @cached_property
    def _made(self) -> set[str]:
        """Tables of facts that are there."""
        return set()

    def facts(self, name: str) -> bool:
        """Make a table of facts unless it is there; False if it is about lists, and none are."""
        of_lists = name in ("predicted", "contradictions")
        if of_lists and self.predictions is None:
            return False
        if name not in self._made:
            self._made.add(name)
            if of_lists:
                self.connection.register(name, getattr(self.predictions, name)())
            else:
                make_facts(self.connection, name)
        return True

    def counts(self) -> list[Array]:
        """Count correct queries of each task of each result; its runs must have as many tasks.

        Read from the view `by_task`, int16 (expected,), or int32 if there are runs or more than
        32,767 queries: all rules are met. Of episodes, which differ in queries, accuracies.
        """
        runs = np.array([len(members) for members in self.results.values()])
        tasks = np.array([self.expected[members[0]] for members in self.results.values()])
        rows, ends = np.cumsum(runs * tasks), np.cumsum(tasks)
        queries = max(info.protocol.n_query for info in self.infos)
        kind = np.int16 if runs.max() == 1 and queries <= MAX_QUERIES else np.int32
        view_by_task(self.connection)
        varies = [self.keys[members[0]].info.name.varies for members in self.results.values()]
        sql = "SELECT correct, asked FROM by_task WHERE method BETWEEN ? AND ?"
        counts: list[Array] = []
        while (begin := len(counts)) < len(runs):
            last = rows[begin] - runs[begin] * tasks[begin] + _ROWS
            end = max(begin + 1, int(np.searchsorted(rows, last, side="right")))
            block = self.connection.execute(sql, [begin, end - 1]).fetchnumpy()
            first = ends[begin] - tasks[begin]
            correct, n_query = (
                np.split(block[name], ends[begin : end - 1] - first)
                for name in ("correct", "asked")
            )
            for which, (x, n) in enumerate(zip(correct, n_query, strict=True), begin):
                counts.append(np.asarray(x / n) if varies[which] else np.asarray(x, kind))
        return counts

    @cached_property
    def inductive(self) -> set[str]:
        """Names of the methods marked inductive, in the metadata or in all of their rows."""
        about = self.submission.methods
        names = {name for name, method in about.items() if method.inductive}
        if "inductive" in self.columns:
            sql = (
                'SELECT method FROM rows JOIN groups USING ("group") GROUP BY method '
                "HAVING bool_and(coalesce(inductive, false))"
            )
            found = self.connection.execute(sql).fetchall()
            names |= {self.methods[number] for (number,) in found}
        return names

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


class Terms(Struct, frozen=True):
    """What a submission is checked against.

    Methods may not have the names that are `taken`; results need no fingerprint with
    `allow_unbound`.
    """

    release: Release
    taken: Collection[str]
    allow_unbound: bool


_NAMES = ("method", "dataset", "task_set", "run")
_VALUES = ("task_id", "n_correct", "n_query", "transductive", "inductive", "class_correct")


def register(submission: Submission, release: Release) -> Rows:
    """Put the rows of a submission into a database, where rules are checked.

    Raises an UnknownNameError for a data set or task set that the release has not.
    """
    keys, groups = numbered(submission, release)
    table = submission.table
    # a database gives memory back when it is closed; opening one takes as long as checking a few
    connection = new_database() if len(table) > _ROWS else working_database()
    columns: dict[str, Any] = {"group": pa.array(groups)}
    columns |= {name: table.column(name) for name in _VALUES if name in table.column_names}
    if "fingerprint" in table.column_names:
        column = table.column("fingerprint").unify_dictionaries()
        every = [text for chunk in column.chunks[:1] for text in chunk.dictionary.to_pylist()]
        texts = {text: number for number, text in enumerate(every)}
        kind = pa.int16() if len(texts) < 1 << 15 else pa.int32()
        numbers = pa.array([texts[text] for text in every], kind)
        columns["fingerprint"] = pa.chunked_array(
            [numbers.take(chunk.indices) for chunk in column.chunks], kind
        )
        named = [pa.array(texts.values(), kind), pa.array(texts.keys(), pa.string())]
        connection.register("fingerprints", pa.Table.from_arrays(named, ["fingerprint", "text"]))
    connection.register("piece", _narrow(pa.table(columns)))
    connection.execute("CREATE TEMP TABLE rows AS SELECT * FROM piece")
    connection.unregister("piece")
    predictions = None
    if {"predictions", "correct"} & {*table.column_names}:
        predictions = Predictions(table, groups, [key.info for key in keys], release)
    registered = Rows(submission, connection, tuple(keys), tuple(keys.values()), predictions)
    _register_groups(registered)
    return registered


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


def numbered(submission: Submission, release: Release) -> tuple[dict[Key, int], Array]:
    """Give numbers to groups in the order of their first rows.

    Returns the first row of each group, and the group of each row, int16 where these suffice.
    """
    names = [name for name in _NAMES if name in submission.columns]
    table = submission.table.select(names).unify_dictionaries()
    is_new = np.arange(len(table)) == 0
    for column in table.columns:  # of which no two are held as arrays at once
        code = _codes(column)
        is_new[1:] |= code[1:] != code[:-1]
    at, group = np.flatnonzero(is_new), np.zeros(is_new.sum(), np.int64)
    for column in table.columns:
        code = _codes(column)[at]
        group = np.unique(group * (int(code.max()) + 1) + code, return_inverse=True)[1]
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    infos = {(info.dataset, str(info.name)): info for info in release.task_sets}
    keys: dict[Key, int] = {}
    number: dict[Key, int] = {}
    numbers = np.empty(len(first), np.int16 if len(first) < 1 << 15 else np.int32)
    order = np.argsort(first)
    for which, named in zip(order, table.take(at[first[order]]).to_pylist(), strict=True):
        row = int(at[first[which]])
        info = infos.get((named["dataset"], named["task_set"]))
        if info is None:
            raise _unknown(submission.source, named, row, release)
        key = Key(named["method"], named.get("run"), info)
        keys.setdefault(key, row)
        numbers[which] = number.setdefault(key, len(number))
    return keys, np.repeat(numbers[group], np.diff(np.append(at, len(table))))


def _codes(column: pa.ChunkedArray) -> Array:
    """Return the numbers of names in a column; its chunks have one dictionary.

    A null, as of a file without runs that was merged with one with runs, has the last number.
    """
    missing = max((len(chunk.dictionary) for chunk in column.chunks), default=0)
    indices = (chunk.indices for chunk in column.chunks)
    parts = [(own.fill_null(missing) if own.null_count else own).to_numpy() for own in indices]
    return np.concatenate(parts) if parts else np.zeros(0, np.int32)


def _unknown(source: str, named: dict[str, str], row: int, release: Release) -> UnknownNameError:
    where, dataset = f"{source}, from {rows([row])}", named["dataset"]
    if there := [str(info.name) for info in release.task_sets if info.dataset == dataset]:
        return UnknownNameError(f"task set of {dataset}", named["task_set"], there, where=where)
    fix = "if the tasks are another release's, name that one (--release)"
    return UnknownNameError("data set", dataset, release.datasets, where=where, fix=fix)


def _register_groups(table: Rows) -> None:
    number = {method: index for index, method in enumerate(table.methods)}
    sets = {info.text: index for index, info in enumerate(table.infos)}
    about = table.submission.methods
    result = {group: i for i, groups in enumerate(table.results.values()) for group in groups}
    # of episodes, which differ in shape, no rule of SQL holds
    protocols = [None if k.info.name.varies else k.info.protocol for k in table.keys]
    columns: dict[str, tuple[pa.DataType, Sequence[object]]] = {
        "group": (pa.int32(), range(len(table.keys))),
        "answer": (pa.int32(), [result[group] for group in range(len(table.keys))]),
        "run": (pa.string(), [key.run for key in table.keys]),
        "method": (pa.int32(), [number[key.method] for key in table.keys]),
        "set": (pa.int32(), [sets[key.info.text] for key in table.keys]),
        "declared": (
            pa.bool_(),
            [about[k.method].transductive if k.method in about else None for k in table.keys],
        ),
        "way": (pa.int32(), [p and p.way for p in protocols]),
        "query": (pa.int32(), [p and p.query for p in protocols]),
        "n_query": (pa.int32(), [p and p.n_query for p in protocols]),
        "n_tasks": (pa.int32(), [key.info.n_tasks for key in table.keys]),
        "expected": (pa.int32(), table.expected),
        "fingerprint": (pa.string(), [key.info.fingerprint for key in table.keys]),
    }
    arrays = [pa.array(values, kind) for kind, values in columns.values()]
    table.connection.register("groups", pa.Table.from_arrays(arrays, list(columns)))


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
    totals: list[float] = []
    if len(table.results) < len(table.keys):
        sql = (
            "SELECT CASE WHEN any_value(g.n_query) IS NULL THEN sum(n_correct / r.n_query) "
            'ELSE sum(n_correct) END FROM rows AS r JOIN groups AS g USING ("group") '
            'GROUP BY "group" ORDER BY "group"'
        )
        totals = [total for (total,) in table.connection.execute(sql).fetchall()]
    right = table.right_queries()
    return [
        Group(
            method,
            table.keys[members[0]].info,
            counts,
            all(table.bound[i] for i in members),
            tuple(run for i in members if (run := table.keys[i].run) is not None),
            np.array(
                [totals[i] for i in members] if len(members) > 1 else (),
                np.float64 if counts.dtype.kind == "f" else np.int64,
            ),
            right=right.get(number),
        )
        for number, (((method, _), members), counts) in enumerate(
            zip(table.results.items(), table.counts(), strict=True)
        )
    ]


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
