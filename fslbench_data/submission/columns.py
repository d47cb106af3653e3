"""Check the columns of a submission and convert their types."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmark_spec.errors import (
    CountError,
    FSLBenchError,
    PredictionError,
    SchemaError,
    UnknownTaskError,
    listing,
    quoted,
    rows,
)
from benchmark_spec.schemas import SUBMISSION, SUBMISSION_OPTIONAL, WIDE_COUNTS, WIDE_PREDICTIONS

PREDICTIONS = SUBMISSION_OPTIONAL.field("predictions").type

TEXTS = pa.dictionary(pa.int32(), pa.string())

_FLOAT_LIMIT = 2.0**53
"""Below it, floats represent every integer."""

INTEGERS: dict[str, tuple[type[FSLBenchError], str, str]] = {
    "task_id": (
        UnknownTaskError,
        "the task's id, 0..T-1, as an integer",
        "give every row its task",
    ),
    "n_correct": (
        CountError,
        "the number of queries answered rightly, as an integer",
        "give counts, not accuracies, one for each task; run one that failed again",
    ),
    "n_query": (CountError, "the number of queries of the task, as an integer", "give K·Q"),
    "image_id": (PredictionError, "the id of a query image, as an integer", "give every row one"),
    "predicted": (PredictionError, "the id of a class, as an integer", "give every image one"),
    "second": (
        PredictionError,
        "the id of the second-best class, as an integer",
        "give every image one, or leave the column out",
    ),
}
"""By integer column: the error of a bad value, what is expected, and the fix."""


def whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as int64 if it holds floats that are all whole or null, else as it is.

    Frames hold integers with gaps as floats.
    """
    if not pa.types.is_floating(column.type):
        return column
    try:
        return pc.cast(pc.if_else(pc.is_nan(column), None, column), pa.int64())
    except pa.ArrowInvalid:
        return column


def text_column(
    column: pa.ChunkedArray, name: str, where: str, *, nulls: bool = True
) -> pa.ChunkedArray:
    """Return a column of texts as a dictionary column; runs may be whole numbers."""
    if name == "run":
        column = whole_numbers(column)
    kind = column.type
    empty = pa.types.is_null(kind) and (nulls or not column.null_count)
    if empty or (name == "run" and pa.types.is_integer(kind)):
        column = column.cast(pa.string())
    elif not is_text(kind.value_type if pa.types.is_dictionary(kind) else kind):
        raise _of_another_type(column, name, where, "texts", f"write `{name}` as strings")
    if pa.types.is_dictionary(kind) and any(
        chunk.dictionary.null_count or len(chunk.dictionary.unique()) < len(chunk.dictionary)
        for chunk in column.chunks
    ):
        column = column.cast(kind.value_type)  # drops nulls and doubled names of dictionaries
    if pa.types.is_string_view(column.type):
        column = pa.chunked_array([encoded(chunk) for chunk in column.chunks], TEXTS)
    if column.type != TEXTS:
        column = column.cast(TEXTS)
    if column.null_count and not nulls:
        raise SchemaError(
            f"column {name!r} is empty in {rows(where_true(column.is_null()))}",
            where=where,
            expected="a name in every row",
        )
    return column


def _of_another_type(
    column: pa.ChunkedArray, name: str, where: str, expected: str, fix: str = ""
) -> SchemaError:
    what = f"column {name!r} is of type {column.type}"
    return SchemaError(what, where=where, expected=expected, fix=fix)


def integer_column(
    column: pa.ChunkedArray, name: str, kind: pa.DataType, where: str
) -> pa.ChunkedArray:
    """Return a column of integers, or of whole floats, as `kind`.

    Refuses rows with nulls, NaN, fractions or overflow, in this order; then other types.
    """
    error, meaning, fix = INTEGERS[name]

    def refuse(what: str, bad: pa.ChunkedArray) -> FSLBenchError:
        return error(what, where=f"{where}, {rows(where_true(bad))}", expected=meaning, fix=fix)

    if column.null_count:
        raise refuse(f"{name} is null", column.is_null())
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
        for what, bad in (
            ("NaN or infinite", pc.invert(pc.is_finite(column))),
            ("fractional", pc.not_equal(pc.floor(column), column)),
            ("out of range", pc.greater_equal(pc.abs(column), _FLOAT_LIMIT)),
        ):
            if pc.any(bad).as_py():
                raise refuse(f"{name} is {what}", bad)
        column = column.cast(pa.int64())
    if not pa.types.is_integer(column.type):
        fix += f'; if they are whole numbers, as in frame["{name}"].astype(int)'
        raise _of_another_type(column, name, where, f"an integer type: {meaning}", fix)
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        bounds, values = np.iinfo(kind.to_pandas_dtype()), column.to_numpy()
        outside = pa.array((values < bounds.min) | (values > bounds.max))
        raise refuse(f"{name} is out of range", outside) from None


