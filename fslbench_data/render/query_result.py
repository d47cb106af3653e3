"""The result of an SQL query as CSV, JSON and a table for people."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa

from benchmark_spec.errors import printable
from fslbench_data.render.table import Column, Table, csv_of_rows

_ROWS_AT_ONCE = 4096


def csv_result(table: pa.Table) -> str:
    """Write CSV, with lists as JSON arrays, as submissions have them."""
    rows = (map(_plain, row) for batch in _batches(table) for row in batch)
    return csv_of_rows(table.column_names, rows)


def json_pieces(table: pa.Table) -> Iterator[str]:
    """Yield a JSON array with an object per row, in pieces of some rows each."""
    before = "[\n"
    for rows in _batches(table):
        objects = (dict(zip(table.column_names, map(_portable, row), strict=True)) for row in rows)
        texts = (json.dumps(row, indent=1, ensure_ascii=False) for row in objects)
        yield before + ",\n".join(" " + text.replace("\n", "\n ") for text in texts)
        before = ",\n"
    yield "\n]\n" if table.num_rows else "[]\n"


def table_of(result: pa.Table) -> Table:
    """Return a table for people: floats have six digits, control characters are escaped."""
    columns = []
    for i, field in enumerate(result.schema):
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        cell = partial(_cell, i)
        columns.append(Column(printable(field.name), cell, "right" if is_number else "left"))
    return Table("", tuple(columns), [row for batch in _batches(result) for row in batch])


def _batches(table: pa.Table) -> Iterator[list[tuple[Any, ...]]]:
    """Yield rows of values, some at a time."""
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        if batch.num_rows:
            yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _plain(value: Any) -> Any:
    """Return a nested value as JSON text, others as they are."""
    if isinstance(value, list | dict):
        return json.dumps(_portable(value), ensure_ascii=False)
    return value


def _cell(i: int, row: tuple[Any, ...]) -> str | None:
    value = row[i]
    if value is None:
        return None
    return f"{value:.6g}" if isinstance(value, float) else printable(str(_plain(value)))


def _portable(value: Any) -> Any:
    """Return the value as JSON can hold it.

    NaN, infinities, decimals beyond double precision and other types become text.
    """
    if isinstance(value, list):
        return [_portable(item) for item in value]
    if isinstance(value, dict):
        return {name: _portable(item) for name, item in value.items()}
    if isinstance(value, Decimal):  # of sums of whole numbers, too
        number = int(value) if value == value.to_integral_value() else float(value)
        return number if Decimal(repr(number)) == value else str(value)
    if isinstance(value, bool | int | None) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)
