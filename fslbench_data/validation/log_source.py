"""Read the tables of a log from any kind of source, and values by id."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmark_spec.errors import FSLBenchError, SchemaError, UnreadableError, quoted, rows
from fslbench_data.sandbox.client import read_untrusted_columns
from fslbench_data.submission.columns import index_columns, printable
from fslbench_data.submission.frames import (
    Frame,
    check_once,
    column_of,
    frame_table,
    is_pandas,
    not_a_table,
)
from fslbench_data.submission.reading import (
    ENDINGS,
    check_file,
    check_lines,
    read_csv_texts,
    readable,
)


def table_of(
    source: object, needed: Collection[str], where: str, optional: Collection[str] = ()
) -> pa.Table:
    """Return at least some columns of a file, frame, mapping or list of rows; of CSV as texts.

    An optional column with values of several kinds is left out.
    """
    wanted = {*needed, *optional}
    try:
        if isinstance(source, str | Path):
            path = Path(source)
            if path.suffix.lower() not in (".jsonl", ".ndjson"):
                table = _file_table(path, needed, wanted)
                check_once(table.column_names, where)
                return table
            source = _json_rows(path)
        if isinstance(source, Sequence) and all(isinstance(row, Mapping) for row in source):
            names = dict.fromkeys(name for row in source for name in row if name in wanted)
            source = {name: [row.get(name) for row in source] for name in names}
        if is_pandas(source):
            frame: Any = source
            index = [name for name in frame.index.names if name in needed and name != "run"]
            source = frame.reset_index(index) if index else frame
        if isinstance(source, Mapping) or is_pandas(source):
            return _columns_table(source, wanted, optional, where)
        if isinstance(source, Frame):
            frame = source
            if hasattr(frame, "get_column") and not isinstance(frame, type):
                # Arrow may not know the types of polars' other columns
                frame = frame.select([name for name in frame.columns if name in wanted])
            table = frame_table(frame, where)
            check_once(table.column_names, where)
            return table
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SchemaError(
            f"{where} cannot be made a table: {printable(error)}",
            expected="columns of equal length; ids either integers or texts, in lists as long "
            "as a task has classes (images)",
            fix="log plain lists: tensor.tolist()",
        ) from None
    raise not_a_table(source, where).with_advice(
        expected="a file, a frame of pandas or polars (not lazy), an Arrow table, a mapping of "
        "columns, or a list of rows"
    )


def _file_table(path: Path, needed: Collection[str], wanted: Collection[str]) -> pa.Table:
    check_file(path, ENDINGS, "the log")
    with readable(path):
        is_csv = path.suffix.lower() == ".csv"
        table = read_csv_texts(path) if is_csv else read_untrusted_columns(path, wanted)
    index = index_columns(table.schema)
    if index & ({*needed} - {"run"}):
        index = set()
    return table.select([i for i, name in enumerate(table.column_names) if name not in index])


def _json_rows(path: Path) -> list[dict[str, Any]]:
    check_file(path, ENDINGS, "the log")
    check_lines(path)
    rows = []
    with readable(path), path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    row = error
                if not isinstance(row, dict):
                    why = f": {printable(row)}" if isinstance(row, Exception) else ""
                    raise UnreadableError(
                        f"{path} cannot be read as {path.suffix[1:]}: line {number} is not one "
                        f"object{why}",
                        expected="a JSON object a line",
                        fix="write each row as a line of its own, with json.dumps",
                    )
                rows.append(row)
    return rows


def _columns_table(
    source: Any, wanted: Collection[str], optional: Collection[str], where: str
) -> pa.Table:
    names = [name for name in source if name in wanted]
    check_once(names, where)
    columns = {}
    for name in names:
        try:
            columns[name] = _column(name, source[name], where)
        except SchemaError:
            if name not in optional:
                raise
    return pa.table(columns)


def _column(name: str, values: Any, where: str) -> pa.Array:
    try:
        return pa.array(values, from_pandas=True)
    except Exception:  # the objects' code may raise anything
        plain = _plain(values)
    if isinstance(plain, list):
        return column_of(name, plain, where)
    return pa.array(plain, from_pandas=True)


def _plain(value: Any) -> Any:
    """Return arrays and tensors, also within lists, as lists of plain values."""
    if hasattr(value, "tolist"):
        values = value.tolist()
        return _plain(values) if str(getattr(value, "dtype", "")) == "object" else values
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


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
        table = table_of(source, (key, value, "dataset"), where)
        if missing := [name for name in (key, value) if name not in table.column_names]:
            raise SchemaError(
                f"{where} has not one column {missing[0]}",
                where=f"its columns are {', '.join(map(quoted, table.column_names)) or 'none'}",
                expected=f"the columns {key} and {value}, or a JSON object of {value} by {key}",
            )
        columns = [table[name].to_pylist() for name in (key, value)]
        pairs = list(enumerate(zip(*columns, strict=True)))
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
