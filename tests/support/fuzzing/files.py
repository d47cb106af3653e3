"""Submission files that are almost right, or not at all."""

from __future__ import annotations

import csv
import io
import json
from copy import deepcopy
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hostile_parquet import BINARY, I32, I64, LIST, STRUCT, Parquet, Struct

from fslbench_data.submission.bindings import METADATA_KEY
from fuzzing import tables
from fuzzing.choices import Choices

File = tuple[str, bytes | None]

_JSON: list[Any] = [
    None, True, "", "x", "mine", "\x1b[0m", "\ud800", "\u200b", "y" * 12_000, "0.95", 0, -1, 31, 10,
    2**31, 10**4000, 0.95, float("nan"), 1e308, [], {}, {"mine": {}},
    {"versus": "pixels/Ridge", "level": 0.95}, {"versus": "\x07", "level": 0.5},
]  # fmt: skip


def metadata(choices: Choices) -> bytes:
    """The JSON of a submission's metadata."""
    kind = choices.below(4)
    if kind == 0:
        return choices.rest()
    if kind == 1:
        text = '{"methods": {"mine": ' + choices.pick(['{"a":', "[", '"']) * choices.below(60_000)
        return text.encode() + choices.rest()
    bound: dict[str, Any] = {"fingerprint": tables.fingerprint()}
    if choices.below(2):
        bound["tasks"] = 1 + choices.below(33)
    if choices.below(4) == 0:
        bound["stopping"] = {"versus": "pixels/Ridge", "level": 0.95}
    method = {"description": "d", "link": "", "task_sets": {f"digits/{tables.SET}": bound}}
    content: dict[str, Any] = {"spec_version": "1.0", "methods": {"mine": method}}
    for _ in range(choices.below(4)):
        place = choices.pick([content, content["methods"], method, method["task_sets"], bound])
        if not isinstance(place, dict):
            continue
        key = choices.pick([*place, "tasks", "stopping", "package_version", "transductive", ""])
        edit = choices.below(4)
        if edit == 0:
            place.pop(key, None)
        elif edit == 1:
            place[choices.text()] = deepcopy(place.get(key))
        else:
            place[key] = deepcopy(choices.pick(_JSON)) if edit == 2 else choices.text()
        if not isinstance(content.get("methods"), dict) or "task_sets" not in method:
            break
    text = json.dumps(content, ensure_ascii=bool(choices.below(2)))
    return text.encode("utf-8", "surrogatepass")


@cache
def _seeds() -> tuple[bytes, ...]:
    made = []
    base = pa.table(tables.good())
    for options in (
        {"compression": "none", "use_dictionary": False},
        {"compression": "zstd"},
        {"compression": "snappy", "data_page_version": "2.0", "row_group_size": 10},
        {"compression": "none", "column_encoding": {"task_id": "DELTA_BINARY_PACKED"}},
        {"compression": "gzip", "store_schema": False, "write_page_index": True},
    ):
        if "column_encoding" in options:
            options["use_dictionary"] = False
        sink = io.BytesIO()
        pq.write_table(base, sink, **options)
        made.append(sink.getvalue())
    return tuple(made)


def parquet_table(choices: Choices) -> File:
    """A table, written by pyarrow."""
    made = tables.table(choices)
    if made is None:
        return "parquet", None
    if choices.below(2):
        made = made.replace_schema_metadata({METADATA_KEY: metadata(choices)})
    options: dict[str, Any] = {
        "compression": choices.pick(["none", "snappy", "zstd", "gzip"]),
        "use_dictionary": bool(choices.below(2)),
        "data_page_version": choices.pick(["1.0", "2.0"]),
        "store_schema": bool(choices.below(4)),
        "row_group_size": choices.pick([1, 7, 1000]),
    }
    sink = io.BytesIO()
    try:
        pq.write_table(made, sink, **options)
    except (pa.ArrowException, UnicodeError, OSError):
        return "parquet", None
    return "parquet", flipped(sink.getvalue(), choices) if choices.below(2) else sink.getvalue()


