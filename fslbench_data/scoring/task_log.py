"""Read a log of own random tasks: what was drawn, and how methods did."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.leave_one_out.episodes import ABSENT, padded
from benchmark_spec.errors import (
    ContradictionError,
    CountError,
    FSLBenchError,
    FSLBenchWarning,
    SchemaError,
    listing,
    many,
    rows,
)
from benchmark_spec.naming import check_method_name
from fslbench_data.submission import columns
from fslbench_data.submission.columns import ID_LISTS, TableKind, column_remedy, printable
from fslbench_data.submission.reading import name_of, several_logs
from fslbench_data.validation.log_source import table_of

ROLES = ("support_ids", "query_ids")
COUNTS = ("n_correct", "n_query")
RUN_NAMES = ("run", "seed", "trial", "fold")
"""Columns that may name a method's training runs; others than the first only if tasks repeat."""
LOOSE = (*RUN_NAMES[1:], "shots")
"""Columns that are read if they are of use."""
RIGHT = "correct"
DATASET = "dataset"
MOST_SHOTS, LEAST_TASKS = 4, 20
"""Tasks are split by shots if these are at most so many, each with at least so many tasks."""

_TOLERANCE = 1e-4
"""Difference, as by half precision, up to which accuracies agree."""
WHOLE_TASK = (
    "of every task all images, support and query: support_ids and query_ids, or both together in "
    "image_ids"
)

Ints = NDArray[np.int64]


