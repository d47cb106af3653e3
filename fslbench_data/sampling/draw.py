"""Draw tasks of the uniform suites, and freeze them in a table.

`open` is Algorithm 2 of Lafargue et al. (TMLR 2024), without replacement until the data set is
exhausted; `closed` is their Algorithm 1, with independent tasks.

`pooled` sets are for leave-one-out intervals. A *unit* is an image or, if images have groups, a
group of them; an image without a group is a unit of its own. Each task has K of the classes with
more than m = S+Q units, m units of each, and one image of each unit, all drawn uniformly. The
*pool* is all units of a data set of at most :data:`LARGE`; of a larger one :data:`KEPT` units of
each class, drawn once for all protocols.

Classes, units, images, query orders and the pool have separate streams, which tasks read in order:
the first m tasks of a set are themselves a set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, isqrt
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec import schemas
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import Protocol, TaskSetName
from fslbench_data.tasks import Groups, classes_of_images

Ints = NDArray[np.int64]
"""Sizes, or positions of classes in a data set, or of images in a class."""


class Wanted(Struct, frozen=True, eq=False):
    """A task set to be drawn.

    Attributes
    ----------
    dataset, name
        The data set and the task set; both key the random streams.
    class_sizes
        Images of each class, in the frozen order of classes.
    seed
        Seed of every suite except `published`, which has its own.
    tasks
        Number of tasks: required for `closed` and other suites that reuse images, a cap for `open`
        and others that do not, optional for `balanced` (as many as possible) and `pooled`;
        `published` stops at 2000.
    groups
        Group of each image (:func:`groups_of`): required for `grouped`, used by `pooled` and
        `allway`.
    attributes
        Attributes of the images, for suites that are made with them.
    paths, test
        For `allway`: images whose paths begin with `test` are the data set's own test part; empty
        without one.
    """

    dataset: str
    name: TaskSetName
    class_sizes: Sequence[int]
    seed: int = 0
    tasks: int | None = None
    groups: Groups | None = None
    attributes: pa.Table | None = None
    paths: Sequence[Any] | None = None
    test: str = ""

    @property
    def where(self) -> str:
        """The task set's name in errors."""
        return f"{self.dataset}/{self.name}"

    def given(self, *more: str) -> dict[str, Any]:
        """Return the arguments of samplers: data set, seed, number of tasks, and `more`."""
        return {name: getattr(self, name) for name in ("dataset", "seed", "tasks", *more)}

    def stream(self, part: str) -> Stream:
        """Open the random stream of a part."""
        return Stream(self.name.suite, self.dataset, str(self.name.protocol), self.seed, part)


class DrawnTasks(Struct, frozen=True):
    """T tasks as positions of classes and of images in their class, before images have ids.

    `class_ids` are (T, K), `support` (T, K, S) and `query` (T, K, Q).
    """

    protocol: Protocol
    class_ids: NDArray[np.integer[Any]]
    support: NDArray[np.integer[Any]]
    query: NDArray[np.integer[Any]]

    def __len__(self) -> int:
        return len(self.class_ids)


def split_support(protocol: Protocol, class_ids: NDArray[Any], images: NDArray[Any]) -> DrawnTasks:
    """Make tasks of drawn `images` (T, K, S+Q); the first S of each class are support."""
    support, query = np.split(images.astype(np.int32), [protocol.shot], axis=-1)
    return DrawnTasks(protocol, class_ids.astype(np.int32), support, query)


def checked_sizes(class_sizes: Sequence[int], protocol: Protocol, dataset: str) -> Ints:
    """Check that the classes have images for a task of `protocol`; return their sizes (C,)."""
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
            f"no {protocol} task can be drawn: {enough} of {sizes.size} classes have at least "
            f"{protocol.per_class} images (shot + query)",
            where=dataset,
            expected=f"at least {protocol.way} such classes",
            fix="ask for fewer ways, shots or queries",
        )
    return sizes


