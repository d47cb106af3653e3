"""Tables of a submission that are almost right."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from fslbench_data.release.release import Release, load_release
from fslbench_data.submission.recorder import Recorder
from fuzzing.choices import Choices

SET = "open-5w5s5q"  # 31 tasks of 25 queries
NAMES = ("method", "dataset", "task_set", "run", "fingerprint")

TYPES: list[pa.DataType] = [
    pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(),
    pa.bool_(), pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.null(),
    pa.date32(), pa.timestamp("ns"), pa.duration("s"), pa.decimal128(10, 0),
    pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.large_string()),
    pa.dictionary(pa.int16(), pa.int64()), pa.list_(pa.int64()), pa.list_(pa.float32()),
    pa.list_(pa.string()), pa.list_(pa.list_(pa.int8())), pa.list_(pa.int8(), 5),
    pa.list_(pa.int8(), 25), pa.large_list(pa.int16()), pa.list_view(pa.int8()),
    pa.map_(pa.string(), pa.int8()), pa.struct([("a", pa.int8())]),
]  # fmt: skip

VALUES: list[Any] = [
    None, "", " ", "m", "\x1b[2J", "\u202egnp", "\u2800", "é" * 70, "x" * 300, "=1+1",
    "pixels/Ridge", "closed-5w5s5q", "open-5w1s1q", "digits", -1, 0, 1, 24, 25, 26, 30, 31, 255,
    2**15, 2**31, 2**63 - 1, 0.5, float("nan"), float("inf"), 1e300, True, b"\xff\xfe", Decimal(3),
    [], [None], [0] * 25, [127] * 25, [5] * 5, [2**40], [[1]], {"a": 1},
]  # fmt: skip


@cache
def release() -> Release:
    """The release that comes with the package."""
    return load_release()


@cache
def good(told: bool = False) -> dict[str, list[Any]]:
    """A submission with everything, as columns; with which queries are right, or predictions."""
    tasks = release().task_set("digits", SET)
    rng = np.random.default_rng(0)
    recorder = Recorder("mine")
    recorder.add_task_set(tasks, rng.integers(0, 5, tasks.query_label.shape))
    columns = recorder.submission().table.to_pydict()
    columns["fingerprint"] = [tasks.info.fingerprint] * len(tasks)
    columns["run"] = ["a"] * len(tasks)
    if told:
        right = np.array(columns.pop("predictions")) == tasks.query_label
        columns["correct"] = right.astype(int).tolist()
    return dict(columns)


@cache
def fingerprint() -> str:
    """Of the task set that is answered."""
    return str(good()["fingerprint"][0])


def columns(choices: Choices) -> dict[str, list[Any]]:
    """Columns of a submission, some edited."""
    made = {name: list(values) for name, values in good().items()}
    kept = choices.below(32)
    optional = ("class_correct", "predictions", "fingerprint", "run")
    for bit, name in enumerate(optional):
        if kept >> bit & 1:
            del made[name]
    for _ in range(choices.below(5)):
        edit(made, choices)
    return made


def edit(made: dict[str, list[Any]], choices: Choices) -> None:
    """Spoil something somewhere, mostly."""
    kind = choices.below(10)
    name = choices.pick([*made, "extra"])
    if name not in made:
        made[choices.text()] = [choices.pick(VALUES)] * len(made["task_id"])
        return
    values = made[name]
    if not values:
        return
    row = choices.below(len(values) + 1)
    if kind == 0:
        values[row : row + 1] = [choices.pick(VALUES)]
    elif kind == 1:
        values[row : row + 1] = [choices.number()]
    elif kind == 2:
        values[row : row + 1] = [choices.text()]
    elif kind == 3:
        values[:] = [choices.pick(VALUES)] * len(values)
    elif kind == 4 and len(made) > 1 and name != "task_id":
        del made[name]
    elif kind == 5:
        for each in made.values():
            del each[row:]
    elif kind == 6:  # everything again, perhaps as another run or method
        other = {each: list(cells) for each, cells in made.items()}
        other[name] = [choices.pick(VALUES)] * len(values)
        for each, cells in made.items():
            cells.extend(other[each])
    elif kind == 7:
        for each in made.values():
            each[row : row + 1] = each[row : row + 1] * 2
    elif kind == 8 and isinstance(values[row - 1], list):
        cell = values[row - 1]
        values[row - 1] = [*cell[: choices.below(len(cell) + 1)], choices.number()]
    else:
        values.reverse()


def table(choices: Choices) -> pa.Table | None:
    """A table of such columns, some of them of odd types; None where there is no such table."""
    made = columns(choices)
    arrays: list[Any] = []
    names: list[str] = []
    for name, values in made.items():
        arrays.append(_array(values))
        names.append(name)
    for _ in range(choices.below(3)):
        index = choices.below(len(arrays))
        if choices.below(8) == 0:
            arrays.append(arrays[index])
            names.append(names[index])
            continue
        arrays[index] = _cast(arrays[index], choices.pick(TYPES))
    try:
        return pa.Table.from_arrays(arrays, names=names)
    except (pa.ArrowException, UnicodeError):
        return None


def plain_table(made: dict[str, list[Any]]) -> pa.Table | None:
    """Columns as a table; None where they are not of one length."""
    try:
        arrays = [_array(values) for values in made.values()]
        return pa.Table.from_arrays(arrays, names=list(made))
    except (pa.ArrowException, UnicodeError):
        return None


def _array(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        texts = [None if v is None else str(v).encode("utf-8", "replace").decode() for v in values]
        return pa.array(texts, pa.string())


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return array.cast(kind, safe=False)
    except (pa.ArrowException, ValueError):
        return pa.nulls(len(array), kind)
