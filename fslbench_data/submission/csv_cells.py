"""Reading the cells of a CSV file as what they stand for, or saying which rows fail."""

from __future__ import annotations

import json
from math import isfinite

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmark_spec.errors import SchemaError, rows
from fslbench_data.submission.columns import ABOUT, where_true


def parse_booleans(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """A CSV column of ``true`` and ``false``, in any case; empty cells become nulls."""
    low = pc.ascii_lower(column)
    is_true, is_false = pc.equal(low, "true"), pc.equal(low, "false")
    bad = where_true(pc.fill_null(pc.invert(pc.or_(is_true, is_false)), pa.scalar(False)))
    if bad.size:
        raise SchemaError(
            f"{name} is {column[int(bad[0])].as_py()!r:.40}",
            where=f"{where}, {rows(bad)}",
            expected="true or false",
        )
    return is_true


def parse_integers(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """A CSV column of texts, of which 23.0 is 23, as int64; empty cells become nulls."""
    error, meaning, fix = ABOUT[name]
    whole = pc.match_substring_regex(column, r"^\s*-?[0-9]{1,15}(\.0+)?\s*$")
    bad = where_true(pc.invert(pc.fill_null(whole, pa.scalar(True))))
    if bad.size:
        values = np.array([_as_float(column[int(row)].as_py()) for row in bad], dtype=object)
        for kind, which in (
            ("NaN or infinite", [value is not None and not isfinite(value) for value in values]),
            ("not a number", [value is None for value in values]),
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
    digits = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), r"\.0+$", "")
    return digits.cast(pa.int64())


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
