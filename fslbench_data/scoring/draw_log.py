"""Read a log of results with all classes at once: predictions of all test images, of few draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.all_ways import Cells, squares_of_methods
from analysis_sql.leave_one_out.episodes import ABSENT, padded
from benchmark_spec.errors import (
    DoubledTaskError,
    MissingTaskError,
    SchemaError,
    SpecError,
    listing,
    many,
    quoted,
    rows,
)
from benchmark_spec.naming import check_method_name
from benchmark_spec.protocol import TaskSetName, WholeProtocol
from fslbench_data.scoring.own_release import OwnTasks, digest_of, numbered
from fslbench_data.scoring.task_log import DATASET, as_texts, names_in, rows_by_dataset
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.log_source import table_of
from fslbench_data.validation.rows import Group

NEEDED = ("method", "image", "class", "predicted")
OPTIONAL = ("draw", "shots", "second")
Ints = NDArray[np.int64]


class DrawLog(Struct, frozen=True, eq=False):
    """The predicted class of every test image, a row a method, draw and image."""

    source: str
    methods: tuple[str, ...]
    draws: tuple[str, ...]
    images: tuple[str, ...]
    classes: tuple[str, ...]
    method: Ints
    draw: Ints
    image: Ints
    shots: Ints
    class_of_image: Ints
    right: NDArray[np.bool_]
    regained: Ints | None
    """The class without which a row is right that is not now, or -1; None without `second`."""
    knows_support: bool
    """Whether it says which methods have a support, by the columns draw or shots."""
    name: str
    row: Ints
    """As of :class:`fslbench_data.scoring.task_log.TaskLog`."""


class Drawn(Struct, frozen=True, eq=False):
    """The results of a method at a number of shots."""

    name: str
    draws: tuple[str, ...]
    support: bool
    right: NDArray[np.float64]
    """1 or 0 (R, n), NaN where a draw leaves the image out."""
    regained: Ints | None
    """As of :class:`DrawLog`, (R, n)."""


def read_draws(log: object) -> list[DrawLog]:
    """Read what :func:`fslbench_data.all_ways` takes, by data sets.

    An FSLBenchError says what is wrong.
    """
    where = str(log) if isinstance(log, str) or hasattr(log, "suffix") else "the log"
    table = table_of(log, (*NEEDED, *OPTIONAL, DATASET), where)
    if missing := [name for name in NEEDED if name not in table.column_names]:
        raise SchemaError(
            f"the log misses the column{'s' if len(missing) > 1 else ''} {listing(missing)}",
            where=f"{where}, which has {listing(table.column_names)}",
            expected="method, image, class, predicted, and perhaps draw, shots and second",
        )
    if not table.num_rows:
        raise SchemaError("the log has no rows", where=where)
    logs = []
    for name, at in rows_by_dataset(table, where):
        if at is None:
            logs.append(_read(table, where, name, np.arange(table.num_rows)))
            continue
        for column in NEEDED:  # refuse what is empty by the rows of the whole log
            _codes(table, column, where)
        logs.append(_read(table.take(at), f"{where}, data set {name}", name, at))
    return logs


def _read(table: pa.Table, where: str, dataset: str, row: Ints) -> DrawLog:
    """Read the rows of a data set, which are `row` in the whole log."""
    names, codes = zip(*(_codes(table, name, where) for name in (*NEEDED, "draw")), strict=True)
    methods, images, classes, guesses, draws = names
    for name in methods:
        check_method_name(name, where)
    owner = np.zeros(len(images), np.int64)
    owner[codes[1]] = codes[2]
    if (bad := np.flatnonzero(owner[codes[1]] != codes[2])).size:
        raise SchemaError(
            f"image {quoted(images[codes[1][bad[0]]])} is of two classes",
            where=f"{where}, {rows(row[bad])}",
            expected="one class for every test image",
        )
    same = {name: number for number, name in enumerate(classes)}
    position = np.array([same.get(name, -1) for name in guesses], np.int64)
    regained, named = None, [("predicted", guesses, codes[3])]
    if "second" in table.column_names:
        if (bad := np.flatnonzero(pc.is_null(table.column("second")))).size:
            raise SchemaError(
                "second is empty",
                where=f"{where}, {rows(row[bad])}",
                expected="the class with the highest score but one, of every method",
                fix="fill it in, or leave the column out: nothing is then said of new classes",
            )
        seconds, at = _codes(table, "second", where)
        second = np.array([same.get(name, -2) for name in seconds], np.int64)[at]
        if (bad := np.flatnonzero(second == position[codes[3]])).size:
            raise SchemaError(
                f"second is {quoted(seconds[at[bad[0]]])}, as predicted",
                where=f"{where}, {rows(row[bad])}",
                expected="the class with the highest score but one",
            )
        regained = np.where(second == codes[2], position[codes[3]], -1)
        named.append(("second", seconds, at))
    shots = np.full(table.num_rows, -1, np.int64)
    if "shots" in table.column_names:
        shots = _shots(table.column("shots"), where, row)
    for number, name in enumerate(methods):
        own = np.flatnonzero(codes[0] == number)
        for column, texts, code in named:
            there = np.unique(code[own])
            if any(texts[number] in same for number in there):
                continue
            raise SchemaError(
                f"{column} of {name} is never a class of an image: "
                f"{listing([quoted(texts[number]) for number in there], 4)}",
                where=f"{where}, {rows(row[own], 3)}",
                expected=f"classes as in the column class: {listing([*map(quoted, classes)], 4)}",
                fix=f"write class and {column} alike, both as names or both as numbers",
            )
    right = position[codes[3]] == codes[2]
    knows_support = any(name in table.column_names for name in ("draw", "shots"))
    ids = codes[0], codes[4], codes[1]
    return DrawLog(
        where, methods, draws, images, classes, *ids, shots, owner, right, regained, knows_support,
        dataset or "log", row,
    )  # fmt: skip


def _shots(column: pa.ChunkedArray, where: str, row: Ints) -> Ints:
    """Return the shots of each row, -1 where there is none."""
    try:
        numbers = pc.fill_null(column.cast(pa.float64()), -1.0).to_numpy()
    except pa.ArrowException:
        numbers = np.full(len(column), np.nan)
    if (bad := np.flatnonzero((numbers != np.floor(numbers)) | (numbers < -1))).size:
        raise SchemaError(
            f"shots is {quoted(column[int(bad[0])].as_py())}",
            where=f"{where}, {rows(row[bad])}",
            expected="a whole number, or nothing of a method without support",
        )
    return np.asarray(numbers, np.int64)


def _codes(table: pa.Table, name: str, where: str) -> tuple[tuple[str, ...], Ints]:
    """Return the different values of a column as texts, and each row's position."""
    if name not in table.column_names:
        return ("",), np.zeros(table.num_rows, np.int64)
    column = as_texts(table.column(name))
    if name == "draw":
        column = pc.fill_null(column.cast(pa.string()), "")
    return names_in(column, name, where)


