"""Draw sets of all classes at once: few draws of the support, the whole test set for queries.

Support images are drawn uniformly, S of each class, anew in every draw. Queries are the data set's
own test part, and support the rest; or, without such a part, all images that are not in the draw's
support. Where images have groups, one image of each group takes part, drawn once. Queries stand in
one shuffled order, the same in all draws but for the images left out; the first draws of a set are
themselves a set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError, many
from benchmark_spec.protocol import MAX_WHOLE_QUERIES, Protocol, TaskSetName, WholeProtocol
from fslbench_data.tasks.draw import Groups, Ints, classes_of_images, first_of_unit, table_of

LEAST_DRAWS = 2
"""One draw has no variance between draws."""


class Parts(Struct, frozen=True, eq=False):
    """The images that support is drawn from, class by class, and those that may be queries.

    `support` are image ids, `sizes` (C,) of each class; `owner` is the class of every image.
    """

    support: Ints
    sizes: Ints
    queries: Ints
    owner: Ints
    unit: str

    @classmethod
    def of(
        cls,
        class_sizes: Sequence[int],
        *,
        dataset: str,
        seed: int,
        groups: Groups | None = None,
        test: NDArray[np.bool_] | None = None,
    ) -> Parts:
        """Find the parts of a data set, where `test` (N,) marks the images of its test part."""
        sizes = np.asarray(class_sizes, np.int64)
        owner = classes_of_images(sizes, dataset)
        kept = np.arange(owner.size)
        grouped = groups is not None and bool((groups >= 0).any())
        if grouped:
            _, unit = np.unique(first_of_unit(owner, groups, dataset), return_inverse=True)
            order, counts = np.argsort(unit, kind="stable"), np.bincount(unit)
            stream = Stream("allway", dataset, seed, "images")
            kept = np.sort(order[np.cumsum(counts) - counts + stream.integers(counts)])
        support = queries = kept
        if test is not None:
            support, queries = kept[~test[kept]], kept[test[kept]]
        drawn_from = np.bincount(owner[support], minlength=sizes.size)
        return cls(support, drawn_from, queries, owner, "group" if grouped else "image")

    def protocol(self, shot: int, *, test: bool) -> Protocol:
        """Return the size of a task with S shots."""
        way = self.sizes.size
        return WholeProtocol(way, shot, self.queries.size - (0 if test else way * shot))


def draw_allway(
    class_sizes: Sequence[int],
    name: TaskSetName,
    *,
    dataset: str,
    seed: int,
    tasks: int | None,
    groups: Groups | None = None,
    test: NDArray[np.bool_] | None = None,
) -> tuple[pa.Table, Parts]:
    """Draw and freeze a set; gives also its parts.

    Raises a SamplingError if a class has too few images, or the set's name has another size.
    """
    where, protocol = f"{dataset}/{name}", name.protocol
    if tasks is None or tasks < LEAST_DRAWS:
        raise SamplingError(
            f"an allway set of {many(tasks or 0, 'draw')}",
            where=where,
            expected=f"at least {LEAST_DRAWS}: with one, nothing is known of other draws",
        )
    parts = Parts.of(class_sizes, dataset=dataset, seed=seed, groups=groups, test=test)
    way, shot = parts.sizes.size, protocol.shot
    least, queried = parts.sizes.min(), np.unique(parts.owner[parts.queries]).size
    if least < shot + (test is None) or queried < way:
        raise SamplingError(
            f"a class has {least} {parts.unit}s to draw {shot} for support from"
            if queried == way
            else f"{way - queried} classes have no images in the test part",
            where=where,
            expected="more than S of every class, and a query at least",
            fix="ask for fewer shots",
        )
    expected = parts.protocol(shot, test=test is not None)
    if shot < 1 or expected.query > MAX_WHOLE_QUERIES:
        raise SamplingError(
            f"a task of {many(shot, 'shot')} and {expected.query} queries",
            where=where,
            expected=f"at least 1 shot, and at most {MAX_WHOLE_QUERIES} queries in all",
        )
    if protocol != expected:
        raise SamplingError(
            f"tasks of all classes are of {expected.way} ways and {expected.query} queries in all",
            where=where,
            expected=f"the name {name.suite}-{expected}",
        )
    key = ("allway", dataset, str(protocol), seed)
    drawn = Stream(*key, "support").subsets(np.tile(parts.sizes, tasks), shot)
    first = np.cumsum(parts.sizes) - parts.sizes
    support = parts.support[first[:, None] + drawn.reshape(tasks, way, shot)].reshape(tasks, -1)
    order = Stream(*key, "queries").permutations(1, parts.queries.size)[0]
    queries = np.tile(parts.queries[order], (tasks, 1))
    if test is None:
        left = np.stack([~np.isin(row, own) for row, own in zip(queries, support, strict=True)])
        queries = queries[left].reshape(tasks, -1)
    columns = {
        "class_ids": np.tile(np.arange(way), (tasks, 1)),
        "support": support,
        "query": queries,
        "query_label": parts.owner[queries],
    }
    return table_of(protocol, columns), parts


def test_part(paths: Sequence[Any] | None, prefix: str) -> NDArray[np.bool_] | None:
    """Return which images (N,) are of the test part, by their paths' prefix; None without one."""
    if not prefix:
        return None
    if paths is None:
        raise SamplingError("the images of the data set are not known", expected="their paths")
    return np.array([str(path).startswith(prefix) for path in paths])
