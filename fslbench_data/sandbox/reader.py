"""Read a Parquet submission, log or table in batches, and count its values."""

from __future__ import annotations

import os
import struct
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmark_spec.errors import TooLargeError, UnreadableError
from fslbench_data.sandbox.limits import Limits
from fslbench_data.submission import columns
from fslbench_data.submission.columns import canonical, printable
from fslbench_data.submission.model import METADATA_KEY, metadata_of
from fslbench_data.submission.reading import check_rows, name_columns

_BATCH, _COLUMN_ROWS = 1 << 16, 1 << 14
"""Rows that are decoded at once of a submission, and of a log, whose lists are long."""
_MOST_COLUMNS = 64
"""Columns of a file; a submission has at most fourteen."""
_MOST_ENTRIES = 100_000
"""Entries of a list in the footer, such as its row groups."""
_NAMES = ("method", "dataset", "task_set", "run", "fingerprint")
_LISTS = {name: columns.WIDE.get(name, columns.TYPES[name]) for name in columns.LISTS}


def read_bounded(path: Path, where: str, limits: Limits) -> pa.Table:
    """Read a submission as :func:`canonical` returns it, with only fslbench's metadata.

    Raises the errors of :func:`fslbench_data.sandbox.client.read_untrusted`, or a MemoryError.
    """
    try:
        return _read(path, where, limits)
    except MemoryError:  # it may also be an error of Arrow
        raise
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise unreadable(where, error) from None


def _read(path: Path, where: str, limits: Limits) -> pa.Table:
    data = whole_content(path, where, limits)
    file = opened(data, limits)
    schema = file.schema_arrow
    _at_most(_MOST_COLUMNS, len(schema), "columns", where)
    names = canonical(schema.empty_table(), where).column_names
    if declared := metadata_of(schema, where):
        _at_most(limits.methods, len(declared[0]), "methods in its metadata", where)
    _at_most(limits.rows, file.metadata.num_rows, "rows", where)
    try:
        batches = list(_batches(opened(data, limits, name_columns(schema)), names, where, limits))
    except OSError:  # delta-encoded texts cannot be read as dictionaries
        batches = list(_batches(file, names, where, limits))
    check_rows(sum(len(batch) for batch in batches), file.metadata.num_rows, where)
    if not batches:
        raise UnreadableError(f"{where} has columns but no rows", fix="write the results into it")
    table = pa.Table.from_batches(batches)
    del batches
    table = canonical(table, where)
    _check_groups(table, where, limits)
    kept = {key: raw for key, raw in (schema.metadata or {}).items() if key == METADATA_KEY}
    return table.replace_schema_metadata(kept or None)


