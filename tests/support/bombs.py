"""Parquet files of some kilobytes that ask for gigabytes, or for ever, or for a crash."""

import json
import struct
from collections.abc import Callable
from typing import Any

import hostile_parquet as hp
import numpy as np
import pyarrow as pa
from hostile_parquet import Parquet, put

TASK_SET = "open-5w5s5q"


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
    texts = {"method": "mine", "dataset": "digits", "task_set": TASK_SET}
    columns = {k: pa.DictionaryArray.from_arrays(zeros, [text]) for k, text in texts.items()}
    columns["task_id"] = zeros
    columns["n_correct"] = columns["n_query"] = pa.array(np.zeros(rows, np.int16))
    return pa.table(columns | more)


def lists(rows: int, length: int, kind: type = np.int8) -> pa.ListArray:
    offsets = np.arange(rows + 1, dtype=np.int32) * length
    return pa.ListArray.from_arrays(offsets, np.zeros(rows * length, kind))


def _of(table: pa.Table) -> bytes:
    return Parquet.of(table).build()


def _many_rows(says: int) -> bytes:
    """A row group of four million rows, two hundred and fifty times."""
    file = Parquet.of(many(4_000_000), row_group_size=1 << 26)
    file.groups.extend(file.groups * 249)
    put(file.footer, hp.NUM_ROWS, says)
    return file.build()


def _rows_said_to_be(rows: int, of_group: int) -> bytes:
    file = Parquet.of(few())
    put(file.footer, hp.NUM_ROWS, rows)
    put(file.groups[0], hp.GROUP_ROWS, of_group)
    return file.build()


def _values_that_are_not_there() -> bytes:
    file = Parquet.of(few(), use_dictionary=False, compression="none")
    for column in range(6):
        pages = file.pages(column)
        for header, _ in pages:
            put(header[hp.DATA_PAGE][1], 1, 2**31 - 1)
        file.replace(column, pages)
        put(file.chunk(column), hp.NUM_VALUES, 2**31 - 1)
    put(file.groups[0], hp.GROUP_ROWS, 3_000_000)
    put(file.footer, hp.NUM_ROWS, 3_000_000)
    return file.build()


def _page_said_to_be_large() -> bytes:
    file = Parquet.of(few(), use_dictionary=False, compression="zstd")
    pages = file.pages(3)
    put(pages[0][0], hp.PAGE_UNCOMPRESSED, 2**31 - 1)
    file.replace(3, pages)
    return file.build()


def slow(groups: int = 400, size: int = 200 << 20) -> bytes:
    """One page that fits into memory, of one row group that is there again and again."""
    table = few()
    schema = pa.schema([pa.field(f.name, f.type, nullable=False) for f in table.schema])
    file = Parquet.parse(hp.with_page(table.cast(schema), "task_id", size))
    file.groups.extend(file.groups * (groups - 1))
    put(file.footer, hp.NUM_ROWS, 31 * groups)
    return file.build()


def _name_of_a_gigabyte() -> bytes:
    file = Parquet.of(few(), compression="zstd")
    (header, _), *others = file.pages(0)
    assert hp.DICTIONARY_PAGE in header
    size = 1500 << 20
    data = hp.inflating(size + 4, struct.pack("<I", size), b"a")
    put(header, hp.PAGE_UNCOMPRESSED, size + 4)
    put(header, hp.PAGE_COMPRESSED, len(data))
    file.replace(0, [(header, data), *others])
    return file.build()


def _names_that_repeat_a_megabyte() -> bytes:
    options = {"use_dictionary": False, "write_statistics": False}
    encoding = {"method": "DELTA_BYTE_ARRAY"}
    table = few(100, method=["m" * 1_000_000] * 100)
    return Parquet.of(table, column_encoding=encoding, **options).build()