def integers(column: pa.ChunkedArray, name: str, where: str) -> NDArray[np.int64]:
    """Return a column of integers, of whole floats, or of texts of such, as an array."""
    if is_text(column.type):
        column = parse_integers(column, name, where)
    values: NDArray[np.int64] = integer_column(column, name, pa.int64(), where).to_numpy()
    return values


def list_column(
    column: pa.ChunkedArray, name: str, kind: pa.DataType, where: str, first: int = 0
) -> pa.ChunkedArray:
    """Return a column of lists of integers as `kind` (a list type); lists may be null.

    Values of `correct` may be booleans.  `first` is the position of the column's first row in the
    file.
    """
    if pa.types.is_null(column.type):
        return column.cast(kind)
    values = column.type.value_type if is_list(column.type) else None
    is_boolean = name == "correct" and values == pa.bool_()
    if values is None or not (is_boolean or pa.types.is_integer(values)):
        raise _of_another_type(column, name, where, f"{kind}")
    column = pa.chunked_array(map(_without_unused_values, column.chunks), column.type)
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        if kind == PREDICTIONS:  # tasks may have more classes than int8 holds
            return list_column(column, name, WIDE_PREDICTIONS, where, first)
        bounds = np.iinfo(kind.value_type.to_pandas_dtype())
        lists = column.combine_chunks()
        values = pc.list_flatten(lists).to_numpy(zero_copy_only=False)
        bad = int(np.flatnonzero((values < bounds.min) | (values > bounds.max))[0])
        raise SchemaError(
            f"column {name!r} holds {values[bad]:.0f}, which no position or count can be",
            where=f"{where}, {rows([first + pc.list_parent_indices(lists)[bad].as_py()])}",
            expected=f"{kind}",
        ) from None


def _without_unused_values(lists: pa.Array) -> pa.Array:
    """Return lists without values of other rows: a slice keeps these, and a cast checks them."""
    if len(lists.flatten()) == len(lists.values):
        return lists
    return lists.take(pa.array(np.arange(len(lists))))


def encoded(array: pa.Array) -> pa.DictionaryArray:
    """Return texts of any type as a dictionary array."""
    encoded_array = array.dictionary_encode()
    if pa.types.is_string_view(encoded_array.dictionary.type):
        plain = encoded_array.dictionary.cast(pa.string())
        encoded_array = pa.DictionaryArray.from_arrays(encoded_array.indices, plain)
    return encoded_array


def marks(table: pa.Table, name: str) -> list[tuple[str, bool | None]]:
    """Return the distinct pairs of method and mark, in the order of their first rows."""
    if name not in table.column_names:
        return []
    pairs = table.select(["method", name]).group_by(["method", name], use_threads=False)
    return [(row["method"], row[name]) for row in pairs.aggregate([]).to_pylist()]


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is of texts, in any of Arrow's forms."""
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def where_true(mask: Any) -> Any:
    """Return the indices at which a boolean column is true."""
    return np.flatnonzero(mask.to_numpy(zero_copy_only=False))


def is_list(kind: pa.DataType) -> bool:
    """Return whether a type is of lists, in any of Arrow's forms."""
    tests = ("list", "large_list", "fixed_size_list")
    return any(getattr(pa.types, f"is_{test}")(kind) for test in tests)