def check_number(tasks: int | None, reuse: bool, dataset: str) -> None:
    """Refuse a number of tasks below 1, or None if images are reused."""
    if (tasks is None and reuse) or (tasks is not None and tasks < 1):
        raise SamplingError(f"cannot draw {tasks} tasks", where=dataset, expected="at least 1")


def first_image_ids(class_sizes: Sequence[int] | Ints) -> Ints:
    """Compute the id of the first image of each class, int64 (C,); ids are in class order."""
    sizes = np.asarray(class_sizes, dtype=np.int64)
    return np.cumsum(sizes) - sizes


def freeze(drawn: DrawnTasks, class_sizes: Sequence[int], shuffle: Stream) -> pa.Table:
    """Make the table of a task set: image ids, and the queries in their frozen shuffled order.

    All orders of the queries are equally likely, and the table determines the draw.
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
    columns = {
        "class_ids": drawn.class_ids.reshape(tasks, way),
        "support": (first + drawn.support).reshape(tasks, -1),
        "query": query,
        "query_label": label,
    }
    return table_of(drawn.protocol, columns)


def table_of(protocol: Protocol, columns: Mapping[str, NDArray[Any]]) -> pa.Table:
    """Make the table of tasks of one size from its columns (T, ...), and number the tasks."""
    schema = schemas.tasks(protocol)
    tasks = len(columns["class_ids"])
    arrays: list[pa.Array] = [pa.array(np.arange(tasks, dtype=np.int32))]
    for name, values in columns.items():
        kind = schema.field(name).type
        flat = np.ascontiguousarray(values.reshape(-1), dtype=kind.value_type.to_pandas_dtype())
        arrays.append(pa.FixedSizeListArray.from_arrays(pa.array(flat), type=kind))
    return pa.Table.from_arrays(arrays, schema=schema)


_MAX_BLOCK = 1 << 16

Key = tuple[str | int, ...]
"""The key of a task set's random streams."""


def draw_open(
    class_sizes: Sequence[int],
    protocol: Protocol,
    *,
    dataset: str,
    seed: int,
    tasks: int | None = None,
) -> DrawnTasks:
    """Draw tasks until fewer than K classes have S+Q unused images, or `tasks` are drawn.

    No image is used twice.  All choices of K of the remaining classes are equally likely.
    """
    sizes = checked_sizes(class_sizes, protocol, dataset)
    return exhaust(sizes, protocol, ("open", dataset, str(protocol), seed), tasks)


def count_until_exhausted(sizes: Ints, protocol: Protocol, key: Key) -> int:
    """Count how many tasks :func:`exhaust` draws, without drawing images."""
    uses = sizes // protocol.per_class
    return len(_class_sequence(uses, protocol.way, Stream(*key, "classes"), None))


def exhaust(sizes: Ints, protocol: Protocol, key: Key, max_tasks: int | None) -> DrawnTasks:
    """Run Algorithm 2 on classes of `sizes` (C,), with the streams of `key`."""
    check_number(max_tasks, False, str(key[1]))
    class_ids = _class_sequence(
        sizes // protocol.per_class, protocol.way, Stream(*key, "classes"), max_tasks
    )
    return deal(class_ids, sizes, protocol, Stream(*key, "images"))


def deal(class_ids: NDArray[Any], sizes: Ints, protocol: Protocol, images: Stream) -> DrawnTasks:
    """Give each task (T, K) unused images of its classes.

    Each class is shuffled once; its r-th use takes the r-th S+Q images.
    """
    shuffled = np.concatenate([images.permutations(1, int(n))[0] for n in sizes])
    start = np.cumsum(sizes) - sizes
    cursor = start[class_ids] + protocol.per_class * _use_number(class_ids)
    drawn = shuffled[cursor[..., None] + np.arange(protocol.per_class)]
    return split_support(protocol, class_ids, drawn)


