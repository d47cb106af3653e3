"""A researcher's own log of random tasks: what was drawn for each, and what a method made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmark_spec.errors import AccuracyError, CountError, SchemaError, listing, rows, shown
from benchmark_spec.naming import check_method_name
from fslbench_data.scoring.task_log_table import table_of
from fslbench_data.submission import columns
from fslbench_data.submission.csv_cells import parse_integers
from fslbench_data.submission.id_lists import labels_of, list_column, parsed_lists

NEEDED = ("method", "task", "class_ids")
ROLES = ("support_ids", "query_ids")
COUNTS = ("n_correct", "n_query")
RUN_NAMES = ("run", "seed", "trial", "fold")
"""Columns that may name a method's training runs; all but the first only where a task repeats."""
EXPECTED = (
    f"{', '.join(NEEDED)}, {' and '.join(ROLES)} or image_ids, and {' with '.join(COUNTS)} or "
    "accuracy"
)


@dataclass(frozen=True, eq=False)
class TaskLog:
    """Tasks that reuse images, one row a method and task; R rows in the order of the log.

    Attributes
    ----------
    methods, tasks
        Their names, in the order in which they first appear.
    classes, images
        Their names, ascending.
    method, task : int64 (R,)
        Positions among these names.
    class_ids : int64 (R, K)
        Positions among `classes`.
    image_ids : int64 (R, K, m)
        Positions among `images`: support and query of each class, in the order of `class_ids`.
    y : float64 (R,)
        What the method made of the task, 0 to 1: its accuracy, or another statistic.
    queries
        How many queries every task has, where the log holds counts of as many; else 0.
    source
        What messages call the log.
    query_ids
        How many query images a task is said to have; 0 where nothing says which images are support
        and which query.
    runs
        Names of training runs, in the order in which they first appear; empty without any.
    run : int64 (R,)
        Positions among these; zeros without any.
    run_column
        The column that names them; empty without any.
    """

    methods: tuple[str, ...]
    tasks: tuple[str, ...]
    classes: tuple[str, ...]
    images: tuple[str, ...]
    method: NDArray[np.int64]
    task: NDArray[np.int64]
    class_ids: NDArray[np.int64]
    image_ids: NDArray[np.int64]
    y: NDArray[np.float64]
    queries: int
    source: str
    query_ids: int
    runs: tuple[str, ...]
    run: NDArray[np.int64]
    run_column: str

    @classmethod
    def read(cls, source: object) -> TaskLog:
        """Read a log; `source` is what :func:`~.task_log_table.table_of` takes.

        Raises
        ------
        SubmissionError, SchemaError
            A kind of them for what cannot be read: a column that is missing or of another type, an
            empty cell, lists of another length than in the first row, counts out of range.
        """
        where = str(source) if isinstance(source, str) or hasattr(source, "suffix") else "the log"
        needed = (*NEEDED, *ROLES, "image_ids", *COUNTS, "accuracy", "run")
        table = table_of(source, needed, where, (*RUN_NAMES[1:], "shots"))
        _check_columns(table, where)
        methods, method = _names(table.column("method"), "method", where)
        for name in methods:
            check_method_name(name, where)
        tasks, task = _names(table.column("task"), "task", where)
        classes, class_ids = _ids(table.column("class_ids"), "class_ids", where)
        images, image_ids, logged = _images(table, class_ids.shape[1], where)
        _check_room(table, image_ids, logged, where)
        y, queries = _values(table, where)
        return cls(
            methods,
            tasks,
            classes,
            images,
            method,
            task,
            class_ids,
            image_ids,
            y,
            queries,
            where,
            logged or 0,
            *_runs(table, method, task, where),
        )


def _images(
    table: pa.Table, way: int, where: str
) -> tuple[tuple[str, ...], NDArray[np.int64], int | None]:
    """Names of images, and positions among them, support before query: (R, K, m).

    Last how many query_ids a task has; None where roles are not logged.
    """
    names = [name for name in (*ROLES, "image_ids") if name in table.column_names]
    lists = [_id_lists(table.column(name), name, where) for name in names]
    for name, (length, _) in zip(names, lists, strict=True):
        if length % way:
            raise SchemaError(
                f"a task has {length} {name} and {way} class_ids",
                where=f"{where}, {rows([0])}",
                expected="as many images of each of its classes",
                fix="log the images class by class, in the order of class_ids",
            )
    values = [values for _, values in lists]
    kinds = {value.type for value in values}
    if len(kinds) > 1:
        values = [pc.cast(value, pa.string()) for value in values]
    labels, codes = labels_of(pa.concat_arrays(values))
    parts = np.split(codes, np.cumsum([len(value) for value in values])[:-1])
    by_class = [part.reshape(table.num_rows, way, -1) for part in parts]
    logged = lists[-1][0] if names[-1] == ROLES[1] else None
    return labels, np.concatenate(by_class, axis=2), logged


