"""Reading submission files: Parquet, CSV, JSON Lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark_spec.errors import SchemaError, UnreadableError, listing
from benchmark_spec.schemas import SUBMISSION, SUBMISSION_OPTIONAL
from fslbench_data.submission import columns
from fslbench_data.submission.model import METADATA_KEY, Submission, read_metadata

_NAMES = ("method", "dataset", "task_set")


def read_submission(path: str | Path) -> Submission:
    """Read a submission file; its ending (.parquet, .csv, .jsonl) says which kind it is."""
    path = Path(path)
    readers: dict[str, Callable[[Path], Submission]] = {
        ".parquet": read_parquet,
        ".csv": _read_csv,
        ".jsonl": _read_json_lines,
        ".ndjson": _read_json_lines,
    }
    reader = readers.get(path.suffix.lower())
    if path.is_dir():
        raise UnreadableError(
            f"{path} is a folder",
            expected="one submission file",
            fix="name the file; a release's folder goes to --release",
        )
    if not path.exists():
        raise UnreadableError(f"there is no file {path}")
    if reader is None:
        raise UnreadableError(
            f"{path} ends in {path.suffix or 'nothing'}",
            expected=f"a file ending in {', '.join(readers)}",
            fix="decompress it, or export it as one of these",
        )
    if path.stat().st_size == 0:
        raise UnreadableError(f"{path} is empty", fix="write the submission again")
    try:
        submission = reader(path)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise UnreadableError(
            f"{path} cannot be read as {path.suffix[1:]}: {printable(error)}",
            expected="a whole file of that kind; texts in UTF-8",
            fix="mend the row that is named; where none is, the file may be cut short, of another "
            "kind or not in UTF-8: write it again",
        ) from None
    if not submission.table.num_rows:
        raise UnreadableError(f"{path} has columns but no rows", fix="write the results into it")
    return submission


def printable(error: Exception) -> str:
    """An error's first line, without what a terminal could not print."""
    first = (str(error).splitlines() or [type(error).__name__])[0][:200]
    return "".join(c if c.isprintable() else "?" for c in first)


def read_parquet(path: Path, *, counts_only: bool = False) -> Submission:
    """Read a Parquet submission with its metadata; perhaps only the columns it must have."""
    source = str(path)
    file = pq.ParquetFile(path, read_dictionary=list(_NAMES))
    metadata = (file.schema_arrow.metadata or {}).get(METADATA_KEY)
    raw = file.read(columns=SUBMISSION.names if counts_only else None)
    table = _typed(_known_columns(raw, source), source)
    if metadata is None:
        return Submission(table, source=source, package_version="unknown")
    methods, bindings, version = read_metadata(metadata, source)
    return Submission(table, methods, bindings, source, version)


def _read_csv(path: Path) -> Submission:
    from pyarrow import csv

    source = str(path)
    known = [*SUBMISSION.names, *SUBMISSION_OPTIONAL.names]
    options = csv.ConvertOptions(
        column_types={name: pa.string() for name in known},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    # one thread, so that errors name the row
    reading = csv.ReadOptions(use_threads=False)
    table = csv.read_csv(path, read_options=reading, convert_options=options)
    table = _known_columns(table, source)
    for index, name in enumerate(table.column_names):
        column = table.column(name)
        if name in ("task_id", "n_correct", "n_query"):
            column = columns.parse_integers(column, name, source)
        elif name in ("class_correct", "predictions"):
            kind = SUBMISSION_OPTIONAL.field(name).type
            column = columns.parse_lists(column, name, kind, source)
        table = table.set_column(index, name, column)
    return Submission(_typed(table, source), source=source, package_version="unknown")


def _read_json_lines(path: Path) -> Submission:
    from pyarrow import json

    source = str(path)
    table = _typed(_known_columns(json.read_json(path), source), source)
    return Submission(table, source=source, package_version="unknown")


def _known_columns(table: pa.Table, where: str) -> pa.Table:
    """The columns in their order, or an error if one is missing, unknown or doubled."""
    known = [*SUBMISSION.names, *SUBMISSION_OPTIONAL.names]
    found = table.column_names
    expected = f"{', '.join(SUBMISSION.names)}, and if you have them {', '.join(known[6:])}"
    doubled = sorted({name for name in found if found.count(name) > 1})
    missing = [name for name in SUBMISSION.names if name not in found]
    unknown = [name for name in found if name not in known]
    for names, what in ((missing, "misses"), (unknown, "has the unknown"), (doubled, "doubles")):
        if names:
            plural = "s" if len(names) > 1 else ""
            raise SchemaError(
                f"the file {what} column{plural} {', '.join(map(repr, names))}",
                where=f"{where}, whose columns are {listing([repr(name) for name in found], 12)}",
                expected=expected,
                fix=_column_remedy(found, missing),
            )
    return table.select([name for name in known if name in found])


def _column_remedy(found: list[str], missing: list[str]) -> str:
    """What to do about columns, guessed from what they are called."""
    if len(found) == 1 and any(mark in found[0] for mark in ";\t|"):
        return "separate the columns by commas"
    renamed = {name.strip().lower(): name for name in found}
    renames = [f"{renamed[name]!r} to {name!r}" for name in missing if name in renamed]
    if renames:
        return f"rename {', '.join(renames)}"
    if "" in found or "Unnamed: 0" in found:
        return "write the file without pandas' index: to_csv(..., index=False)"
    return "rename or drop columns; the first line of a CSV file names them"


def _typed(table: pa.Table, where: str) -> pa.Table:
    """The table with the promised types."""
    types = {field.name: field.type for field in [*SUBMISSION, *SUBMISSION_OPTIONAL]}
    typed: dict[str, pa.ChunkedArray] = {}
    for name in table.column_names:
        column = table.column(name)
        if name in _NAMES:
            typed[name] = columns.name_column(column, name, where)
        elif name == "fingerprint":
            typed[name] = columns.text_column(column, name, where)
        elif name == "run":
            typed[name] = columns.run_column(column, where)
        elif name in SUBMISSION_OPTIONAL.names:
            typed[name] = columns.list_column(column, name, types[name], where)
        else:
            typed[name] = columns.integer_column(column, name, types[name], where)
    return pa.table(typed)