def draw_closed(
    class_sizes: Sequence[int], protocol: Protocol, *, dataset: str, seed: int, tasks: int | None
) -> DrawnTasks:
    """Draw independent tasks: K of the classes with S+Q images, then S+Q images of each."""
    if tasks is None:
        raise SamplingError("a closed set needs a number of tasks", expected="such as 600")
    sizes = checked_sizes(class_sizes, protocol, dataset)
    check_number(tasks, True, dataset)
    key = ("closed", dataset, str(protocol), seed)
    eligible = np.flatnonzero(sizes >= protocol.per_class)
    counts = np.full(tasks, eligible.size, dtype=np.int64)
    class_ids = eligible[Stream(*key, "classes").subsets(counts, protocol.way)]
    images = Stream(*key, "images").subsets(sizes[class_ids].reshape(-1), protocol.per_class)
    return split_support(protocol, class_ids, images.reshape(tasks, protocol.way, -1))


def _class_sequence(uses: Ints, way: int, stream: Stream, max_tasks: int | None) -> NDArray[Any]:
    """Draw the classes of each task (T, way), where class c can be used `uses[c]` times.

    Tasks are drawn in blocks as if no class ran out.  A block is cut after the first task that uses
    a class up, and the stream rewound to there, so the result is that of a plain loop.
    """
    remaining = uses.copy()
    blocks: list[NDArray[Any]] = []
    missing = np.inf if max_tasks is None else max_tasks
    while missing > 0:
        eligible = np.flatnonzero(remaining > 0)
        if eligible.size < way:
            break
        # about as many tasks as the scarcest class lasts
        block = min(int(remaining[eligible].min()) * eligible.size // way + 1, _MAX_BLOCK)
        start = stream.position
        counts = np.full(block, eligible.size, dtype=np.int64)
        drawn = eligible[stream.subsets(counts, way)]
        keep = min(_until_used_up(drawn, remaining), int(min(missing, block)))
        if keep < block:
            if stream.position == start + block * way:  # no word was skipped
                stream.seek(start + keep * way)
            else:
                stream.seek(start)
                stream.subsets(counts[:keep], way)
            drawn = drawn[:keep]
        remaining -= np.bincount(drawn.reshape(-1), minlength=remaining.size)
        missing -= keep
        blocks.append(drawn)
    return np.concatenate(blocks)


def _until_used_up(drawn: NDArray[Any], remaining: Ints) -> int:
    """Count the tasks up to and including the first that uses a class up."""
    flat = drawn.reshape(-1)
    used = np.bincount(flat, minlength=remaining.size)
    used_up = np.flatnonzero((remaining > 0) & (used >= remaining))
    if not used_up.size:
        return len(drawn)
    by_class = np.argsort(flat, kind="stable")
    last_use = by_class[(np.cumsum(used) - used)[used_up] + remaining[used_up] - 1]
    way: int = drawn.shape[1]
    return int(last_use.min()) // way + 1


def _use_number(class_ids: NDArray[Any]) -> Ints:
    """Count how many earlier tasks use each class of each task, int64 (T, K)."""
    flat = class_ids.reshape(-1)
    by_class = np.argsort(flat, kind="stable")
    used = np.bincount(flat)
    number = np.empty(flat.size, np.int64)
    number[by_class] = np.arange(flat.size) - np.repeat(np.cumsum(used) - used, used)
    return number.reshape(class_ids.shape)


LARGE = 10_000
"""Units of a data set up to which all are in the pool.  4,000 tasks of ``5w1s1q`` use each of so
many four times on average, and half of these tasks twice: the fewest with which intervals are known
to hold."""

KEPT = 100
"""Units of a class in the pool of a data set with more than :data:`LARGE` units."""

MOST_TASKS = 4000
"""The most tasks of a pooled set, by default."""


class Pool(Struct, frozen=True):
    """The units that tasks are drawn from, class by class in the order of their first images.

    `sizes` (C,) are the units of each class; the images of unit u are
    ``images[first[u] : first[u] + counts[u]]``. A `unit` is a "group" or an "image"; a `cut` pool
    is a sample of the data set's units.
    """

    sizes: Ints
    images: Ints
    first: Ints
    counts: Ints
    unit: str
    cut: bool

    @classmethod
    def of(
        cls, class_sizes: Sequence[int], *, dataset: str, seed: int, groups: Groups | None = None
    ) -> Pool:
        """Find the pool of a data set; its name and the seed determine a sample.

        Raises a SamplingError if there is not one group for each image, or a group has images of
        two classes, of neither of which it could be left out.
        """
        sizes = np.asarray(class_sizes, np.int64)
        class_of = classes_of_images(sizes, dataset)
        start = first_of_unit(class_of, groups, dataset)
        firsts, unit = np.unique(start, return_inverse=True)
        units = np.bincount(class_of[firsts], minlength=sizes.size).astype(np.int64)
        cut = firsts.size > LARGE and bool((units > KEPT).any())
        kept = np.ones(firsts.size, np.bool_)
        if cut:
            kept = _sample(units, Stream("pooled", dataset, seed, "pool"))
            units = np.minimum(units, KEPT)
        images = np.argsort(unit, kind="stable")
        images = images[kept[unit[images]]]
        counts = np.bincount(unit, minlength=firsts.size).astype(np.int64)[kept]
        return cls(units, images, np.cumsum(counts) - counts, counts, unit_of(groups), cut)

    def eligible(self, protocol: Protocol, dataset: str) -> Ints:
        """Find the classes that tasks of a protocol are drawn from: those with more than S+Q units.

        All tasks of a class with just S+Q units would have the same units, and none could be left
        out.  Raises a SamplingError if there are fewer than K such classes.
        """
        classes = np.flatnonzero(self.sizes > protocol.per_class)
        if classes.size < protocol.way:
            of_pool = f", of which so large a data set keeps {KEPT} of a class" if self.cut else ""
            raise SamplingError(
                f"no {protocol} task of a pooled set can be drawn: {classes.size} of "
                f"{self.sizes.size} classes have more than {protocol.per_class} {self.unit}s "
                f"(shot + query){of_pool}",
                where=dataset,
                expected=f"at least {protocol.way} such classes: with just as many {self.unit}s as "
                "a task uses, none could be left out",
                fix="ask for fewer ways, shots or queries",
            )
        return classes


def draw_pooled(
    class_sizes: Sequence[int],
    protocol: Protocol,
    *,
    dataset: str,
    seed: int,
    tasks: int | None = None,
    groups: Groups | None = None,
) -> tuple[DrawnTasks, Pool]:
    """Draw `tasks` tasks, by default :func:`number_of_tasks`; return them and their pool."""
    checked_sizes(class_sizes, protocol, dataset)
    pool = Pool.of(class_sizes, dataset=dataset, seed=seed, groups=groups)
    classes = pool.eligible(protocol, dataset)
    if tasks is None:
        tasks = number_of_tasks(pool.sizes[classes], protocol)
    check_number(tasks, True, dataset)
    key = ("pooled", dataset, str(protocol), seed)
    count = np.full(tasks, classes.size, np.int64)
    class_ids = classes[Stream(*key, "classes").subsets(count, protocol.way)]
    of_class = Stream(*key, f"{pool.unit}s").subsets(
        pool.sizes[class_ids].reshape(-1), protocol.per_class
    )
    unit = first_image_ids(pool.sizes)[class_ids][..., None] + of_class.reshape(
        tasks, protocol.way, -1
    )
    image = pool.first[unit]
    if pool.unit == "group":
        image = image + Stream(*key, "images").integers(pool.counts[unit])
    position = pool.images[image] - first_image_ids(class_sizes)[class_ids][..., None]
    return split_support(protocol, class_ids, position), pool


def number_of_tasks(units: Ints, protocol: Protocol) -> int:
    """Compute how many tasks a set has: B = min(max(B0, B1), 4000), rounded up.

    With C classes of N_c `units`, n in all, m = S+Q and F_c = (N_c-1)/(N_c-m)::

        B0 = 40 · mean(F_c²) · √(2n)        B1 = 80 · n / (K·m)

    Derivation: let σ² be the variance of a task's accuracy, and r the share of it due to single
    units.  A task uses K·m of n units, so new units change the mean of all possible tasks with the
    variance V = r·σ²·K·m/n.  A mean over B tasks adds the Monte Carlo variance σ²/B, which is
    n/(r·K·m·B) of V: at B1 it is 1/(80·r).  V is estimated from squared means of the
    n_i = B·K·m/(C·N_c) tasks with a unit, whose noise is (K·m/B)·mean(F_c²)·σ²; subtracting the
    noise leaves an error of √(2/n) of it, which is mean(F_c²)·√(2n)/(r·B) of V: at B0 it is
    1/(40·r).  So with r = 1/8 Monte Carlo is a tenth of the variance, and the estimate's error due
    to noise a fifth of it.

    Intervals hold with fewer tasks too, but are wider.  Integer arithmetic makes the number the
    same on every platform.
    """
    return min(max(enough_tasks(units, protocol)), MOST_TASKS)


def enough_tasks(units: Ints, protocol: Protocol) -> tuple[int, int]:
    """Compute B0 and B1 of :func:`number_of_tasks`, rounded up."""
    n, m = int(units.sum()), protocol.per_class
    sizes, counts = (values.tolist() for values in np.unique(units, return_counts=True))
    pairs = zip(sizes, counts, strict=True)
    squares = [count * Fraction(size - 1, size - m) ** 2 for size, count in pairs]
    b0_squared = ceil(3200 * n * (sum(squares) / units.size) ** 2)
    b0 = isqrt(b0_squared - 1) + 1
    return b0, ceil(Fraction(80 * n, protocol.way * m))


def unit_of(groups: Groups | None) -> str:
    """Return the unit of a data set: a "group" if any image has one, else an "image"."""
    return "image" if groups is None or (groups < 0).all() else "group"


def one_of_each_unit(unit: Ints, stream: Stream) -> Ints:
    """Draw an image of each unit 0..U-1 uniformly; image n is of ``unit[n]``."""
    counts = np.bincount(unit)
    drawn: Ints = np.argsort(unit, kind="stable")[first_image_ids(counts) + stream.integers(counts)]
    return drawn


def first_of_unit(class_of: Ints, groups: Groups | None, dataset: str) -> Ints:
    """Find the first image of each image's unit, int64 (N,)."""
    images = np.arange(class_of.size)
    if groups is None:
        return images
    if groups.shape != class_of.shape:
        raise SamplingError(
            f"{groups.size} groups for {class_of.size} images", where=dataset, expected="one each"
        )
    grouped = np.flatnonzero(groups >= 0)
    _, first, group = np.unique(groups[grouped], return_index=True, return_inverse=True)
    images[grouped] = grouped[first[group]]
    spanning = groups[class_of[images] != class_of]
    if spanning.size:
        raise SamplingError(
            f"group {spanning[0]} has images of two classes",
            where=f"{dataset}: column `group` of its images",
            expected="groups within a class, since a pooled set is about the groups of its classes",
            fix="draw the suite `grouped`, in which a group may span classes",
        )
    return images


def _sample(units: Ints, stream: Stream) -> NDArray[np.bool_]:
    """Draw which units (U,) are kept, at most KEPT of each class, which has `units` (C,)."""
    kept = np.ones(int(units.sum()), np.bool_)
    large = np.flatnonzero(units > KEPT)
    start = (np.cumsum(units) - units)[large]
    for begin, size in zip(start.tolist(), units[large].tolist(), strict=True):
        kept[begin : begin + size] = False
    kept[start[:, None] + stream.subsets(units[large], KEPT)] = True
    return kept
