"""Read a log of one's own random tasks: what was drawn, and what methods made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmark_spec.errors import (
    AccuracyError,
    CountError,
    SchemaError,
    listing,
    rows,
    shown,
)
from benchmark_spec.naming import check_method_name
from fslbench_data.scoring.log_tables import table_of
from fslbench_data.submission import columns

NEEDED = ("method", "task", "class_ids")
ROLES = ("support_ids", "query_ids")
COUNTS = ("n_correct", "n_query")
RUN_NAMES = ("run", "seed", "trial", "fold")
"""Columns that may name a method's training runs; all but the first only where a task repeats."""
EXPECTED = (
    f"{', '.join(NEEDED)}, {' and '.join(ROLES)} or image_ids, and {' with '.join(COUNTS)} or "
    "accuracy"
)
WHOLE_TASK = (
    "of every task all images, support and query: support_ids and query_ids, or both together in "
    "image_ids"
)

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TaskLog:
    """Tasks that reuse images, one row a method, run and task; R rows in the order of the log.

    Attributes
    ----------
    methods, tasks, runs
        Their names, in the order in which they first appear; no runs where none are named.
    classes, images
        Their names, ascending.
    method, task, run : int64 (R,)
        Positions among these names; `run` is zeros without any.
    class_ids : int64 (R, K)
        Positions among `classes`.
    image_ids : int64 (R, K, m)
        Positions among `images`: support and query of each class, in the order of `class_ids`.
    y : float64 (R,)
        What the method made of the task, 0 to 1: its accuracy, or another statistic.
    queries
        How many queries every task has, where the log holds counts of as many; else 0.
    query_ids
        How many query images a task is said to have; 0 where images have no roles.
    source
        What messages call the log.
    run_column
        The column that names runs; empty without any.
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
    queries: int
    source: str
    query_ids: int
    runs: tuple[str, ...]
    run: Ints
    run_column: str

    @classmethod
    def read(cls, source: object) -> TaskLog:
        """Read a log; `source` is what :func:`fslbench_data.open_log` takes.

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
        way, ids = _id_lists(table.column("class_ids"), "class_ids", where)
        classes, class_ids = _labels(ids)
        images, image_ids, logged = _images(table, way, where)
        _check_room(table, image_ids, logged, where)
        y, queries = _values(table, where)
        return cls(methods, tasks, classes, images, method, task, class_ids.reshape(-1, way),
                   image_ids, y, queries, where, logged,
                   *_runs(table, method, task, where))  # fmt: skip


