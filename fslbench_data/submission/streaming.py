"""Reading submissions: large Parquet files a piece at a time, their tables only when asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from html import escape
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark_spec.errors import FSLBenchError
from fslbench_data.submission.bindings import METADATA_KEY
from fslbench_data.submission.canonical import canonical, typed
from fslbench_data.submission.frames import Frame
from fslbench_data.submission.metadata import read_metadata
from fslbench_data.submission.model import BATCH, Submission
from fslbench_data.submission.reading import check_rows, texts_of, warn_of_lost_metadata

Source = Submission | Frame | str | Path
"""Results: a submission, a file of it, or a frame with its columns."""

_FEW = 1 << 21
"""Rows up to which files that are opened together are read at once."""


class Streamed(Submission):
    """The results in a Parquet file, read whenever they are asked for.

    Raises an FSLBenchError, a pa.ArrowException or an OSError if something is wrong: :meth:`whole`
    then says what.
    """

    def __init__(self, path: Path) -> None:
        file = pq.ParquetFile(path)
        schema, source = file.schema_arrow, str(path)
        empty = canonical(pa.Table.from_batches([], schema), source)
        metadata = (schema.metadata or {}).get(METADATA_KEY)
        read = ({}, {}, "unknown") if metadata is None else read_metadata(metadata, source)
        self.__dict__ |= {  # the table of a frozen Submission is left out
            **dict(zip(("methods", "bindings", "package_version"), read, strict=True)),
            "source": source,
            "_rows": file.metadata.num_rows,
            "_columns": empty.column_names,
            "_has_metadata": metadata is not None,
        }

    def __repr__(self) -> str:
        return f"<Submission of {self.__dict__['_rows']} rows from {self.source}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    @cached_property
    def table(self) -> pa.Table:
        """All of it in memory."""
        return self.whole().table

    def whole(self) -> Submission:
        """Read it at once; what is wrong is said with the rows of the file."""
        return Submission.read(self.source)

    @property
    def columns(self) -> list[str]:
        """Names of the table's columns."""
        names: list[str] = self.__dict__["_columns"]
        return names

    def batches(self, only: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """The table in pieces; what is wrong with one is said of the piece alone."""
        texts = texts_of(pq.read_schema(self.source))
        file = pq.ParquetFile(self.source, read_dictionary=texts, pre_buffer=False)
        rows = 0
        for batch in file.iter_batches(BATCH, columns=list(only) or None):
            rows += len(batch)
            table = pa.Table.from_batches([batch])
            yield from (typed if only else canonical)(table, self.source).to_batches()
        check_rows(rows, self.__dict__["_rows"], self.source)
        if not self.__dict__["_has_metadata"] and not only:
            warn_of_lost_metadata(self.columns, self.source)


def open_all(sources: Source | Sequence[Source]) -> list[Submission]:
    """Read one or several submissions, files or frames of them; large Parquet files in pieces.

    Raises
    ------
    SubmissionError, SchemaError
        As :meth:`Submission.read` does.
    """
    several = sources if isinstance(sources, list | tuple) else [sources]
    rows = {path: _rows(path) for path in several if isinstance(path, str | Path)}
    large = sum(rows.values()) > _FEW
    return [
        open_submission(source, large=large and rows[source] > 0)
        if isinstance(source, str | Path)
        else _of_frame(source, f" number {number}" if len(several) > 1 else "")
        for number, source in enumerate(several, start=1)
    ]


def _of_frame(source: Submission | Frame, number: str) -> Submission:
    if isinstance(source, Submission):
        return source
    return Submission.from_frame(source, where=f"the frame{number}")


def open_submission(path: str | Path, *, large: bool | None = None) -> Submission:
    """Read a submission file as :meth:`Submission.read`, a large Parquet file in pieces."""
    if _rows(path) > _FEW if large is None else large:
        try:
            return Streamed(Path(path))
        except (FSLBenchError, pa.ArrowException, OSError, UnicodeError, MemoryError):
            pass  # reading it whole says what is wrong
    return Submission.read(path)


def _rows(path: str | Path) -> int:
    """The rows that the footer of a Parquet file claims; 0 for what can be no such file."""
    if Path(path).suffix.lower() == ".parquet" and Path(path).is_file():
        try:
            return int(pq.read_metadata(path).num_rows)
        except (pa.ArrowException, OSError, UnicodeError, MemoryError):
            pass  # reading it whole says what is wrong
    return 0
