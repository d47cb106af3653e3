"""The columns of a submission: those that there are, in their order and of their types."""

from __future__ import annotations

import json
import re
from collections import Counter

import pyarrow as pa

from benchmark_spec.errors import SchemaError, listing, shown
from benchmark_spec.schemas import SUBMISSION, SUBMISSION_OPTIONAL, WIDE_PREDICTIONS
from fslbench_data.submission import columns

_INDEX = re.compile(r"__index_level_\d+__|Unnamed: 0|")
"""What `to_parquet` and `to_csv` call an index without a name."""

NAMES = ("method", "dataset", "task_set")
TYPES = {field.name: field.type for field in [*SUBMISSION, *SUBMISSION_OPTIONAL]}


def canonical(table: pa.Table, where: str) -> pa.Table:
    """The table with the columns of a submission, in their order and of their types.

    Raises a SchemaError, a CountError or an UnknownTaskError if a column is missing, unknown,
    doubled or of another type, or holds what it cannot.  A column of names has one dictionary,
    however many chunks, of frames that were joined, have their own.
    """
    return typed(known_columns(table, where), where).unify_dictionaries()


def is_canonical(table: pa.Table) -> bool:
    """Whether a table has the types that :func:`canonical` gives."""
    types = TYPES | dict.fromkeys((*NAMES, "run", "fingerprint"), columns.NAMES)
    names = table.column_names
    if "predictions" in names and table.schema.field("predictions").type == WIDE_PREDICTIONS:
        types["predictions"] = WIDE_PREDICTIONS
    return set(SUBMISSION.names) <= set(names) == set(names) & set(types) and all(
        table.schema.field(name).type == types[name]
        and (name not in SUBMISSION.names or not table.column(name).null_count)
        for name in names
    )


def known_columns(table: pa.Table, where: str) -> pa.Table:
    """The columns in their order, or an error if one is missing, unknown or doubled.

    The index of a pandas frame is passed over, unless it holds a column that there must be.
    """
    valid = list(TYPES)
    index = index_columns(table.schema)
    index -= set(TYPES) if index & set(SUBMISSION.names) else set()
    columns = [name for name in table.column_names if name not in index]
    expected = f"{', '.join(SUBMISSION.names)}, and if you have them {', '.join(valid[6:])}"
    doubled = sorted(name for name, count in Counter(columns).items() if count > 1)
    missing = [name for name in SUBMISSION.names if name not in columns]
    unknown = [name for name in columns if name not in valid]
    subject = where if where.startswith("the ") else "the file"
    for names, what in ((missing, "misses"), (unknown, "has the unknown"), (doubled, "doubles")):
        if names:
            plural = "s" if len(names) > 1 else ""
            raise SchemaError(
                f"{subject} {what} column{plural} {listing([shown(name) for name in names], 12)}",
                where=f"{where}, whose columns are {listing(list(map(shown, columns)), 12)}",
                expected=expected,
                fix=_column_remedy(columns, missing),
            )
    return table.select([name for name in valid if name in columns])


def index_columns(schema: pa.Schema) -> set[str]:
    """Return the columns that are a pandas frame's index, by its metadata or by their names."""
    try:
        told = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        named = {name for name in told if isinstance(name, str)}
    except (
        KeyError,
        TypeError,
        ValueError,
        RecursionError,
    ):  # no frame of pandas, or damaged metadata
        named = set()
    return named | {name for name in schema.names if _INDEX.fullmatch(name)}


def _column_remedy(columns: list[str], missing: list[str]) -> str:
    """What to do about columns, guessed from what they are called."""
    if len(columns) == 1 and any(mark in columns[0] for mark in ";\t|"):
        return "separate the columns by commas"
    renamed = {name.strip().lower(): name for name in columns}
    renames = [f"{shown(renamed[name])} to {name!r}" for name in missing if name in renamed]
    if renames:
        return f"rename {', '.join(renames)}"
    return "rename or drop columns; the first line of a CSV file names them"


def typed(table: pa.Table, where: str) -> pa.Table:
    """The table with the promised types; its columns are some of a submission's."""
    result = pa.table({n: _typed(table.column(n), n, where) for n in table.column_names})
    try:
        result.validate(full=True)
    except pa.ArrowException as error:
        raise SchemaError(
            f"the table is damaged: {printable(error)}",
            where=where,
            expected="texts in UTF-8, and dictionaries that hold what their rows name",
            fix="write the file again",
        ) from None
    return result


def _typed(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    if name in NAMES:
        return columns.name_column(column, name, where)
    if name == "run":
        return columns.run_column(column, where)
    if name == "fingerprint":
        return columns.text_column(column, name, where)
    if name in ("transductive", "inductive"):
        return columns.boolean_column(column, name, where)
    if name in SUBMISSION_OPTIONAL.names:
        return columns.list_column(column, name, TYPES[name], where)
    return columns.integer_column(column, name, TYPES[name], where)


def printable(error: Exception | str) -> str:
    """An error's first line, without what a terminal could not print."""
    first = (str(error).splitlines() or [type(error).__name__])[0]
    first = first.partition(" Detail: Python exception:")[0][:200]  # with which Arrow ends
    return "".join(c if c.isprintable() else "?" for c in first)
