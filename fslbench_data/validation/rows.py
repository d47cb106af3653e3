"""A submission's rows in DuckDB, numbered by group, and the counts that come out of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis_sql.queries.engine import working_database
from analysis_sql.queries.rules import make_facts
from benchmark_spec.errors import UnknownNameError, rows
from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import Binding, GroupKey
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo

if TYPE_CHECKING:
    import duckdb

Array = NDArray[Any]

_NAMES = ("method", "dataset", "task_set", "run")
_VALUES = ("task_id", "n_correct", "n_query", "transductive", "class_correct", "predictions")
_ROWS = 1 << 21
"""Rows that are put into the database at once."""
_COUNTS = 1 << 20
"""Counts that come out of it at once."""


@dataclass(frozen=True)
class Key:
    """What a group of rows answers; `run` is empty where the submission has no such column."""

    method: str
    run: str
    info: TaskSetInfo

    @property
    def bound_by(self) -> GroupKey:
        """Under which a submission's bindings speak of this group, of all its runs."""
        return self.method, self.info.dataset, str(self.info.name)

    def __str__(self) -> str:
        run = f" (run {self.run})" if self.run else ""
        return f"{self.method}{run} on {self.info}"


@dataclass(frozen=True, eq=False)
class Rows:
    """A submission's rows in a database.

    Attributes
    ----------
    connection
        Its table `rows` has a row for each of the submission, in order (`rowid`): the number of its
        group, task_id, n_correct, n_query and the optional columns that are there; texts as
        numbers.  `groups` says what a group answers, and what the release promises of it.
    keys
        What the groups answer, in the order of their first row, `first`.
    """

    submission: Submission
    connection: duckdb.DuckDBPyConnection
    keys: tuple[Key, ...]
    first: tuple[int, ...]

    @property
    def where(self) -> str:
        """The submission's source, for messages."""
        return self.submission.source

    @property
    def columns(self) -> list[str]:
        """Names of the submission's columns."""
        names: list[str] = self.submission.table.column_names
        return names

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the order of their first row."""
        return tuple(dict.fromkeys(key.method for key in self.keys))

    @cached_property
    def infos(self) -> tuple[TaskSetInfo, ...]:
        """The task sets that are answered."""
        return tuple({key.info.text: key.info for key in self.keys}.values())

    def binding(self, key: Key) -> Binding | None:
        """What the metadata says of a group."""
        return self.submission.bindings.get(key.bound_by) if self.submission.bindings else None

    @cached_property
    def expected(self) -> list[int]:
        """Number of tasks that each group claims to answer: all of its set, or a prefix."""
        declared = [(self.binding(key), key.info.n_tasks) for key in self.keys]
        return [n if b is None or b.tasks is None else b.tasks for b, n in declared]

    @cached_property
    def bound(self) -> list[bool]:
        """Whether each group says which tasks it answers, in the metadata or in the column."""
        numbers: set[int] = set()
        if "fingerprint" in self.columns:
            self.facts("group_fingerprints")
            sql = 'SELECT DISTINCT "group" FROM group_fingerprints ORDER BY "group"'
            numbers = {number for (number,) in self.connection.execute(sql).fetchall()}
        bound = enumerate(self.keys)
        return [number in numbers or self.binding(key) is not None for number, key in bound]

    def facts(self, name: str) -> None:
        """Make a table of facts, unless it is there."""
        if name not in self._made:
            self._made.add(name)
            make_facts(self.connection, name)

    @cached_property
    def _made(self) -> set[str]:
        return set()

    def counts(self) -> list[Array]:
        """Correct queries of each task of each group, int16 (expected,): all rules are met."""
        counts: list[Array] = []
        expected = np.array(self.expected)
        ends = np.cumsum(expected)
        begin = 0
        while begin < len(expected):
            offset = ends[begin] - expected[begin]
            end = max(begin + 1, int(np.searchsorted(ends, offset + _COUNTS, side="right")))
            sql = 'SELECT "group", task_id, n_correct FROM rows WHERE "group" BETWEEN ? AND ?'
            # in any order: a count says where it stands
            block = self.connection.execute(sql, [begin, end - 1]).fetchnumpy()
            flat = np.empty(ends[end - 1] - offset, np.int16)
            starts = ends[begin:end] - expected[begin:end] - offset
            flat[starts[block["group"] - begin] + block["task_id"]] = block["n_correct"]
            counts += np.split(flat, ends[begin : end - 1] - offset)
            begin = end
        return counts


@dataclass(frozen=True)
class Terms:
    """What a submission is checked against.

    Attributes
    ----------
    taken
        Names that a method may not have.
    allow_unbound
        Accept answers without a fingerprint.
    """

    release: Release
    taken: Collection[str]
    allow_unbound: bool


def register(submission: Submission, release: Release) -> Rows:
    """Put the rows of a submission into a database, where rules are checked.

    Raises
    ------
    UnknownNameError
        For a data set or task set that the release has not.
    """
    numbering = _Numbering(submission, release)
    table = submission.table
    names = [name for name in (*_NAMES, "fingerprint", *_VALUES) if name in table.column_names]
    connection = working_database()
    fingerprints: dict[str | None, int] = {}
    empty = True
    for start in range(0, table.num_rows, _ROWS):
        piece = table.select(names).slice(start, _ROWS)
        batches = [
            _typed(batch, numbering, fingerprints, start_of)
            for batch, start_of in _numbered(piece, start)
        ]
        connection.register("piece", pa.Table.from_batches(batches))
        if empty:
            connection.execute("CREATE TEMP TABLE rows AS SELECT * FROM piece")
        else:
            connection.execute("INSERT INTO rows SELECT * FROM piece")
        connection.unregister("piece")
        empty = False
    rows_ = Rows(submission, connection, tuple(numbering.keys), tuple(numbering.keys.values()))
    _register_groups(rows_)
    if "fingerprint" in names:
        known = {text: number for text, number in fingerprints.items() if text is not None}
        columns = [pa.array(known.values(), pa.int32()), pa.array(known.keys(), pa.string())]
        connection.register("fingerprints", pa.Table.from_arrays(columns, ["fingerprint", "text"]))
    return rows_


def _numbered(table: pa.Table, start: int) -> list[tuple[pa.RecordBatch, int]]:
    """Batches of a table and the numbers of their first rows."""
    numbered = []
    for batch in table.to_batches():
        numbered.append((batch, start))
        start += len(batch)
    return numbered


class _Numbering:
    """Numbers of groups, in the order of their first rows."""

    def __init__(self, submission: Submission, release: Release) -> None:
        self._where, self._release = submission.source, release
        infos = release.task_sets
        self._infos = {(info.dataset, str(info.name)): info for info in infos}
        self._numbers: dict[tuple[str, ...], int] = {}
        self.keys: dict[Key, int] = {}

    def groups(self, batch: pa.RecordBatch, start: int) -> Array:
        """Return the group of each row of a batch, int32, whose first row is number `start`."""
        names = [name for name in _NAMES if name in batch.schema.names]
        columns = [batch.column(name) for name in names]
        indices = [column.indices.to_numpy() for column in columns]
        is_new = np.zeros(len(batch), np.bool_)
        is_new[:1] = True
        for index in indices:
            is_new[1:] |= index[1:] != index[:-1]
        at = np.flatnonzero(is_new)
        texts = [column.dictionary.to_pylist() for column in columns]
        numbers: dict[tuple[int, ...], int] = {}
        segments = np.empty(len(at), np.int32)
        for position, codes in enumerate(zip(*(i[at].tolist() for i in indices), strict=True)):
            if codes not in numbers:
                named = tuple(text[code] for text, code in zip(texts, codes, strict=True))
                numbers[codes] = self._number(named, start + int(at[position]))
            segments[position] = numbers[codes]
        return np.repeat(segments, np.diff(np.append(at, len(batch))))

    def _number(self, named: tuple[str, ...], row: int) -> int:
        if named not in self._numbers:
            method, dataset, task_set = named[:3]
            info = self._infos.get((dataset, task_set))
            if info is None:
                raise self._unknown(dataset, task_set, row)
            self._numbers[named] = len(self._numbers)
            self.keys[Key(method, named[3] if len(named) > 3 else "", info)] = row
        return self._numbers[named]

    def _unknown(self, dataset: str, task_set: str, row: int) -> UnknownNameError:
        where = f"{self._where}, from {rows([row])}"
        there = [str(info.name) for info in self._release.task_sets if info.dataset == dataset]
        if there:
            return UnknownNameError(f"task set of {dataset}", task_set, there, where=where)
        return UnknownNameError("data set", dataset, self._release.datasets, where=where)


def _typed(
    batch: pa.RecordBatch, numbering: _Numbering, fingerprints: dict[str | None, int], start: int
) -> pa.RecordBatch:
    """The columns of `rows`; predictions once more as texts, a byte each."""
    columns = {"group": pa.array(numbering.groups(batch, start))}
    columns |= {name: batch.column(name) for name in _VALUES if name in batch.schema.names}
    if "fingerprint" in batch.schema.names:
        column = batch.column("fingerprint")
        texts = column.dictionary.to_pylist()
        numbers = [fingerprints.setdefault(text, len(fingerprints)) for text in texts]
        columns["fingerprint"] = pa.array(numbers, pa.int32()).take(column.indices)
    if "predictions" in columns:
        columns["predicted"] = as_texts(columns["predictions"])
        columns.setdefault("class_correct", pa.nulls(len(batch), pa.list_(pa.int16())))
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def as_texts(lists: pa.Array) -> pa.LargeStringArray:
    """Lists of int8 as texts of as many bytes; what is no position is any byte."""
    flat = lists.flatten()  # without what stands under nulls
    values = np.asarray(flat.fill_null(0)) & np.int8(127)
    ends = np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
    offsets = np.concatenate([[0], ends]).astype(np.int64)
    present = lists.is_valid()
    return pa.LargeStringArray.from_buffers(
        len(lists), pa.py_buffer(offsets), pa.py_buffer(values), present.buffers()[1]
    )


def _register_groups(answers: Rows) -> None:
    number = {method: index for index, method in enumerate(answers.methods)}
    sets = {info.text: index for index, info in enumerate(answers.infos)}
    about = answers.submission.methods
    columns: dict[str, tuple[pa.DataType, Sequence[object]]] = {
        "group": (pa.int32(), range(len(answers.keys))),
        "method": (pa.int32(), [number[key.method] for key in answers.keys]),
        "set": (pa.int32(), [sets[key.info.text] for key in answers.keys]),
        "declared": (
            pa.bool_(),
            [about[k.method].transductive if k.method in about else None for k in answers.keys],
        ),
        "way": (pa.int32(), [key.info.protocol.way for key in answers.keys]),
        "query": (pa.int32(), [key.info.protocol.query for key in answers.keys]),
        "n_query": (pa.int32(), [key.info.protocol.n_query for key in answers.keys]),
        "n_tasks": (pa.int32(), [key.info.n_tasks for key in answers.keys]),
        "expected": (pa.int32(), answers.expected),
        "fingerprint": (pa.string(), [key.info.fingerprint for key in answers.keys]),
    }
    arrays = [pa.array(values, kind) for kind, values in columns.values()]
    answers.connection.register("groups", pa.Table.from_arrays(arrays, list(columns)))
