"""Cut the features of a data set, which come in pieces, into shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec import manifest
from benchmark_spec.errors import SpecError
from benchmark_spec.schemas import features

Pieces: TypeAlias = Iterable[NDArray[Any]]
"""Features (n, D) in the order of image ids, one array after another."""

MOST_STEPS = 127
"""The most steps from zero that a rounded feature may be."""

_TYPES = "float16, or int8 with a scale"


def feature_table(values: NDArray[Any], first: int = 0) -> pa.Table:
    """Make a table of float16 or float32 features (n, D); image ids begin at `first`."""
    if values.ndim != 2 or values.dtype not in (np.float16, np.float32):
        raise SpecError(
            f"features are of type {values.dtype} and shape {values.shape}",
            expected=f"{_TYPES}: (images, dimensions)",
        )
    schema = features(values.shape[1], pa.from_numpy_dtype(values.dtype))
    flat = pa.array(np.ascontiguousarray(values).reshape(-1))
    ids = np.arange(first, first + len(values), dtype=np.int32)
    lists = pa.FixedSizeListArray.from_arrays(flat, type=schema.field("feature").type)
    return pa.Table.from_arrays([pa.array(ids), lists], schema=schema)


def cut(pieces: Pieces, images: int, where: str, scale: float | None = None) -> Iterator[pa.Table]:
    """Yield the shards of a feature set; at most one is held in memory.

    Steps of a `scale`, which are int8, become the float32 values that they stand for.  SpecError
    unless the pieces have one finite row for each image.
    """
    held: list[pa.Table] = []
    held_rows, first, schema = 0, 0, None
    for piece in pieces:
        if not len(piece):
            continue
        table = feature_table(_stored(piece, first, where, scale), first)
        schema = schema or table.schema
        if table.schema != schema:
            raise SpecError(
                f"{where}: features from image {first} on are {table.schema.field('feature').type}",
                expected=str(schema.field("feature").type),
            )
        first += len(table)
        while held_rows + len(table) >= manifest.SHARD_IMAGES:
            missing = manifest.SHARD_IMAGES - held_rows
            yield pa.concat_tables([*held, table.slice(0, missing)])
            table, held, held_rows = table.slice(missing), [], 0
        if len(table):
            held.append(table)
            held_rows += len(table)
    if first != images:
        raise SpecError(
            f"{where}: features of {first} images, not one row for each image: {images}"
        )
    if held:
        yield pa.concat_tables(held)


def _stored(values: NDArray[Any], first: int, where: str, scale: float | None) -> NDArray[Any]:
    """Return a piece, whose first image is `first`, as it is stored; refuse other values."""
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if not finite.all():
        image = first + int(finite.argmin())
        raise SpecError(f"{where}: the features of image {image} are not all finite numbers")
    if values.dtype == np.float16:
        return values
    what = f"{where}: features from image {first} on are"
    if scale is None or values.dtype not in (np.float32, np.int8):
        raise SpecError(f"{what} of type {values.dtype}, without a scale", expected=_TYPES)
    stored = values if values.dtype == np.float32 else _multiplied(values, scale)
    if not are_steps(stored, scale):
        raise SpecError(f"{what} not -127 to 127 steps of {scale}", expected=_TYPES)
    return stored


def _multiplied(steps: NDArray[np.int8], scale: float) -> NDArray[np.float32]:
    return steps.astype(np.float32) * np.float32(scale)


def are_steps(values: NDArray[Any], scale: float) -> bool:
    """Return whether float32 features are -127..127 times their scale, to the last bit."""
    with np.errstate(all="ignore"):  # values and scale may be anything
        steps = np.rint(values / np.float32(scale))
    in_range = bool((np.abs(steps) <= MOST_STEPS).all())
    return in_range and np.array_equal(_multiplied(steps.astype(np.int8), scale), values)