def whole_content(path: Path, where: str, limits: Limits) -> bytes:
    """Read the file into memory, where it cannot change, and check the size of its footer."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size  # reading allocates no more than this
        data = file.read(min(size, limits.file_bytes) + 1)
    _at_most(limits.file_bytes, len(data), "bytes", where)
    if data[-4:] != b"PAR1" or len(data) < 12:
        raise unreadable(where, "it does not end as Parquet files do")
    _at_most(limits.metadata_bytes, struct.unpack("<I", data[-8:-4])[0], "bytes of footer", where)
    return data


def opened(data: bytes, limits: Limits, texts: Sequence[str] = ()) -> pq.ParquetFile:
    """Open a Parquet file without its metadata, which can crash the process that reads it."""
    return pq.ParquetFile(
        pa.BufferReader(data),
        read_dictionary=list(texts),
        thrift_string_size_limit=limits.metadata_bytes,
        thrift_container_size_limit=_MOST_ENTRIES,
        pre_buffer=False,
    )


def _batches(
    file: pq.ParquetFile, names: Sequence[str], where: str, limits: Limits
) -> Iterator[pa.RecordBatch]:
    """Yield batches of some columns, with names and lists in the types of a submission."""
    rows = 0
    values = dict.fromkeys(_LISTS, 0)
    for batch in file.iter_batches(_BATCH, columns=names, use_threads=False):
        rows += batch.num_rows
        _at_most(limits.rows, rows, "rows", where)
        arrays = dict(zip(batch.column_names, batch.columns, strict=True))
        for name, array in arrays.items():
            if pa.types.is_null(array.type):
                continue
            if name in _LISTS:
                longest = pc.max(pc.list_value_length(array)).as_py() or 0
                _at_most(limits.list_length, longest, f"entries in a list of {name}", where)
                values[name] += len(array.flatten())
                _at_most(limits.list_values, values[name], f"entries in {name}", where)
                column, first = pa.chunked_array([array]), rows - batch.num_rows
                typed = columns.list_column(column, name, _LISTS[name], where, first)
                arrays[name] = typed.chunk(0)
            elif name in _NAMES and not pa.types.is_primitive(array.type):
                encoded = columns.encoded(array)
                _check_names(encoded.dictionary, name, where, limits)
                arrays[name] = encoded.cast(columns.TEXTS)
        if batch.num_rows:
            yield pa.RecordBatch.from_pydict(arrays)


def _check_groups(table: pa.Table, where: str, limits: Limits) -> None:
    """Raise a TooLargeError if the table has too many different names or combinations of them."""
    group = np.zeros(table.num_rows, np.int64)
    for name in set(_NAMES) & set(table.column_names):
        column = table.column(name).combine_chunks()
        _check_names(column.dictionary, name, where, limits)
        if name != "fingerprint":
            null = len(column.dictionary)  # the code of rows without a run
            group = group * (null + 1) + column.indices.fill_null(null).to_numpy()
    _at_most(limits.groups, len(np.unique(group)), "combinations of method, task set, run", where)


def _check_names(names: pa.Array, column: str, where: str, limits: Limits) -> None:
    most = limits.methods if column == "method" else limits.names
    _at_most(most, len(names), f"different texts in {column}", where)
    longest = pc.max(pc.binary_length(names)).as_py() or 0
    _at_most(4 * limits.name_length, longest, f"bytes in a text of {column}", where)


def _at_most(limit: int, number: int, what: str, where: str) -> None:
    if number > limit:
        raise TooLargeError(
            f"the file has {number} {what}",
            where=where,
            expected=f"at most {limit}",
            fix="split it into several files, or leave out what was written by mistake",
        )


def unreadable(where: str, reason: Exception | str) -> UnreadableError:
    """Return the error about a file that is no Parquet file."""
    return UnreadableError(
        f"{where} cannot be read as parquet: {printable(reason)}",
        expected="a whole Parquet file, neither cut short nor encrypted; texts in UTF-8",
        fix="write the submission again with Submission.write",
    )


def read_columns(path: Path, where: str, wanted: Collection[str], limits: Limits) -> pa.Table:
    """Read the wanted columns as they are, texts as dictionaries if possible.

    Only the metadata of pandas, which names its index, is kept.  Raises the errors of
    :func:`fslbench_data.sandbox.client.read_untrusted_columns`, an error of Arrow, or a
    MemoryError.
    """
    data = whole_content(path, where, limits)
    file = opened(data, limits)
    schema = pa.schema([field for field in file.schema_arrow if field.name in wanted])
    names = schema.names
    if not names:
        return schema.empty_table()
    texts = _text_paths(file, wanted)
    try:
        batches = list(_column_batches(opened(data, limits, texts), names, where, limits))
    except (OSError, pa.ArrowNotImplementedError):  # some texts cannot be read as dictionaries
        batches = list(_column_batches(file, names, where, limits))
    check_rows(sum(len(batch) for batch in batches), file.metadata.num_rows, where)
    if not batches:
        return schema.empty_table()
    kept = {k: v for k, v in (file.schema_arrow.metadata or {}).items() if k == b"pandas"}
    return pa.Table.from_batches(batches).replace_schema_metadata(kept or None)


def _text_paths(file: pq.ParquetFile, wanted: Collection[str]) -> list[str]:
    """Return the paths of the texts among the wanted columns, also within lists."""
    leaves = [file.schema.column(number) for number in range(len(file.schema))]
    return [
        leaf.path
        for leaf in leaves
        if leaf.physical_type == "BYTE_ARRAY" and leaf.path.split(".")[0] in wanted
    ]


def _column_batches(
    file: pq.ParquetFile, names: list[str], where: str, limits: Limits
) -> Iterator[pa.RecordBatch]:
    values = 0
    groups = (  # one by one, since dictionaries within lists differ
        file.iter_batches(_COLUMN_ROWS, row_groups=[group], columns=names, use_threads=False)
        for group in range(file.num_row_groups)
    )
    for batch in chain.from_iterable(groups):
        values += sum(map(_n_values, batch.columns))
        if values > limits.list_values:
            raise TooLargeError(
                f"{where} holds more than {limits.list_values:,} values",
                expected=f"at most {limits.list_values:,} in {', '.join(names)}",
                fix="give the log of fewer tasks or methods",
            )
        yield batch


def _n_values(array: pa.Array) -> int:
    """Count the entries of a column, in its innermost lists."""
    while pa.types.is_nested(array.type) and hasattr(array, "flatten"):
        if pa.types.is_struct(array.type):
            return sum(map(_n_values, array.flatten()))
        array = array.flatten()
    return len(array)
