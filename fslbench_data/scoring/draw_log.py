"""Read a log of results with all classes at once: predictions of test images, by draw."""

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
from fslbench_data.scoring.task_log import DATASET, names_in, rows_by_dataset
from fslbench_data.submission.columns import TableKind, whole_numbers
from fslbench_data.submission.reading import name_of
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.log_source import table_of
from fslbench_data.validation.rows import Group

_NAMES = ("method", "image", "class", "predicted", "second", DATASET)
IMAGES = TableKind(
    "the log",
    {**dict.fromkeys(_NAMES, pa.string()), "draw": None, "shots": None},
    _NAMES[:4],
    "method, image, class, predicted, and perhaps draw, shots and second",
    ids=_NAMES,
)
"""A log of results with all classes at once: a row per method, draw and image."""

Ints = NDArray[np.int64]


class DrawLog(Struct, frozen=True, eq=False):
    """The predicted class of every test image, a row per method, draw and image."""

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
    """The class without which a wrong row would be right, or -1; None without `second`."""
    knows_support: bool
    """Whether columns draw or shots say which methods have a support."""
    name: str
    row: Ints
    """As in :class:`fslbench_data.scoring.task_log.TaskLog`."""


class Drawn(Struct, frozen=True, eq=False):
    """The results of a method at a number of shots."""

    name: str
    draws: tuple[str, ...]
    support: bool
    right: NDArray[np.float64]
    """1 or 0 for R draws and n images, NaN where a draw leaves the image out."""
    regained: Ints | None
    """As in :class:`DrawLog`, (R, n)."""


def read_draws(log: object) -> list[DrawLog]:
    """Read results with all classes at once that `open_log` takes, a log a data set."""
    table, where = table_of(log, IMAGES), name_of(log, IMAGES)
    logs = []
    for name, rows_ in rows_by_dataset(table, where):
        if rows_ is None:
            logs.append(_read(table, where, name, np.arange(table.num_rows)))
        else:
            logs.append(_read(table.take(rows_), f"{where}, data set {name}", name, rows_))
    return logs


