"""Write the tables of a release, so that datasets and DuckDB read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmark_spec.digest import content_digest, fingerprint
from benchmark_spec.manifest import Kind, Table, table_path
from builders.execution.steps import make_folder
from fslbench_data.files import sha256_of
from fslbench_data.release.tables import of_few_values, write_parquet, write_table
from fslbench_data.submission.model import Submission

LARGE_FEATURES = 8 * 2**20
"""Bytes in memory above which features are written for fast reading."""

_PICTURES = 128
"""Pictures in a row group."""

_ROWS = 8192
"""Images in a row group of large features, the least that a reader has to decode."""


def written(
    folder: Path,
    kind: Kind,
    dataset: str,
    name: str,
    tables: Iterable[pa.Table],
    provenance: Mapping[str, Any],
    write: Callable[[pa.Table, Path], None] | None,
    shards: int = 1,
) -> Iterator[Table]:
    """Write the shards of a table, and yield their entries in the manifest.

    Without `write` there is no file, and readers draw the table again.
    """
    for shard, table in enumerate(tables):
        path = table_path(kind, dataset, name, shard, shards)
        file, size, sha256, digest = folder / path, 0, "", content_digest(table)
        if write is not None:
            make_folder(file.parent)
            write(table, file)
            size, sha256 = file.stat().st_size, sha256_of(file)
        yield Table(
            path=path,
            kind=kind,
            dataset=dataset,
            name=name,
            rows=table.num_rows,
            bytes=size,
            sha256=sha256,
            digest=digest,
            fingerprint=fingerprint(dataset, name, digest) if kind == "tasks" else "",
            provenance=dict(provenance),
            drawn=write is None,
        )


def write_results(submission: Submission, path: Path) -> None:
    """Write reference results in a tenth less space than a submission's file takes."""
    counts = ("n_correct", "class_correct.list.element")
    lists = [f"{name}.list.element" for name in ("predictions", "correct")]
    write_parquet(
        submission.bound_table(),
        path,
        compression="brotli",
        compression_level=11,
        use_dictionary=["method", "dataset", "task_set", "n_query", *lists],
        column_encoding={
            "task_id": "DELTA_BINARY_PACKED",
            **dict.fromkeys(counts, "BYTE_STREAM_SPLIT"),
        },
    )


def write_pictures(table: pa.Table, path: Path, *, class_names: Sequence[str]) -> None:
    """Write pictures, which are compressed already, for reading a few at a time.

    The schema's metadata tell ``datasets`` the column of images and the names of classes.
    """
    features: dict[str, Any] = {
        "image_id": {"dtype": "int32", "_type": "Value"},
        "image": {"_type": "Image"},
        "label": {"names": list(class_names), "_type": "ClassLabel"},
    }
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    write_parquet(
        table.replace_schema_metadata(metadata),
        path,
        row_group_size=_PICTURES,
        compression="none",
        use_dictionary=False,
        write_statistics=["image_id", "label"],
        store_schema=True,
    )


def write_shard(table: pa.Table, path: Path, *, shards: int) -> None:
    """Write one of the `shards` of a feature set; large sets are written for fast reading.

    They have fast zstd, a schema without nulls and no statistics of values (benchmarks/README.md).
    """
    if shards == 1 and table.nbytes < LARGE_FEATURES:
        write_table(table, path)
        return
    feature = table.schema.field("feature").type
    values = pa.list_(pa.field("element", feature.value_type, nullable=False), feature.list_size)
    fields = {"image_id": pa.int32(), "feature": values}
    schema = pa.schema([pa.field(name, kind, nullable=False) for name, kind in fields.items()])
    write_parquet(
        table.cast(schema),
        path,
        row_group_size=_ROWS,
        compression="zstd",
        compression_level=3,
        use_dictionary=of_few_values(table.schema),
        write_statistics=["image_id"],
        store_schema=True,
    )
