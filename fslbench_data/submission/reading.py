"""Read files of results and accuracies, and recognize files by their columns."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmark_spec.errors import (
    AccuracyError,
    UnreadableError,
    listing,
    many,
    quoted,
)
from fslbench_data.files import load_numbers, refuse_lfs_pointer
from fslbench_data.submission.columns import (
    INDEX,
    NAMES,
    TableKind,
    holds_all_ways,
    is_text,
    known_columns,
    printable,
    separator_remedy,
    typed,
)
from fslbench_data.submission.frames import frame_table
from fslbench_data.tasks import TaskSetInfo

TOLERANCE = 1e-3
"""Percentage points by which an accuracy may miss a count; float32 misses it by 1e-5."""

MAX_LINE_BYTES = 1 << 24
"""Bytes of a line that are read to recognize a file."""


def counts_of(
    accuracies: NDArray[Any],
    info: TaskSetInfo,
    queries: NDArray[np.int64],
    scale: float,
    where: str,
) -> NDArray[np.int64]:
    """Return counts of correct queries (T,) for accuracies (T,), from 0 to `scale`.

    `queries` (T,) holds the number of queries of each task. Raises an AccuracyError if there are
    not as many accuracies as tasks, or one is NaN, out of range, or no multiple of 1/(K·Q).
    """
    if accuracies.shape != (info.n_tasks,):
        raise AccuracyError(
            f"the accuracies are of shape {accuracies.shape}",
            where=where,
            expected=f"({info.n_tasks},), one for each task of {info}",
        )
    if (bad := np.flatnonzero(~np.isfinite(accuracies))).size:
        raise AccuracyError(
            f"{bad.size} accuracies are NaN or infinite",
            where=f"{where}, tasks {listing(bad.tolist())}",
            fix="run these tasks again",
        )
    counts = accuracies.astype(np.float64) * queries / scale
    whole = np.rint(counts)
    fits = np.abs(counts - whole) * 100.0 / queries <= TOLERANCE
    bad = np.flatnonzero(~(fits & (whole >= 0) & (whole <= queries)))
    if bad.size:
        divisor = "n, a task's number of queries" if info.name.varies else str(queries[bad[0]])
        total = "their tasks' queries" if info.name.varies else f"{divisor} queries (K·Q)"
        raise AccuracyError(
            f"{bad.size} accuracies are no multiple of 1/{divisor}: "
            f"{listing(accuracies[bad].tolist(), 4)}",
            where=f"{where}, tasks {listing(bad.tolist())}",
            expected=f"{'percentages' if scale == 100 else 'fractions'} of {total} of {info}",
            fix="check that these are unrounded results of this task set",
        )
    return whole.astype(np.int64)


def read_accuracies(path: Path) -> NDArray[np.float64]:
    """Read accuracies (T,) from a .npy file, a CSV file or a list of numbers in a text file.

    A CSV file has one column, or one called `accuracy`.  Raises an UnreadableError if the file
    has another form, a task has no accuracy, or decimals have commas.
    """
    try:
        if path.suffix.lower() == ".npy":
            return np.asarray(load_numbers(path), dtype=np.float64)
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".csv":
            return np.array([float(cell) for cell in _csv_column(text, path)])
        ambiguous = next((word for word in text.split() if re.fullmatch(r"\d+,\d+", word)), "")
        if ambiguous:
            raise UnreadableError(
                f"{path} holds {ambiguous}: one number, or two?",
                expected="decimals with a point, numbers parted by spaces or lines",
            )
        return np.array([float(word) for word in text.replace(",", " ").split()])
    except (OSError, ValueError, csv.Error) as error:
        raise UnreadableError(
            f"{path} cannot be read: {printable(error)}",
            expected="accuracies in a .npy file, in a column of a CSV file, or as a list of "
            "numbers in a text file",
        ) from None


def _csv_column(text: str, path: Path) -> list[str]:
    rows = list(csv.reader(text.rstrip().splitlines()))
    header = rows[0] if rows else []
    if blank := [number for number, row in enumerate(rows, 1) if not row]:
        raise UnreadableError(
            f"{path} has no accuracy in line {listing(blank)}",
            expected="one for every task, in the same order as in other files",
            fix="run these tasks again",
        )
    if unlike := [number for number, row in enumerate(rows, 1) if len(row) != len(header)]:
        raise UnreadableError(
            f"{path} has more or fewer columns in line {listing(unlike)} than in the first",
            expected=f"{many(len(header), 'column')} in every line, and decimals with a point",
        )
    if "accuracy" in header:
        return [row[header.index("accuracy")] for row in rows[1:]]
    if len(header) != 1:
        raise UnreadableError(
            f"{path} has columns {listing(header)}", expected="one column, or one called accuracy"
        )
    try:
        float(header[0])
    except ValueError:
        rows = rows[1:]
    return [row[0] for row in rows]


def is_log(source: object) -> bool:
    """Return whether a source has the columns of a log: class_ids, or all classes at once."""
    names = columns_of(source)
    return ("class_ids" in names or holds_all_ways(names)) and "task_set" not in names


def several_logs(source: object) -> Sequence[object] | None:
    """Return the logs if a source is a list of logs; None if it is one log or a list of rows."""
    if not isinstance(source, list | tuple) or not source:
        return None
    return None if any(isinstance(item, Mapping) for item in source) else source


def columns_of(source: object) -> list[str]:
    """Return the names of a file's or a frame's columns; empty if they cannot be read."""
    if isinstance(source, str | Path):
        path = Path(source)
        return _columns_in(path, path.stat().st_mtime_ns) if path.is_file() else []
    first = next(iter(source), ()) if isinstance(source, list | tuple) else source
    keys = first if isinstance(first, Mapping) else ()
    names = getattr(first, "column_names", getattr(first, "columns", keys))
    return [*names] if isinstance(names, Collection) else []


@lru_cache(maxsize=16)  # a command reads the columns of its file several times
def _columns_in(path: Path, mtime_ns: int) -> list[str]:
    """Return the columns of a file; its time of change is part of the cache's key."""
    try:
        if path.suffix.lower() == ".parquet":
            return list(pq.read_schema(path).names)
        with path.open(encoding="utf-8-sig") as file:
            line = file.readline(MAX_LINE_BYTES)
        if path.suffix.lower() in (".jsonl", ".ndjson"):
            row = json.loads(line)
            return [*row] if isinstance(row, dict) else []
    except (OSError, ValueError, RecursionError, pa.ArrowException):
        return []  # whoever reads the file raises the error
    return line.strip().replace('"', "").split(",") if path.suffix.lower() == ".csv" else []


