"""Offer SQL over a release and submissions, as views of a locked DuckDB."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, cast

import pyarrow as pa
from msgspec import Struct

from analysis_sql.query_limits import MEMORY, memory_bytes
from benchmark_spec import schemas
from benchmark_spec.errors import QueryError
from benchmark_spec.manifest import Kind
from benchmark_spec.protocol import suite_of
from fslbench_data.release.release import AnyRelease, Release, load_release
from fslbench_data.scoring.dataset_means import DATASET_MEANS, dataset_mean_table
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import score
from fslbench_data.scoring.selection import Sources, log_of
from fslbench_data.scoring.task_set_report import (
    COMPARISONS,
    SCORES,
    TaskSetReport,
    comparison_batches,
    schema,
    score_batch,
)
from fslbench_data.submission.model import Source, Submission
from fslbench_data.validation.validate import open_submissions, validate

if TYPE_CHECKING:
    import duckdb

VIEWS = {
    "task_sets": "One row per task set: its T, sizes, interval and fingerprint.",
    "tasks": "One row per task: its classes, support and query images, and the queries' labels.",
    "classes": "One row per class of a data set.",
    "images": "One row per image, of the data sets whose images are known.",
    "attributes": "One row per image and table of attributes (`name`): its text and attributes.",
    "results": "One row per method and task: submissions and reference methods together.",
    "scores": "One row per method, task set and kind of interval, as `fslbench score` computes it.",
    "comparisons": "One row per pair of methods, task set and kind of interval, with its verdict.",
    "dataset_means": "One row per method, or pair of methods, over data sets of the same ways and "
    "shots, and what the interval is about.",
}
"""The tables of a connection, which also has the package's own queries as views.

The last three are made when a query reads them.
"""

_RESULTS = pa.schema(
    [
        *schema(("method", str), ("is_reference", bool), ("dataset task_set", str)),
        *schema(("task_id", int), ("run", str)),
        ("n_correct", schemas.WIDE_COUNTS),
        ("n_query", schemas.WIDE_COUNTS),
        ("class_correct", pa.list_(pa.int16())),
        ("predictions", schemas.WIDE_PREDICTIONS),
        ("second", schemas.WIDE_PREDICTIONS),
        ("correct", pa.list_(pa.int8())),
    ]
)

_TASK_SETS = schema(
    ("dataset task_set", str),
    ("n_tasks way shot query n_query", int),
    ("interval step attributes fingerprint", str),
)

_OF_ATTRIBUTES = {"attributes": pa.list_(pa.string()), "inter_class": pa.list_(pa.bool_())}
"""Columns of `tasks` that are null where tasks are not made with attributes of images."""


class MadeWhenRead(Struct, frozen=True):
    """A table that is made anew, batch by batch, each time that it is read."""

    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)


def connect(
    release: AnyRelease = None,
    submissions: Sources = (),
    *,
    allow_unbound: bool = False,
    memory: str = MEMORY,
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB connection over a release and submissions to it, in this process.

    A query takes as much memory and time as it needs: `memory` limits what DuckDB counts, but a
    function of one value may take more.  ``fslbench sql`` runs strangers' SQL safely.

    Parameters
    ----------
    release, submissions, allow_unbound
        As of :func:`tables`.
    memory
        Limit of DuckDB's memory, such as ``1GB``.

    Returns
    -------
    duckdb.DuckDBPyConnection
        It has the views of :data:`VIEWS` and of ``analysis_sql/queries``, no access to files,
        network, extensions and Python's variables, and a locked configuration.
    """
    from analysis_sql.engine import open_database

    return open_database(tables(release, submissions, allow_unbound=allow_unbound), memory=memory)


def tables(
    release: AnyRelease = None,
    submissions: Sources = (),
    *,
    allow_unbound: bool = False,
) -> dict[str, pa.Table | MadeWhenRead]:
    """Return tables of :data:`VIEWS` over a release and submissions to it.

    Parameters
    ----------
    release
        Or what :func:`fslbench_data.load_release` opens; None is the one inside the package.
    submissions
        Submissions, files or frames of them; each is validated.  Or a log of one's own tasks, which
        take the place of the release's.
    allow_unbound
        Accept submissions that do not say which tasks they were made on.

    Raises
    ------
    DoubledTaskError
        If two submissions answer the same task set with the same method.
    FSLBenchError
        Whatever else is wrong with a submission.
    """
    release = load_release(release)
    own = log_of(submissions)
    if own is not None:
        release, read = own.release, [own.answers.submission]
    else:
        read = open_submissions(cast("Source | Sequence[Source]", submissions), release)
        if read:
            validate(read, release, allow_unbound=allow_unbound)

    @cache
    def reports() -> list[Report]:
        if not read and not release.methods:
            return []
        return [score(own or read, release, allow_unbound=allow_unbound)]

    def sets() -> Iterator[TaskSetReport]:
        return (task_set for report in reports() for task_set in report.sets)

    def means() -> Iterator[pa.RecordBatch]:
        rows = [row for report in reports() for row in report.dataset_means]
        return iter(dataset_mean_table(rows).to_batches())

    return {
        "task_sets": _task_sets(release),
        "tasks": _tasks(release),
        "classes": _of_datasets(release, "classes"),
        "images": _of_datasets(release, "images"),
        "attributes": _attributes(release),
        "results": pa.concat_tables(
            [
                *(_results(submission, is_reference=False) for submission in read),
                *(_results(submission, is_reference=True) for submission in release.references()),
            ]
            or [_RESULTS.empty_table()]
        ),
        "scores": MadeWhenRead(SCORES, lambda: (score_batch(s.scores) for s in sets())),
        "comparisons": MadeWhenRead(COMPARISONS, lambda: comparison_batches(sets())),
        "dataset_means": MadeWhenRead(DATASET_MEANS, means),
    }


