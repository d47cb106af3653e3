"""Read a log of one's own random tasks: what was drawn, and what methods made of it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmark_spec.errors import (
    AccuracyError,
    ContradictionError,
    CountError,
    FSLBenchError,
    SchemaError,
    UnreadableError,
    listing,
    rows,
    shown,
)
from benchmark_spec.naming import check_method_name
from fslbench_data.sandbox.client import read_untrusted_columns
from fslbench_data.submission import columns
from fslbench_data.submission.canonical import index_columns, printable
from fslbench_data.submission.frames import (
    doubled_error,
    frame_table,
    is_frame,
    is_pandas,
    not_a_table,
    not_of_one_kind,
)
from fslbench_data.submission.reading import (
    ENDINGS,
    check_file,
    check_lines,
    read_csv_texts,
    readable,
)


def table_of(
    source: object, needed: Collection[str], where: str, optional: Collection[str] = ()
) -> pa.Table:
    """Return at least some columns of a file, frame, mapping or list of rows; of CSV as texts.

    An optional column that is of no one kind is left out.
    """
    wanted = {*needed, *optional}
    try:
        if isinstance(source, str | Path):
            path = Path(source)
            if path.suffix.lower() not in (".jsonl", ".ndjson"):
                return _once(_file_table(path, needed, wanted), where)
            source = _json_rows(path)
        if isinstance(source, Sequence) and all(isinstance(row, Mapping) for row in source):
            names = dict.fromkeys(name for row in source for name in row if name in wanted)
            source = {name: [row.get(name) for row in source] for name in names}
        if isinstance(source, Mapping) or is_pandas(source):
            return _columns_table(source, wanted, optional, where)
        if is_frame(source):
            frame: Any = source
            if hasattr(frame, "get_column") and not isinstance(frame, type):
                # of polars, whose other columns Arrow may not know
                frame = frame.select([name for name in frame.columns if name in wanted])
            return _once(frame_table(frame, where), where)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SchemaError(
            f"{where} cannot be made a table: {printable(error)}",
            expected="columns of equal length; ids either integers or texts, in lists as long "
            "as a task has classes (images)",
            fix="log plain lists: tensor.tolist()",
        ) from None
    raise not_a_table(source, where).saying(
        expected="a file, a frame of pandas or polars (not lazy), an Arrow table, a mapping of "
        "columns, or a list of rows"
    )


def _once(table: pa.Table, where: str) -> pa.Table:
    """Return the table if it has every column once."""
    names = table.column_names
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise doubled_error(doubled, where)
    return table


def _file_table(path: Path, needed: Collection[str], wanted: Collection[str]) -> pa.Table:
    check_file(path, ENDINGS, "the log")
    with readable(path):
        is_csv = path.suffix.lower() == ".csv"
        table = read_csv_texts(path) if is_csv else read_untrusted_columns(path, wanted)
    index = index_columns(table.schema)  # of pandas, passed over unless it has what there must be
    index = set() if index & ({*needed} - {"run"}) else index
    return table.select([i for i, name in enumerate(table.column_names) if name not in index])


def _json_rows(path: Path) -> list[dict[str, Any]]:
    check_file(path, ENDINGS, "the log")
    check_lines(path)
    found = []
    with readable(path), path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    row = error
                if not isinstance(row, dict):
                    why = f": {printable(row)}" if isinstance(row, Exception) else ""
                    raise UnreadableError(
                        f"{path} cannot be read as {path.suffix[1:]}: line {number} is not one "
                        f"object{why}",
                        expected="a JSON object a line",
                        fix="write each row as a line of its own, with json.dumps",
                    )
                found.append(row)
    return found


def _columns_table(
    source: Any, wanted: Collection[str], optional: Collection[str], where: str
) -> pa.Table:
    names = [name for name in source if name in wanted]  # a frame of pandas names columns so, too
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise doubled_error(doubled, where)
    made = {}
    for name in names:
        try:
            made[name] = _column(name, source[name], where)
        except SchemaError:
            if name not in optional:
                raise
    return pa.table(made)


def _column(name: str, values: Any, where: str) -> pa.Array:
    try:
        return pa.array(values, from_pandas=True)  # NaN as null
    except Exception:  # objects in a column are anybody's code
        plain = _plain(values)
    try:
        return pa.array(plain, from_pandas=True)
    except Exception as error:
        if not isinstance(plain, list):
            raise
        raise not_of_one_kind(name, plain, error, where) from None


def _plain(value: Any) -> Any:
    """Return arrays and tensors, also within lists, as lists of plain values."""
    if hasattr(value, "tolist"):
        made = value.tolist()
        return _plain(made) if str(getattr(value, "dtype", "")) == "object" else made
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def texts_by_id(source: object, key: str, value: str, what: str) -> dict[str, str]:
    """Return a value by id, both as texts, from a mapping, a table or a .json file of an object."""
    where = what
    if isinstance(source, str | Path):
        where = f"{what} {source}"
        if Path(source).suffix.lower() == ".json":
            check_file(Path(source), (".json",), "the file")
            source = _json_object(Path(source), where)
    if isinstance(source, Mapping) and not {key, value} <= set(source):
        pairs = list(source.items())
    else:
        table = table_of(source, (key, value), where)
        if missing := [name for name in (key, value) if name not in table.column_names]:
            raise SchemaError(
                f"{where} has not one column {missing[0]}",
                where=f"its columns are {', '.join(map(shown, table.column_names)) or 'none'}",
                expected=f"the columns {key} and {value}, or a JSON object of {value} by {key}",
            )
        pairs = list(zip(*(table[name].to_pylist() for name in (key, value)), strict=True))
    by_id: dict[str, str] = {}
    for row, pair in enumerate(pairs):
        name, text = map(_id_text, pair)
        if not name or not text:
            wrong, content = (value, pair[1]) if name else (key, pair[0])
            raise SchemaError(
                f"{wrong} is {'empty' if content in (None, '') else shown(content)}",
                where=f"{where}, {rows([row])}",
                expected=f"{key} and {value}: texts or whole numbers, written as such, not as 60.0",
            )
        if name in by_id:
            raise _twice(f"{key} {shown(name)}", f"{where}, {rows([row])}")
        by_id[name] = text
    return by_id


def numbers_by_id(source: object, key: str, value: str, what: str) -> dict[str, int]:
    """Return a whole number above 0 by id; else as :func:`texts_by_id`."""
    texts = texts_by_id(source, key, value, what)
    for name, text in texts.items():
        if not text.isascii() or not text.isdigit() or not 0 < int(text[:18]) < 10**9:
            raise SchemaError(
                f"{value} of {key} {shown(name)} is {shown(text)}",
                where=f"{what} {source}" if isinstance(source, str | Path) else what,
                expected="a whole number from 1, below 1,000,000,000",
            )
    return {name: int(text) for name, text in texts.items()}


def _json_object(path: Path, where: str) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            names = [name for name, _ in pairs]
            raise _twice(shown(next(n for n in names if names.count(n) > 1)), where)
        return content

    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=once)
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableError(f"{where} cannot be read as JSON: {printable(error)}") from None
    if not isinstance(content, dict):
        raise UnreadableError(f"{where} is no JSON object", expected='such as {"cat": 60}')
    return content


def _twice(what: str, where: str) -> FSLBenchError:
    return SchemaError(f"{what} stands there twice", where=where, expected="every name once")


def _id_text(value: object) -> str:
    """Return an id or a whole number as text; empty for what is neither."""
    value = value.item() if hasattr(value, "item") else value
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


NEEDED = ("method", "task", "class_ids")
ROLES = ("support_ids", "query_ids")
COUNTS = ("n_correct", "n_query")
RUN_NAMES = ("run", "seed", "trial", "fold")
"""Columns that may name a method's training runs; all but the first only where a task repeats."""
RIGHT = "correct"
EXPECTED = (
    f"{', '.join(NEEDED)}, {' and '.join(ROLES)} or image_ids, and {RIGHT}, {' with '.join(COUNTS)}"
    " or accuracy"
)
_AGREE = 1e-4
"""Accuracies that differ by less, as half precision does of some, agree."""
WHOLE_TASK = (
    "of every task all images, support and query: support_ids and query_ids, or both together in "
    "image_ids"
)

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TaskLog:
    """Tasks that reuse images, one row a method, run and task; R rows in the order of the log.

    `method`, `task` and `run` (R,) are positions among `methods`, `tasks` and `runs`, `class_ids`
    (R, K) and `image_ids` (R, K, m) among `classes` and `images`, support before query. `y` (R,) is
    an accuracy, or another statistic, 0 to 1. `queries` is how many every task has where there are
    counts of as many, `query_ids` how many query images it names; else 0. `right` (R, K·Q) is 1
    where a query was answered rightly, class by class; None where the log does not say.
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
    right: NDArray[np.uint8] | None

    @classmethod
    def read(cls, source: object) -> TaskLog:
        """Read what :func:`fslbench_data.open_log` takes; an FSLBenchError says what is wrong."""
        where = str(source) if isinstance(source, str) or hasattr(source, "suffix") else "the log"
        needed = (*NEEDED, *ROLES, "image_ids", RIGHT, *COUNTS, "accuracy", "run")
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
        right = _right(table, logged, where) if RIGHT in table.column_names else None
        y, queries = _values(table, right, where)
        return cls(methods, tasks, classes, images, method, task, class_ids.reshape(-1, way),
                   image_ids, y, queries, where, logged,
                   *_runs(table, method, task, where), right)  # fmt: skip


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
    elif not counted and not direct and RIGHT not in names:
        missing.append(f"{RIGHT} (or n_correct and n_query, or accuracy)")
    if RIGHT in names and "query_ids" not in names:
        missing += [name for name in ROLES if name not in missing]
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

    Without `run`, another column is taken if only it tells rows of one method and task apart.
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
    """Return how many ids every row has, and all of them; K lists of m count as one of K·m."""
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
    if name == RIGHT and pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
        kind = column.type
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


def _right(table: pa.Table, queries: int, where: str) -> NDArray[np.uint8]:
    """Return which queries were right, 0 or 1 (R, K·Q), in the order of the query_ids."""
    length, values = _id_lists(table.column(RIGHT), RIGHT, where)
    numbers = values.to_numpy(zero_copy_only=False)
    if length != queries or numbers.dtype.kind not in "iu":
        raise SchemaError(
            f"a task has {queries} query_ids and {length} entries of {values.type} in {RIGHT}",
            where=f"{where}, {rows([0])}",
            expected="1 or 0 for every query, in the order of query_ids",
            fix="log correct=(prediction == label).int().tolist()",
        )
    right = numbers.reshape(-1, queries)
    outside = (right < 0) | (right > 1)
    if (bad := np.flatnonzero(outside.any(axis=1))).size:
        raise SchemaError(
            f"{RIGHT} holds {right[outside][0]}",
            where=f"{where}, {rows(bad)}",
            expected="1 or 0 for every query: whether it was answered rightly",
            fix="log correct=(prediction == label).int().tolist()",
        )
    return np.asarray(right, np.uint8)


def _values(
    table: pa.Table, right: NDArray[np.uint8] | None, where: str
) -> tuple[NDArray[np.float64], int]:
    """Return what methods made of their tasks (R,), 0 to 1, and of how many queries; 0 unknown.

    Where it is known which queries were right, that; counts and accuracies must agree with it.
    """
    if right is not None:
        for name in ("accuracy", COUNTS[0]):
            if name in table.column_names:
                _check_agrees(table.column(name), name, right, where)
        return right.mean(axis=1), right.shape[1]
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


def _check_agrees(column: pa.ChunkedArray, name: str, right: NDArray[np.uint8], where: str) -> None:
    """Refuse accuracies or counts that contradict which queries were right."""
    count = right.sum(axis=1, dtype=np.int64)
    if name in COUNTS:
        wrong = _integers(column, name, where) != count
    else:
        wrong = np.abs(_accuracies(column, where) - count / right.shape[1]) > _AGREE
    if (bad := np.flatnonzero(wrong)).size:
        raise ContradictionError(
            f"{name} is {column[int(bad[0])].as_py()!r:.40} where {RIGHT} has {count[bad[0]]} of "
            f"{right.shape[1]}",
            where=f"{where}, {rows(bad)}",
            expected=f"what follows from {RIGHT}",
            fix=f"leave {name} out, or log {RIGHT} of the same queries",
        )


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
