"""Parquet files of some kilobytes that ask for gigabytes, or for ever, or for a crash."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from hostile_parquet import (
    BINARY,
    DATA_PAGE,
    DICTIONARY_PAGE,
    GROUP_ROWS,
    I32,
    KEY_VALUES,
    LIST,
    NUM_ROWS,
    NUM_VALUES,
    PAGE_COMPRESSED,
    PAGE_UNCOMPRESSED,
    SCHEMA,
    STRUCT,
    Parquet,
    encode,
    inflating,
    put,
    with_page,
)

BOMBS: dict[str, Callable[[], bytes]] = {}
TASK_SET = "open-5w5s5q"


def bomb(make: Callable[[], bytes]) -> Callable[[], bytes]:
    """Keep a bomb by its name; it is made once, though two modules of tests use it."""
    BOMBS[make.__name__] = cache(make)
    return make


def few(rows: int = 31, **more: Any) -> pa.Table:
    columns = {
        "method": ["mine"] * rows,
        "dataset": ["digits"] * rows,
        "task_set": [TASK_SET] * rows,
        "task_id": pa.array(range(rows), pa.int32()),
        "n_correct": pa.array(np.full(rows, 20, np.int16)),
        "n_query": pa.array(np.full(rows, 25, np.int16)),
    }
    return pa.table(columns | more)


def many(rows: int, **more: Any) -> pa.Table:
    zeros = pa.array(np.zeros(rows, np.int32))
    columns = {
        name: pa.DictionaryArray.from_arrays(zeros, [text])
        for name, text in (("method", "mine"), ("dataset", "digits"), ("task_set", TASK_SET))
    }
    columns["task_id"] = zeros
    columns["n_correct"] = columns["n_query"] = pa.array(np.zeros(rows, np.int16))
    return pa.table(columns | more)


def lists(rows: int, length: int, kind: type = np.int8) -> pa.ListArray:
    offsets = np.arange(rows + 1, dtype=np.int32) * length
    return pa.ListArray.from_arrays(offsets, np.zeros(rows * length, kind))


# ---- more rows than there is memory for ----------------------------------------------------------


def _groups(says: int) -> bytes:
    """A row group of four million rows, two hundred and fifty times."""
    file = Parquet.of(many(4_000_000), row_group_size=1 << 26)
    file.groups.extend(file.groups * 249)
    put(file.footer, NUM_ROWS, says)
    return file.build()


@bomb
def a_billion_rows() -> bytes:
    return _groups(1_000_000_000)


@bomb
def a_billion_rows_said_to_be_31() -> bytes:
    return _groups(31)


@bomb
def rows_beyond_counting() -> bytes:
    file = Parquet.of(few())
    put(file.footer, NUM_ROWS, 1 << 62)
    return file.build()


@bomb
def fewer_rows_than_none() -> bytes:
    file = Parquet.of(few())
    put(file.footer, NUM_ROWS, -5)
    put(file.groups[0], GROUP_ROWS, -5)
    return file.build()


@bomb
def values_that_are_not_there() -> bytes:
    file = Parquet.of(few(), use_dictionary=False, compression="none")
    for column in range(6):
        pages = file.pages(column)
        for header, _ in pages:
            put(header[DATA_PAGE][1], 1, 2**31 - 1)
        file.replace(column, pages)
        put(file.chunk(column), NUM_VALUES, 2**31 - 1)
    put(file.groups[0], GROUP_ROWS, 3_000_000)
    put(file.footer, NUM_ROWS, 3_000_000)
    return file.build()


# ---- pages that inflate --------------------------------------------------------------------------


@bomb
def inflating_zstd() -> bytes:
    return with_page(few(), "task_id", 2000 << 20)


@bomb
def page_said_to_be_large() -> bytes:
    file = Parquet.of(few(), use_dictionary=False, compression="zstd")
    pages = file.pages(3)
    put(pages[0][0], PAGE_UNCOMPRESSED, 2**31 - 1)
    file.replace(3, pages)
    return file.build()


def slow(groups: int = 400, size: int = 200 << 20) -> bytes:
    """One page that fits into memory, of one row group that is there again and again."""
    table = few()
    schema = pa.schema([pa.field(f.name, f.type, nullable=False) for f in table.schema])
    file = Parquet.parse(with_page(table.cast(schema), "task_id", size))
    file.groups.extend(file.groups * (groups - 1))
    put(file.footer, NUM_ROWS, 31 * groups)
    return file.build()


# ---- names ---------------------------------------------------------------------------------------


@bomb
def name_of_a_gigabyte() -> bytes:
    file = Parquet.of(few(), compression="zstd")
    (header, _), *others = file.pages(0)
    assert DICTIONARY_PAGE in header
    size = 1500 << 20
    data = inflating(size + 4, struct.pack("<I", size), b"a")
    put(header, PAGE_UNCOMPRESSED, size + 4)
    put(header, PAGE_COMPRESSED, len(data))
    file.replace(0, [(header, data), *others])
    return file.build()


@bomb
def names_that_repeat_a_megabyte() -> bytes:
    encoding = {"method": "DELTA_BYTE_ARRAY"}
    table = few(100, method=["m" * 1_000_000] * 100)
    return Parquet.of(
        table, use_dictionary=False, column_encoding=encoding, write_statistics=False
    ).build()


@bomb
def name_too_long() -> bytes:
    return Parquet.of(few(method=["m" * 100_000] * 31)).build()


@bomb
def many_names() -> bytes:
    return Parquet.of(few(300_000, method=pa.array(range(300_000)).cast(pa.string()))).build()


@bomb
def many_runs() -> bytes:
    return Parquet.of(few(300_000, run=pa.array(range(300_000)))).build()


@bomb
def many_groups() -> bytes:
    """A hundred methods, a thousand runs, and a row for every pair."""
    methods, runs = np.divmod(np.arange(100_000), 1000)
    more = {name: pa.array(x).cast(pa.string()) for name, x in (("method", methods), ("run", runs))}
    return Parquet.of(few(100_000, **more)).build()


# ---- lists ---------------------------------------------------------------------------------------


@bomb
def lists_too_long() -> bytes:
    return Parquet.of(few(10, predictions=lists(10, 2_000_001))).build()


# ---- footers -------------------------------------------------------------------------------------


@bomb
def many_columns() -> bytes:
    return Parquet.of(pa.table({f"c{i}": [1] for i in range(500)})).build()


@bomb
def doubled_column() -> bytes:
    table = few()
    return Parquet.of(table.append_column("method", table["method"])).build()


@bomb
def nested_schema() -> bytes:
    depth = 10_000
    file = Parquet.of(pa.table({"a": [1]}))
    root, leaf = file.footer[SCHEMA][1][1]
    group = {3: (I32, 0), 4: (BINARY, b"a"), 5: (I32, 1)}
    file.footer[SCHEMA] = (LIST, (STRUCT, [root, *[group] * depth, leaf]))
    file.footer[KEY_VALUES] = (LIST, (STRUCT, []))
    file.chunk(0)[3] = (LIST, (BINARY, [b"a"] * (depth + 1)))
    return file.build()


@bomb
def nested_footer() -> bytes:
    """An unknown field of the footer: structs in structs in structs."""
    return _with_footer(b"\xac" + b"\x1c" * 1_000_000 + b"\0" * 1_000_002)


@bomb
def list_said_to_be_long() -> bytes:
    return _with_footer(b"\xa9\xfc\xff\xff\xff\xff\x07")


def _with_footer(end: bytes) -> bytes:
    file = Parquet.of(few())
    footer = encode(file.footer)[:-1] + end
    return file.body + footer + struct.pack("<I", len(footer)) + b"PAR1"


@bomb
def footer_said_to_be_large() -> bytes:
    return Parquet.of(few()).build()[:-8] + b"\xff\xff\xff\xffPAR1"


@bomb
def schema_that_is_none() -> bytes:
    file = Parquet.of(few())
    put(file.footer[KEY_VALUES][1][1][0], 2, b"A" * 1_000_000)
    return file.build()


def _metadata(text: str) -> bytes:
    return Parquet.of(few().replace_schema_metadata({"fslbench": text})).build()


@bomb
def nested_metadata() -> bytes:
    return _metadata('{"methods":' + "[" * 500_000)


@bomb
def metadata_of_many_methods() -> bytes:
    return _metadata(json.dumps({"methods": {f"m{i}": {} for i in range(50_000)}}))


@bomb
def a_histogram_too_long() -> bytes:
    """Which ends the process, if one looks at the footer with pyarrow."""
    file = Parquet.of(few(predictions=lists(31, 25)))
    histogram = file.chunk(6)[16][1][2][1][1]
    histogram.append(0)
    return file.build()