def parquet_seed(choices: Choices) -> File:
    """A good file, in some places of which are other bytes."""
    return "parquet", flipped(choices.pick(_seeds()), choices)


def parquet_footer(choices: Choices) -> File:
    """A good file whose footer or page headers say something else."""
    file = Parquet.parse(choices.pick(_seeds()))
    for _ in range(1 + choices.below(3)):
        if choices.below(2):
            _lie(file.footer, choices)
            continue
        try:
            column = choices.below(len(file.groups[0][1][1][1]))
            pages = file.pages(column)
            _lie(choices.pick(pages)[0], choices)
            file.replace(column, pages)
        except (KeyError, IndexError, ValueError, TypeError):
            continue
    try:
        return "parquet", file.build()
    except (TypeError, ValueError):
        return "parquet", None


def _lie(fields: Struct, choices: Choices) -> None:
    """Change a field somewhere in a struct of thrift."""
    while fields:
        number = choices.pick(list(fields))
        kind, value = fields[number]
        if kind == STRUCT and choices.below(8):
            fields = value
            continue
        if kind == LIST and value[1] and choices.below(8):
            items = value[1]
            if value[0] == STRUCT:
                fields = choices.pick(items)
                continue
            items[choices.below(len(items))] = (
                choices.bytes(choices.below(8)) if value[0] == BINARY else choices.number()
            )
            return
        if choices.below(6) == 0:
            del fields[number]
        elif kind == LIST:
            value[1][:] = value[1] * choices.below(4)
        elif kind == BINARY:
            at = choices.below(len(value) + 1)
            fields[number] = (BINARY, value[:at] + choices.bytes(4) + value[at + 4 :])
        elif kind in (I32, I64):
            fields[number] = (kind, choices.number())
        return


def flipped(data: bytes, choices: Choices) -> bytes:
    """Other bytes in a few places."""
    made = bytearray(data)
    for _ in range(1 + choices.below(6)):
        at = choices.below(65536) % max(len(made), 1)
        kind = choices.below(4)
        if kind == 0:
            made[at : at + 1] = choices.bytes(1)
        elif kind == 1:
            made[at:at] = choices.bytes(choices.below(8))
        elif kind == 2:
            del made[at : at + 1 + choices.below(16)]
        else:
            made[-1 - at % 1000 :][:1] = choices.bytes(1)
            made[len(made) - 1 - at % 1000 : len(made) - at % 1000] = choices.bytes(1)
    return bytes(made)


def csv_table(choices: Choices) -> File:
    """A CSV file of a table that is almost right, in some places of which are other bytes."""
    made = tables.columns(choices)
    text = io.StringIO()
    writer = csv.writer(text, delimiter=choices.pick([",", ",", ",", ";", "\t"]))
    writer.writerow(made)
    for row in zip(*made.values(), strict=False):
        writer.writerow([json.dumps(v, default=str) if isinstance(v, list) else v for v in row])
    content = text.getvalue().encode("utf-8", "surrogatepass")
    return "csv", flipped(content, choices) if choices.below(2) else content


def jsonl_table(choices: Choices) -> File:
    """JSON Lines of a table that is almost right, in some places of which are other bytes."""
    made = tables.columns(choices)
    lines = []
    for row in zip(*made.values(), strict=False):
        line = json.dumps(dict(zip(made, row, strict=True)), default=str, ensure_ascii=False)
        lines.append(line)
    deep = choices.below(8) == 0 and choices.below(60_000)
    if deep and lines:
        mark = choices.pick(["[", '{"a":', "[\n"])
        lines[len(lines) // 2] += mark * deep
    content = "\n".join(lines).encode("utf-8", "surrogatepass")
    return "jsonl", flipped(content, choices) if choices.below(2) else content
