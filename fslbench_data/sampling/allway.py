"""Draw tasks of all classes at once, with the whole test set as queries.

In every draw, S support images of each class are drawn uniformly. Queries are the data set's own
test part, and support comes from the rest; without such a part, queries are all images outside the
draw's support. If images have groups, one image of each group takes part, drawn once. All draws
have one shuffled order of queries, except for the images left out; the first draws of a set are
themselves a set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError, many
from benchmark_spec.protocol import MAX_WHOLE_QUERIES, WholeProtocol
from fslbench_data.sampling.draw import (
    Ints,
    Wanted,
    first_image_ids,
    first_of_unit,
    one_of_each_unit,
    table_of,
    unit_of,
)
from fslbench_data.tasks import classes_of_images

LEAST_DRAWS = 2
"""One draw has no variance between draws."""


class Parts(Struct, frozen=True, eq=False):
    """The images that support is drawn from, and those that may be queries.

    `support` are image ids in the order of classes, `sizes` (C,) their number in each class;
    `class_of` is the class of every image.
    """

    support: Ints
    sizes: Ints
    queries: Ints
    class_of: Ints
    unit: str

    @classmethod
    def of(cls, wanted: Wanted) -> Parts:
        """Find the parts of a data set."""
        sizes, groups = np.asarray(wanted.class_sizes, np.int64), wanted.groups
        class_of = classes_of_images(sizes, wanted.dataset)
        images, unit = np.arange(class_of.size), unit_of(groups)
        if unit == "group":
            first = first_of_unit(class_of, groups, wanted.dataset)
            unit_ids = np.unique(first, return_inverse=True)[1]
            stream = Stream("allway", wanted.dataset, wanted.seed, "images")
            images = np.sort(one_of_each_unit(unit_ids, stream))
        support = queries = images
        if wanted.test:
            if wanted.paths is None:
                raise SamplingError(
                    "the images of the data set are not known", expected="their paths"
                )
            is_test = np.array([str(path).startswith(wanted.test) for path in wanted.paths])
            support, queries = images[~is_test[images]], images[is_test[images]]
        support_sizes = np.bincount(class_of[support], minlength=sizes.size)
        return cls(support, support_sizes, queries, class_of, unit)


def draw_allway(wanted: Wanted) -> tuple[pa.Table, dict[str, Any]]:
    """Draw and freeze a set; return its table, and what its suite adds to the provenance.

    Raises a SamplingError if a class has too few images, or the set's name has another size.
    """
    where, protocol, tasks = wanted.where, wanted.name.protocol, wanted.tasks
    if tasks is None or tasks < LEAST_DRAWS:
        raise SamplingError(
            f"an allway set of {many(tasks or 0, 'draw')}",
            where=where,
            expected=f"at least {LEAST_DRAWS}: with one, nothing is known of other draws",
        )
    parts, has_test = Parts.of(wanted), bool(wanted.test)
    way, shot = parts.sizes.size, protocol.shot
    least, queried = parts.sizes.min(), np.unique(parts.class_of[parts.queries]).size
    if least < shot + (not has_test) or queried < way:
        raise SamplingError(
            f"a class has {least} {parts.unit}s to draw {shot} for support from"
            if queried == way
            else f"{way - queried} classes have no images in the test part",
            where=where,
            expected="more than S of every class, and a query at least",
            fix="ask for fewer shots",
        )
    expected = WholeProtocol(way, shot, parts.queries.size - (0 if has_test else way * shot))
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
            expected=f"the name {wanted.name.suite}-{expected}",
        )
    drawn = wanted.stream("support").subsets(np.tile(parts.sizes, tasks), shot)
    first = first_image_ids(parts.sizes)[:, None]
    support = parts.support[first + drawn.reshape(tasks, way, shot)].reshape(tasks, -1)
    order = wanted.stream("queries").permutations(1, parts.queries.size)[0]
    queries = np.tile(parts.queries[order], (tasks, 1))
    if not has_test:
        pairs = zip(queries, support, strict=True)
        is_query = np.stack([~np.isin(images, shots) for images, shots in pairs])
        queries = queries[is_query].reshape(tasks, -1)
    columns = {
        "class_ids": np.tile(np.arange(way), (tasks, 1)),
        "support": support,
        "query": queries,
        "query_label": parts.class_of[queries],
    }
    provenance = {"unit": parts.unit, "test": wanted.test, "tasks": tasks}
    return table_of(protocol, columns), provenance