def only_named(
    tables: Mapping[str, pa.Table | MadeWhenRead], sql: str, *, seconds: float, memory: str
) -> dict[str, pa.Table]:
    """Make the tables that a query names; those made on demand that it does not name stay empty.

    Raises a QueryError if making them takes more time or memory than the query may.
    """
    made: dict[str, pa.Table] = {}
    end, bytes_left = time.monotonic() + seconds, memory_bytes(memory)
    for name, table in tables.items():
        if isinstance(table, pa.Table):
            made[name] = table
        elif re.search(rf'\b({name}\b|query(_table)?"?\s*\()', sql, re.IGNORECASE):
            batches = []
            for batch in table.batches():
                batches.append(batch)
                bytes_left -= batch.nbytes
                if bytes_left < 0 or time.monotonic() > end:
                    raise QueryError(
                        f"the table {name} takes more than {memory}"
                        if bytes_left < 0
                        else f"making the table {name} took more than {seconds:g} seconds",
                        fix="name fewer submissions, or allow more with --seconds and --memory",
                    )
            made[name] = pa.Table.from_batches(batches, table.schema)
        else:
            made[name] = table.schema.empty_table()
    return made


def described(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    """Return each view of a connection: its name, what it holds, and its columns with types."""
    from analysis_sql.engine import query_names, query_question

    rows = []
    for name, text in {**VIEWS, **{name: query_question(name) for name in query_names()}}.items():
        columns = connection.execute(f"DESCRIBE {name}").fetchall()
        rows.append((name, text, ", ".join(f"{column[0]} {column[1]}" for column in columns)))
    return rows


def _task_sets(release: Release) -> pa.Table:
    rows = []
    for info in release.task_sets:
        suite, protocol = suite_of(info.name.suite), info.protocol
        rows.append(
            {
                "dataset": info.dataset,
                "task_set": str(info.name),
                "n_tasks": info.n_tasks,
                "way": protocol.way,
                "shot": protocol.shot,
                "query": protocol.query,
                "n_query": protocol.n_query,
                "interval": info.name.interval,
                "step": suite.step or None,
                "attributes": suite.attributes or None,
                "fingerprint": info.fingerprint,
            }
        )
    return pa.Table.from_pylist(rows, _TASK_SETS)


def _tasks(release: Release) -> pa.Table:
    """Return all tasks in one table, with lists of any length, since protocols differ."""
    parts = []
    for info in release.task_sets:
        table = release.task_table(info)
        columns = {}
        for field in table.schema:
            column = table.column(field.name)
            if pa.types.is_fixed_size_list(field.type):
                column = column.cast(pa.list_(field.type.value_type))
            columns[field.name] = column
        for name, kind in _OF_ATTRIBUTES.items():
            columns.setdefault(name, pa.nulls(table.num_rows, kind))
        parts.append(_labelled(pa.table(columns), dataset=info.dataset, task_set=str(info.name)))
    parts.append(pa.table({"support_label": pa.array([], pa.list_(pa.int8()))}))
    return pa.concat_tables(parts, promote_options="permissive")


def _attributes(release: Release) -> pa.Table:
    head = pa.schema([("dataset", pa.string()), ("name", pa.string())])
    parts = [pa.schema([*head, *schemas.ATTRIBUTES]).empty_table()]
    for name in release.attribute_sets:
        for dataset in release.datasets_with("attributes", name):
            table = _labelled(release.attributes(dataset, name), dataset=dataset, name=name)
            parts.append(pa.Table.from_arrays(table.columns, schema=parts[0].schema))
    return pa.concat_tables(parts)


def _of_datasets(release: Release, kind: Kind) -> pa.Table:
    read = {"classes": release.classes, "images": release.images}[kind]
    parts = [_labelled(read(dataset), dataset=dataset) for dataset in release.datasets_with(kind)]
    always = ("dataset", "superclass") if kind == "classes" else ("dataset",)
    parts.append(pa.table({name: pa.array([], pa.string()) for name in always}))
    return pa.concat_tables(parts, promote_options="default")


def _results(submission: Submission, *, is_reference: bool) -> pa.Table:
    table = submission.table
    columns: dict[str, pa.ChunkedArray | pa.Array] = {}
    for field in _RESULTS:
        if field.name == "is_reference":
            columns[field.name] = pa.repeat(pa.scalar(is_reference), table.num_rows)
        elif field.name in table.column_names:
            columns[field.name] = table.column(field.name).cast(field.type)
        else:
            columns[field.name] = pa.nulls(table.num_rows, field.type)
    return pa.table(columns, schema=_RESULTS)


def _labelled(table: pa.Table, **texts: str) -> pa.Table:
    """Put columns that hold one text each before a table's columns."""
    for place, (name, text) in enumerate(texts.items()):
        table = table.add_column(place, name, pa.repeat(text, table.num_rows))
    return table
