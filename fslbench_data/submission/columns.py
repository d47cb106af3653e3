"""Turning the columns of a submission file into the promised types, or saying which rows fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmark_spec.errors import CountError, FSLBenchError, SchemaError, UnknownTaskError, rows

NAMES = pa.dictionary(pa.int32(), pa.string())

_WHOLE = 2.0**53
"""From here on not every whole number is a float."""

ABOUT: dict[str, tuple[type[FSLBenchError], str, str]] = {
    "task_id": (
        UnknownTaskError,
        "the task's id, 0..T-1, as an integer",
        "give every row its task",
    ),
    "n_correct": (
        CountError,
        "the number of queries answered rightly, as an integer",
        "give counts, not accuracies, one for each task",
    ),
    "n_query": (CountError, "the number of queries of the task, as an integer", "give K·Q"),
}
"""Of integers: the error if there is none, what was expected, and how to mend it."""


def name_column(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """A column of texts as a dictionary column without nulls."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_null(kind) and column.null_count == 0:  # no rows at all
        kind = pa.string()
    if not is_text(kind):
        raise SchemaError(
            f"column {name!r} is of type {column.type}",
            where=where,
            expected="texts",
            fix=f"write `{name}` as strings",
        )
    column = _encoded(column)
    if column.null_count:
        raise SchemaError(
            f"column {name!r} is empty in {rows(where_true(column.is_null()))}",
            where=where,
            expected="a name in every row",
        )
    return column


def text_column(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """A column of texts, nulls allowed, as a dictionary column."""
    if pa.types.is_null(column.type):
        return column.cast(pa.string()).cast(NAMES)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not is_text(kind):
        raise SchemaError(
            f"column {name!r} is of type {column.type}",
            where=where,
            expected="texts",
            fix=f"write `{name}` as strings",
        )
    return _encoded(column)


def run_column(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    """The column `run`, texts or integers, as a dictionary column of texts; null is no run."""
    if pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    return text_column(column, "run", where)


def boolean_column(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """A column of true and false, nulls allowed."""
    if pa.types.is_null(column.type):
        return column.cast(pa.bool_())
    if not pa.types.is_boolean(column.type):
        raise SchemaError(
            f"column {name!r} is of type {column.type}", where=where, expected="true or false"
        )
    return column


def integer_column(
    column: pa.ChunkedArray, name: str, kind: pa.DataType, where: str
) -> pa.ChunkedArray:
    """A column of integers, or of floats that are whole, as `kind`.

    Refuses nulls, NaN, fractions and overflow, in this order, by their rows; then other types.
    """
    error, meaning, fix = ABOUT[name]

    def refuse(what: str, bad: pa.ChunkedArray) -> FSLBenchError:
        return error(what, where=f"{where}, {rows(where_true(bad))}", expected=meaning, fix=fix)

    if column.null_count:
        raise refuse(f"{name} is null", column.is_null())
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
        for what, bad in (
            ("NaN or infinite", pc.invert(pc.is_finite(column))),
            ("fractional", pc.not_equal(pc.floor(column), column)),
            ("out of range", pc.greater_equal(pc.abs(column), _WHOLE)),
        ):
            if pc.any(bad).as_py():
                raise refuse(f"{name} is {what}", bad)
        column = column.cast(pa.int64())
    if not pa.types.is_integer(column.type):
        raise SchemaError(
            f"column {name!r} is of type {column.type}",
            where=where,
            expected=f"an integer type: {meaning}",
            fix=f'{fix}; if they are whole numbers, as in frame["{name}"].astype(int)',
        )
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        bounds = np.iinfo(kind.to_pandas_dtype())
        too_large = pc.greater(column, pa.scalar(int(bounds.max), pa.int64()).cast(column.type))
        outside = (
            pc.or_(too_large, pc.less(column, pa.scalar(int(bounds.min), column.type)))
            if pa.types.is_signed_integer(column.type)
            else too_large
        )
        raise refuse(f"{name} is out of range", outside) from None


def list_column(
    column: pa.ChunkedArray, name: str, kind: pa.DataType, where: str
) -> pa.ChunkedArray:
    """A column of lists of integers as `kind` (a list type), null lists allowed."""
    if pa.types.is_null(column.type):
        return column.cast(kind)
    type_ = column.type
    is_list = (
        pa.types.is_list(type_)
        or pa.types.is_large_list(type_)
        or pa.types.is_fixed_size_list(type_)
    )
    if not is_list or not pa.types.is_integer(type_.value_type):
        raise SchemaError(f"column {name!r} is of type {type_}", where=where, expected=f"{kind}")
    try:
        return column.cast(kind)
    except pa.ArrowInvalid as problem:
        raise SchemaError(
            f"column {name!r} holds numbers that no position or count can be: {problem}",
            where=where,
            expected=f"{kind}",
        ) from None


def _encoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts as a dictionary column, none of whose nulls hide in a dictionary."""
    if pa.types.is_dictionary(column.type) and any(c.dictionary.null_count for c in column.chunks):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type):
        column = pa.chunked_array([encoded(chunk) for chunk in column.chunks], NAMES)
    return column if column.type == NAMES else column.cast(NAMES)


def encoded(array: pa.Array) -> pa.DictionaryArray:
    """Texts of any type as a dictionary array, each different text taken once."""
    encoded_array = array.dictionary_encode()  # or as it is, if it is already
    if pa.types.is_string_view(encoded_array.dictionary.type):
        plain = encoded_array.dictionary.cast(pa.string())
        encoded_array = pa.DictionaryArray.from_arrays(encoded_array.indices, plain)
    return encoded_array


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a type is one of texts, in any of Arrow's forms."""
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def where_true(mask: Any) -> Any:
    """Indices at which a boolean column is true."""
    return np.flatnonzero(mask.to_numpy(zero_copy_only=False))
