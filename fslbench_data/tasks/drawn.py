"""Drawn tasks, and the frozen table that is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec import schemas
from benchmark_spec.errors import SamplingError, TooLargeError
from benchmark_spec.protocol import Protocol

Ids = NDArray[np.int32]

MOST_IMAGES = 2**26
"""Of a data set whose images are held one by one: some gigabytes.  Quickdraw has 50 million."""

Positions = NDArray[np.int64]
"""Of classes in a data set, or of images in a class."""

Groups = NDArray[np.int64]
"""Group of each image (N,), by image id; -1 for an image that stands for itself."""


@dataclass(frozen=True)
class DrawnTasks:
    """T tasks as positions, before images have ids.

    Attributes
    ----------
    class_ids : int32 (T, K)
        Positions of the classes in the data set's order of classes.
    support, query : int32 (T, K, S) and (T, K, Q)
        Positions of the images in their class's order of files.
    """

    protocol: Protocol
    class_ids: Ids
    support: Ids
    query: Ids

    def __len__(self) -> int:
        return len(self.class_ids)


def split_support(protocol: Protocol, class_ids: NDArray[Any], images: NDArray[Any]) -> DrawnTasks:
    """Make tasks: of the S+Q `images` drawn of a class (T, K, S+Q), the first S are support."""
    drawn = images.astype(np.int32)
    return DrawnTasks(
        protocol,
        class_ids.astype(np.int32),
        drawn[..., : protocol.shot],
        drawn[..., protocol.shot :],
    )


def checked_sizes(
    class_sizes: Sequence[int], protocol: Protocol, dataset: str
) -> NDArray[np.int64]:
    """Check that class sizes hold a task of `protocol`; gives them as an int64 array (C,)."""
    counts = np.asarray(class_sizes)
    whole = counts.ndim == 1 and counts.dtype.kind in "iu"
    fits = whole and ((counts >= 0) & (counts < 2**31)).all()
    sizes = counts.astype(np.int64) if fits else np.zeros(0, np.int64)
    if not fits or sizes.sum() >= 2**31:
        raise SamplingError(
            "class sizes are not one non-negative integer a class, below 2^31 in all",
            where=dataset,
        )
    enough = int((sizes >= protocol.per_class).sum())
    if enough < protocol.way:
        raise SamplingError(
            f"no {protocol} task can be drawn: {enough} of {sizes.size} classes have "
            f"{protocol.per_class} images (shot + query)",
            where=dataset,
            expected=f"at least {protocol.way} such classes",
            fix="ask for fewer ways, shots or queries",
        )
    return sizes


def classes_of_images(class_sizes: NDArray[np.int64], where: str) -> NDArray[np.int64]:
    """Return the class of each image (N,), images in the order of their classes.

    Raises a TooLargeError as :func:`check_images` does.
    """
    check_images(class_sizes, where)
    return np.repeat(np.arange(class_sizes.size), class_sizes)


def check_images(class_sizes: NDArray[np.int64], where: str) -> None:
    """Refuse more images than may be held one by one, with a TooLargeError."""
    images = sum(class_sizes.tolist())  # in Python's integers, which do not overflow
    if images > MOST_IMAGES:
        raise TooLargeError(
            f"the classes have {images:,} images",
            where=where,
            expected=f"at most {MOST_IMAGES:,} where the images are counted one by one",
            fix="see whether the sizes of the classes are right; else leave classes out",
        )


def check_number(tasks: int | None, reuse: bool, dataset: str) -> None:
    """Refuse a number of tasks that cannot be drawn; where images recur there must be one."""
    if (tasks is None and reuse) or (tasks is not None and tasks < 1):
        raise SamplingError(f"cannot draw {tasks} tasks", where=dataset, expected="at least 1")


def first_image_ids(class_sizes: Sequence[int]) -> NDArray[np.int64]:
    """Compute the id of the first image of each class, int64 (C,): ids count up in class order."""
    sizes = np.asarray(class_sizes, dtype=np.int64)
    return np.cumsum(sizes) - sizes


def freeze(drawn: DrawnTasks, class_sizes: Sequence[int], shuffle: Stream) -> pa.Table:
    """Make the table of a task set: image ids, and the queries in their frozen shuffled order.

    A uniformly random arrangement of the K·Q labels is drawn for every task; the queries of a
    class stand in the order in which they were drawn.  Since that order is itself random,
    every order of the queries is equally likely; and the draw can be read back from the table.
    """
    first = first_image_ids(class_sizes)[drawn.class_ids][..., None]
    way, n_query = drawn.protocol.way, drawn.protocol.n_query
    tasks = len(drawn)
    arrangement = shuffle.permutations(tasks, n_query)  # slot held by each position
    by_label = (first + drawn.query).reshape(tasks, n_query)
    label = arrangement // drawn.protocol.query
    slots = np.argsort(label, axis=1, kind="stable")  # positions of label 0, then of label 1, ...
    query = np.empty_like(by_label)
    np.put_along_axis(query, slots, by_label, axis=1)
    schema = schemas.tasks(drawn.protocol)
    columns = {
        "class_ids": drawn.class_ids.reshape(tasks, way),
        "support": (first + drawn.support).reshape(tasks, -1),
        "query": query,
        "query_label": label,
    }
    arrays: list[pa.Array] = [pa.array(np.arange(tasks, dtype=np.int32))]
    for name, values in columns.items():
        kind = schema.field(name).type
        flat = np.ascontiguousarray(values.reshape(-1), dtype=kind.value_type.to_pandas_dtype())
        arrays.append(pa.FixedSizeListArray.from_arrays(pa.array(flat), type=kind))
    return pa.Table.from_arrays(arrays, schema=schema)


def groups_of(images: pa.Table) -> Groups:
    """Take the groups of an images table (:data:`benchmark_spec.schemas.IMAGES`)."""
    return images.column("group").cast(pa.int64()).fill_null(-1).to_numpy()  # type: ignore[no-any-return]