class TaskLog(Struct, frozen=True, eq=False):
    """Tasks that reuse images, one row per method, run and task; R rows in the order of the log.

    `method`, `task` and `run` (R,) are positions in `methods`, `tasks` and `runs`, `class_ids`
    (R, K) and `image_ids` (R, K, m) in `classes` and `images`, support before query, filled up with
    :data:`ABSENT`.  `shots` (R, K) is how many images of each class are support, 0 if the log does
    not say.  `y` (R,) is an accuracy or another statistic, 0 to 1.  `n_query` (R,) is how many
    queries `y` counts, 0 if it is no count; `roles` whether query images are named.  `right` (R,
    most queries) is 1 where a query is correct, class by class, and 0 after a task's last; None if
    the log does not say.  `dataset` is empty without the column; `row` (R,) are the source's rows.
    """

    methods: tuple[str, ...]
    tasks: tuple[str, ...]
    classes: tuple[str, ...]
    images: tuple[str, ...]
    method: Ints
    task: Ints
    class_ids: Ints
    image_ids: Ints
    y: NDArray[np.float64]
    n_query: Ints
    source: str
    roles: bool
    shots: Ints
    runs: tuple[str, ...]
    run: Ints
    run_column: str
    right: NDArray[np.uint8] | None
    dataset: str
    row: Ints
    of_several: bool = False
    """Whether the source also has other data sets."""

    @classmethod
    def read(cls, source: object) -> list[TaskLog]:
        """Read what :func:`fslbench_data.open_log` takes, a log a data set; raises its errors."""
        where, table = log_table(source)
        _check_once(table.column_names, where)
        methods, method = names_in(table.column("method"))
        for name in methods:
            check_method_name(name, where)
        tasks, task = names_in(table.column("task"))
        ids = _id_lists(table.column("class_ids"), "class_ids", where)
        ways = np.bincount(ids.row)
        classes, codes = _labels(ids.values)
        class_ids = padded(codes, ways).astype(np.int64)
        images, image_ids, shots = _images(table, ways, where)
        roles = "query_ids" in table.column_names
        n_query = (image_ids >= 0).sum(axis=(1, 2)) - shots.sum(axis=1)
        declared = _shots(table, shots, ways, where)
        _check_image_numbers(table, image_ids, n_query if roles else None, declared, where)
        right = _right(table, n_query, where) if RIGHT in table.column_names else None
        y, counted = _values(table, right, n_query, where)
        row = np.arange(table.num_rows)
        no_runs = (), np.zeros_like(row), ""
        whole = cls(methods, tasks, classes, images, method, task, class_ids, image_ids, y, counted,
                    where, roles, shots, *no_runs, right, "", row)  # fmt: skip
        logs = []
        for name, rows_ in rows_by_dataset(table, where):
            log = whole if rows_ is None else whole._of_dataset(name, rows_)
            part = table if rows_ is None else table.take(rows_)
            runs, run, column = _runs(part, log.method, log.task, log.shots.max(axis=1), log.source)
            logs.append(replace(log, runs=runs, run=run, run_column=column, dataset=name))
        return logs

    @property
    def name(self) -> str:
        """The data set, or ``log`` if it has no name."""
        return self.dataset or "log"

    @property
    def queries(self) -> int:
        """How many queries every task counts, 0 if tasks differ or count none."""
        return int(self.n_query[0]) if (self.n_query == self.n_query[0]).all() else 0

    def rows(self, chosen: Ints | Sequence[int]) -> str:
        """Name some rows for an error."""
        return rows(self.row[chosen])

    def _of_dataset(self, name: str, chosen: Ints) -> TaskLog:
        """Return the rows of a data set, with only its tasks, classes and images."""
        part = self._take(chosen)
        tasks, task = _used_names(self.tasks, part.task)
        classes, class_ids = _used_names(self.classes, part.class_ids)
        images, image_ids = _used_names(self.images, part.image_ids)
        return replace(part, tasks=tasks, task=task, classes=classes, class_ids=class_ids,
                       images=images, image_ids=image_ids, of_several=True,
                       source=f"{self.source}, data set {name}")  # fmt: skip

    def by_shots(self) -> list[TaskLog]:
        """Split tasks of few different numbers of shots, such as 1 and 5, with many tasks each.

        Tasks whose classes differ in shots stay together.
        """
        shots, ways = self.shots.max(axis=1), (self.class_ids >= 0).sum(axis=1)
        same_for_classes = (self.shots.sum(axis=1) == ways * shots).all()
        numbers = np.unique(shots)
        few = self.roles and same_for_classes and 1 < numbers.size <= MOST_SHOTS
        tasks = [np.unique(self.task[shots == number]).size for number in numbers]
        if not few or min(tasks) < LEAST_TASKS:
            return [self]
        return [self._take(np.flatnonzero(shots == number)) for number in numbers]

    def _take(self, chosen: Ints) -> TaskLog:
        """Return some rows, with only their methods, and arrays only as wide as their tasks."""
        methods, method = _used_names(self.methods, self.method[chosen])
        present = self.image_ids[chosen] >= 0
        ways, places = present.any(axis=(0, 2)).sum(), present.any(axis=(0, 1)).sum()
        per_row = {n: getattr(self, n)[chosen] for n in ("task", "run", "y", "n_query", "row")}
        return replace(
            self,
            methods=methods,
            method=method,
            class_ids=self.class_ids[chosen, :ways],
            image_ids=self.image_ids[chosen, :ways, :places],
            shots=self.shots[chosen, :ways],
            right=None if self.right is None else self.right[chosen, : self.n_query[chosen].max()],
            **per_row,
        )


def _used_names(names: Sequence[str], positions: Ints) -> tuple[tuple[str, ...], Ints]:
    """Return the names that occur, and the positions among them; :data:`ABSENT` stays."""
    used = np.unique(positions[positions >= 0])
    new = np.full(len(names) + 1, ABSENT)  # the last is for ABSENT
    new[used] = np.arange(used.size)
    return tuple(names[i] for i in used.tolist()), new[positions]


def rows_by_dataset(table: pa.Table, where: str) -> list[tuple[str, Ints | None]]:
    """Return names of data sets with their rows; None for all, and no name without the column."""
    if DATASET not in table.column_names:
        return [("", None)]
    names, dataset = names_in(table.column(DATASET))
    for name in names:
        check_method_name(name, where, "data set")
    if len(names) == 1:
        return [(names[0], None)]
    return [(name, np.flatnonzero(dataset == number)) for number, name in enumerate(names)]