def is_all_ways(source: object) -> bool:
    """Return whether a source has the columns of results with all classes at once."""
    return holds_all_ways(columns_of(source))


def is_by_image(source: object) -> bool:
    """Return whether a source has a row per image, on tasks of all classes."""
    return {"task_set", "image_id", "predicted"} <= {*columns_of(source)}


def is_accuracies(path: Path) -> bool:
    """Return whether a file holds only accuracies: .npy, .txt, or .csv of a column of numbers.

    The column may be called `accuracy`, with the index of a pandas frame beside it.
    """
    if path.suffix.lower() != ".csv":
        return path.suffix.lower() in (".npy", ".txt")
    if not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        first, second = (stream.readline(MAX_LINE_BYTES).strip() for _ in range(2))
    if [name for name in columns_of(path) if not INDEX.fullmatch(name)] == ["accuracy"]:
        return True
    return first != "result" and "," not in first and bool(_NUMBER.fullmatch(second))


_NUMBER = re.compile(r"\d*\.?\d+(e[-+]?\d+)?")

ENDINGS = (".parquet", ".csv", ".jsonl", ".ndjson")

MOST_NESTED = 64
"""Levels of JSON that are read; a submission has two."""

_LINES = "an object a line, whose values are texts, numbers and lists of numbers"
_AS_LINES = "write each answer as a line of its own, with json.dumps"
_JSON_TEXT = re.compile(rb'"(?:[^"\\\n]|\\[^\n])*"')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_QUOTED_CELL = re.compile(r'(?<![^,])"(?:[^"]++|"")*+"(?![^,])')


def table_of(
    source: object, kind: TableKind, parquet: Callable[[Path], pa.Table], where: str = ""
) -> pa.Table:
    """Return the checked table of a file, or of what :func:`frame_table` reads.

    Metadata of the schema stay.

    Parameters
    ----------
    parquet
        Reads a Parquet file, or those of its columns that the kind has.
    where
        Name of the source in messages; by default the file's, or the kind's.

    Raises
    ------
    SubmissionError, SchemaError
        A kind of them for each thing that can be wrong, naming rows and remedy.
    """
    texts, where = not kind.closed, where or name_of(source, kind)
    if isinstance(source, str | Path):
        path = Path(source)
        check_file(path, ENDINGS, kind.name)
        with readable(path):
            if path.suffix.lower() == ".csv":
                table, texts = read_csv_texts(path), True
            elif path.suffix.lower() == ".parquet":
                table = parquet(path)
            elif kind.closed:
                table = _read_json_lines(path)
            else:
                table = frame_table(_json_rows(path), where, kind)
    else:
        table = frame_table(source, where, kind)
    metadata = table.schema.metadata
    there = columns_of(source) if isinstance(source, str | Path) and not kind.closed else ()
    table = known_columns(table, kind, where, there=there)
    if not table.num_rows:
        again = "; a reader is empty once it has been read: give its table"
        fix = f"write the results into it{again if hasattr(source, 'read_all') else ''}"
        raise UnreadableError(f"{where} has columns but no rows", fix=fix)
    return typed(table, kind, where, texts=texts).replace_schema_metadata(metadata)


