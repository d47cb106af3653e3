"""Read logs and other tables of one's own from any kind of source, and values by id."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmark_spec.errors import FSLBenchError, SchemaError, UnreadableError, quoted, rows
from fslbench_data.sandbox.client import read_untrusted_columns
from fslbench_data.submission import reading
from fslbench_data.submission.columns import TableKind, printable
from fslbench_data.submission.reading import check_file


def table_of(source: object, kind: TableKind, where: str = "") -> pa.Table:
    """Return a table as :func:`fslbench_data.submission.reading.table_of` does.

    A Parquet file is read in the sandbox.
    """
    return reading.table_of(
        source, kind, lambda path: read_untrusted_columns(path, kind.types), where
    )


def texts_by_id(
    source: object, key: str, value: str, what: str, dataset: str = "", *, apart: bool = False
) -> dict[str, str]:
    """Return a value by id, both as texts, from a mapping, a table or a .json file of an object.

    A mapping by data set, or a table with the column dataset, is read for `dataset` alone; with
    `apart`, no other source is accepted.
    """
    where = what
    if isinstance(source, str | Path):
        where = f"{what} {source}"
        if Path(source).suffix.lower() == ".json":
            check_file(Path(source), (".json",), "the file")
            source = _json_object(Path(source), where)
    of_dataset = False
    if isinstance(source, Mapping) and not {key, value} <= set(source):
        if dataset and source and all(isinstance(inner, Mapping) for inner in source.values()):
            by_dataset: dict[str, Mapping[object, object]] = {str(k): v for k, v in source.items()}
            of_dataset, source = True, by_dataset.get(dataset, {})
        pairs = list(enumerate(source.items()))
    else:
        columns = f"the columns {key} and {value}, or a JSON object of {value} by {key}"
        kind = TableKind("the table", dict.fromkeys((key, value, "dataset")), (key, value), columns)
        table = table_of(source, kind, where)
        pairs = list(enumerate(zip(*(table[n].to_pylist() for n in (key, value)), strict=True)))
        if dataset and "dataset" in table.column_names:
            names = table["dataset"].to_pylist()
            of_dataset = True
            pairs = [pair for pair, name in zip(pairs, names, strict=True) if str(name) == dataset]
    if (of_dataset and not pairs) or (apart and not of_dataset):
        raise SchemaError(
            f"{where} has no data set {quoted(dataset)}",
            expected="each data set's own: the column dataset, or an object (mapping) by data set",
        )
    by_id: dict[str, str] = {}
    for row, pair in pairs:
        name, text = map(_id_text, pair)
        if not name or not text:
            wrong, content = (value, pair[1]) if name else (key, pair[0])
            raise SchemaError(
                f"{wrong} is {'empty' if content in (None, '') else quoted(content)}",
                where=f"{where}, {rows([row])}",
                expected=f"{key} and {value}: texts or whole numbers, written as such, not as 60.0",
            )
        if name in by_id:
            raise _twice(f"{key} {quoted(name)}", f"{where}, {rows([row])}")
        by_id[name] = text
    return by_id


def numbers_by_id(
    source: object, key: str, value: str, what: str, dataset: str = "", *, apart: bool = False
) -> dict[str, int]:
    """Return a positive integer by id, from the sources of :func:`texts_by_id`."""
    texts = texts_by_id(source, key, value, what, dataset, apart=apart)
    for name, text in texts.items():
        if not text.isascii() or not text.isdigit() or not 0 < int(text[:18]) < 10**9:
            raise SchemaError(
                f"{value} of {key} {quoted(name)} is {quoted(text)}",
                where=f"{what} {source}" if isinstance(source, str | Path) else what,
                expected="a whole number from 1, below 1,000,000,000",
            )
    return {name: int(text) for name, text in texts.items()}


def _json_object(path: Path, where: str) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            names = [name for name, _ in pairs]
            doubled = next(name for name in names if names.count(name) > 1)
            raise _twice(quoted(doubled), where)
        return content

    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=once)
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableError(f"{where} cannot be read as JSON: {printable(error)}") from None
    if not isinstance(content, dict):
        raise UnreadableError(f"{where} is no JSON object", expected='such as {"cat": 60}')
    return content


def _twice(what: str, where: str) -> FSLBenchError:
    return SchemaError(f"{what} stands there twice", where=where, expected="every name once")


def _id_text(value: object) -> str:
    """Return a text or an integer as text; empty for anything else."""
    value = value.item() if hasattr(value, "item") else value
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