def log_table(source: object) -> tuple[str, pa.Table]:
    """Return a log's name for errors, and its table; join several logs of the same columns."""
    if (several := several_logs(source)) is None:
        return name_of(source, TASKS), table_of(source, TASKS)
    names, tables = zip(*map(log_table, several), strict=True)
    where = listing(names, 4)
    for name, table in zip(names[1:], tables[1:], strict=True):
        if table.column_names != tables[0].column_names:
            raise SchemaError(
                f"logs have other columns: {listing(table.column_names)}",
                where=name,
                expected=f"those of {names[0]}: {listing(tables[0].column_names)}",
                fix="log the same columns, or give one log at a time",
            )
    try:
        joined = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise SchemaError(
            f"the columns of logs are not alike: {printable(error)}",
            where=where,
            expected="ids that are integers in all logs, or texts in all",
            fix="write the logs alike: all as CSV, as JSON Lines or as Parquet, with ids of a kind",
        ) from None
    return where, joined.unify_dictionaries().combine_chunks()


def _missing(names: list[str]) -> list[str]:
    """Return which columns a log needs besides those there are: of images, and of results."""
    missing = []
    if any(name in names for name in ROLES) or {RIGHT, "image_ids"} <= {*names}:
        missing += [name for name in ROLES if name not in names]
    elif "image_ids" not in names:
        missing += [*ROLES[:-1], f"{ROLES[-1]} (or image_ids)"]
    counted, has_accuracy = any(name in names for name in COUNTS), "accuracy" in names
    if counted and not has_accuracy:
        missing += [name for name in COUNTS if name not in names]
    elif not has_accuracy and RIGHT not in names:
        missing.append(f"{RIGHT} (or n_correct and n_query, or accuracy)")
    return missing


def _remedy(names: list[str], missing: list[str]) -> str:
    if "accuracy" in names and "class_ids" in missing:
        return column_remedy(names, missing)
    return (
        "rename or add the columns, which the first line of a CSV file names; results on a "
        "release's tasks are no log: fslbench score takes them"
    )


TASKS = TableKind(
    "the log",
    dict.fromkeys(("method", "task", "run", DATASET), pa.string())
    | dict.fromkeys(("class_ids", *ROLES, "image_ids", RIGHT), ID_LISTS)
    | dict.fromkeys(COUNTS, pa.int64())
    | {"accuracy": pa.float64()}
    | dict.fromkeys(LOOSE, None),
    ("method", "task", "class_ids"),
    f"method, task, class_ids, {' and '.join(ROLES)} or image_ids, and {RIGHT}, "
    f"{' with '.join(COUNTS)} or accuracy",
    ids=["task", "run", DATASET],
    loose=LOOSE,
    missing=_missing,
    remedy=_remedy,
)
"""A log of own tasks: a row per method, training run and task."""


def _check_once(names: list[str], where: str) -> None:
    """Refuse columns that say twice how a method did, or which images a task has."""
    for twice, what, fix in (
        (
            "accuracy" in names and any(name in names for name in COUNTS),
            "how a method did: by counts and by accuracy",
            "leave out the one that the interval is not about",
        ),
        (
            ROLES[0] in names and "image_ids" in names,
            "which images a task has: by support_ids and query_ids, and by image_ids",
            "leave out image_ids",
        ),
    ):
        if twice:
            raise SchemaError(
                f"the log says twice {what}", where=where, expected=TASKS.expected, fix=fix
            )


class Lists(NamedTuple):
    """The values of a list column, the row of each, and how long the lists are.

    For lists of lists there are two `lengths`: of the outer lists, and of the inner ones.
    """

    values: pa.Array
    row: Ints
    lengths: list[Ints]