def name_of(source: object, kind: TableKind) -> str:
    """Return what messages call a source: a file by its name."""
    return str(source) if isinstance(source, str | Path) else kind.name


def check_file(
    path: Path, endings: Collection[str] = ENDINGS, what: str = "the submission"
) -> None:
    """Raise an UnreadableError unless the file exists, has one of the endings and is not empty."""
    try:
        is_folder, exists = path.is_dir(), path.exists()
        size = path.stat().st_size if exists else 0
    except OSError as error:
        raise UnreadableError(f"{path} cannot be opened: {error.strerror}") from None
    if is_folder:
        raise UnreadableError(
            f"{path} is a folder",
            expected=f"one {what.removeprefix('the ')} file",
            fix="name the file; a release's folder goes to --release",
        )
    if not exists:
        raise UnreadableError(f"there is no file {path}")
    if path.suffix.lower() not in endings:
        raise UnreadableError(
            f"{path} ends in {path.suffix or 'nothing'}",
            expected=f"a file ending in {', '.join(endings)}",
            fix="accuracies alone, one per task: fslbench score FILE, in Python fb.reported"
            if is_accuracies(path)
            else "decompress it, or export it as one of these: rows as JSON one a line; accuracies "
            "alone, one per task, as .npy",
        )
    if size == 0:
        raise UnreadableError(f"{path} is empty", fix=f"write {what} again")
    refuse_lfs_pointer(path)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn any error of parsing a file into an UnreadableError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError, MemoryError) as error:
        raise UnreadableError(
            f"{path} cannot be read as {path.suffix[1:]}: {printable(error)}",
            expected="a whole file of that kind; texts in UTF-8",
            fix=separator_remedy(columns_of(path))
            or "mend the row that is named; where none is, the file may be cut short, of another "
            "kind or not in UTF-8: write it again",
        ) from None


_BATCH_ROWS = 16_000
"""Rows of a Parquet file that are read at once; a power of two takes a quarter more memory."""


def read_parquet(path: Path) -> pa.Table:
    """Read a Parquet file with its metadata, names as dictionaries."""
    file = pq.ParquetFile(path)
    names, claimed = name_columns(file.schema_arrow), file.metadata.num_rows
    try:
        table = _read_in_batches(pq.ParquetFile(path, read_dictionary=names, pre_buffer=False))
    except OSError:  # delta-encoded texts cannot be read as dictionaries
        table = _read_in_batches(pq.ParquetFile(path, pre_buffer=False))
    check_rows(table.num_rows, claimed, str(path))
    return table


def read_parquet_table(
    path: Path,
    where: str,
    *,
    names: bool = False,
    group: int | None = None,
) -> pa.Table:
    """Read a Parquet file of a release, or one row group of it.

    Raises an error of Arrow, or an UnreadableError if its footer claims other numbers of rows.

    Parameters
    ----------
    names
        Read the columns of names as dictionaries.
    group
        A row group; -1 reads no rows, but adds the numbers of rows and row groups to the metadata.
    """
    file = pq.ParquetFile(path, pre_buffer=False)
    metadata, schema = file.metadata, file.schema_arrow
    if group == -1:
        numbers = {"rows": str(metadata.num_rows), "row_groups": str(metadata.num_row_groups)}
        schema = schema.with_metadata({**(schema.metadata or {}), **numbers})
        return pa.Table.from_batches([], schema)
    if names:
        file = pq.ParquetFile(path, read_dictionary=name_columns(schema), pre_buffer=False)
    if group is None:
        table, rows = file.read(use_threads=False), metadata.num_rows
    else:
        table = file.read_row_group(group, use_threads=False)
        rows = metadata.row_group(group).num_rows
    check_rows(table.num_rows, rows, where)
    table.validate(full=True)
    return table