def by_shots(read: DrawLog, pool: int) -> Iterator[tuple[int, list[Drawn]]]:
    """Yield each number of shots with the results of the methods.

    A method without shots, such as a zero-shot one, is with every number. `pool` is as of
    :func:`fslbench_data.all_ways`.
    """
    logged = np.maximum(read.shots, 0)
    each = [np.unique(logged[read.method == number]) for number in range(len(read.methods))]
    wanted = np.unique(logged[logged > 0])
    if not wanted.size or any(0 in numbers and numbers.size > 1 for numbers in each):
        wanted = np.append(0, wanted)  # also of a method that has shots, without them
    for shots in wanted.tolist():
        found = []
        for number, name in enumerate(read.methods):
            n_shots = shots if shots in each[number] else 0
            own = np.flatnonzero((read.method == number) & (logged == n_shots))
            if own.size:
                found.append(_method(read, name, own))
        if 0 < pool <= shots:
            raise SpecError(
                f"{many(shots, 'shot')} of {many(pool, 'training image')}", expected="fewer shots"
            )
        if pool and shots < 1 and any(len(one.draws) > 1 for one in found):
            raise SchemaError(
                f"a pool of {pool} training images says nothing without the number of shots",
                where=read.source,
                expected="the column shots",
                fix="log the shots, or leave the pool out",
            )
        yield shots, found


def on_same_draws(methods: list[Drawn], images: Ints) -> tuple[list[list[Drawn]], dict[str, str]]:
    """Group methods that answer the same images in the same draws.

    A method with a single draw joins all draws of the same images, as if in each of them. Two that
    leave out different images are a group of their own, with the images that both answer. `images`
    are their classes. Returns also notes on these pairs, and on those that are not compared.
    """
    groups: dict[tuple[object, bytes], list[Drawn]] = {}
    for one in sorted(methods, key=lambda one: -len(one.draws)):
        lacking, single = np.isnan(one.right), len(one.draws) == 1
        alike = [g for g in groups.values() if single and not np.isnan(g[0].right).any()]
        for group in alike:
            group.append(one)
        if not alike:
            key = None if single else one.draws, lacking.tobytes()
            groups.setdefault(key, []).append(one)
    made, notes = [sorted(group, key=methods.index) for group in groups.values()], {}
    for one, other in combinations(methods, 2):
        if any(one in group and other in group for group in made):
            continue
        pair = f"{one.name} - {other.name}"
        if one.draws != other.draws and 1 not in (len(one.draws), len(other.draws)):
            draws = " and ".join(
                listing([d.removesuffix(".0") for d in m.draws], 4) for m in (one, other)
            )
            notes[pair] = f"not compared, since their draws differ ({draws})"
            continue
        there = ~np.isnan(one.right + other.right)
        if any(np.unique(images[here]).size <= images.max() for here in there):
            notes[pair] = "not compared, since a draw has no image of some class that both answer"
            continue
        number = there.sum(axis=1)
        few, most = int(number.min()), int(number.max())
        common = f"{few:,}" if few == most else f"{few:,} to {most:,}"
        notes[pair] = f"compared on the {common} of {images.size:,} images a draw that both answer"
        both = [replace(m, right=np.where(there, m.right, np.nan)) for m in (one, other)]
        made.append(both)
    return made, notes