def _read(table: pa.Table, where: str, dataset: str, row: Ints) -> DrawLog:
    """Read the rows of a data set, which are `row` in the whole log."""
    (methods, method), (images, image), (classes, label), (guesses, guess) = (
        names_in(table.column(name)) for name in IMAGES.needed
    )
    column = pa.chunked_array([pa.nulls(table.num_rows)])
    if "draw" in table.column_names:
        column = whole_numbers(table.column("draw"))
    draws, draw = names_in(pc.fill_null(column.cast(pa.string()), ""))
    for name in methods:
        check_method_name(name, where)
    owner = np.zeros(len(images), np.int64)
    owner[image] = label
    if (bad := np.flatnonzero(owner[image] != label)).size:
        raise SchemaError(
            f"image {quoted(images[image[bad[0]]])} is of two classes",
            where=f"{where}, {rows(row[bad])}",
            expected="one class for every test image",
        )
    class_id = {name: number for number, name in enumerate(classes)}
    predicted = np.array([class_id.get(name, -1) for name in guesses], np.int64)[guess]
    regained, class_columns = None, [("predicted", guesses, guess)]
    if "second" in table.column_names:
        seconds, code = names_in(table.column("second"))
        second = np.array([class_id.get(name, -2) for name in seconds], np.int64)[code]
        if (bad := np.flatnonzero(second == predicted)).size:
            raise SchemaError(
                f"second is {quoted(seconds[code[bad[0]]])}, as predicted",
                where=f"{where}, {rows(row[bad])}",
                expected="the class with the highest score but one",
            )
        regained = np.where(second == label, predicted, -1)
        class_columns.append(("second", seconds, code))
    shots = np.full(table.num_rows, -1, np.int64)
    if "shots" in table.column_names:
        shots = _shots(table.column("shots"), where, row)
    for number, name in enumerate(methods):
        own = np.flatnonzero(method == number)
        for column, all_texts, code in class_columns:
            texts = [all_texts[i] for i in np.unique(code[own])]
            if any(text in class_id for text in texts):
                continue
            raise SchemaError(
                f"{column} of {name} is never a class of an image: "
                f"{listing([*map(quoted, texts)], 4)}",
                where=f"{where}, {rows(row[own], 3)}",
                expected=f"classes as in the column class: {listing([*map(quoted, classes)], 4)}",
                fix=f"write class and {column} alike, both as names or both as numbers",
            )
    knows_support = any(name in table.column_names for name in ("draw", "shots"))
    return DrawLog(
        where, methods, draws, images, classes, method, draw, image, shots, owner,
        predicted == label, regained, knows_support, dataset or "log", row,
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


def by_shots(read: DrawLog, pool: int) -> Iterator[tuple[int, list[Drawn]]]:
    """Yield each number of shots with the results of the methods.

    Methods without shots, such as zero-shot ones, are yielded with every number.  `pool` is as in
    :func:`fslbench_data.open_log`, 0 where they are many.
    """
    logged = np.maximum(read.shots, 0)
    of_method = [np.unique(logged[read.method == number]) for number in range(len(read.methods))]
    numbers = np.unique(logged[logged > 0])
    if not numbers.size or any(0 in known and known.size > 1 for known in of_method):
        numbers = np.append(0, numbers)  # also if a method has results with and without shots
    for shots in numbers.tolist():
        found = []
        for number, name in enumerate(read.methods):
            n_shots = shots if shots in of_method[number] else 0
            own = np.flatnonzero((read.method == number) & (logged == n_shots))
            if own.size:
                found.append(_drawn(read, name, own))
        if 0 < pool <= shots:
            raise SpecError(
                f"{many(shots, 'shot')} of {many(pool, 'training image')}", expected="fewer shots"
            )
        if pool and shots < 1 and any(len(drawn.draws) > 1 for drawn in found):
            raise SchemaError(
                f"a pool of {pool} training images says nothing without the number of shots",
                where=read.source,
                expected="the column shots",
                fix="log the shots, or leave the pool out",
            )
        yield shots, found


def on_same_draws(methods: list[Drawn], images: Ints) -> tuple[list[list[Drawn]], dict[str, str]]:
    """Group methods that answer the same draws, on the images that all of a group answer.

    A method with a single draw joins every group.  `images` are the images' classes.  Returns also
    notes on images that are left out, by the names of the methods, and on pairs that are not
    compared.
    """
    single = [method for method in methods if len(method.draws) == 1]
    several: dict[tuple[str, ...], list[Drawn]] = {}
    for method in sorted(methods, key=lambda method: -len(method.draws)):
        if len(method.draws) > 1:
            several.setdefault(method.draws, []).append(method)
    grouped: list[list[Drawn]] = []
    notes: dict[str, str] = {}
    for alike in several.values() or [[]]:
        group = [method for method in methods if method in alike or method in single]
        answered = [~np.isnan(method.right) for method in group]
        common = np.logical_and.reduce(np.broadcast_arrays(*answered))
        names = listing([method.name for method in group], 4)
        if any(np.unique(images[in_draw]).size <= images.max() for in_draw in common):
            notes[names] = "not compared, since a draw has no image of some class that all answer"
            grouped += [[method] for method in group if [method] not in grouped]
            continue
        if any((common != own).any() for own in answered):
            numbers = common.sum(axis=1)
            fewest, most = int(numbers.min()), int(numbers.max())
            n = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
            notes[names] = f"on the {n} of {images.size:,} images a draw that all answer"
            group = [replace(m, right=np.where(common, m.right, np.nan)) for m in group]
        grouped.append(group)
    for one, other in combinations(methods, 2):
        if one.draws != other.draws and one not in single and other not in single:
            draws = " and ".join(
                listing([draw.removesuffix(".0") for draw in method.draws], 4)
                for method in (one, other)
            )
            notes[f"{one.name} - {other.name}"] = (
                f"not compared, since their draws differ ({draws})"
            )
    return grouped, notes


def _drawn(read: DrawLog, name: str, own: Ints) -> Drawn:
    """Return the results in a method's rows, each test image once in a draw."""
    draws, draw_of_row = np.unique(read.draw[own], return_inverse=True)
    images = len(read.class_of_image)
    cell = draw_of_row.ravel() * images + read.image[own]  # of the flat (draws, images)
    times = np.bincount(cell, minlength=len(draws) * images)
    if (twice := np.flatnonzero(times[cell] > 1)).size:
        raise DoubledTaskError(
            f"{name} answers an image twice in one draw",
            where=f"{read.source}, {rows(read.row[own[twice]])}",
            expected="one row per method, draw and test image",
            fix="name the draws of the support (seeds) in a column `draw`, and shots in `shots`",
        )
    right, regained = np.full((len(draws), images), np.nan), None
    right.flat[cell] = read.right[own]
    if read.regained is not None:
        regained = np.full(right.shape, -1)
        regained.flat[cell] = read.regained[own]
    names = tuple(read.draws[draw] for draw in draws)
    lacking = np.isnan(right).all(axis=0)
    if lacking.any():
        raise MissingTaskError(
            f"{name} answers {int((~lacking).sum())} of {images} test images",
            where=read.source,
            expected="every test image in some draw, of every method",
            fix="answer the images that others answer, or leave these out of all methods",
        )
    for draw, answered in zip(names, ~np.isnan(right), strict=True):
        numbers = np.bincount(read.class_of_image[answered], minlength=len(read.classes))
        if not numbers.all():
            missing = read.classes[int(numbers.argmin())]
            raise MissingTaskError(
                f"{name} answers no image of class {quoted(missing)} in draw {quoted(draw)}",
                where=read.source,
                expected="images of every class in every draw",
                fix="log the whole test set of the draw, or leave the draw out",
            )
    has_shots = not any(read.draws) and bool((read.shots[own] > 0).any())
    has_support = not read.knows_support or names != ("",) or has_shots
    return Drawn(name, names, has_support, right, regained)


def draws_of(
    read: DrawLog, methods: list[Drawn], shots: int, before: Sequence[OwnTasks]
) -> OwnTasks:
    """Make a task set of methods' results in the same draws, numbered after the sets `before`."""
    order = np.argsort(read.class_of_image, kind="stable")  # class by class
    owner, classes = read.class_of_image[order], len(read.classes)
    most = max(methods, key=lambda method: len(method.draws))
    answered = ~np.isnan(most.right[:, order])
    draws, n_queries = len(answered), answered.sum(axis=1)
    draw, image = np.nonzero(answered)
    of_class = np.bincount(draw * classes + owner[image], minlength=draws * classes)
    image_ids = padded(order[image], of_class).reshape(draws, classes, -1).astype(np.int64)
    no_shots = np.zeros((draws, classes), np.int64)
    name = TaskSetName("allway", WholeProtocol(classes, shots, int(n_queries.max())))
    digest = digest_of(read.classes, read.images, *_sorted_by_name(read, image_ids))
    dataset = numbered(read.name, sum(task_set.info.name == name for task_set in before))
    info = TaskSetInfo(dataset, name, draws, digest)

    def in_every_draw(values: NDArray[Any]) -> NDArray[Any]:
        return np.broadcast_to(values[:, order], answered.shape)

    def by_query(values: NDArray[Any]) -> NDArray[Any]:
        return padded(in_every_draw(values)[answered].astype(int), n_queries)

    x = np.stack([in_every_draw(method.right) for method in methods])
    means = Cells(answered, owner).variances([*x.swapaxes(0, 1)], squares_of_methods).means
    groups = []
    for method, accuracies in zip(methods, means, strict=True):
        regained = None if method.regained is None else by_query(method.regained)[None]
        right = RightQueries(by_query(method.right), 1, regained)
        groups.append(Group(method.name, info, accuracies, True, (), np.empty(0), None, right))
    class_ids = no_shots + np.arange(classes)
    return OwnTasks(info, most.draws, class_ids, image_ids, no_shots, tuple(groups))


def _sorted_by_name(read: DrawLog, image_ids: Ints) -> tuple[Ints, Ints]:
    """Return classes, and the images of each, sorted by name: a log may list them in any order."""
    rank = np.empty(len(read.images) + 1, np.int64)
    rank[np.argsort(np.array(read.images))] = np.arange(len(read.images))
    rank[ABSENT] = len(read.images)  # the last element
    classes = np.argsort(np.array(read.classes))
    ids = image_ids[:, classes]
    ids = np.take_along_axis(ids, np.argsort(rank[ids], axis=2), axis=2)
    return np.tile(classes, (len(ids), 1)), ids
