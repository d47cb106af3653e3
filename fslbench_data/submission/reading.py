"""Reading submission files: Parquet, CSV, JSON Lines."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark_spec.errors import FSLBenchWarning, UnreadableError
from benchmark_spec.schemas import SUBMISSION
from fslbench_data.files.lfs import refuse_lfs_pointer
from fslbench_data.submission import columns, csv_cells
from fslbench_data.submission.bindings import METADATA_KEY, Binding, GroupKey, Method
from fslbench_data.submission.canonical import NAMES, TYPES, canonical, known_columns, printable
from fslbench_data.submission.metadata import read_metadata
from fslbench_data.submission.nesting import check_lines
from fslbench_data.submission.quoting import check_quotes


class Content(NamedTuple):
    """What a file holds, in the order of the fields of a Submission, which describes them."""

    table: pa.Table
    methods: dict[str, Method]
    bindings: dict[GroupKey, Binding]
    source: str
    package_version: str = "unknown"


def read_file(path: Path) -> Content:
    """Read a submission file; its ending (.parquet, .csv, .jsonl) says which kind it is."""
    try:
        is_folder, exists = path.is_dir(), path.exists()
        size = path.stat().st_size if exists else 0
    except OSError as error:
        raise UnreadableError(f"{path} cannot be opened: {error.strerror}") from None
    readers: dict[str, Callable[[Path], Content]] = {
        ".parquet": read_parquet,
        ".csv": _read_csv,
        ".jsonl": _read_json_lines,
        ".ndjson": _read_json_lines,
    }
    reader = readers.get(path.suffix.lower())
    if is_folder:
        raise UnreadableError(
            f"{path} is a folder",
            expected="one submission file",
            fix="name the file; a release's folder goes to --release",
        )
    if not exists:
        raise UnreadableError(f"there is no file {path}")
    if reader is None:
        raise UnreadableError(
            f"{path} ends in {path.suffix or 'nothing'}",
            expected=f"a file ending in {', '.join(readers)}",
            fix="decompress it, or export it as one of these",
        )
    if size == 0:
        raise UnreadableError(f"{path} is empty", fix="write the submission again")
    refuse_lfs_pointer(path)
    try:
        content = reader(path)
    except (pa.ArrowException, OSError, UnicodeError, MemoryError) as error:
        raise UnreadableError(
            f"{path} cannot be read as {path.suffix[1:]}: {printable(error)}",
            expected="a whole file of that kind; texts in UTF-8",
            fix="mend the row that is named; where none is, the file may be cut short, of another "
            "kind or not in UTF-8: write it again",
        ) from None
    if not content.table.num_rows:
        raise UnreadableError(f"{path} has columns but no rows", fix="write the results into it")
    return content


def read_parquet(path: Path, *, counts_only: bool = False, any_texts: bool = True) -> Content:
    """Read a Parquet submission with its metadata, perhaps only the columns that it must have.

    With `any_texts` texts are read that cannot be dictionaries, and may be far longer than the
    file.
    """
    source = str(path)
    file = pq.ParquetFile(path)
    schema, claimed = file.schema_arrow, file.metadata.num_rows
    metadata = (schema.metadata or {}).get(METADATA_KEY)
    needed = {*SUBMISSION.names, "fingerprint", "run", "transductive"}
    wanted = [name for name in schema.names if name in needed]
    chosen = wanted if counts_only else None
    try:
        texts = texts_of(schema)
        file = pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False)
        table = file.read(columns=chosen)
    except OSError:  # texts stored as differences cannot be read so
        if not any_texts:
            raise
        table = pq.ParquetFile(path, pre_buffer=False).read(columns=chosen)
    check_rows(table.num_rows, claimed, source)
    table = canonical(table, source)
    if metadata is None:
        warn_of_lost_metadata(table.column_names if table.num_rows else (), source)
        return Content(table, {}, {}, source)
    methods, bindings, version = read_metadata(metadata, source)
    return Content(table, methods, bindings, source, version)


def warn_of_lost_metadata(names: Collection[str], where: str) -> None:
    """Warn of a file that was probably joined or edited by something that drops metadata."""
    if "fingerprint" in names and "transductive" not in names:
        warnings.warn(
            f"{printable(where)} has fingerprints in a column and no fslbench metadata, which "
            "pandas drops: if its methods said that they are transductive, or stopped by a rule, "
            "that is lost\n  to mend: give the column `transductive`, or write it with "
            "Submission.write",
            FSLBenchWarning,
            stacklevel=2,
        )


def check_rows(rows: int, claimed: int, where: str) -> None:
    """Refuse a Parquet file that holds other than the number of rows that its footer claims."""
    if rows != claimed:
        raise UnreadableError(
            f"{where} cannot be read as parquet: its footer claims {claimed} rows, it holds {rows}",
            fix="it is damaged: write the file again",
        )


def texts_of(schema: pa.Schema) -> list[str]:
    """Columns of names that are better read as dictionaries, as most files store them."""
    names = {*NAMES, "fingerprint", "run"}
    return [field.name for field in schema if field.name in names and columns.is_text(field.type)]


def _read_csv(path: Path) -> Content:
    from pyarrow import csv

    source = str(path)
    options = csv.ConvertOptions(
        column_types={name: pa.string() for name in TYPES},
        null_values=[""],
        strings_can_be_null=True,  # in quotes or not
    )
    check_quotes(path)
    # one thread, so that errors name the row
    reading = csv.ReadOptions(use_threads=False)
    table = csv.read_csv(path, read_options=reading, convert_options=options)
    table = known_columns(table, source)
    for index, name in enumerate(table.column_names):
        column = table.column(name)
        if name in ("task_id", "n_correct", "n_query"):
            column = csv_cells.parse_integers(column, name, source)
        elif name == "transductive":
            column = csv_cells.parse_booleans(column, name, source)
        elif name in ("class_correct", "predictions"):
            column = csv_cells.parse_lists(column, name, TYPES[name], source)
        table = table.set_column(index, name, column)
    return Content(canonical(table, source), {}, {}, source)


def _read_json_lines(path: Path) -> Content:
    from pyarrow import json

    source = str(path)
    check_lines(path)
    table = json.read_json(path)
    # texts that look like dates are texts
    kinds = {name: table.schema.field(name).type for name in table.column_names}
    names = [name for name in (*NAMES, "fingerprint") if name in kinds]
    if "run" in kinds and pa.types.is_timestamp(kinds["run"]):  # else a text or an integer
        names.append("run")
    if any(not pa.types.is_string(kinds[name]) for name in names):
        texts = pa.schema([(name, pa.string()) for name in names])
        table = json.read_json(path, parse_options=json.ParseOptions(explicit_schema=texts))
    table = canonical(table, source)
    return Content(table, {}, {}, source)