def _many_groups() -> bytes:
    """A hundred methods, a thousand runs, and a row for every pair."""
    methods, runs = np.divmod(np.arange(100_000), 1000)
    more = {name: pa.array(x).cast(pa.string()) for name, x in (("method", methods), ("run", runs))}
    return _of(few(100_000, **more))


def _nested_schema(depth: int = 10_000) -> bytes:
    file = Parquet.of(pa.table({"a": [1]}))
    root, leaf = file.footer[hp.SCHEMA][1][1]
    group = {3: (hp.I32, 0), 4: (hp.BINARY, b"a"), 5: (hp.I32, 1)}
    file.footer[hp.SCHEMA] = (hp.LIST, (hp.STRUCT, [root, *[group] * depth, leaf]))
    file.footer[hp.KEY_VALUES] = (hp.LIST, (hp.STRUCT, []))
    file.chunk(0)[3] = (hp.LIST, (hp.BINARY, [b"a"] * (depth + 1)))
    return file.build()


def _with_footer(end: bytes) -> bytes:
    file = Parquet.of(few())
    footer = hp.encode(file.footer)[:-1] + end
    return file.body + footer + struct.pack("<I", len(footer)) + b"PAR1"


def _schema_that_is_none() -> bytes:
    file = Parquet.of(few())
    put(file.footer[hp.KEY_VALUES][1][1][0], 2, b"A" * 1_000_000)
    return file.build()


def _metadata(text: str) -> bytes:
    return _of(few().replace_schema_metadata({"fslbench": text}))


def _a_histogram_too_long() -> bytes:
    """Which ends the process, if one looks at the footer with pyarrow."""
    file = Parquet.of(few(predictions=lists(31, 25)))
    file.chunk(6)[16][1][2][1][1].append(0)
    return file.build()


BOMBS: dict[str, Callable[[], bytes]] = {
    "a_billion_rows": lambda: _many_rows(1_000_000_000),
    "a_billion_rows_said_to_be_31": lambda: _many_rows(31),
    "rows_beyond_counting": lambda: _rows_said_to_be(1 << 62, 31),
    "fewer_rows_than_none": lambda: _rows_said_to_be(-5, -5),
    "values_that_are_not_there": _values_that_are_not_there,
    "inflating_zstd": lambda: hp.with_page(few(), "task_id", 2000 << 20),
    "page_said_to_be_large": _page_said_to_be_large,
    "name_of_a_gigabyte": _name_of_a_gigabyte,
    "names_that_repeat_a_megabyte": _names_that_repeat_a_megabyte,
    "name_too_long": lambda: _of(few(method=["m" * 100_000] * 31)),
    "many_names": lambda: _of(few(300_000, method=pa.array(range(300_000)).cast(pa.string()))),
    "many_runs": lambda: _of(few(300_000, run=pa.array(range(300_000)))),
    "many_groups": _many_groups,
    "lists_too_long": lambda: _of(few(10, predictions=lists(10, 2_000_001))),
    "many_columns": lambda: _of(pa.table({f"c{i}": [1] for i in range(500)})),
    "doubled_column": lambda: _of(few().append_column("method", few()["method"])),
    "nested_schema": _nested_schema,
    # an unknown field of the footer: structs in structs in structs
    "nested_footer": lambda: _with_footer(b"\xac" + b"\x1c" * 1_000_000 + b"\0" * 1_000_002),
    "list_said_to_be_long": lambda: _with_footer(b"\xa9\xfc\xff\xff\xff\xff\x07"),
    "footer_said_to_be_large": lambda: _of(few())[:-8] + b"\xff\xff\xff\xffPAR1",
    "schema_that_is_none": _schema_that_is_none,
    "nested_metadata": lambda: _metadata('{"methods":' + "[" * 500_000),
    "metadata_of_many_methods": lambda: _metadata(
        json.dumps({"methods": {f"m{i}": {} for i in range(50_000)}})
    ),
    "a_histogram_too_long": _a_histogram_too_long,
}
