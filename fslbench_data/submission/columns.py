"""Turning the columns of a submission file into the promised types, or saying which rows fail."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmark_spec.errors import CountError, FSLBenchError, SchemaError, UnknownTaskError, rows

NAMES = pa.dictionary(pa.int32(), pa.string())

_ABOUT: dict[str, tuple[type[FSLBenchError], str, str]] = {
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
            f"column {name!r} is empty in {rows(_where(column.is_null()))}",
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
            f"column {name!r} is of type {column.type}", where=where, expected="texts"
        )
    return _encoded(column)


def run_column(column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    """The column `run`, texts or integers without nulls, as a dictionary column of texts."""
    if pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    return name_column(column, "run", where)


def boolean_column(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """A column of true and false, nulls allowed."""
    if pa.types.is_null(column.type):
        return column.cast(pa.bool_())
    if not pa.types.is_boolean(column.type):
        raise SchemaError(
            f"column {name!r} is of type {column.type}", where=where, expected="true or false"
        )
    return column


def parse_booleans(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """A CSV column of ``true`` and ``false``, in any case; empty cells become nulls."""
    low = pc.ascii_lower(column)
    is_true, is_false = pc.equal(low, "true"), pc.equal(low, "false")
    bad = _where(pc.fill_null(pc.invert(pc.or_(is_true, is_false)), pa.scalar(False)))
    if bad.size:
        raise SchemaError(
            f"{name} is {column[int(bad[0])].as_py()!r:.40}",
            where=f"{where}, {rows(bad)}",
            expected="true or false",
        )
    return is_true


def integer_column(
    column: pa.ChunkedArray, name: str, kind: pa.DataType, where: str
) -> pa.ChunkedArray:
    """A column of integers as `kind`, without nulls, fractions, NaN or overflow."""
    error, meaning, fix = _ABOUT[name]

    def refuse(what: str, bad: pa.ChunkedArray) -> FSLBenchError:
        return error(what, where=f"{where}, {rows(_where(bad))}", expected=meaning, fix=fix)

    if column.null_count:
        raise refuse(f"{name} is null", column.is_null())
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
        not_a_number = pc.invert(pc.is_finite(column))
        if pc.any(not_a_number).as_py():
            raise refuse(f"{name} is NaN or infinite", not_a_number)
        fractional = pc.not_equal(pc.floor(column), column)
        if pc.any(fractional).as_py():
            raise refuse(f"{name} is fractional", fractional)
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


def parse_integers(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """A CSV column of texts as int64; empty cells become nulls."""
    error, meaning, fix = _ABOUT[name]
    whole = pc.match_substring_regex(column, r"^\s*-?[0-9]{1,15}\s*$")
    bad = _where(pc.invert(pc.fill_null(whole, pa.scalar(True))))
    if bad.size:
        values = np.array([_as_float(column[int(row)].as_py()) for row in bad], dtype=object)
        for kind, which in (
            ("not a number", [value is None for value in values]),
            ("NaN or infinite", [value is not None and not isfinite(value) for value in values]),
            ("fractional", [value is not None and value % 1 != 0 for value in values]),
            ("not written as an integer", [True] * bad.size),
        ):
            if any(which):
                at = bad[np.array(which)]
                text = column[int(at[0])].as_py()
                kind_of_error = error if kind in ("NaN or infinite", "fractional") else SchemaError
                remedy = {
                    "not written as an integer": f"{fix}; if they are, write them as integers: "
                    f'frame["{name}"].astype(int)'
                }.get(kind, fix)
                raise kind_of_error(
                    f"{name} is {kind}: {text!r:.40}",
                    where=f"{where}, {rows(at)}",
                    expected=meaning,
                    fix="the header stands there again: remove it" if text == name else remedy,
                )
    return pc.utf8_trim_whitespace(column).cast(pa.int64())


def parse_lists(
    column: pa.ChunkedArray, name: str, kind: pa.DataType, where: str
) -> pa.ChunkedArray:
    """A CSV column of JSON arrays of integers as `kind` (a list type)."""
    bounds = np.iinfo(kind.value_type.to_pandas_dtype())
    values: list[list[int] | None] = []
    for index, text in enumerate(column.to_pylist()):
        try:
            value = None if text is None else json.loads(text)
        except (ValueError, RecursionError):
            value = text
        if value is not None and not (
            isinstance(value, list)
            and all(type(item) is int and bounds.min <= item <= bounds.max for item in value)
        ):
            raise SchemaError(
                f"{name} is {text!r:.40}",
                where=f"{where}, {rows([index])}",
                expected="a JSON array of small integers, such as [0, 3, 1]",
                fix="write lists with json.dumps, or the file as Parquet",
            )
        values.append(value)
    return pa.chunked_array([pa.array(values, kind)])


def _as_float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


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


def _where(mask: Any) -> Any:
    """Indices at which a boolean column is true."""
    return np.flatnonzero(mask.to_numpy(zero_copy_only=False))
