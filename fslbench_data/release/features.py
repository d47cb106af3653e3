"""Reading the features of a data set: from Parquet once, then from a raw copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.digest import type_name
from benchmark_spec.errors import CorruptReleaseError
from benchmark_spec.feature_sets import scale_of
from benchmark_spec.tables import Table
from fslbench_data.files import sha256_of
from fslbench_data.release.feature_cache import FeatureCopy
from fslbench_data.release.tables import open_table, readable
from fslbench_data.release.values import corrupt

WORTH_A_COPY = 8 * 2**20
"""Bytes of a feature set's files from which a raw copy is made of it."""

MOST_STEPS = 127
"""Steps from zero that a rounded feature may be, upwards and downwards."""

Features = NDArray[np.float16] | NDArray[np.float32]


def read_features(shards: Sequence[Table], path_of: Callable[[Table], Path]) -> Features:
    """Read the features (N, D) of a data set's images: float16, or float32 that was rounded.

    Large ones are memory-mapped from a raw copy of the files, which is made the first time if it
    can be (:mod:`fslbench_data.release.feature_cache`).  `path_of` gives the file of a shard,
    compared with the manifest; it is not asked where there is a copy.  Read-only; row i is image id
    i.
    """
    features = _FeatureSet(shards, path_of)
    if sum(table.bytes for table in shards) < WORTH_A_COPY:
        return features.read()
    copy = FeatureCopy.of([table.sha256 for table in shards], features.scale, features.rows)
    mapped = copy.open()
    if mapped is None and copy.write(features.dimensions, features.parts(compare=True)):
        mapped = copy.open()
    return features.read() if mapped is None else mapped


def multiplied(values: NDArray[Any], scale: float | None) -> Features:
    """Return steps (int8) times their scale in float32; features of other types as they are."""
    if scale is None or values.dtype != np.int8:
        return values
    return values.astype(np.float32) * np.float32(scale)


def are_steps(values: NDArray[Any], scale: float) -> bool:
    """Whether float32 features are -127..127 times their scale, to the last bit."""
    with np.errstate(all="ignore"):  # values of strangers
        steps = np.rint(values / np.float32(scale))
    few = bool((np.abs(steps) <= MOST_STEPS).all())
    return few and np.array_equal(multiplied(steps.astype(np.int8), scale), values)


class _FeatureSet:
    def __init__(self, shards: Sequence[Table], path_of: Callable[[Table], Path]) -> None:
        self._shards, self._path_of = shards, path_of
        self.rows = sum(table.rows for table in shards)
        self.scale = shards[0].provenance.get("scale")
        for table in shards:
            if table.provenance.get("scale") != self.scale:
                raise _corrupt(table, "has another scale than the first of its shards")

    @cached_property
    def type(self) -> pa.DataType:
        """Of the column of features: lists of D values."""
        first = self._shards[0]
        with _opened(self._path_of(first), first) as file:
            return file.schema_arrow.field("feature").type

    @property
    def dimensions(self) -> int:
        """D."""
        return int(self.type.list_size)

    def read(self) -> Features:
        """All of them (N, D)."""
        for table in self._shards:  # before memory is taken for what the manifest says
            self._open(self._path_of(table), table).close()
        kind = np.float16 if self.scale is None else np.float32
        values, first = np.empty((self.rows, self.dimensions), kind), 0
        for part in self.parts():
            values[first : first + len(part)] = part
            first += len(part)
        values.flags.writeable = False
        return values

    def parts(self, *, compare: bool = False) -> Iterator[Features]:
        """Yield the features in pieces (n, D), one row group of a file after another.

        With `compare`, each file's SHA-256 is looked at first, since a copy outlives the release.
        """
        first = 0
        for table in self._shards:
            path = self._path_of(table)
            if compare and sha256_of(path) != table.sha256:
                raise _corrupt(
                    table, "is not the file that was released", f"SHA-256 {table.sha256}"
                )
            with self._open(path, table) as file:
                for group in range(file.num_row_groups):
                    with readable(path, table):
                        rows = file.read_row_group(group)
                    part = self._values(table, rows, first)
                    first += len(part)
                    yield part

    def _open(self, path: Path, table: Table) -> pq.ParquetFile:
        """A shard's file, if its features are as those of the first."""
        file = _opened(path, table)
        kind = file.schema_arrow.field("feature").type
        if type_name(kind) != type_name(self.type):
            raise _corrupt(table, f"holds {kind}", f"{self.type}, as the first of its shards")
        return file

    def _values(self, table: Table, rows: pa.Table, first: int) -> Features:
        """Features (n, D) of rows whose image ids should count from `first`."""
        column = rows.column("feature").combine_chunks()
        ids = rows.column("image_id").to_numpy()
        if not np.array_equal(ids, np.arange(first, first + len(ids))):
            raise _corrupt(table, f"does not go on with image {first}")
        flat = column.flatten()
        if column.null_count or flat.null_count:
            raise _corrupt(table, "lacks features")
        values = flat.to_numpy().reshape(len(rows), self.dimensions)
        scale = scale_of(column.type.value_type, table.provenance, table.path)
        return multiplied(values, scale)


def _opened(path: Path, table: Table) -> pq.ParquetFile:
    return open_table(path, table, lambda columns: schemas.check_features(columns, table.path))[0]


def _corrupt(table: Table, what: str, expected: str = "") -> CorruptReleaseError:
    return corrupt(table, what, expected, f"features of {table.dataset} by {table.name}")
