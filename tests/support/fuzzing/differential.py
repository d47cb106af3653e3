"""Files on which two validators must agree: a seed makes one, right, almost right or not at all."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fslbench_data.submission.bindings import METADATA_KEY
from fuzzing import files, tables
from fuzzing.choices import Choices

Columns = dict[str, list[Any]]

_BYTES = 400
"""What a maker may decide by."""


TOLD = 1 << 20
"""From this seed on, files say which queries are right in place of predictions."""


def case(seed: int) -> files.File:
    """A file's ending and its content."""
    rng = random.Random(seed)
    choices = Choices(rng.randbytes(_BYTES))
    if rng.random() < 0.7:
        made = _varied(rng, told=seed >= TOLD)
        if rng.random() < 0.35:
            for _ in range(rng.randint(1, 2)):
                tables.edit(made, choices)
        ending, content = rng.choice([_as_parquet, _as_csv, _as_json_lines])(made, rng)
        if content is not None and rng.random() < 0.1:
            content = files.flipped(content, choices)
        return ending, content
    maker = rng.choice(
        [
            files.parquet_table,
            files.parquet_seed,
            files.parquet_footer,
            files.csv_table,
            files.jsonl_table,
        ]
    )
    return maker(choices)


def _varied(rng: random.Random, told: bool) -> Columns:
    """A good submission, said in one of many ways."""
    made = {name: list(values) for name, values in tables.good(told).items()}
    if rng.random() < 0.5:
        del made["run"]
    for name in ("class_correct", "correct" if told else "predictions"):
        if rng.random() < 0.5:
            del made[name]
        elif rng.random() < 0.2:
            made[name][rng.randrange(31)] = None
    for change in rng.sample(_CHANGES, rng.randint(0, 3)):
        change(made, rng)
    return made


def _shuffled(made: Columns, rng: random.Random) -> None:
    order = list(range(len(made["task_id"])))
    rng.shuffle(order)
    for name, values in made.items():
        made[name] = [values[i] for i in order]


def _reordered(made: Columns, rng: random.Random) -> None:
    names = list(made)
    rng.shuffle(names)
    for name in names:
        made[name] = made.pop(name)


def _shorter_fingerprint(made: Columns, rng: random.Random) -> None:
    digits = rng.choice([11, 12, 13, 40, 64])
    text = tables.fingerprint()[:digits]
    made["fingerprint"] = [rng.choice([text, text.upper()])] * len(made["task_id"])


def _without_fingerprint(made: Columns, rng: random.Random) -> None:
    if rng.random() < 0.5:
        made.pop("fingerprint", None)
    else:
        made["fingerprint"] = [None] * len(made["task_id"])


def _named(made: Columns, rng: random.Random) -> None:
    name = rng.choice(_NAMES)
    made[rng.choice(["method", "run"]) if "run" in made else "method"] = [name] * len(
        made["task_id"]
    )


def _twice(made: Columns, rng: random.Random) -> None:
    """Everything again, of another method or run."""
    size = len(made["task_id"])
    column = "run" if "run" in made and rng.random() < 0.5 else "method"
    for values in made.values():
        values.extend(values[:size])
    made[column][size:] = [rng.choice([*_NAMES, "b", "mine"])] * size


def _numbered_runs(made: Columns, rng: random.Random) -> None:
    made["run"] = [rng.choice([0, 1, 7])] * len(made["task_id"])


def _marked(made: Columns, rng: random.Random) -> None:
    made["transductive"] = rng.choice(_MARKS)[:1] * len(made["task_id"])
    if rng.random() < 0.5:
        made["transductive"][rng.randrange(31)] = rng.choice(_MARKS)[0]


_MARKS: list[list[Any]] = [[True], [False], [None], [True], [None]]
_NAMES = [
    "other", "2024-05-01", "a, b", 'a "b"', "naïve/方法", "x" * 200, "x" * 201,
    "a\u0301\u0301\u0301\u0301", "a\u0301\u0301\u0301\u0301\u0301", " a", "12:30:00", "pixels/NCC.",
    "[/]", "mine †", "mi‡ne", "-1", "1", "true", "null", "NaN",
]  # fmt: skip
_CHANGES: list[Callable[[Columns, random.Random], None]] = [
    _shuffled, _reordered, _shorter_fingerprint, _without_fingerprint, _named, _twice,
    _numbered_runs, _marked,
]  # fmt: skip


def _as_parquet(made: Columns, rng: random.Random) -> files.File:
    table = tables.plain_table(made)
    if table is None:
        return "parquet", None
    for name in made:
        kinds = _WIDE.get(name)
        if kinds and rng.random() < 0.3:
            index = table.column_names.index(name)
            try:
                table = table.set_column(index, name, table.column(index).cast(rng.choice(kinds)))
            except pa.ArrowException:
                continue
    if rng.random() < 0.25:
        about = files.metadata(Choices(rng.randbytes(40)))
        table = table.replace_schema_metadata({METADATA_KEY: about})
    sink = io.BytesIO()
    try:
        pq.write_table(table, sink, row_group_size=rng.choice([1, 7, 1000]))
    except pa.ArrowException:
        return "parquet", None
    return "parquet", sink.getvalue()


_WIDE: dict[str, list[pa.DataType]] = {
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


def _as_csv(made: Columns, rng: random.Random) -> files.File:
    text = io.StringIO()
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    ends = rng.choice(["\n", "\r\n", "\r"])
    writer = csv.writer(text, quoting=quoting, lineterminator=ends)
    writer.writerow(made)
    for row in zip(*made.values(), strict=False):
        writer.writerow([json.dumps(v, default=str) if isinstance(v, list) else v for v in row])
    content = text.getvalue()
    if rng.random() < 0.15:
        at = rng.randrange(len(content) + 1)
        content = (
            content[:at] + rng.choice(['"', " ", "\n", ends, ",", "\r", "\x00"]) + content[at:]
        )
    if rng.random() < 0.05:
        content = content[: rng.randrange(len(content) + 1)]
    return "csv", _encoded(content, rng)


def _as_json_lines(made: Columns, rng: random.Random) -> files.File:
    lines = []
    for row in zip(*made.values(), strict=False):
        line = dict(zip(made, row, strict=True))
        if rng.random() < 0.5:
            line = {key: value for key, value in line.items() if value is not None}
        lines.append(json.dumps(line, default=str, ensure_ascii=rng.random() < 0.5))
    content = "\n".join(lines)
    if lines and rng.random() < 0.15:
        at = rng.randrange(len(content) + 1)
        extra = rng.choice([" ", "\n", "0", ",", "e1", ".0", "{}"])
        content = content[:at] + extra + content[at:]
    if lines and rng.random() < 0.1:
        content = content.replace("\n", rng.choice([" ", "\r\n", "\n\n", "\r", ""]))
    return "jsonl", _encoded(content, rng)


def _encoded(content: str, rng: random.Random) -> bytes:
    mark = b"\xef\xbb\xbf" if rng.random() < 0.1 else b""
    return mark + content.encode("utf-8", "surrogatepass")
