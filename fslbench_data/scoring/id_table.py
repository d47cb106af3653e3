"""Tables of two columns, such as sizes of classes: from a mapping, a frame or a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmark_spec.errors import SchemaError, UnreadableError, rows, shown
from fslbench_data.scoring.task_log_table import check_file, read_csv, table_of
from fslbench_data.submission.canonical import printable


def texts_by_id(source: object, key: str, value: str, what: str) -> dict[str, str]:
    """Return a value by id, both as texts.

    Parameters
    ----------
    source
        A mapping; a table as :func:`~.task_log_table.table_of` takes it; or a .json file of an
        object.
    key, value
        Names of the table's columns.
    what
        What messages call it.

    Raises
    ------
    UnreadableError, SchemaError
        If it cannot be read, lacks a column or a value, or has an id twice.
    """
    where = f"{what} {source}" if isinstance(source, str | Path) else what
    if isinstance(source, str | Path) and Path(source).suffix.lower() == ".json":
        source = _json_object(Path(source), where)
    pairs: list[tuple[object, object]]
    if isinstance(source, Mapping) and not {key, value} <= set(source):
        pairs = list(source.items())
    else:
        table = _table(source, key, value, where)
        pairs = list(zip(*(table[name].to_pylist() for name in (key, value)), strict=True))
    by_id: dict[str, str] = {}
    for row, pair in enumerate(pairs):
        name, text = map(_text, pair)
        if not name or not text:
            wrong, content = (value, pair[1]) if name else (key, pair[0])
            raise SchemaError(
                f"{wrong} is {'empty' if content in (None, '') else shown(content)}",
                where=f"{where}, {rows([row])}",
                expected=f"{key} and {value}: texts or whole numbers, written as such, not as 60.0",
            )
        if name in by_id:
            raise SchemaError(
                f"{key} {shown(name)} stands there twice",
                where=f"{where}, {rows([row])}",
                expected=f"one {value} for each {key}",
            )
        by_id[name] = text
    return by_id


def numbers_by_id(source: object, key: str, value: str, what: str) -> dict[str, int]:
    """Return a whole number above 0 by id; else as :func:`texts_by_id`."""
    where = f"{what} {source}" if isinstance(source, str | Path) else what
    numbers = {}
    for name, text in texts_by_id(source, key, value, what).items():
        if not text.isascii() or not text.isdigit() or not 0 < int(text[:18]) < 10**9:
            raise SchemaError(
                f"{value} of {key} {shown(name)} is {shown(text)}",
                where=where,
                expected="a whole number from 1, below 1,000,000,000",
            )
        numbers[name] = int(text)
    return numbers


def _table(source: object, key: str, value: str, where: str) -> pa.Table:
    if isinstance(source, str | Path) and Path(source).suffix.lower() == ".csv":
        check_file(Path(source), [".csv"])
        try:
            table = read_csv(Path(source))
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise UnreadableError(f"{where} cannot be read: {printable(error)}") from None
    else:
        table = table_of(source, (key, value), where)
    if missing := [name for name in (key, value) if table.column_names.count(name) != 1]:
        raise SchemaError(
            f"{where} has not one column {missing[0]}",
            where=f"its columns are {', '.join(map(shown, table.column_names)) or 'none'}",
            expected=f"the columns {key} and {value}, or a JSON object of {value} by {key}",
        )
    return table


def _json_object(path: Path, where: str) -> dict[str, Any]:
    check_file(path, [".json"])
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, where))
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableError(f"{where} cannot be read as JSON: {printable(error)}") from None
    if not isinstance(content, dict):
        raise UnreadableError(f"{where} is no JSON object", expected='such as {"cat": 60}')
    return content


def _once(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    """Return a JSON object's content, of which Python would keep the last of two equal keys."""
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise SchemaError(
                f"{shown(name)} stands there twice", where=where, expected="every name once"
            )
        content[name] = value
    return content


def _text(value: object) -> str:
    """Return an id or a whole number as text; empty for what is neither."""
    value = value.item() if hasattr(value, "item") else value
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
