"""Reading submission files: Parquet, CSV, JSON Lines."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark_spec.errors import FSLBenchWarning, SchemaError, UnreadableError, listing, shown
from benchmark_spec.schemas import SUBMISSION, SUBMISSION_OPTIONAL
from fslbench_data.submission import columns
from fslbench_data.submission.bindings import METADATA_KEY, Binding, GroupKey, Method
from fslbench_data.submission.metadata import read_metadata
from fslbench_data.submission.nesting import check_lines
from fslbench_data.submission.quoting import check_quotes

_NAMES = ("method", "dataset", "task_set")
_TYPES = {field.name: field.type for field in [*SUBMISSION, *SUBMISSION_OPTIONAL]}


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


def printable(error: Exception | str) -> str:
    """An error's first line, without what a terminal could not print."""
    first = (str(error).splitlines() or [type(error).__name__])[0][:200]
    return "".join(c if c.isprintable() else "?" for c in first)


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
    names = {*_NAMES, "fingerprint", "run"}
    return [field.name for field in schema if field.name in names and columns.is_text(field.type)]


def _read_csv(path: Path) -> Content:
    from pyarrow import csv

    source = str(path)
    options = csv.ConvertOptions(
        column_types={name: pa.string() for name in _TYPES},
        null_values=[""],
        strings_can_be_null=True,  # in quotes or not
    )
    check_quotes(path)
    # one thread, so that errors name the row
    reading = csv.ReadOptions(use_threads=False)
    table = csv.read_csv(path, read_options=reading, convert_options=options)
    table = _known_columns(table, source)
    for index, name in enumerate(table.column_names):
        column = table.column(name)
        if name in ("task_id", "n_correct", "n_query"):
            column = columns.parse_integers(column, name, source)
        elif name == "transductive":
            column = columns.parse_booleans(column, name, source)
        elif name in ("class_correct", "predictions"):
            column = columns.parse_lists(column, name, _TYPES[name], source)
        table = table.set_column(index, name, column)
    return Content(canonical(table, source), {}, {}, source)


def _read_json_lines(path: Path) -> Content:
    from pyarrow import json

    source = str(path)
    check_lines(path)
    table = json.read_json(path)
    # texts that look like dates are texts
    kinds = {name: table.schema.field(name).type for name in table.column_names}
    names = [name for name in (*_NAMES, "fingerprint") if name in kinds]
    if "run" in kinds and pa.types.is_timestamp(kinds["run"]):  # else a text or an integer
        names.append("run")
    if any(not pa.types.is_string(kinds[name]) for name in names):
        texts = pa.schema([(name, pa.string()) for name in names])
        table = json.read_json(path, parse_options=json.ParseOptions(explicit_schema=texts))
    table = canonical(table, source)
    return Content(table, {}, {}, source)


def canonical(table: pa.Table, where: str) -> pa.Table:
    """The table with the columns of a submission, in their order and of their types.

    Raises a SchemaError, a CountError or an UnknownTaskError if a column is missing, unknown,
    doubled or of another type, or holds what it cannot.
    """
    return _typed(_known_columns(table, where), where)


def is_canonical(table: pa.Table) -> bool:
    """Whether a table has the types that :func:`canonical` gives."""
    types = _TYPES | dict.fromkeys((*_NAMES, "run", "fingerprint"), columns.NAMES)
    names = table.column_names
    return set(SUBMISSION.names) <= set(names) == set(names) & set(types) and all(
        table.schema.field(name).type == types[name]
        and (name not in SUBMISSION.names or not table.column(name).null_count)
        for name in names
    )


def _known_columns(table: pa.Table, where: str) -> pa.Table:
    """The columns in their order, or an error if one is missing, unknown or doubled."""
    valid = list(_TYPES)
    columns = table.column_names
    expected = f"{', '.join(SUBMISSION.names)}, and if you have them {', '.join(valid[6:])}"
    doubled = sorted(name for name, count in Counter(columns).items() if count > 1)
    missing = [name for name in SUBMISSION.names if name not in columns]
    unknown = [name for name in columns if name not in valid]
    for names, what in ((missing, "misses"), (unknown, "has the unknown"), (doubled, "doubles")):
        if names:
            plural = "s" if len(names) > 1 else ""
            raise SchemaError(
                f"the file {what} column{plural} {listing([shown(name) for name in names], 12)}",
                where=f"{where}, whose columns are {listing(list(map(shown, columns)), 12)}",
                expected=expected,
                fix=_column_remedy(columns, missing),
            )
    return table.select([name for name in valid if name in columns])


def _column_remedy(columns: list[str], missing: list[str]) -> str:
    """What to do about columns, guessed from what they are called."""
    if len(columns) == 1 and any(mark in columns[0] for mark in ";\t|"):
        return "separate the columns by commas"
    renamed = {name.strip().lower(): name for name in columns}
    renames = [f"{shown(renamed[name])} to {name!r}" for name in missing if name in renamed]
    if renames:
        return f"rename {', '.join(renames)}"
    if "" in columns or "Unnamed: 0" in columns:
        return "write the file without pandas' index: to_csv(..., index=False)"
    return "rename or drop columns; the first line of a CSV file names them"


def _typed(table: pa.Table, where: str) -> pa.Table:
    """The table with the promised types."""
    typed: dict[str, pa.ChunkedArray] = {}
    for name in table.column_names:
        column = table.column(name)
        if name in _NAMES:
            typed[name] = columns.name_column(column, name, where)
        elif name == "fingerprint":
            typed[name] = columns.text_column(column, name, where)
        elif name == "run":
            typed[name] = columns.run_column(column, where)
        elif name == "transductive":
            typed[name] = columns.boolean_column(column, name, where)
        elif name in SUBMISSION_OPTIONAL.names:
            typed[name] = columns.list_column(column, name, _TYPES[name], where)
        else:
            typed[name] = columns.integer_column(column, name, _TYPES[name], where)
    result = pa.table(typed)
    try:
        result.validate(full=True)
    except pa.ArrowException as error:
        raise SchemaError(
            f"the table is damaged: {printable(error)}",
            where=where,
            expected="texts in UTF-8, and dictionaries that hold what their rows name",
            fix="write the file again",
        ) from None
    return result
