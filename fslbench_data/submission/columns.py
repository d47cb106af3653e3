"""Describe the columns of a kind of table, check them and convert their types."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmark_spec.errors import (
    AccuracyError,
    CountError,
    FSLBenchError,
    PredictionError,
    SchemaError,
    UnknownTaskError,
    listing,
    many,
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
    column: pa.ChunkedArray,
    name: str,
    where: str,
    *,
    nulls: bool = True,
    ids: bool = False,
    fix: str = "",
) -> pa.ChunkedArray:
    """Return a column of texts as a dictionary column; `ids` may be whole numbers.

    `fix` is the remedy for nulls, where they are refused.
    """
    if ids:
        column = whole_numbers(plain(column))
    kind = column.type
    empty = pa.types.is_null(kind) and (nulls or not column.null_count)
    if empty or (ids and pa.types.is_integer(kind)):
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
            fix=fix,
        )
    return column


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with its values in place of codes of a dictionary."""
    coded = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if coded else column


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
    column: pa.ChunkedArray, name: str, where: str, kind: pa.DataType
) -> pa.ChunkedArray:
    """Return a CSV column of JSON arrays as `kind`, lists of integers or :data:`ID_LISTS`."""
    kind = {PREDICTIONS: WIDE_PREDICTIONS, ID_LISTS: None}.get(kind, kind)
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


def share_column(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """Return numbers, or texts of them, as float64; raise an error unless all are 0 to 1."""
    try:
        column = column.cast(pa.float64())
    except pa.ArrowException:
        values = column.to_pylist()
        first = next((i for i, value in enumerate(values) if as_float(value) is None), 0)
        raise SchemaError(
            f"{name} is {quoted(values[first], 40)}",
            where=f"{where}, {rows([first])}",
            expected="a number from 0 to 1",
        ) from None
    numbers = column.to_numpy()
    if (bad := np.flatnonzero(~np.isfinite(numbers))).size:
        raise AccuracyError(
            f"{name} is empty, NaN or infinite",
            where=f"{where}, {rows(bad)}",
            expected="a number from 0 to 1 for every task",
            fix="run these tasks again: leaving out those that failed would flatter",
        )
    if (bad := np.flatnonzero((numbers < 0) | (numbers > 1))).size:
        percent = numbers.min() >= 0 and numbers.max() <= 100
        mixed = int(np.count_nonzero((numbers > 0) & (numbers < 1)))
        kept = f", but the {many(mixed, 'row')} between 0 and 1 if these are fractions already"
        raise AccuracyError(
            f"{name} is {numbers[bad[0]]:.8g}",
            where=f"{where}, {rows(bad)}",
            expected="fractions from 0 to 1",
            fix=f"divide all of them by 100{kept if mixed else ''}"
            if percent
            else "bring the statistic to 0 to 1: such as (value - lowest) / (highest - lowest), "
            "with the lowest and highest that it can take",
        )
    return column


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

ID_LISTS = pa.list_(pa.null())
"""The type of columns whose lists, or lists of lists, are of integers or of texts."""

_WITH_GAPS = ("run", "fingerprint")
"""Columns of texts that rows may leave empty."""


class TableKind(NamedTuple):
    """A kind of table: its columns, and what is said where one is missing.

    Attributes
    ----------
    name
        What errors call it.
    types
        The type of each column by its name, in their order; None if any type will do.
    needed
        Columns that it must have.
    expected
        The columns in words.
    ids
        Columns of texts in which whole numbers are names, too.
    loose
        Columns that are left out where a frame has values of several kinds in them.
    closed
        Whether other columns are refused; else they are left out.
    missing
        Returns which columns are missing besides the needed ones, from those there are.
    remedy
        Returns how to fix the columns there are, from them and the missing ones.
    """

    name: str
    types: Mapping[str, pa.DataType | None]
    needed: Collection[str]
    expected: str
    ids: Collection[str] = ()
    loose: Collection[str] = ()
    closed: bool = False
    missing: Callable[[list[str]], list[str]] = lambda _: []
    remedy: Callable[[list[str], list[str]], str] = lambda *_: ""

    @property
    def in_index(self) -> set[str]:
        """Columns that the index of a pandas frame may hold."""
        return {*self.types} - {*self.loose, "run"}


def canonical(table: pa.Table, where: str) -> pa.Table:
    """Return the table with the columns of a submission, in their order and of their types.

    Raises a SchemaError, a CountError or an UnknownTaskError if a column is missing, unknown,
    doubled or of another type, or has a value that is not allowed.
    """
    return typed(known_columns(table, RESULTS, where), RESULTS, where)


def known_columns(
    table: pa.Table, kind: TableKind, where: str, *, there: Iterable[str] = ()
) -> pa.Table:
    """Return the columns of a kind in their order; raise a SchemaError if some are wrong.

    The index of a pandas frame is ignored, unless it holds one of them.  Errors also list the
    columns that are `there` and were not read.
    """
    table = without_index(table, kind)
    columns = table.column_names
    missing = [name for name in kind.needed if name not in columns] + kind.missing(columns)
    unknown = [quoted(name) for name in columns if name not in kind.types and kind.closed]
    subject = where if where.startswith("the ") else kind.name
    found = columns + [n for n in there if n not in columns and not INDEX.fullmatch(n)]
    for names, what in (
        (doubled(columns), "doubles"),
        (missing, "misses the"),
        (unknown, "has the unknown"),
    ):
        if names:
            raise SchemaError(
                f"{subject} {what} column{'s' if len(names) > 1 else ''} {listing(names, 12)}",
                where=f"{where}, whose columns are {listing([*map(quoted, found)], 12) or 'none'}",
                expected=kind.expected,
                fix=kind.remedy(found, missing),
            )
    return table.select([name for name in kind.types if name in columns])


def doubled(names: Iterable[object]) -> list[str]:
    """Return the names that several columns have, in quotes."""
    return [quoted(str(name)) for name, count in Counter(names).items() if count > 1]


def typed(table: pa.Table, kind: TableKind, where: str, *, texts: bool = False) -> pa.Table:
    """Return the columns in the types of a kind; of `texts`, as in CSV files, numbers are made.

    All chunks of a column of names share one dictionary.
    """
    columns = {name: table.column(name) for name in table.column_names}
    if texts:
        columns |= {n: _parsed(column, n, kind.types[n], where) for n, column in columns.items()}
    columns |= {name: _typed(column, name, kind, where) for name, column in columns.items()}
    counts = {name: columns[name] for name in ("n_correct", "n_query") if name in columns}
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


def holds_all_ways(columns: Iterable[str]) -> bool:
    """Return whether these are the columns of results with all classes at once."""
    return {"image", "class", "predicted"} <= {*columns}


def without_index(table: pa.Table, kind: TableKind | None = None) -> pa.Table:
    """Leave out the index of a pandas frame, by its metadata or by the names of columns.

    It stays if it holds a column that a kind's index may hold.
    """
    try:
        entries = json.loads((table.schema.metadata or {})[b"pandas"])["index_columns"]
        index = {name for name in entries if isinstance(name, str)}
    except (KeyError, TypeError, ValueError, RecursionError):  # no frame of pandas, or damaged
        index = set()
    index |= {name for name in table.column_names if INDEX.fullmatch(name)}
    if kind and index & kind.in_index:
        index -= {*kind.types}
    return table.select([i for i, name in enumerate(table.column_names) if name not in index])


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
            "as it is, with no submission beside it, in Python fb.open_log"
        )
    if {"support_ids", "query_ids", "image_ids"} & {*columns}:
        return "a log of your own tasks has the classes of each in a column class_ids"
    if "task" in columns and {"accuracy", "n_correct", "correct"} & {*columns}:
        return (
            "a log of your own tasks has class_ids and the images of each task besides; "
            "fslbench score takes accuracies alone, a file of that one column, with --classes"
        )
    if "result" in columns:
        return "printed results, such as 91.72 ± 0.55, go to fslbench reported FILE"
    if "image" in columns:
        return "results with all classes at once have the columns method, image, class, predicted"
    if "n_correct" in missing and "accuracy" in columns:
        return "give counts in place of accuracies: n_correct is accuracy times n_query"
    if "seed" in columns:
        return "rename 'seed' to 'run'"
    renamed = {name.strip().lower(): name for name in columns}
    renames = [f"{quoted(renamed[name])} to {name!r}" for name in missing if name in renamed]
    if renames:
        return f"rename {', '.join(renames)}"
    if len(missing) == len(SUBMISSION):
        return "of accuracies alone, one per task, give a file of one column for each method"
    return "rename or drop columns; the first line of a CSV file names them"


