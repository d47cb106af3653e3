"""Files of submissions, judged by the package and by a validator written from the docs alone.

A seed makes a file, right, almost right or not at all: of values, of types, of bytes.
"""

import csv
import io
import itertools
import json
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hostile_parquet import BINARY, I32, I64, LIST, STRUCT, Parquet, Struct
from independent_validator import Facts, refusal

from benchmark_spec.errors import FSLBenchError
from fslbench_data.release.release import load_release
from fslbench_data.sandbox.limits import LIMITS
from fslbench_data.sandbox.reader import read_bounded
from fslbench_data.submission.model import METADATA_KEY, Submission, read_metadata
from fslbench_data.submission.recorder import Recorder
from fslbench_data.validation.validate import validate

Columns = dict[str, list[Any]]
File = tuple[str, bytes | None]

SET = "open-5w5s5q"  # 31 tasks of 25 queries
TOLD = 1 << 20
"""From this seed on, files say which queries are right in place of predictions."""

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
WIDE: dict[str, list[pa.DataType]] = {
    "method": [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
    "run": [pa.large_string(), pa.dictionary(pa.int32(), pa.string())],
    "fingerprint": [pa.large_string(), pa.string_view()],
    "task_id": [pa.int8(), pa.uint64(), pa.float64()],
    "n_correct": [pa.uint8(), pa.int64(), pa.uint32(), pa.decimal128(5, 0)],
    "n_query": [pa.int32(), pa.uint16()],
    "class_correct": [pa.list_(pa.int64()), pa.large_list(pa.uint8()), pa.list_(pa.int8(), 5)],
    "predictions": [pa.list_(pa.int64()), pa.large_list(pa.int16()), pa.list_(pa.uint8(), 25)],
    "correct": [pa.list_(pa.int64()), pa.large_list(pa.bool_()), pa.list_(pa.bool_(), 25)],
}
"""Other types that a column may be of."""

VALUES: list[Any] = [
    None, "", " ", "m", "\x1b[2J", "\u202egnp", "\u2800", "é" * 70, "x" * 300, "=1+1",
    "pixels/Ridge", "closed-5w5s5q", "open-5w1s1q", "digits", -1, 0, 1, 24, 25, 26, 30, 31, 255,
    2**15, 2**31, 2**63 - 1, 0.5, float("nan"), float("inf"), 1e300, True, b"\xff\xfe", Decimal(3),
    [], [None], [0] * 25, [127] * 25, [5] * 5, [2**40], [[1]], {"a": 1},
]  # fmt: skip
JSON: list[Any] = [
    None, True, "", "x", "mine", "\x1b[0m", "\ud800", "\u200b", "y" * 12_000, "0.95", 0, -1, 31, 10,
    2**31, 10**4000, 0.95, float("nan"), 1e308, [], {}, {"mine": {}},
    {"versus": "pixels/Ridge", "level": 0.95}, {"versus": "\x07", "level": 0.5},
]  # fmt: skip
MARKS: list[Any] = [True, False, None, True, None]
NAMES = [
    "other", "2024-05-01", "a, b", 'a "b"', "naïve/方法", "x" * 200, "x" * 201,
    "a\u0301\u0301\u0301\u0301", "a\u0301\u0301\u0301\u0301\u0301", " a", "12:30:00", "pixels/NCC.",
    "[/]", "mine †", "mi‡ne", "-1", "1", "true", "null", "NaN",
]  # fmt: skip


def _number(rng: Random) -> int:
    """Any whole number of at most eight bytes, and numbers around powers of two."""
    near = (1 << rng.randrange(65)) - rng.randrange(3)
    return rng.choice([rng.randrange(256), -rng.randrange(256), near, rng.getrandbits(64) - 2**63])


def _text(rng: Random) -> str:
    return rng.randbytes(rng.randrange(24)).decode(
        "utf-8", rng.choice(["surrogateescape", "ignore"])
    )


@cache
def _good(told: bool = False) -> Columns:
    """A submission with everything, as columns; with which queries are right, or predictions."""
    tasks = load_release().task_set("digits", SET)
    rng = np.random.default_rng(0)
    recorder = Recorder("mine")
    recorder.add_task_set(tasks, rng.integers(0, 5, tasks.query_label.shape))
    columns = recorder.submission().table.to_pydict()
    columns |= {"fingerprint": [tasks.info.fingerprint] * len(tasks), "run": ["a"] * len(tasks)}
    if told:
        right = np.array(columns.pop("predictions")) == tasks.query_label
        columns["correct"] = right.astype(int).tolist()
    return dict(columns)


def _varied(rng: Random, told: bool) -> Columns:
    """A good submission, said in one of many ways."""
    made = {name: list(values) for name, values in _good(told).items()}
    if rng.random() < 0.5:
        del made["run"]
    for name in ("class_correct", "correct" if told else "predictions"):
        if rng.random() < 0.5:
            del made[name]
        elif rng.random() < 0.2:
            made[name][rng.randrange(31)] = None
    for change in rng.sample(CHANGES, rng.randint(0, 3)):
        change(made, rng)
    return made


def _shuffled(made: Columns, rng: Random) -> None:
    order = rng.sample(range(len(made["task_id"])), len(made["task_id"]))
    for name in rng.sample([*made], len(made)):
        values = made.pop(name)
        made[name] = [values[i] for i in order]


def _without_fingerprint(made: Columns, rng: Random) -> None:
    if rng.random() < 0.5:
        made.pop("fingerprint", None)
    else:
        made["fingerprint"] = [None] * len(made["task_id"])


def _named(made: Columns, rng: Random) -> None:
    fingerprint = _good()["fingerprint"][0][: rng.choice([11, 12, 13, 40, 64])]
    values = {
        "method": rng.choice(NAMES),
        "run": rng.choice([*NAMES, 0, 1, 7]),
        "fingerprint": rng.choice([fingerprint, fingerprint.upper()]),
    }
    name = rng.choice([*values])
    made[name] = [values[name]] * len(made["task_id"])


def _twice(made: Columns, rng: Random) -> None:
    """Everything again, of another method or run."""
    size = len(made["task_id"])
    column = "run" if "run" in made and rng.random() < 0.5 else "method"
    for values in made.values():
        values.extend(values[:size])
    made[column][size:] = [rng.choice([*NAMES, "b", "mine"])] * size


def _marked(made: Columns, rng: Random) -> None:
    made["transductive"] = [rng.choice(MARKS)] * len(made["task_id"])
    if rng.random() < 0.5:
        made["transductive"][rng.randrange(31)] = rng.choice(MARKS)


CHANGES: list[Callable[[Columns, Random], None]] = [
    _shuffled, _without_fingerprint, _named, _named, _twice, _marked,
]  # fmt: skip


def _spoil(made: Columns, rng: Random) -> None:
    name = rng.choice([*made, "extra"])
    values = made.setdefault(name, [None] * len(made["task_id"]))
    row, kind = rng.randint(0, len(values)), rng.randrange(8)
    other = rng.choice([rng.choice(VALUES), _number(rng), _text(rng)])
    if name == "extra":
        made[_text(rng)] = [other] * len(made.pop(name))
    elif kind == 0:
        values[:] = [other] * len(values)
    elif kind == 1 and name != "task_id":
        del made[name]
    elif kind == 2:
        for each in made.values():
            del each[row:]
    elif kind == 3:  # everything again, perhaps as another run or method
        size = len(values)
        for each in made.values():
            each.extend(each[:size])
        values[size:] = [other] * (len(values) - size)
    elif kind == 4:
        for each in made.values():
            each[row : row + 1] *= 2
    elif kind == 5 and row and isinstance(values[row - 1], list):
        cell = values[row - 1]
        values[row - 1] = [*cell[: rng.randint(0, len(cell))], _number(rng)]
    elif kind == 6:
        values.reverse()
    else:
        values[row : row + 1] = [other]


def _metadata(rng: Random) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(40)
    if kind == 1:
        deep = rng.choice(['{"a":', "[", '"']) * rng.randrange(60_000)
        return f'{{"methods": {{"mine": {deep}'.encode() + rng.randbytes(8)
    bound: dict[str, Any] = {"fingerprint": _good()["fingerprint"][0]}
    if rng.random() < 0.5:
        bound["tasks"] = rng.choice([1, 10, 30, 31, 31, 32])
    if rng.random() < 0.25:
        bound["stopping"] = {"versus": "pixels/Ridge", "level": 0.95}
    method = {"description": "d", "link": "", "task_sets": {f"digits/{SET}": bound}}
    content: dict[str, Any] = {"spec_version": "1.0", "methods": {"mine": method}}
    for _ in range(rng.randrange(4)):
        place = rng.choice([content, content["methods"], method, method["task_sets"], bound])
        if not isinstance(place, dict):
            continue
        key = rng.choice([*place, "tasks", "stopping", "package_version", "transductive", ""])
        edit = rng.randrange(4)
        if edit == 0:
            place.pop(key, None)
        elif edit == 1:
            place[_text(rng)] = deepcopy(place.get(key))
        else:
            place[key] = deepcopy(rng.choice(JSON)) if edit == 2 else _text(rng)
        if not isinstance(content.get("methods"), dict) or "task_sets" not in method:
            break
    text = json.dumps(content, ensure_ascii=rng.random() < 0.5)
    return text.encode("utf-8", "surrogatepass")


def _array(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        texts = [None if v is None else str(v).encode("utf-8", "replace").decode() for v in values]
        return pa.array(texts, pa.string())


def _cast(array: pa.Array, kinds: list[pa.DataType], rng: Random) -> pa.Array:
    kind = rng.choice(kinds)
    try:
        return array.cast(kind, safe=False)
    except (pa.ArrowException, ValueError):
        return array if kinds is not TYPES else pa.nulls(len(array), kind)


def _as_parquet(made: Columns, rng: Random) -> File:
    names, arrays = [*made], [_array(values) for values in made.values()]
    for index, name in enumerate(made):
        if name in WIDE and rng.random() < 0.3:
            arrays[index] = _cast(arrays[index], WIDE[name], rng)
        if rng.random() < 0.03:
            arrays[index] = _cast(arrays[index], TYPES, rng)
    if rng.random() < 0.02:
        names.append(names[0])
        arrays.append(arrays[0])
    sink = io.BytesIO()
    try:
        table = pa.Table.from_arrays(arrays, names=names)
        if rng.random() < 0.3:
            table = table.replace_schema_metadata({METADATA_KEY: _metadata(rng)})
        pq.write_table(
            table,
            sink,
            compression=rng.choice(["none", "snappy", "zstd", "gzip"]),
            use_dictionary=rng.random() < 0.5,
            data_page_version=rng.choice(["1.0", "2.0"]),
            store_schema=rng.random() < 0.75,
            row_group_size=rng.choice([1, 7, 1000]),
        )
    except (pa.ArrowException, UnicodeError, OSError):
        return "parquet", None
    return "parquet", sink.getvalue()


def _as_csv(made: Columns, rng: Random) -> File:
    text = io.StringIO()
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    ends = rng.choice(["\n", "\r\n", "\r"])
    between = rng.choice([","] * 40 + [";", "\t"])
    writer = csv.writer(text, delimiter=between, quoting=quoting, lineterminator=ends)
    writer.writerow(made)
    for row in zip(*made.values(), strict=False):
        writer.writerow([json.dumps(v, default=str) if isinstance(v, list) else v for v in row])
    content = text.getvalue()
    if rng.random() < 0.15:
        at = rng.randrange(len(content) + 1)
        extra = rng.choice(['"', " ", "\n", ends, ",", "\r", "\x00"])
        content = content[:at] + extra + content[at:]
    if rng.random() < 0.05:
        content = content[: rng.randrange(len(content) + 1)]
    return "csv", _encoded(content, rng)


def _as_json_lines(made: Columns, rng: Random) -> File:
    lines = []
    for row in zip(*made.values(), strict=False):
        line = dict(zip(made, row, strict=True))
        if rng.random() < 0.5:
            line = {key: value for key, value in line.items() if value is not None}
        lines.append(json.dumps(line, default=str, ensure_ascii=rng.random() < 0.5))
    if lines and rng.random() < 0.03:
        lines[len(lines) // 2] += rng.choice(["[", '{"a":', "[\n"]) * rng.randrange(60_000)
    content = "\n".join(lines)
    if lines and rng.random() < 0.15:
        at = rng.randrange(len(content) + 1)
        extra = rng.choice([" ", "\n", "0", ",", "e1", ".0", "{}"])
        content = content[:at] + extra + content[at:]
    if lines and rng.random() < 0.1:
        content = content.replace("\n", rng.choice([" ", "\r\n", "\n\n", "\r", ""]))
    return "jsonl", _encoded(content, rng)


def _encoded(content: str, rng: Random) -> bytes:
    mark = b"\xef\xbb\xbf" if rng.random() < 0.1 else b""
    return mark + content.encode("utf-8", "surrogatepass")


def _flipped(data: bytes, rng: Random) -> bytes:
    """Other bytes in a few places, the end more often than others."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = max(0, len(made) - 1 - rng.randrange(rng.choice([1000, 65536])))
        kind = rng.randrange(3)
        if kind == 0:
            made[at : at + 1] = rng.randbytes(1)
        elif kind == 1:
            made[at:at] = rng.randbytes(rng.randrange(8))
        else:
            del made[at : at + rng.randint(1, 16)]
    return bytes(made)


@cache
def _parquet_files() -> list[bytes]:
    plain: dict[str, Any] = {"compression": "none", "use_dictionary": False}
    made = []
    for options in (
        plain,
        {"compression": "zstd"},
        {"compression": "snappy", "data_page_version": "2.0", "row_group_size": 10},
        plain | {"column_encoding": {"task_id": "DELTA_BINARY_PACKED"}},
        plain | {"column_encoding": {"method": "DELTA_BYTE_ARRAY"}},
        plain | {"store_schema": False, "write_page_index": True},
    ):
        sink = io.BytesIO()
        pq.write_table(pa.table(_good()), sink, **options)
        made.append(sink.getvalue())
    return made


def _damaged(rng: Random) -> File:
    """A good Parquet file with other bytes, or whose footer or page headers say something else."""
    content = rng.choice(_parquet_files())
    if rng.random() < 0.5:
        return "parquet", _flipped(content, rng)
    file = Parquet.parse(content)
    try:
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.5:
                _lie(file.footer, rng)
                continue
            column = rng.randrange(len(file.groups[0][1][1][1]))
            pages = file.pages(column)
            _lie(rng.choice(pages)[0], rng)
            file.replace(column, pages)
        return "parquet", file.build()
    except (KeyError, IndexError, ValueError, TypeError):
        return "parquet", None


def _lie(fields: Struct, rng: Random) -> None:
    while fields:
        number = rng.choice([*fields])
        kind, value = fields[number]
        if kind == STRUCT and rng.random() < 0.9:
            fields = value
        elif kind == LIST and value[0] == STRUCT and value[1] and rng.random() < 0.9:
            fields = rng.choice(value[1])
        else:
            break
    if not fields:
        return
    if rng.random() < 0.15:
        del fields[number]
    elif kind == LIST and value[0] != STRUCT and value[1] and rng.random() < 0.9:
        other = rng.randbytes(rng.randrange(8)) if value[0] == BINARY else _number(rng)
        value[1][rng.randrange(len(value[1]))] = other
    elif kind == LIST:
        value[1][:] = value[1] * rng.randrange(4)
    elif kind == BINARY:
        at = rng.randint(0, len(value))
        fields[number] = (BINARY, value[:at] + rng.randbytes(4) + value[at + 4 :])
    elif kind in (I32, I64):
        fields[number] = (kind, _number(rng))


def case(seed: int) -> File:
    """A file's ending and its content; none where there is no such file."""
    rng = Random(seed)
    if rng.random() < 0.1:
        return _damaged(rng)
    made = _varied(rng, told=seed >= TOLD)
    if rng.random() < 0.4:
        for _ in range(rng.randint(1, 3)):
            _spoil(made, rng)
    ending, content = rng.choice([_as_parquet, _as_csv, _as_json_lines])(made, rng)
    if content is not None and rng.random() < 0.1:
        content = _flipped(content, rng)
    return ending, content


MISLEADING = {"open-5w1s1q": 4.1, "open-5w5s5q": 12.0, "open-5w10s7q": 2.3}
"""Of digits, as studies/coverage/stopping.md has them."""


@cache
def _facts() -> dict[tuple[str, str], Facts]:
    release = load_release()
    return {
        (info.dataset, str(info.name)): Facts(
            way=info.protocol.way,
            query=info.protocol.query,
            tasks=info.n_tasks,
            fingerprint=info.fingerprint,
            labels=release.task_set(info.dataset, str(info.name)).query_label.tolist(),
            misleading=MISLEADING.get(str(info.name), 0.0),
        )
        for info in release.task_sets
        if info.dataset == "digits"
    }


def _package(path: Path, *, unbound: bool, bounded: bool = False) -> str | None:
    """Why the package refuses a file, read as the user's own or as a stranger's."""
    try:
        submission = _read_bounded(path) if bounded else Submission.read(path)
        validate(submission, load_release(), allow_unbound=unbound)
    except FSLBenchError as error:
        return f"{type(error).__name__}: {error.what}"
    return None


def _read_bounded(path: Path) -> Submission:
    table = read_bounded(path, "the file", LIMITS)
    raw = (table.schema.metadata or {}).get(METADATA_KEY)
    methods, bindings, _ = ({}, {}, "") if raw is None else read_metadata(raw, "the file")
    return Submission(table.replace_schema_metadata(None), methods, bindings)


@dataclass
class Compared:
    """Where the two disagree; refused and accepted files by ending; the second one's reasons."""

    disagreements: list[str] = field(default_factory=list)
    seen: dict[str, list[int]] = field(default_factory=dict)
    reasons: set[str] = field(default_factory=set)


def compare(files: int, folder: Path, seeds: Iterable[int] | None = None) -> Compared:
    """Judge so many files by both; they are made of `seeds`, by default of 0, 1 and so on."""
    found = Compared()
    for seed in itertools.count() if seeds is None else seeds:
        if sum(map(sum, found.seen.values())) == files:
            break
        ending, content = case(seed)
        if content is None:
            continue
        path = folder / f"x.{ending}"
        path.write_bytes(content)
        unbound = seed % 3 == 0
        ours = _package(path, unbound=unbound)
        theirs = refusal(path, _facts(), frozenset(load_release().methods), unbound=unbound)
        found.seen.setdefault(ending, [0, 0])[ours is None] += 1
        if theirs is not None:
            found.reasons.add(theirs)
        if (ours is None) != (theirs is None):
            found.disagreements.append(f"seed {seed} ({ending}): ours {ours!r}, other {theirs!r}")
        if ending == "parquet":
            strict = _package(path, unbound=unbound, bounded=True)
            if (ours is None) != (strict is None):
                found.disagreements.append(f"seed {seed}: {ours!r}, as a stranger's {strict!r}")
    return found