def parse_booleans(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """Return a CSV column of ``true`` and ``false``, in any case; empty cells become nulls."""
    lower = pc.ascii_lower(column)
    is_true, is_false = pc.equal(lower, "true"), pc.equal(lower, "false")
    bad = where_true(pc.fill_null(pc.invert(pc.or_(is_true, is_false)), pa.scalar(False)))
    if bad.size:
        raise SchemaError(
            f"{name} is {column[int(bad[0])].as_py()!r:.40}",
            where=f"{where}, {rows(bad)}",
            expected="true or false",
        )
    return is_true


def parse_integers(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """Return a CSV column as int64; 23.0 is read as 23, and empty cells become nulls."""
    error, meaning, fix = INTEGERS[name]
    whole = pc.match_substring_regex(column, r"^\s*-?[0-9]{1,15}(\.0+)?\s*$")
    bad = where_true(pc.invert(pc.fill_null(whole, pa.scalar(True))))
    if bad.size:
        values = [as_float(column[int(row)].as_py()) for row in bad]
        for what, kind, is_case in (
            ("NaN or infinite", error, [v is not None and not isfinite(v) for v in values]),
            ("not a number", SchemaError, [v is None for v in values]),
            ("fractional", error, [v is not None and v % 1 != 0 for v in values]),
            ("not written as an integer", SchemaError, [True] * bad.size),
        ):
            if any(is_case):
                refused = bad[np.array(is_case)]
                text = column[int(refused[0])].as_py()
                if text == name:
                    fix = "the header stands there again: remove it"
                elif what == "not written as an integer":
                    fix += f'; if they are, write them as integers: frame["{name}"].astype(int)'
                raise kind(
                    f"{name} is {what}: {text!r:.40}",
                    where=f"{where}, {rows(refused)}",
                    expected=meaning,
                    fix=fix,
                )
    digits = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), r"\.0+$", "")
    return digits.cast(pa.int64())


def parse_lists(
    column: pa.ChunkedArray, name: str, where: str, kind: pa.DataType | None = None
) -> pa.ChunkedArray:
    """Return a CSV column of JSON arrays as `kind`, a list of integers; None allows any ids."""
    kind = WIDE_PREDICTIONS if kind == PREDICTIONS else kind
    bounds = None if kind is None else np.iinfo(kind.value_type.to_pandas_dtype())
    values: list[list[Any] | None] = []
    for row, text in enumerate(column.to_pylist()):
        try:
            value = json.loads(text or "")
        except (ValueError, RecursionError):
            value = None
        if name == "correct" and isinstance(value, list):
            value = [int(i) if type(i) is bool else i for i in value]
        if not isinstance(value, list) or (
            bounds and not all(type(i) is int and bounds.min <= i <= bounds.max for i in value)
        ):
            if bounds and text is None:
                values.append(None)
                continue
            what = "small integers, such as [0, 3, 1]" if bounds else "ids, such as [3, 0, 7]"
            raise SchemaError(
                f"{name} is {text!r:.40}",
                where=f"{where}, {rows([row])}",
                expected=f"a JSON array of {what}",
                fix="write lists with json.dumps, or the file as Parquet",
            )
        values.append(value)
    try:
        return pa.chunked_array([pa.array(values, kind)])
    except (pa.ArrowException, OverflowError):
        raise SchemaError(
            f"{name} does not hold the same kind of ids in every row",
            where=where,
            expected="integers, or texts, in lists as deep as in the first row",
        ) from None


