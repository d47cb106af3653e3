"""Putting a submission's rows into DuckDB: a row as it stands, its names as the group's number."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from analysis_sql.queries.engine import working_database
from benchmark_spec.errors import UnknownNameError, rows
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.validation.rows import Array, Database, Key, Rows

if TYPE_CHECKING:
    import duckdb

_NAMES = ("method", "dataset", "task_set", "run")
_VALUES = ("task_id", "n_correct", "n_query", "transductive", "class_correct", "predictions")
_ROWS = 1 << 20
"""Rows that are put into the database at once; of more, each piece is compressed."""
_COMPRESSED = {
    **dict.fromkeys(("group", "n_query"), "USING COMPRESSION rle"),
    **dict.fromkeys(("task_id", "n_correct"), "USING COMPRESSION bitpacking"),
}
"""How, where DuckDB need not try: the group of a row is mostly that of the row before."""
_BOXES = itertools.count()


def register(submission: Submission, release: Release) -> Rows:
    """Put the rows of a submission into a database, where rules are checked.

    Raises an UnknownNameError for a data set or task set that the release has not.
    """
    numbering = _Numbering(submission, release)
    fingerprints: dict[str | None, int] = {}
    database = Database(working_database())
    try:
        start = 0
        waiting: list[pa.RecordBatch] = []
        for batch in submission.batches():
            waiting.append(_typed(batch, numbering, fingerprints, start))
            start += len(batch)
            if sum(map(len, waiting)) >= _ROWS:
                _insert_compressed(database, waiting)
                waiting = []
        if database.box:
            _insert_compressed(database, waiting)
        else:
            with _registered(database.connection, waiting):
                database.connection.execute("CREATE TEMP TABLE rows AS SELECT * FROM piece")
    except BaseException:
        database.close()
        raise
    keys = numbering.keys
    answers = Rows(submission, database, tuple(keys), tuple(keys.values()))
    _register_groups(answers)
    if "fingerprint" in submission.columns:
        texts = {text: number for text, number in fingerprints.items() if text is not None}
        columns = [pa.array(texts.values(), pa.int32()), pa.array(texts.keys(), pa.string())]
        table = pa.Table.from_arrays(columns, ["fingerprint", "text"])
        database.connection.register("fingerprints", table)
    return answers


def _insert_compressed(database: Database, batches: Sequence[pa.RecordBatch]) -> None:
    if not batches:
        return
    connection = database.connection
    with _registered(connection, batches):
        if not database.box:
            types = connection.execute("DESCRIBE piece").fetchall()
            box = database.box = f"box{next(_BOXES)}"
            columns = [f'"{name}" {kind} {_COMPRESSED.get(name, "")}' for name, kind, *_ in types]
            connection.execute(f"ATTACH ':memory:' AS {box} (COMPRESS); USE {box}")
            connection.execute(f"CREATE TABLE rows ({', '.join(columns)})")
        connection.execute("INSERT INTO rows SELECT * FROM piece")
    connection.execute(f"CHECKPOINT {database.box}")


@contextmanager
def _registered(
    connection: duckdb.DuckDBPyConnection, batches: Sequence[pa.RecordBatch]
) -> Iterator[None]:
    """Show batches to SQL as `piece`."""
    connection.register("piece", pa.Table.from_batches(batches))
    yield
    connection.unregister("piece")


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
        # a null, as of a file without runs that stands beside one with runs, names nothing
        indices = [column.indices.fill_null(-1).to_numpy() for column in columns]
        is_new = np.zeros(len(batch), np.bool_)
        is_new[:1] = True
        for index in indices:
            is_new[1:] |= index[1:] != index[:-1]
        at = np.flatnonzero(is_new)
        texts = [[*column.dictionary.to_pylist(), None] for column in columns]
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
            self.keys[Key(method, named[3] if len(named) > 3 else None, info)] = row
        return self._numbers[named]

    def _unknown(self, dataset: str, task_set: str, row: int) -> UnknownNameError:
        where = f"{self._where}, from {rows([row])}"
        there = [str(info.name) for info in self._release.task_sets if info.dataset == dataset]
        if there:
            return UnknownNameError(f"task set of {dataset}", task_set, there, where=where)
        fix = "if the tasks are another release's, name that one (--release)"
        return UnknownNameError("data set", dataset, self._release.datasets, where=where, fix=fix)


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
    answer = {group: i for i, groups in enumerate(answers.answers.values()) for group in groups}
    columns: dict[str, tuple[pa.DataType, Sequence[object]]] = {
        "group": (pa.int32(), range(len(answers.keys))),
        "answer": (pa.int32(), [answer[group] for group in range(len(answers.keys))]),
        "run": (pa.string(), [key.run for key in answers.keys]),
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