def _method(read: DrawLog, name: str, own: Ints) -> Drawn:
    draws, of = np.unique(read.draw[own], return_inverse=True)
    images = len(read.class_of_image)
    key = of.ravel() * images + read.image[own]
    times = np.bincount(key, minlength=len(draws) * images)
    if (twice := np.flatnonzero(times[key] > 1)).size:
        raise DoubledTaskError(
            f"{name} answers an image twice in one draw",
            where=f"{read.source}, {rows(read.row[own[twice]])}",
            expected="one row a method, draw and test image",
            fix="name the draws of the support (seeds) in a column `draw`, and shots in `shots`",
        )
    x = np.full(len(draws) * images, np.nan)
    x[key] = read.right[own]
    correct, regained = x.reshape(len(draws), images), None
    if read.regained is not None:
        flat = np.full(x.size, -1)
        flat[key] = read.regained[own]
        regained = flat.reshape(correct.shape)
    called = tuple(read.draws[draw] for draw in draws)
    lacking = np.isnan(correct).all(axis=0)
    if lacking.any():
        raise MissingTaskError(
            f"{name} answers {int((~lacking).sum())} of {images} test images",
            where=read.source,
            expected="every test image in some draw, of every method",
            fix="answer the images that others answer, or leave these out of all methods",
        )
    for draw, here in zip(called, ~np.isnan(correct), strict=True):
        there = np.bincount(read.class_of_image[here], minlength=len(read.classes))
        if not there.all():
            raise MissingTaskError(
                f"{name} answers no image of class {quoted(read.classes[int(there.argmin())])} in "
                f"draw {quoted(draw)}",
                where=read.source,
                expected="images of every class in every draw",
                fix="log the whole test set of the draw, or leave the draw out",
            )
    shots = not any(read.draws) and bool((read.shots[own] > 0).any())
    support = not read.knows_support or called != ("",) or shots
    return Drawn(name, called, support, correct, regained)


def draws_of(
    read: DrawLog, methods: list[Drawn], shots: int, before: Sequence[OwnTasks]
) -> OwnTasks:
    """Return the results of methods in the same draws, class by class, named after those before."""
    order = np.argsort(read.class_of_image, kind="stable")
    owner, classes = read.class_of_image[order], len(read.classes)
    most = max(methods, key=lambda one: len(one.draws))
    there = ~np.isnan(most.right[:, order])
    draws, n_queries = len(there), there.sum(axis=1)
    draw, image = np.nonzero(there)
    of_class = np.bincount(draw * classes + owner[image], minlength=draws * classes)
    image_ids = padded(order[image], of_class).reshape(draws, classes, -1).astype(np.int64)
    none = np.zeros((draws, classes), np.int64)
    name = TaskSetName("allway", WholeProtocol(classes, shots, int(n_queries.max())))
    digest = digest_of(read.classes, read.images, *_in_order(read, image_ids))
    dataset = numbered(read.name, sum(each.info.name == name for each in before))
    info = TaskSetInfo(dataset, name, draws, digest)

    def by_draw(values: NDArray[Any]) -> NDArray[Any]:
        return padded(np.broadcast_to(values[:, order], there.shape)[there].astype(int), n_queries)

    x = np.stack([np.broadcast_to(one.right[:, order], there.shape) for one in methods])
    means = Cells(there, owner).variances([*x.swapaxes(0, 1)], squares_of_methods).means
    groups = []
    for one, own in zip(methods, means, strict=True):
        regained = None if one.regained is None else by_draw(one.regained)[None]
        right = RightQueries(by_draw(one.right), 1, regained)
        groups.append(Group(one.name, info, own, True, (), np.empty(0), None, right))
    ids = none + np.arange(classes)
    return OwnTasks(info, most.draws, ids, image_ids, none, tuple(groups))


def _in_order(read: DrawLog, image_ids: Ints) -> tuple[Ints, Ints]:
    """Return classes, and the images of each, by their names: a log may list them in any order."""
    rank = np.empty(len(read.images) + 1, np.int64)
    rank[np.argsort(np.array(read.images))] = np.arange(len(read.images))
    rank[ABSENT] = len(read.images)  # the last place, of none
    classes = np.argsort(np.array(read.classes))
    ids = image_ids[:, classes]
    ids = np.take_along_axis(ids, np.argsort(rank[ids], axis=2), axis=2)
    return np.tile(classes, (len(ids), 1)), ids