def _check_columns(table: pa.Table, where: str) -> None:
    names = table.column_names
    missing = [name for name in NEEDED if name not in names]
    if any(name in names for name in ROLES):
        missing += [name for name in ROLES if name not in names]
    elif "image_ids" not in names:
        missing.append("support_ids and query_ids (or image_ids)")
    counted, direct = any(name in names for name in COUNTS), "accuracy" in names
    if counted and not direct:
        missing += [name for name in COUNTS if name not in names]
    elif not counted and not direct:
        missing.append("accuracy (or n_correct and n_query)")
    if missing:
        raise SchemaError(
            f"the log misses the column{'s' if len(missing) > 1 else ''} {listing(missing)}",
            where=f"{where}, which has {listing(names) or 'none of them'}",
            expected=EXPECTED,
            fix="rename or add the columns; the first line of a CSV file names them",
        )
    for twice, what, fix in (
        (
            counted and direct,
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
            raise SchemaError(f"the log says twice {what}", where=where, expected=EXPECTED, fix=fix)
    if not table.num_rows:
        raise SchemaError("the log has no rows", where=where, fix="log a row a method and task")


def _images(table: pa.Table, way: int, where: str) -> tuple[tuple[str, ...], Ints, int]:
    """Return names of images, positions among them, support first, and how many are queries."""
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
    if len({value.type for value in values}) > 1:
        values = [pc.cast(value, pa.string()) for value in values]
    labels, codes = _labels(pa.concat_arrays(values))
    parts = np.split(codes, np.cumsum([len(value) for value in values])[:-1])
    by_class = [part.reshape(table.num_rows, way, -1) for part in parts]
    return labels, np.concatenate(by_class, axis=2), lists[-1][0] if len(names) > 1 else 0


def _check_room(table: pa.Table, image_ids: Ints, logged: int, where: str) -> None:
    """Refuse logs of which it can be seen that images of support, or of query, are missing."""
    if COUNTS[1] not in table.column_names:
        return
    queries = _integers(table.column(COUNTS[1]), COUNTS[1], where)
    way, per_class = image_ids.shape[1:]
    expected, shots = WHOLE_TASK, np.zeros_like(queries)
    if logged:
        wrong, expected = queries != logged, "every query once, and n_query their number"
    else:
        wrong = queries > way * (per_class - 1)
        if "shots" in table.column_names and pa.types.is_integer(table.column("shots").type):
            shots = pc.fill_null(table.column("shots"), 0).to_numpy()
            if not wrong.any():
                wrong = (shots > 0) & (way * (per_class - shots) != queries)
    if not (bad := np.flatnonzero(wrong)).size:
        return
    found, shot = queries[bad[0]], shots[bad[0]]
    if logged:
        what = f"n_query is {found} and a task has {logged} query_ids"
    elif found > way * (per_class - 1):
        what = (
            f"n_query is {found} and a task has {way * per_class} images: there are none of support"
        )
    else:
        what = (
            f"a task of {shot} shots and {found} queries has {way * per_class} images, "
            f"not {way * shot + found}"
        )
    raise SchemaError(
        what,
        where=f"{where}, {rows(bad)}",
        expected=expected,
        fix="log support_ids=support.tolist(), query_ids=query.tolist(), K lists each",
    )


def _runs(table: pa.Table, method: Ints, task: Ints, where: str) -> tuple[Any, Ints, str]:
    """Return names of training runs, the run of each row (R,), and the column that names them.

    Without a column `run`, one called seed, trial or fold is taken if a method answers a task more
    than once and this column tells all such rows apart; else it is left alone.
    """
    if "run" in table.column_names:
        column = columns.run_column(_whole_numbers(table.column("run")), where)
        return *_names(pc.fill_null(column.cast(pa.string()), ""), "run", where), "run"
    if _repeats(method, task):
        for name in RUN_NAMES[1:]:
            column = _whole_numbers(table.column(name)) if name in table.column_names else None
            if column is None or column.null_count or not _names_runs(column.type):
                continue
            names, run = _names(columns.run_column(column, where).cast(pa.string()), name, where)
            if not _repeats(method, task, run):
                return names, run, name
    return (), np.zeros(table.num_rows, np.int64), ""


def _whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
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


def _repeats(*keys: Ints) -> bool:
    """Tell whether two rows have all of these alike."""
    return bool((np.unique(np.stack(keys), axis=1, return_counts=True)[1] > 1).any())


def _names(column: pa.ChunkedArray, name: str, where: str) -> tuple[tuple[str, ...], Ints]:
    """Return names in the order in which they first appear, and each row's position (R,)."""
    if name == "task" and pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    column = columns.name_column(column, name, where).unify_dictionaries().combine_chunks()
    return _labels(column, by_appearance=True)


def _labels(values: pa.Array, *, by_appearance: bool = False) -> tuple[tuple[str, ...], Ints]:
    """Return the different ids as texts, ascending or as they appear, and each value's position."""
    codes = columns.encoded(values)
    used, first, positions = np.unique(
        codes.indices.to_numpy(), return_index=True, return_inverse=True
    )
    names = codes.dictionary.take(pa.array(used)).to_pylist()
    keys = first.tolist() if by_appearance else names  # integers by number, texts by characters
    order = sorted(range(len(names)), key=keys.__getitem__)
    return tuple(str(names[i]) for i in order), np.argsort(order)[positions]


def _id_lists(column: pa.ChunkedArray, name: str, where: str) -> tuple[int, pa.Array]:
    """Return how many ids every row has, and all of them, row after row.

    Lists in lists are read as one: K lists of m images as K·m images.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if columns.is_text(column.type):
        column = columns.parse_lists(column, name, where)
    at_row = np.arange(len(column))
    depth, n_rows = 0, len(column)
    while columns.is_list(column.type) and depth < 2:
        _check_complete(column, at_row, name, where)
        inner = pc.list_value_length(column).to_numpy().astype(np.int64)
        if depth and inner.size and (wrong := np.flatnonzero(inner != inner[0])).size:
            raise SchemaError(
                f"{name} has lists of {inner[0]} and of {inner[wrong[0]]}",
                where=f"{where}, {rows(np.unique(at_row[wrong]))}",
                expected="as many images of every class, support and query together",
            )
        at_row = np.repeat(at_row, inner)
        column = pa.chunked_array([c.flatten() for c in column.chunks], column.type.value_type)
        depth += 1
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        if any(chunk.dictionary.null_count for chunk in column.chunks):
            column = column.cast(kind)  # which shows the nulls
    if not depth or not (pa.types.is_integer(kind) or columns.is_text(kind)):
        raise SchemaError(
            f"column {name!r} holds {'lists of ' * depth}{kind}",
            where=where,
            expected="in each row a list of ids, either integers or texts; image_ids perhaps K "
            "lists of m",
            fix=f"write `{name}` as lists; in CSV as JSON, such as [3, 0, 7]",
        )
    _check_complete(column, at_row, name, where)
    lengths = np.bincount(at_row, minlength=n_rows)
    wrong = np.flatnonzero(lengths != lengths[0])
    if wrong.size or not lengths[0]:
        what = name.replace("class_ids", "classes").replace("image_ids", "images")
        what = what.replace("_ids", " images")
        raise SchemaError(
            f"tasks have {lengths[0]} and {lengths[wrong[0]]} {what}"
            if wrong.size
            else f"a task has no {what}",
            where=f"{where}, {name} of {rows([0, *wrong] if wrong.size else [0])}",
            expected="as many classes, and images of each, in every task of a log",
            fix="give each kind of task a log of its own",
        )
    return int(lengths[0]), column.unify_dictionaries().combine_chunks()


def _check_complete(column: pa.ChunkedArray, at_row: Ints, name: str, where: str) -> None:
    if column.null_count:
        bad = np.unique(at_row[columns.where_true(column.is_null())])
        raise SchemaError(
            f"{name} is null, or holds a null",
            where=f"{where}, {rows(bad)}",
            expected="the ids of every class and image of the task",
        )


def _values(table: pa.Table, where: str) -> tuple[NDArray[np.float64], int]:
    """Return what methods made of their tasks (R,), 0 to 1, and of how many queries; 0 unknown."""
    if "accuracy" in table.column_names:
        return _accuracies(table.column("accuracy"), where), 0
    counts, queries = (_integers(table.column(name), name, where) for name in COUNTS)
    for what, bad in (
        ("n_query is not above 0", queries < 1),
        ("n_correct is below 0 or above n_query", (counts < 0) | (counts > queries)),
    ):
        if bad.any():
            raise CountError(
                what,
                where=f"{where}, {rows(np.flatnonzero(bad))}",
                expected="n_correct of n_query queries, those of the whole task",
            )
    return counts / queries, int(queries[0]) if (queries == queries[0]).all() else 0


def _integers(column: pa.ChunkedArray, name: str, where: str) -> Ints:
    if columns.is_text(column.type):
        column = columns.parse_integers(column, name, where)
    numbers: Ints = columns.integer_column(column, name, pa.int64(), where).to_numpy()
    return numbers


def _accuracies(column: pa.ChunkedArray, where: str) -> NDArray[np.float64]:
    try:
        numbers: NDArray[np.float64] = pc.cast(column, pa.float64()).to_numpy()
    except pa.ArrowException:
        texts = column.to_pylist()
        at = next((i for i, text in enumerate(texts) if columns.as_float(text) is None), 0)
        raise SchemaError(
            f"accuracy is {shown(texts[at], 40)}",
            where=f"{where}, {rows([at])}",
            expected="a number from 0 to 1",
        ) from None
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