def _check_room(
    table: pa.Table, image_ids: NDArray[np.int64], logged: int | None, where: str
) -> None:
    """Refuse logs of which it can be seen that images of support, or of query, are missing."""
    if COUNTS[1] not in table.column_names:
        return
    queries = _integers(table.column(COUNTS[1]), COUNTS[1], where)
    way, per_class = image_ids.shape[1:]
    both = (
        "of every task all images, support and query: support_ids and query_ids, or both together "
        "in image_ids"
    )
    fix = "log support_ids=support.tolist(), query_ids=query.tolist(), K lists each"
    if logged is not None:
        if (bad := np.flatnonzero(queries != logged)).size:
            raise SchemaError(
                f"n_query is {queries[bad[0]]} and a task has {logged} query_ids",
                where=f"{where}, {rows(bad)}",
                expected="every query once, and n_query their number",
                fix=fix,
            )
        return
    if (bad := np.flatnonzero(queries > way * (per_class - 1))).size:
        raise SchemaError(
            f"n_query is {queries[bad[0]]} and a task has {way * per_class} images: there are none "
            "of support",
            where=f"{where}, {rows(bad)}",
            expected=both,
            fix=fix,
        )
    if "shots" not in table.column_names or not pa.types.is_integer(table.column("shots").type):
        return
    shots = pc.fill_null(table.column("shots"), 0).to_numpy()
    wrong = (shots > 0) & (way * (per_class - shots) != queries)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise SchemaError(
            f"a task of {shots[at]} shots and {queries[at]} queries has {way * per_class} images, "
            f"not {way * shots[at] + queries[at]}",
            where=f"{where}, {rows(np.flatnonzero(wrong))}",
            expected=both,
            fix=fix,
        )


def _check_columns(table: pa.Table, where: str) -> None:
    names = table.column_names
    missing = [name for name in NEEDED if name not in names]
    if any(name in names for name in ROLES):
        missing += [name for name in ROLES if name not in names]
    elif "image_ids" not in names:
        missing.append("support_ids and query_ids (or image_ids)")
    is_counted, is_accuracy = any(name in names for name in COUNTS), "accuracy" in names
    if is_counted and not is_accuracy:
        missing += [name for name in COUNTS if name not in names]
    elif not is_counted and not is_accuracy:
        missing.append("accuracy (or n_correct and n_query)")
    if missing:
        raise SchemaError(
            f"the log misses the column{'s' if len(missing) > 1 else ''} {listing(missing)}",
            where=f"{where}, which has {listing(names) or 'none of them'}",
            expected=EXPECTED,
            fix="rename or add the columns; the first line of a CSV file names them",
        )
    if is_counted and is_accuracy:
        raise SchemaError(
            "the log says twice how a method did: by counts and by accuracy",
            where=where,
            expected=EXPECTED,
            fix="leave out the one that the interval is not about",
        )
    if ROLES[0] in names and "image_ids" in names:
        raise SchemaError(
            "the log says twice which images a task has: by support_ids and query_ids, and by "
            "image_ids",
            where=where,
            expected=EXPECTED,
            fix="leave out image_ids",
        )
    if not table.num_rows:
        raise SchemaError("the log has no rows", where=where, fix="log a row a method and task")


def _runs(
    table: pa.Table, method: NDArray[np.int64], task: NDArray[np.int64], where: str
) -> tuple[tuple[str, ...], NDArray[np.int64], str]:
    """Names of training runs, each row's position among them (R,), and the column that names them.

    Without a column `run`, one called seed, trial or fold is taken if a method answers a task more
    than once and this column tells all such rows apart; else it is left alone.
    """
    none = (), np.zeros(table.num_rows, np.int64), ""
    if "run" in table.column_names:
        column = columns.run_column(whole_numbers(table.column("run")), where)
        names, run = _names(pc.fill_null(column.cast(pa.string()), ""), "run", where)
        return names, run, "run"
    if not _repeats(method, task):
        return none
    for name in RUN_NAMES[1:]:
        column = whole_numbers(table.column(name)) if name in table.column_names else None
        if column is None or column.null_count or not _names_runs(column.type):
            continue
        names, run = _names(columns.run_column(column, where).cast(pa.string()), name, where)
        if not _repeats(method, task, run):
            return names, run, name
    return none


def whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return floats that are all whole or null, as frames hold integers with gaps, as integers."""
    if not pa.types.is_floating(column.type):
        return column
    try:
        return pc.cast(pc.if_else(pc.is_nan(column), None, column), pa.int64())
    except pa.ArrowInvalid:
        return column


def _names_runs(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return columns.is_text(kind) or pa.types.is_integer(kind)


def _repeats(*keys: NDArray[np.int64]) -> bool:
    """Whether two rows have all of these alike."""
    order = np.lexsort(keys)
    alike = [key[order][1:] == key[order][:-1] for key in keys]
    return bool(np.logical_and.reduce(alike).any())


def _names(
    column: pa.ChunkedArray, name: str, where: str
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names in the order in which they first appear, and each row's position among them (R,)."""
    if name == "task" and pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    encoded = columns.name_column(column, name, where).unify_dictionaries().combine_chunks()
    return labels_of(encoded, by_appearance=True)


def _ids(
    column: pa.ChunkedArray, name: str, where: str
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names, ascending, and positions among them: as many in every row as in the first (R, n)."""
    length, values = _id_lists(column, name, where)
    labels, codes = labels_of(values)
    return labels, codes.reshape(-1, length)


def _id_lists(column: pa.ChunkedArray, name: str, where: str) -> tuple[int, pa.Array]:
    """Return how many ids every row has, and all of them."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if columns.is_text(column.type):
        column = parsed_lists(column, name, where)
    lengths, values = list_column(column, name, where)
    if (wrong := np.flatnonzero(lengths != lengths[0])).size or not lengths[0]:
        what = "classes" if name == "class_ids" else name.replace("_ids", " images")
        what = "images" if what == "image images" else what
        raise SchemaError(
            f"tasks have {lengths[0]} and {lengths[wrong[0]]} {what}"
            if wrong.size
            else f"a task has no {what}",
            where=f"{where}, {name} of {rows([0, *wrong] if wrong.size else [0])}",
            expected="as many classes, and images of each, in every task of a log",
            fix="give each kind of task a log of its own",
        )
    return int(lengths[0]), values


def _values(table: pa.Table, where: str) -> tuple[NDArray[np.float64], int]:
    """What methods made of their tasks (R,), 0 to 1, and of how many queries; 0 if unknown."""
    if "accuracy" in table.column_names:
        return _accuracies(table.column("accuracy"), where), 0
    counts, queries = (_integers(table.column(name), name, where) for name in COUNTS)
    for name, bad in (
        ("n_query is not above 0", queries < 1),
        ("n_correct is below 0 or above n_query", (counts < 0) | (counts > queries)),
    ):
        if bad.any():
            raise CountError(
                name,
                where=f"{where}, {rows(np.flatnonzero(bad))}",
                expected="n_correct of n_query queries, those of the whole task",
            )
    alike = bool((queries == queries[0]).all())
    return counts / queries, int(queries[0]) if alike else 0


def _integers(column: pa.ChunkedArray, name: str, where: str) -> NDArray[np.int64]:
    if columns.is_text(column.type):
        column = parse_integers(column, name, where)
    integers = columns.integer_column(column, name, pa.int64(), where)
    numbers: NDArray[np.int64] = integers.to_numpy()
    return numbers


def _accuracies(column: pa.ChunkedArray, where: str) -> NDArray[np.float64]:
    try:
        values = pc.cast(column, pa.float64())
    except pa.ArrowException:
        at = next((i for i, text in enumerate(column.to_pylist()) if not _is_number(text)), 0)
        raise SchemaError(
            f"accuracy is {shown(column[at].as_py(), 40)}",
            where=f"{where}, {rows([at])}",
            expected="a number from 0 to 1",
        ) from None
    numbers: NDArray[np.float64] = values.to_numpy()
    if (bad := np.flatnonzero(~np.isfinite(numbers))).size:
        raise AccuracyError(
            "accuracy is empty, NaN or infinite",
            where=f"{where}, {rows(bad)}",
            expected="a number from 0 to 1 for every task",
            fix="run these tasks again: leaving out those that failed would flatter",
        )
    if (bad := np.flatnonzero((numbers < 0) | (numbers > 1))).size:
        percent = numbers.min() >= 0 and numbers.max() <= 100
        raise AccuracyError(
            f"accuracy is {numbers[bad[0]]:.8g}",
            where=f"{where}, {rows(bad)}",
            expected="fractions from 0 to 1: whether 0.9 among percentages is 90 % or 0.9 % nobody "
            "could say",
            fix="divide all of them by 100"
            if percent
            else "bring the statistic to 0 to 1: such as (value - lowest) / (highest - lowest), "
            "with the lowest and highest that it can take",
        )
    return numbers


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True
