"""Write small Parquet files that datasets and DuckDB read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fslbench_data.files import whole_file

_LARGE = 32 * 2**20
"""Bytes in memory from which on a table is compressed fast: 200,000 one-shot tasks."""


def write_parquet(table: pa.Table, path: Path, **options: Any) -> None:
    """Write a table with options of ``pyarrow.parquet``; the file appears whole or not at all."""
    with whole_file(path) as temporary:
        pq.write_table(table, temporary, **options)


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table small: zstd, ids split by byte, dictionaries of few texts and rounded features.

    float16 is not split, since DuckDB cannot read it so; large tables get a lower level of zstd.
    """
    split = [
        f"{field.name}.list.element" if pa.types.is_fixed_size_list(field.type) else field.name
        for field in table.schema
        if pa.types.is_int32(getattr(field.type, "value_type", field.type))
    ]
    write_parquet(
        table.replace_schema_metadata(None),
        path,
        compression="zstd",
        compression_level=19 if table.nbytes < _LARGE else 3,
        use_dictionary=of_few_values(table.schema),
        use_byte_stream_split=split,
        store_schema=True,
    )


def of_few_values(schema: pa.Schema) -> list[str] | bool:
    """Return the columns to write with dictionaries: lists of attributes, rounded features."""
    few = (pa.string(), pa.float32())
    columns = [
        f"{field.name}.list.element"
        for field in schema
        if pa.types.is_fixed_size_list(field.type) and field.type.value_type in few
    ]
    return columns or False
