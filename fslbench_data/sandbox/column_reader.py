"""Reading columns of a Parquet log or table piece by piece, counting what comes out as it comes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark_spec.errors import TooLargeError
from fslbench_data.sandbox.limits import Limits
from fslbench_data.sandbox.reader import opened, whole_content
from fslbench_data.submission.reading import check_rows

_BATCH = 1 << 14
"""Rows decoded at once; each may have lists of hundreds of images."""


def read_columns(path: Path, where: str, wanted: Collection[str], limits: Limits) -> pa.Table:
    """Read the wanted columns as they are, texts as dictionaries where they can be.

    Of the metadata what pandas says of its index is kept.

    Raises the errors of :func:`fslbench_data.sandbox.client.read_untrusted_columns`, an error of
    Arrow, or a MemoryError.
    """
    data = whole_content(path, where, limits)
    file = opened(data, limits)
    schema = pa.schema([field for field in file.schema_arrow if field.name in wanted])
    names = schema.names
    if not names:
        return schema.empty_table()
    texts = _texts(file, wanted)
    try:
        batches = list(_batches(opened(data, limits, texts), names, where, limits))
    except (OSError, pa.ArrowNotImplementedError):  # texts that cannot be read as dictionaries
        batches = list(_batches(file, names, where, limits))
    check_rows(sum(len(batch) for batch in batches), file.metadata.num_rows, where)
    if not batches:
        return schema.empty_table()
    kept = {k: v for k, v in (file.schema_arrow.metadata or {}).items() if k == b"pandas"}
    return pa.Table.from_batches(batches).replace_schema_metadata(kept or None)


def _texts(file: pq.ParquetFile, wanted: Collection[str]) -> list[str]:
    """Paths of the texts among the wanted columns, within lists too."""
    leaves = [file.schema.column(number) for number in range(len(file.schema))]
    return [
        leaf.path
        for leaf in leaves
        if leaf.physical_type == "BYTE_ARRAY" and leaf.path.split(".")[0] in wanted
    ]


def _batches(
    file: pq.ParquetFile, names: list[str], where: str, limits: Limits
) -> Iterator[pa.RecordBatch]:
    values = 0
    groups = (  # one at a time, since dictionaries within lists differ
        file.iter_batches(_BATCH, row_groups=[group], columns=names, use_threads=False)
        for group in range(file.num_row_groups)
    )
    for batch in chain.from_iterable(groups):
        values += sum(map(_values, batch.columns))
        if values > limits.list_values:
            raise TooLargeError(
                f"{where} holds more than {limits.list_values:,} values",
                expected=f"at most {limits.list_values:,} in {', '.join(names)}",
                fix="give the log of fewer tasks or methods",
            )
        yield batch


def _values(array: pa.Array) -> int:
    """Entries of a column, of its innermost lists."""
    while pa.types.is_nested(array.type) and hasattr(array, "flatten"):
        if pa.types.is_struct(array.type):
            return sum(map(_values, array.flatten()))
        array = array.flatten()
    return len(array)