def _read_in_batches(file: pq.ParquetFile) -> pa.Table:
    """Read in batches: at once, lists would take ten times their memory, and twice the time."""
    batches = file.iter_batches(batch_size=_BATCH_ROWS, use_threads=False)
    return pa.Table.from_batches(batches, file.schema_arrow)


def check_rows(rows: int, claimed: int, where: str) -> None:
    """Raise an UnreadableError if a Parquet file has not as many rows as its footer claims."""
    if rows != claimed:
        raise UnreadableError(
            f"{where} cannot be read as parquet: its footer claims {claimed} rows, it holds {rows}",
            fix="it is damaged: write the file again",
        )


def name_columns(schema: pa.Schema) -> list[str]:
    """Return the columns of names, which take less memory as dictionaries."""
    names = {*NAMES, "fingerprint", "run"}
    return [field.name for field in schema if field.name in names and is_text(field.type)]


def read_csv_texts(path: Path) -> pa.Table:
    """Read a CSV file with all columns as texts, and empty cells (quoted or not) as nulls."""
    from pyarrow import csv

    check_quotes(path)
    reading = csv.ReadOptions(use_threads=False)  # so that errors name the row
    with csv.open_csv(path, read_options=reading) as file:
        texts = dict.fromkeys(file.schema.names, pa.string())
    options = csv.ConvertOptions(column_types=texts, null_values=[""], strings_can_be_null=True)
    return csv.read_csv(path, read_options=reading, convert_options=options)


def _read_json_lines(path: Path) -> pa.Table:
    from pyarrow import json

    check_lines(path)
    table = json.read_json(path)
    kinds = {name: table.schema.field(name).type for name in table.column_names}
    names = [name for name in (*NAMES, "fingerprint") if name in kinds]
    if "run" in kinds and pa.types.is_timestamp(kinds["run"]):  # a run may be an integer
        names.append("run")
    if any(not pa.types.is_string(kinds[name]) for name in names):  # such as texts like dates
        texts = pa.schema([(name, pa.string()) for name in names])
        table = json.read_json(path, parse_options=json.ParseOptions(explicit_schema=texts))
    return table


def _json_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSON Lines file, whose other columns may hold anything."""
    check_lines(path)
    rows = []
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    row = error
                if not isinstance(row, dict):
                    raise _no_object(path, number, row)
                rows.append(row)
    return rows


def check_lines(path: Path) -> None:
    """Refuse a JSON Lines file that is nested deep, or has a line that is not one object.

    The parser recurses for every level: a file nested fifty thousand deep ends the whole process.
    It also accepts objects that span lines, and several on a line.  JSON texts never span lines, so
    removing the quoted texts of a line leaves its brackets.  Raises an UnreadableError that names
    the first wrong line.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            brackets = _JSON_TEXT.sub(b"", line).translate(None, _NO_BRACKETS)
            levels = list(accumulate(1 if mark in b"[{" else -1 for mark in brackets))
            if (deepest := max(levels, default=0)) > MOST_NESTED:
                raise UnreadableError(
                    f"{path} is nested {deepest} deep", expected=_LINES, fix=_AS_LINES
                )
            if levels and (levels[-1] or levels.count(0) > 1):
                raise _no_object(path, number)


def _no_object(path: Path, line: int, found: object = None) -> UnreadableError:
    why = f": {printable(found)}" if isinstance(found, Exception) else ""
    return UnreadableError(
        f"{path} cannot be read as {path.suffix[1:]}: line {line} is not one object{why}",
        expected=_LINES,
        fix=f"{_AS_LINES}; the file may be cut short",
    )


def check_quotes(path: Path) -> None:
    """Refuse a CSV file with a quote that does not enclose a cell of one line.

    The parser accepts them: a cell without a closing quote ends with the file, and text behind a
    closing quote belongs to the cell.  Raises an UnreadableError that names the first wrong line.
    """
    with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
        for number, line in enumerate(file, start=1):
            if number == 1 and line.startswith(("\udcff\udcfe", "\udcfe\udcff")):
                fix = "save it as UTF-8"
                raise UnreadableError(f"{path} is in UTF-16", expected="UTF-8", fix=fix)
            text = line.rstrip("\n")
            if '"' in text and '"' in _QUOTED_CELL.sub("", text):
                raise UnreadableError(
                    f"a quote does not stand around a cell: {quoted(text[:60])}",
                    where=f"{path}, line {number}",
                    expected='cells that hold commas or quotes in quotes, such as "[0, 3, 1]", '
                    "their own quotes doubled, on one line",
                    fix="write the file again with a CSV writer; it may be cut short",
                )
