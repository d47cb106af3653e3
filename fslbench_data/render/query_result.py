"""The result of a query as CSV, JSON and a table for people, some rows at a time."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from benchmark_spec.errors import printable
from fslbench_data.render.table import Column, Table, csv_of_rows

_ROWS = 4096


def csv_result(table: pa.Table) -> str:
    """Write CSV; a list as a JSON array, as submissions have them."""
    rows = (map(_one, row) for some in _rows(table) for row in some)
    return csv_of_rows(table.column_names, rows)


def json_pieces(table: pa.Table) -> Iterator[str]:
    """Yield a JSON array of an object a row."""
    before = "[\n"
    for rows in _rows(table):
        objects = (dict(zip(table.column_names, map(_portable, row), strict=True)) for row in rows)
        texts = (json.dumps(row, indent=1, ensure_ascii=False) for row in objects)
        yield before + ",\n".join(" " + text.replace("\n", "\n ") for text in texts)
        before = ",\n"
    yield "\n]\n" if table.num_rows else "[]\n"


def table_of(result: pa.Table) -> Table:
    """Return a table for people: floats to six digits, no commands to a terminal."""
    columns = []
    for i, field in enumerate(result.schema):
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        cell = partial(_cell, i)
        columns.append(Column(printable(field.name), cell, "right" if number else "left"))
    return Table("", tuple(columns), [row for rows in _rows(result) for row in rows])


def _rows(table: pa.Table) -> Iterator[list[tuple[Any, ...]]]:
    """Yield rows of values, some at a time."""
    for batch in table.to_batches(max_chunksize=_ROWS):
        if batch.num_rows:
            yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _one(value: Any) -> Any:
    if isinstance(value, list | dict):
        return json.dumps(_portable(value), ensure_ascii=False)
    return value


def _cell(i: int, row: tuple[Any, ...]) -> str | None:
    value = row[i]
    if value is None:
        return None
    return f"{value:.6g}" if isinstance(value, float) else printable(str(_one(value)))


def _portable(value: Any) -> Any:
    """Return the value as JSON can have it: as text what is no number there."""
    if isinstance(value, list):
        return [_portable(item) for item in value]
    if isinstance(value, dict):
        return {name: _portable(item) for name, item in value.items()}
    if isinstance(value, bool | int | None) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)
