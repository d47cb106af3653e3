"""Which image of a data set has which attribute, class by class, as samplers need it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec.errors import SamplingError

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ClassAttributes:
    """The attributes of one class's images.

    Attributes
    ----------
    has : bool (A, n)
        Row a tells of each image whether it has attribute a of the data set's list of names.
    present : int64 (P,)
        The attributes that any image of the class has.
    counting : float (n, P)
        Of those, 1 where the image has it: float32, or float64 if sums need it to be exact.
    """

    has: Bools
    present: NDArray[np.int64]
    counting: NDArray[np.float32] | NDArray[np.float64]

    @classmethod
    def of(cls, has: Bools) -> ClassAttributes:
        """Make them of has, bool (A, n)."""
        present = np.flatnonzero(has.any(axis=1))
        most = has.shape[1] * present.size  # no score exceeds it
        rows = np.ascontiguousarray(has[present].T)
        exact = rows.astype(np.float32) if most < 2**24 else rows.astype(np.float64)
        return cls(has, present, exact)

    def __len__(self) -> int:
        return int(self.has.shape[1])

    @cached_property
    def spurious(self) -> Bools:
        """Which attributes (A,) some images of the class have and some do not."""
        return np.asarray(self.has.any(axis=1) & ~self.has.all(axis=1))


@dataclass(frozen=True, eq=False)
class ImageAttributes:
    """The attributes of a data set's images.

    The `names` of all stand in alphabetical order, `classes` in the data set's.
    """

    names: tuple[str, ...]
    classes: tuple[ClassAttributes, ...]


def image_attributes(
    table: pa.Table, class_sizes: Sequence[int], dataset: str = ""
) -> ImageAttributes:
    """Read a table of attributes: ``image_id`` and ``attributes``, one row an image in order."""
    sizes = np.asarray(class_sizes, np.int64)
    ids = table.column("image_id").to_numpy()
    if not np.array_equal(ids, np.arange(sizes.sum())):
        raise SamplingError(
            f"the table of attributes has {len(ids)} rows for {sizes.sum()} images, or in another "
            "order",
            where=dataset,
            expected="one row for each image, by id",
        )
    lists = table.column("attributes").combine_chunks()
    flat = lists.flatten()
    lengths = np.diff(lists.offsets.to_numpy())
    owner = np.repeat(np.arange(len(ids)), lengths)
    names, of = np.unique(np.array(flat.to_pylist(), object), return_inverse=True)
    starts = np.searchsorted(owner, np.concatenate([[0], np.cumsum(sizes)]))
    classes = []
    for c, first in enumerate(np.cumsum(sizes) - sizes):
        mine = slice(starts[c], starts[c + 1])
        has = np.zeros((names.size, int(sizes[c])), bool)
        has[of[mine], owner[mine] - first] = True
        classes.append(ClassAttributes.of(has))
    return ImageAttributes(tuple(map(str, names)), tuple(classes))
