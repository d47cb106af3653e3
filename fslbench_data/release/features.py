"""Read the features of a data set: from Parquet once, then from a raw copy."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.errors import CorruptReleaseError, OutputError
from benchmark_spec.manifest import Table
from benchmark_spec.schemas import type_name
from fslbench_data.files import (
    clear_temporary,
    file_state,
    is_kept,
    read_kept,
    sha256_of,
    whole_file,
    write_whole,
)
from fslbench_data.release.tables import corrupt, read_groups

LEFT_FREE = 2**30
"""Bytes of disk that a copy must leave free, else none is made."""

_VERSION = "fslbench-features-2"


def copies_folder() -> Path:
    """Return the folder of the copies."""
    from huggingface_hub import constants

    return Path(constants.HF_ASSETS_CACHE) / "fslbench" / "features"


class FeatureCopy(Struct, frozen=True):
    """The raw copy of one feature set of N images, which may not exist yet, in numpy's format.

    It lies in ``fslbench/features`` below the assets folder of the Hub's cache and can be removed
    at any time.  It is named after the files that it is a copy of, so it is never out of date.  The
    mark beside it holds its size, time and inode when it was finished; a copy that differs from its
    mark is made again.
    """

    path: Path
    rows: int

    @classmethod
    def of(cls, sha256s: Iterable[str], rows: int) -> FeatureCopy:
        """Return the copy of the files with these digests."""
        content = json.dumps([_VERSION, list(sha256s)])
        name = hashlib.sha256(content.encode()).hexdigest()
        return cls(copies_folder() / f"{name}.npy", rows)

    @property
    def mark(self) -> Path:
        """The file that holds the state of the copy when it was finished."""
        return self.path.with_suffix(".whole")

    def open(self) -> NDArray[Any] | None:
        """Map the features (N, D) read-only; None if there is no complete copy."""
        try:
            if not is_kept(self.path) or read_kept(self.mark) != file_state(self.path).encode():
                return None
            mapped = np.load(self.path, "r", allow_pickle=False)
        except (OSError, ValueError):
            return None
        fits = mapped.dtype.kind == "f" and mapped.flags.c_contiguous and mapped.ndim == 2
        return mapped.view(np.ndarray) if fits and len(mapped) == self.rows else None

    def write(self, dimensions: int, dtype: np.dtype[Any], parts: Iterable[NDArray[Any]]) -> bool:
        """Write the copy from pieces (n, D), whole or not at all; return whether it succeeded."""
        size = self.rows * dimensions * dtype.itemsize
        shape = {"fortran_order": False, "shape": (self.rows, dimensions)}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            clear_temporary(self.path.parent)
            if shutil.disk_usage(self.path.parent).free < size + LEFT_FREE:
                return False
            with whole_file(self.path, follow=False) as temporary:
                with temporary.open("wb") as file:
                    header = {"descr": dtype.str, **shape}
                    np.lib.format.write_array_header_1_0(file, header)
                    for part in parts:
                        np.ascontiguousarray(part).tofile(file)
                state = file_state(temporary)
            write_whole(self.mark, state, follow=False)
        except (OSError, OutputError):
            return False
        return True


WORTH_A_COPY = 8 * 2**20
"""Bytes of a feature set's files from which on a raw copy is made."""

Features = NDArray[np.float16] | NDArray[np.float32]


def read_features(shards: Sequence[Table], path_of: Callable[[Table], Path]) -> Features:
    """Read the features (N, D) of a data set's images, read-only: row i is image id i.

    They are float16, or rounded float32.  Large ones are memory-mapped from a raw copy, which is
    written the first time if possible.  `path_of` returns the file of a shard, compared with the
    manifest; it is not called if there is a copy.
    """
    is_large = sum(table.bytes for table in shards) >= WORTH_A_COPY
    copy = FeatureCopy.of([table.sha256 for table in shards], sum(table.rows for table in shards))
    if is_large and (mapped := copy.open()) is not None:
        return mapped
    kind = _groups(path_of(shards[0]), shards[0])[0]
    dtype = np.dtype(kind.value_type.to_pandas_dtype())
    parts = partial(_parts, shards, path_of, kind)
    written = is_large and copy.write(kind.list_size, dtype, parts(compare=True))
    if written and (mapped := copy.open()) is not None:
        return mapped
    for table in shards:  # check them before allocating what the manifest claims
        _groups(path_of(table), table, kind)
    values, first = np.empty((copy.rows, kind.list_size), dtype), 0
    for part in parts():
        values[first : first + len(part)] = part
        first += len(part)
    values.flags.writeable = False
    return values


def _parts(
    shards: Sequence[Table],
    path_of: Callable[[Table], Path],
    kind: pa.DataType,
    *,
    compare: bool = False,
) -> Iterator[Features]:
    """Yield the features in pieces (n, D), row group by row group.

    With `compare`, each file's SHA-256 is checked first, since a copy outlives the release.
    """
    first = 0
    for table in shards:
        path = path_of(table)
        if compare and sha256_of(path) != table.sha256:
            raise _corrupt(table, "is not the file that was released", f"SHA-256 {table.sha256}")
        for rows in _groups(path, table, kind)[1]:
            column, ids = rows.column("feature").combine_chunks(), rows.column("image_id")
            if not np.array_equal(ids.to_numpy(), np.arange(first, first + len(rows))):
                raise _corrupt(table, f"does not go on with image {first}")
            flat = column.flatten()
            if column.null_count or flat.null_count:
                raise _corrupt(table, "lacks features")
            yield flat.to_numpy().reshape(len(rows), kind.list_size)
            first += len(rows)


def _groups(
    path: Path, table: Table, as_kind: pa.DataType | None = None
) -> tuple[pa.DataType, Iterator[pa.Table]]:
    """Return the type of a shard's features, which must be `as_kind` if given, and its groups."""
    schema, groups = read_groups(path, table, lambda t: schemas.check_features(t, table.path))
    kind = schema.field("feature").type
    if as_kind is not None and type_name(kind) != type_name(as_kind):
        raise _corrupt(table, f"holds {kind}", f"{as_kind}, as the first of its shards")
    return kind, groups


def _corrupt(table: Table, what: str, expected: str = "") -> CorruptReleaseError:
    return corrupt(table, what, expected, f"features of {table.dataset} by {table.name}")
