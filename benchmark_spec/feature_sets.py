"""Feature sets: one table of the manifest for each shard, and what the values stand for.

The shards are ``features/<backbone>/<dataset>-0000i-of-0000N.parquet`` for i in 0..N-1; the image
ids of a shard go on where those of the one before it end.  Values are float16, or int8 that stand
for their product with ``scale`` in the tables' provenance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from benchmark_spec.errors import ReleaseError, listing, shown

if TYPE_CHECKING:
    import pyarrow as pa

    from benchmark_spec.manifest import Table

SHARD_IMAGES = 65_536
"""Images in each shard but the last, as releases are written; readers take any number."""

_LARGEST = 1e30
"""More than any feature, and within what float32 holds."""

_SHARD = re.compile(r"-([0-9]{5})-of-([0-9]{5})\.parquet$")


def number_of_shards(images: int) -> int:
    """How many shards the features of so many images are written into, at least 1."""
    return max(1, -(-images // SHARD_IMAGES))


def shard_file(dataset: str, shard: int, shards: int) -> str:
    """Name of a shard's file: `shard` of 0..`shards`-1."""
    return f"{dataset}-{shard:05}-of-{shards:05}.parquet"


def shard_of(path: str) -> tuple[int, int]:
    """Which shard a path names, from 0, and of how many; (0, 1) for a path that names none."""
    found = _SHARD.search(path)
    return (int(found[1]), int(found[2])) if found else (0, 1)


def without_shard(path: str) -> str:
    """A table's path, but one for all shards of a feature set."""
    return _SHARD.sub(".parquet", path)


def check_shards(tables: Iterable[Table]) -> None:
    """Refuse a feature set whose shards are not all there, in order, and once each.

    Parameters
    ----------
    tables
        Of a manifest, in its order, which is that in which ``load_dataset`` reads them.

    Raises
    ------
    ReleaseError
        Naming the feature set, and which of its shards are missing, too many or misplaced.
    """
    sets: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for table in tables:
        if table.kind == "features":
            sets.setdefault((table.dataset, table.name), []).append(shard_of(table.path))
    for (dataset, name), found in sets.items():
        counts = sorted({shards for _, shards in found})
        about = f"features of {dataset} by {shown(name, 60)}"
        if len(counts) > 1:
            raise ReleaseError(f"{about}: shards of {listing(counts)} are listed together")
        numbers = [shard for shard, _ in found]
        if numbers == list(range(counts[0])):
            continue
        missing = sorted(set(range(counts[0])) - set(numbers))
        beyond = [shard for shard in numbers if shard >= counts[0]]
        problem = (
            f"there is no shard {listing(beyond)}"
            if beyond
            else f"shard {listing(missing)} is missing"
            if missing
            else "shards are listed twice, or not in order"
        )
        raise ReleaseError(f"{about}, in {counts[0]} shards: {problem}")


def scale_of(kind: pa.DataType, provenance: Mapping[str, Any], where: str) -> float | None:
    """What one step of int8 features stands for; None of float16 features, which need no scale.

    Parameters
    ----------
    kind
        Of the values.
    provenance
        Of the table.
    where
        What it is, for messages.

    Raises
    ------
    ReleaseError
        If int8 features have no positive scale, or float16 features have one.
    """
    scale = provenance.get("scale")
    if str(kind) != "int8":
        if scale is None:
            return None
        raise ReleaseError(f"{where}: features of type {kind} with a scale", expected="no scale")
    if isinstance(scale, int | float) and not isinstance(scale, bool) and 0 < scale < _LARGEST:
        return float(scale)
    raise ReleaseError(
        f"{where}: int8 features whose provenance gives scale {shown(scale, 60)}",
        expected="the positive number that one step of their values stands for",
    )