def as_float(text: Any) -> float | None:
    """Return a text or a value as a number; None if it is none."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


INDEX = re.compile(r"__index_level_\d+__|Unnamed: 0|")
"""Names that `to_parquet` and `to_csv` give to an unnamed index."""

NAMES = ("method", "dataset", "task_set")
TYPES = {field.name: field.type for field in [*SUBMISSION, *SUBMISSION_OPTIONAL]}
LISTS = tuple(field.name for field in SUBMISSION_OPTIONAL if pa.types.is_list(field.type))
WIDE = dict.fromkeys(("n_correct", "n_query"), WIDE_COUNTS) | dict.fromkeys(
    ("predictions", "second"), WIDE_PREDICTIONS
)
"""Types of columns whose numbers may not fit into :data:`TYPES`."""


def canonical(table: pa.Table, where: str) -> pa.Table:
    """Return the table with the columns of a submission, in their order and of their types.

    All chunks of a column of names share one dictionary.  Raises a SchemaError, a CountError or an
    UnknownTaskError if a column is missing, unknown, doubled or of another type, or has a value
    that is not allowed.
    """
    table = known_columns(table, where)
    columns = {name: _typed(table.column(name), name, where) for name in table.column_names}
    counts = {name: columns[name] for name in ("n_correct", "n_query")}
    if any(column.type == WIDE_COUNTS for column in counts.values()):  # both have the same type
        columns |= {name: column.cast(WIDE_COUNTS) for name, column in counts.items()}
    result = pa.table(columns)
    try:
        result.validate(full=True)
    except pa.ArrowException as error:
        raise SchemaError(
            f"the table is damaged: {printable(error)}",
            where=where,
            expected="texts in UTF-8, and dictionaries that hold what their rows name",
            fix="write the file again",
        ) from None
    return result.unify_dictionaries()


def known_columns(table: pa.Table, where: str) -> pa.Table:
    """Return a submission's columns in their order; raise a SchemaError if they are not these.

    The index of a pandas frame is ignored, unless it holds a required column.
    """
    index = index_columns(table.schema)
    if index & {*SUBMISSION.names}:
        index -= {*TYPES}
    columns = [name for name in table.column_names if name not in index]
    required, optional = ", ".join(SUBMISSION.names), ", ".join(SUBMISSION_OPTIONAL.names)
    expected = f"{required}, and if you have them {optional}"
    doubled = sorted(name for name, count in Counter(columns).items() if count > 1)
    missing = [name for name in SUBMISSION.names if name not in columns]
    unknown = [name for name in columns if name not in TYPES]
    subject = where if where.startswith("the ") else "the file"
    for names, what in ((missing, "misses"), (unknown, "has the unknown"), (doubled, "doubles")):
        if names:
            plural = "s" if len(names) > 1 else ""
            raise SchemaError(
                f"{subject} {what} column{plural} {listing([quoted(name) for name in names], 12)}",
                where=f"{where}, whose columns are {listing(list(map(quoted, columns)), 12)}",
                expected=expected,
                fix=column_remedy(columns, missing),
            )
    return table.select([name for name in TYPES if name in columns])


def holds_all_ways(columns: Iterable[str]) -> bool:
    """Return whether these are the columns of results with all classes at once."""
    return {"image", "class", "predicted"} <= {*columns}


def index_columns(schema: pa.Schema) -> set[str]:
    """Return the columns that are a pandas frame's index, by its metadata or by their names."""
    try:
        entries = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        named = {name for name in entries if isinstance(name, str)}
    except (KeyError, TypeError, ValueError, RecursionError):  # no frame of pandas, or damaged
        named = set()
    return named | {name for name in schema.names if INDEX.fullmatch(name)}


def separator_remedy(columns: list[str]) -> str:
    """Return how to fix the header of a CSV file with other separators, else an empty text."""
    other = len(columns) == 1 and any(mark in columns[0] for mark in ";\t|")
    return "separate the columns by commas" if other else ""


def column_remedy(columns: list[str], missing: list[str]) -> str:
    """Guess from the names of columns how to fix them."""
    if fix := separator_remedy(columns):
        return fix
    if "class_ids" in columns or holds_all_ways(columns):
        return (
            "a log is no submission: score, compare, table, plot, report, sql and validate take it "
            "as it is, in Python fb.open_log"
        )
    if {"support_ids", "query_ids", "image_ids"} & {*columns}:
        return "a log of your own tasks has the classes of each in a column class_ids"
    if "task" in columns and {"accuracy", "n_correct", "correct"} & {*columns}:
        return (
            "a log of your own tasks has class_ids and the images of each task besides; "
            "fslbench score takes accuracies alone, a file of that one column, with --classes"
        )
    if "image" in columns:
        return "results with all classes at once have the columns method, image, class, predicted"
    renamed = {name.strip().lower(): name for name in columns}
    renames = [f"{quoted(renamed[name])} to {name!r}" for name in missing if name in renamed]
    if renames:
        return f"rename {', '.join(renames)}"
    return "rename or drop columns; the first line of a CSV file names them"


def _typed(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    if TYPES[name] == pa.string():
        return text_column(column, name, where, nulls=name not in NAMES)
    if TYPES[name] == pa.bool_():
        if not (pa.types.is_null(column.type) or pa.types.is_boolean(column.type)):
            raise _of_another_type(column, name, where, "true or false")
        return column.cast(pa.bool_())
    if name in LISTS:
        return list_column(column, name, TYPES[name], where)
    if name not in WIDE or column.type == TYPES[name]:
        return integer_column(column, name, TYPES[name], where)
    wide = integer_column(column, name, WIDE[name], where)
    try:
        return wide.cast(TYPES[name])
    except pa.ArrowInvalid:
        return wide


def printable(error: Exception | str) -> str:
    """Return an error's first line, with a question mark for what a terminal cannot print."""
    first = (str(error).splitlines() or [type(error).__name__])[0]
    first = first.partition(" Detail: Python exception:")[0][:200]  # which Arrow appends
    return "".join(c if c.isprintable() else "?" for c in first)