def _images(table: pa.Table, ways: Ints, where: str) -> tuple[tuple[str, ...], Ints, Ints]:
    """Return names of images, positions among them (R, K, m), support first, and shots (R, K)."""
    names = [name for name in (*ROLES, "image_ids") if name in table.column_names]
    lists, counts = [], []  # counts of images of each class of each task
    for name in names:
        lists.append(_id_lists(table.column(name), name, where))
        counts.append(_images_per_class(lists[-1], name, ways, where))
    values = [column.values for column in lists]
    if len({value.type for value in values}) > 1:
        values = [pc.cast(value, pa.string()) for value in values]
    labels, codes = _labels(pa.concat_arrays(values))
    parts = np.split(codes, np.cumsum([len(value) for value in values])[:-1])
    row = np.repeat(np.arange(len(ways)), ways)
    class_place = np.arange(len(row)) - np.repeat(np.cumsum(ways) - ways, ways)
    images = np.full((len(ways), int(ways.max()), int(np.max(sum(counts)))), ABSENT, np.int64)
    before, shots = np.zeros_like(row), np.zeros(images.shape[:2], np.int64)
    for count, part in zip(counts, parts, strict=True):
        first = np.repeat(np.cumsum(count) - count - before, count)
        image_place = np.arange(len(part)) - first
        images[np.repeat(row, count), np.repeat(class_place, count), image_place] = part
        before = before + count
    if len(names) > 1:
        shots[row, class_place] = counts[0]
    return labels, images, shots