RESULTS = TableKind(
    "the submission",
    TYPES,
    SUBMISSION.names,
    f"{', '.join(SUBMISSION.names)}, and if you have them {', '.join(SUBMISSION_OPTIONAL.names)}",
    ids=["run"],
    closed=True,
    remedy=column_remedy,
)


def _parsed(
    column: pa.ChunkedArray, name: str, kind: pa.DataType | None, where: str
) -> pa.ChunkedArray:
    """Return a column of texts as numbers, lists or Booleans, if the kind is of these."""
    column = column if kind == pa.string() else plain(column)
    if kind in (None, pa.string(), pa.float64()) or not is_text(column.type):
        return column
    if pa.types.is_list(kind):
        return parse_lists(column, name, where, kind)
    parse = parse_booleans if kind == pa.bool_() else parse_integers
    return parse(column, name, where)


def _typed(column: pa.ChunkedArray, name: str, of: TableKind, where: str) -> pa.ChunkedArray:
    kind = of.types[name]
    if kind == pa.string():
        fix = "" if name in of.needed else "fill it in, or leave the column out"
        nulls, ids = name in _WITH_GAPS, name in of.ids
        return text_column(column, name, where, nulls=nulls, ids=ids, fix=fix)
    if kind in (None, ID_LISTS):
        return column
    if kind == pa.bool_():
        if not (pa.types.is_null(column.type) or pa.types.is_boolean(column.type)):
            raise _of_another_type(column, name, where, "true or false")
        return column.cast(pa.bool_())
    if kind == pa.float64():
        return share_column(column, name, where)
    if pa.types.is_list(kind):
        return list_column(column, name, kind, where)
    if name not in WIDE or kind in (pa.int64(), column.type):
        return integer_column(column, name, kind, where)
    wide = integer_column(column, name, WIDE[name], where)
    try:
        return wide.cast(kind)
    except pa.ArrowInvalid:
        return wide


def printable(error: Exception | str) -> str:
    """Return an error's first line, with a question mark for what a terminal cannot print."""
    first = (str(error).splitlines() or [type(error).__name__])[0]
    first = first.partition(" Detail: Python exception:")[0][:200]  # which Arrow appends
    return "".join(c if c.isprintable() else "?" for c in first)
