"""What of a release's features can be seen to be wrong without the images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from benchmark_spec.digest import type_name
from benchmark_spec.errors import ReleaseError
from benchmark_spec.feature_sets import scale_of
from benchmark_spec.schemas import check_features
from benchmark_spec.tables import Table, shard_of
from fslbench_data.release.features import are_steps


@dataclass
class _Seen:
    """What the shards so far hold: the type of the first, its entry, and the number of rows."""

    kind: pa.DataType
    first: Table
    rows: int = 0


@dataclass
class FeatureChecks:
    """Checks the feature tables of a release, in the order of its manifest."""

    _sets: dict[tuple[str, str], _Seen] = field(default_factory=dict)

    def problems(self, entry: Table, table: pa.Table, images: int) -> Iterator[str]:
        """Say what is wrong with one shard of a data set of so many images."""
        check_features(table, entry.path)
        kind = table.schema.field("feature").type
        seen = self._sets.setdefault((entry.dataset, entry.name), _Seen(kind, entry))
        start, seen.rows = seen.rows, seen.rows + table.num_rows
        if not np.array_equal(table.column("image_id").to_numpy(), np.arange(start, seen.rows)):
            yield f"has not one row for each image from {start} on, in order"
        shard, shards = shard_of(entry.path)
        if seen.rows > images or (shard + 1 == shards and seen.rows < images):
            yield f"ends with image {seen.rows - 1}: has not one row for each of {images} images"
        if type_name(kind) != type_name(seen.kind):
            yield f"holds {kind}, the first of its shards {seen.kind}"
        if dict(entry.provenance) != dict(seen.first.provenance):
            yield "has another provenance than the first of its shards"
        column = table.column("feature").combine_chunks()
        values = column.flatten()
        missing = column.null_count + values.null_count
        if missing or not np.isfinite(values.to_numpy()).all():
            yield "holds values that are not finite"
            return
        try:
            scale = scale_of(kind.value_type, entry.provenance, "it holds")
        except ReleaseError as error:
            yield str(error)
            return
        if kind.value_type == pa.float32() and not are_steps(values.to_numpy(), scale or 0.0):
            yield f"holds values that are not -127 to 127 steps of {scale}"