def _images_per_class(lists: Lists, name: str, ways: Ints, where: str) -> Ints:
    """Return the number of images of each class of each task, one task after another."""
    number, *inner = lists.lengths
    if inner:
        if (bad := np.flatnonzero(number != ways)).size:
            raise SchemaError(
                f"a task has {number[bad[0]]} lists in {name} and {ways[bad[0]]} class_ids",
                where=f"{where}, {rows(bad)}",
                expected="a list of images for each class, in the order of class_ids",
            )
        return inner[0]
    if (bad := np.flatnonzero(number % ways)).size:
        raise SchemaError(
            f"a task has {number[bad[0]]} {name} and {ways[bad[0]]} class_ids",
            where=f"{where}, {rows(bad)}",
            expected="as many images of each of its classes, or a list for each",
            fix="log the images class by class, in the order of class_ids; where classes have "
            "different numbers of images, a list of lists",
        )
    return np.repeat(number // ways, ways)


def _shots(table: pa.Table, logged: Ints, ways: Ints, where: str) -> Ints:
    """Return the column `shots` (R,), 0 where it is no whole number.

    Refuses numbers that differ from the `logged` support_ids (R, K) of each class.
    """
    unknown = np.zeros(table.num_rows, np.int64)
    if "shots" not in table.column_names:
        return unknown
    column = table.column("shots")
    try:
        column = pc.fill_null(column, pa.scalar(0).cast(column.type))
        if columns.is_text(column.type):
            column = columns.parse_integers(column, "task_id", where)
        shots: Ints = columns.integer_column(column, "task_id", pa.int64(), where).to_numpy()
    except (FSLBenchError, pa.ArrowException):
        return unknown
    most = logged.max(axis=1)
    comparable = (shots > 0) & (most > 0) & (logged.sum(axis=1) == ways * most)
    if (bad := np.flatnonzero(comparable & (shots != most))).size:
        raise SchemaError(
            f"shots is {shots[bad[0]]} and a task has {most[bad[0]]} support_ids of each class",
            where=f"{where}, {rows(bad)}",
            expected=WHOLE_TASK,
        )
    return shots


def _check_image_numbers(
    table: pa.Table, image_ids: Ints, logged: Ints | None, shots: Ints, where: str
) -> None:
    """Refuse tasks that lack images of support, or of query, by `shots` and `logged` queries."""
    if COUNTS[1] not in table.column_names:
        return
    queries = table.column(COUNTS[1]).to_numpy()
    way, images = (image_ids[:, :, 0] >= 0).sum(axis=1), (image_ids >= 0).sum(axis=(1, 2))
    support = images - queries
    if logged is not None:
        wrong, expected = queries != logged, "every query once, and n_query their number"
    else:
        wrong, expected = (support < way) | ((shots > 0) & (support != way * shots)), WHOLE_TASK
    if (bad := np.flatnonzero(wrong)).size:
        first = bad[0]
        has = f"{images[first]} images: {max(support[first], 0)} of support"
        has += f" for {way[first]} classes"
        if shots[first]:
            has += f" and {many(shots[first], 'shot')}"
        raise SchemaError(
            f"n_query is {queries[first]} and a task has "
            f"{has if logged is None else f'{logged[first]} query_ids'}",
            where=f"{where}, {rows(bad)}",
            expected=expected,
            fix="log support_ids=support.tolist(), query_ids=query.tolist(), K lists each",
        )


def _runs(
    table: pa.Table, method: Ints, task: Ints, shots: Ints, where: str
) -> tuple[Any, Ints, str]:
    """Return the names of training runs, the run of each row (R,), and the column that names them.

    Without `run`, another column is taken if it distinguishes rows of the same method and task;
    tasks of different shots may have the same names.  A column that looks like runs, but in which
    no task has two values, is not taken, with a warning.
    """
    if "run" in table.column_names:
        return *names_in(pc.fill_null(table.column("run").cast(pa.string()), "")), "run"
    candidates = {}
    for name in RUN_NAMES[1:]:
        if name in table.column_names:
            column = columns.whole_numbers(table.column(name))
            is_name = columns.is_text(column.type) or pa.types.is_integer(column.type)
            if is_name and not column.null_count:
                candidates[name] = column
    for keys in ((method, task), (method, task, shots)):
        if not _repeats(*keys):
            break
        for name, column in candidates.items():
            names, run = names_in(column)
            if not _repeats(*keys, run):
                return names, run, name
    for name, column in candidates.items():
        number = pc.count_distinct(column).as_py()
        if 1 < number <= table.num_rows // LEAST_TASKS:
            warnings.warn(
                f"{where}: {name} has {number} values and is not read as training runs, since each "
                "task has one of them: if they are runs with tasks of their own, call it run",
                FSLBenchWarning,
                stacklevel=2,
            )
    return (), np.zeros(table.num_rows, np.int64), ""


def _repeats(*keys: Ints) -> bool:
    """Return whether two rows have equal keys."""
    return bool((np.unique(np.stack(keys), axis=1, return_counts=True)[1] > 1).any())


def names_in(column: pa.ChunkedArray) -> tuple[tuple[str, ...], Ints]:
    """Return names in the order of their first rows, and each row's position among them (R,)."""
    codes = column.cast(pa.string()).combine_chunks().dictionary_encode()
    return tuple(codes.dictionary.to_pylist()), codes.indices.to_numpy().astype(np.int64)


def _labels(values: pa.Array) -> tuple[tuple[str, ...], Ints]:
    """Return the distinct ids, sorted as numbers or texts, and each value's position."""
    codes = columns.encoded(values)
    names = codes.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    return tuple(str(names[i]) for i in order), np.argsort(order)[codes.indices.to_numpy()]


def _id_lists(column: pa.ChunkedArray, name: str, where: str) -> Lists:
    """Return the ids of every row; lists of lists, one per class, are flattened."""
    lengths: list[Ints] = []
    row, empty = np.arange(len(column)), np.zeros(len(column), np.bool_)
    while columns.is_list(column.type) and len(lengths) < 2:
        _check_complete(column, row, name, where)
        lengths.append(pc.list_value_length(column).to_numpy().astype(np.int64))
        empty[row[lengths[-1] < 1]] = True
        row = np.repeat(row, lengths[-1])
        column = pa.chunked_array([c.flatten() for c in column.chunks], column.type.value_type)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if name == RIGHT and pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if not lengths or not (pa.types.is_integer(column.type) or columns.is_text(column.type)):
        raise SchemaError(
            f"column {name!r} holds {'lists of ' * len(lengths)}{column.type}",
            where=where,
            expected="in each row a list of integers, 1 or 0, or of Booleans"
            if name == RIGHT
            else "in each row a list of ids, either integers or texts; image_ids perhaps K lists "
            "of m",
            fix=f"write `{name}` as lists; in CSV as JSON, such as "
            f"{'[1, 0], not [1.0, 0.0]' if name == RIGHT else '[3, 0, 7], not [3.0, 0.0]'}",
        )
    _check_complete(column, row, name, where)
    if empty.any():
        what = name.replace("class_ids", "classes").replace("image_ids", "images")
        raise SchemaError(
            f"a task has no {what.replace('_ids', ' images')}",
            where=f"{where}, {name} of {rows(np.flatnonzero(empty))}",
            expected="the classes of every task, and images of each class",
        )
    return Lists(column.combine_chunks(), row, lengths)


def _check_complete(column: pa.ChunkedArray, row: Ints, name: str, where: str) -> None:
    """Refuse nulls among the values of a column, each of which is of a `row`."""
    if column.null_count:
        bad = np.unique(row[columns.where_true(column.is_null())])
        raise SchemaError(
            f"{name} is null, or holds a null",
            where=f"{where}, {rows(bad)}",
            expected="1 or 0 for every query"
            if name == RIGHT
            else "the ids of every class and image of the task",
        )


def _right(table: pa.Table, queries: Ints, where: str) -> NDArray[np.uint8]:
    """Return whether queries are correct, 0 or 1 (R, most queries), in the order of query_ids."""
    found = _id_lists(table.column(RIGHT), RIGHT, where)
    right, number = found.values.to_numpy(zero_copy_only=False), np.bincount(found.row)
    fix = "log correct=(prediction == label).int().tolist()"
    if (bad := np.flatnonzero(number != queries)).size or right.dtype.kind not in "iu":
        first = bad[0] if bad.size else 0
        raise SchemaError(
            f"a task has {queries[first]} query_ids and {number[first]} entries of "
            f"{found.values.type} in {RIGHT}",
            where=f"{where}, {rows(bad if bad.size else [0])}",
            expected="1 or 0 for every query, in the order of query_ids",
            fix=fix,
        )
    outside = (right < 0) | (right > 1)
    if outside.any():
        raise SchemaError(
            f"{RIGHT} holds {right[outside][0]}",
            where=f"{where}, {rows(np.unique(found.row[outside]))}",
            expected="1 or 0 for every query: whether it was answered rightly",
            fix=fix,
        )
    return np.maximum(padded(right.astype(np.int8), queries), 0).astype(np.uint8)


def _values(
    table: pa.Table, right: NDArray[np.uint8] | None, logged: Ints, where: str
) -> tuple[NDArray[np.float64], Ints]:
    """Return accuracies (R,), 0 to 1, and the number of queries of each task, 0 if unknown.

    If `right` is known, they follow from it and the `logged` numbers of queries; the log's counts
    and accuracies must agree with it.
    """
    names = table.column_names
    if right is None and "accuracy" in names:
        return table.column("accuracy").to_numpy(), np.zeros(table.num_rows, np.int64)
    if right is None:
        counts, queries = (table.column(name).to_numpy() for name in COUNTS)
    else:
        counts, queries = right.sum(axis=1, dtype=np.int64), logged
        for name in [name for name in ("accuracy", COUNTS[0]) if name in names]:
            found = table.column(name).to_numpy()
            wrong = found != counts
            if name == "accuracy":
                wrong = np.abs(found - counts / queries) > _TOLERANCE
            if (bad := np.flatnonzero(wrong)).size:
                raise ContradictionError(
                    f"{name} is {found[bad[0]]:.16g} where {RIGHT} has "
                    f"{counts[bad[0]]} of {queries[bad[0]]}",
                    where=f"{where}, {rows(bad)}",
                    expected=f"what follows from {RIGHT}",
                    fix=f"leave {name} out, or log {RIGHT} of the same queries",
                )
    for what, wrong in (
        ("n_query is not above 0", queries < 1),
        ("n_correct is below 0 or above n_query", (counts < 0) | (counts > queries)),
    ):
        if wrong.any():
            raise CountError(
                what,
                where=f"{where}, {rows(np.flatnonzero(wrong))}",
                expected="n_correct of n_query queries, those of the whole task",
            )
    return counts / queries, queries
