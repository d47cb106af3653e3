"""A researcher's own log of tasks as an Arrow table: from a file, a frame, columns or rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from benchmark_spec.errors import SchemaError, UnreadableError
from fslbench_data.files.lfs import refuse_lfs_pointer
from fslbench_data.sandbox.client import read_untrusted_columns
from fslbench_data.submission.canonical import index_columns, printable
from fslbench_data.submission.columns import is_text
from fslbench_data.submission.frames import (
    Frame,
    doubled_error,
    frame_table,
    is_frame,
    is_pandas,
    not_a_table,
    not_of_one_kind,
)
from fslbench_data.submission.nesting import check_lines
from fslbench_data.submission.quoting import check_quotes


def table_of(
    source: object, needed: Collection[str], where: str, optional: Collection[str] = ()
) -> pa.Table:
    """Return what is logged, its columns as they are; those of a CSV file as texts.

    Parameters
    ----------
    source
        A Parquet file, which a process of its own reads; a CSV or JSON Lines file; a frame of
        pandas or polars, or whatever else gives Arrow; a mapping of columns; a list of rows, each a
        mapping.
    needed, optional
        The columns that are read; others are left alone.  Of the optional ones, too, those that are
        of no one kind.
    where
        What messages call the source.

    Raises
    ------
    UnreadableError, SchemaError, TooLargeError
        If it is none of these, or a file that is damaged, empty, or holds too much.
    """
    wanted = (*needed, *optional)
    if isinstance(source, str | Path):
        return _of_file(Path(source), needed, optional)
    try:
        if isinstance(source, Mapping):
            return _of_columns(source, wanted, optional, where)
        if isinstance(source, Sequence) and all(isinstance(row, Mapping) for row in source):
            names = {name: None for row in source for name in row if name in wanted}
            values = {name: [row.get(name) for row in source] for name in names}
            return _of_columns(values, wanted, optional, where)
        if is_pandas(source):
            return _of_columns(_pandas_columns(source, wanted, where), wanted, optional, where)
        if is_frame(source):
            table = frame_table(_wanted_columns(source, wanted), where)
            return table.select([name for name in table.column_names if name in wanted])
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SchemaError(
            f"{where} cannot be made a table: {printable(error)}",
            expected="columns of equal length; ids either integers or texts, in lists as long "
            "as a task has classes (images)",
            fix="log plain lists: tensor.tolist()",
        ) from None
    raise not_a_table(source, where).saying(
        expected="a file, a frame of pandas or polars (not lazy), an Arrow table, a mapping of "
        "columns, or a list of rows"
    )


def _pandas_columns(frame: Any, wanted: Collection[str], where: str) -> dict[str, Any]:
    """Return the wanted columns of a frame of pandas."""
    names = [name for name in frame.columns if name in wanted]
    if len(set(names)) < len(names):
        raise doubled_error({name for name in names if names.count(name) > 1}, where)
    return {name: frame[name] for name in names}


def _wanted_columns(frame: Frame, wanted: Collection[str]) -> Frame:
    """Return a frame of polars without its other columns, which Arrow may not know."""
    if isinstance(frame, type) or not hasattr(frame, "get_column"):
        return frame
    columns: Any = frame
    return cast(Frame, columns.select([name for name in columns.columns if name in wanted]))


def _of_columns(
    values: Mapping[Any, Any], wanted: Collection[str], optional: Collection[str], where: str
) -> pa.Table:
    """Return a table of columns; an optional one that is of no one kind is left out."""
    made = {}
    for name in values:
        if name in wanted:
            try:
                made[name] = _column(name, values[name], where)
            except SchemaError:
                if name not in optional:
                    raise
    return pa.table(made)


def _column(name: str, values: Any, where: str) -> pa.Array:
    if hasattr(values, "iloc"):  # of pandas, perhaps of types of its own
        with suppress(Exception):
            return pa.array(values, from_pandas=True)
    made = plain(values)
    try:
        return pa.array(made, from_pandas=True)  # NaN as null
    except Exception as error:  # objects in a column are anybody's code
        if not isinstance(made, list):
            raise
        raise not_of_one_kind(name, made, error, where) from None


def plain(value: Any) -> Any:
    """Return arrays and tensors, also within lists, as lists of plain values."""
    if hasattr(value, "tolist"):
        made = value.tolist()
        return plain(made) if str(getattr(value, "dtype", "")) == "object" else made
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def check_file(path: Path, endings: Collection[str]) -> None:
    """Refuse what is no file with one of these endings, or an empty one, with an UnreadableError.

    Whether there is anything in it that can be read is not looked at.
    """
    try:
        is_file, size = path.is_file(), path.stat().st_size if path.exists() else 0
    except OSError as error:
        raise UnreadableError(f"{path} cannot be opened: {error.strerror}") from None
    if not is_file:
        raise UnreadableError(f"there is no file {path}")
    if path.suffix.lower() not in endings:
        raise UnreadableError(
            f"{path} ends in {path.suffix or 'nothing'}",
            expected=f"a file ending in {', '.join(endings)}",
        )
    if not size:
        raise UnreadableError(f"{path} is empty", fix="write it again")
    refuse_lfs_pointer(path)


def read_csv(path: Path) -> pa.Table:
    """Read a CSV file, all of its columns as texts, empty cells as nulls."""
    from pyarrow import csv

    check_quotes(path)
    reading = csv.ReadOptions(use_threads=False)  # so that errors name the row
    with csv.open_csv(path, read_options=reading) as file:
        names = file.schema.names
    options = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
    )
    return csv.read_csv(path, read_options=reading, convert_options=options)


def _of_file(path: Path, needed: Collection[str], optional: Collection[str]) -> pa.Table:
    wanted = (*needed, *optional)
    readers = {
        ".parquet": lambda: read_untrusted_columns(path, wanted),
        ".csv": lambda: read_csv(path),
        ".jsonl": lambda: _read_json_lines(path, needed, optional),
        ".ndjson": lambda: _read_json_lines(path, needed, optional),
    }
    check_file(path, readers)
    try:
        table = readers[path.suffix.lower()]()
    except (pa.ArrowException, OSError, UnicodeError, MemoryError) as error:
        raise UnreadableError(
            f"{path} cannot be read as {path.suffix[1:]}: {printable(error)}",
            expected="a whole file of that kind; texts in UTF-8; ids either integers or texts",
            fix="mend the row that is named; where none is, the file may be cut short or of "
            "another kind: write it again",
        ) from None
    doubled = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
    if doubled:
        raise doubled_error(doubled, str(path))
    index = index_columns(table.schema)  # of pandas, passed over unless it has what there must be
    index = set() if index & ({*needed} - {"run"}) else index
    return table.select([name for name in table.column_names if name in {*wanted} - index])


def _read_json_lines(path: Path, needed: Collection[str], optional: Collection[str]) -> pa.Table:
    from pyarrow import json as reader

    check_lines(path)
    lines: Any = path
    try:
        table = reader.read_json(lines)
    except pa.ArrowException:  # other columns may hold what Arrow has no column for
        try:
            lines = pa.py_buffer(_lines_of(path, (*needed, *optional)))
            table = reader.read_json(pa.BufferReader(lines))
        except pa.ArrowException:
            lines = pa.py_buffer(_lines_of(path, needed))
            table = reader.read_json(pa.BufferReader(lines))
    texts = [
        pa.field(field.name, _as_text(field.type))
        for field in table.schema
        if field.name in (*needed, *optional) and _as_text(field.type) != field.type
    ]
    if texts:  # that look like dates
        options = reader.ParseOptions(explicit_schema=pa.schema(texts))
        again = path if lines is path else pa.BufferReader(lines)
        table = reader.read_json(again, parse_options=options)
    return table


def _lines_of(path: Path, wanted: Collection[str]) -> bytes:
    """Return the lines of a JSON Lines file with the wanted columns alone, each in its place."""
    lines = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            try:
                row = json.loads(line)
            except ValueError:  # Arrow says what is wrong with it
                row = None
            if isinstance(row, dict):
                lines.append(json.dumps({name: row[name] for name in row if name in wanted}) + "\n")
            else:
                lines.append(line)
    return "".join(lines).encode()


def _as_text(kind: pa.DataType) -> pa.DataType:
    """Return the type with texts for times, in lists too."""
    if pa.types.is_list(kind):
        return pa.list_(_as_text(kind.value_type))
    return pa.string() if pa.types.is_temporal(kind) or is_text(kind) else kind
