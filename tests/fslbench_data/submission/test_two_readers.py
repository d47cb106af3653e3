"""Parquet that one reader takes for something else than another one does does no harm."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from forged import forge
from hostile_parquet import (
    BINARY,
    COLUMNS,
    DATA_OFFSET,
    DATA_PAGE,
    DICTIONARY_OFFSET,
    I32,
    I64,
    LIST,
    NUM_ROWS,
    STRUCT,
    Parquet,
    encode,
    put,
)

from benchmark_spec.errors import CorruptReleaseError
from fslbench_data.release.release import Release, load_release

PATH = "classes/cats.parquet"
TYPE, PATH_IN_SCHEMA, DATA_PAGE_V2 = 1, 3, 8
ROWS = 4

Twist = Callable[[Parquet], bytes]
TWISTS: dict[str, Twist] = {}


def twist(act: Twist) -> Twist:
    TWISTS[act.__name__] = act
    return act


@twist
def a_chunk_of_another_column(file: Parquet) -> bytes:
    file.chunk(1)[PATH_IN_SCHEMA] = (LIST, (BINARY, [b"class_id"]))
    return file.build()


@twist
def a_row_group_without_a_column(file: Parquet) -> bytes:
    file.groups[0][COLUMNS][1][1].pop()
    return file.build()


@twist
def a_dictionary_offset_of_another_type(file: Parquet) -> bytes:
    file.chunk(0)[DICTIONARY_OFFSET] = (I32, file.chunk(0)[DATA_OFFSET][1])
    return file.build()


def _first_header(file: Parquet, change: Callable[[dict[int, tuple[int, object]]], None]) -> bytes:
    pages = file.pages(0)
    change(pages[0][0])
    file.replace(0, pages)
    return file.build()


@twist
def a_page_with_two_headers(file: Parquet) -> bytes:
    second = {1: (I32, 1), 2: (I32, 0), 3: (I32, 1), 4: (I32, 0), 5: (I32, 0), 6: (I32, 0)}
    return _first_header(file, lambda header: header.update({DATA_PAGE_V2: (STRUCT, second)}))


@twist
def a_page_of_another_kind(file: Parquet) -> bytes:
    return _first_header(file, lambda header: put(header, TYPE, 3))


@twist
def a_count_of_more_bits_than_it_has(file: Parquet) -> bytes:
    return _first_header(file, lambda header: put(header[DATA_PAGE][1], 1, ROWS + (1 << 32)))


def _with_more(file: Parquet, field: bytes) -> bytes:
    """The file with one more field at the end of its footer."""
    footer = encode(file.footer)[:-1] + field + b"\0"
    return file.body + footer + struct.pack("<I", len(footer)) + b"PAR1"


@twist
def a_field_that_stands_twice(file: Parquet) -> bytes:
    return _with_more(file, bytes([I64, NUM_ROWS << 1, 9 << 1]))


@twist
def a_field_number_that_wraps_around(file: Parquet) -> bytes:
    return _with_more(file, bytes([I64, 0x86, 0x80, 0x08, 9 << 1]))  # 65539 = 3 modulo 2^16


@twist
def lists_in_lists(file: Parquet) -> bytes:
    return _with_more(file, bytes([LIST, 100 << 1 & 0x7F | 0x80, 1]) + b"\x19" * 50_000 + b"\x03")


@pytest.fixture
def table(toy: Release) -> pa.Table:
    return toy.classes("cats")


def _plain(table: pa.Table) -> Parquet:
    return Parquet.of(table, use_dictionary=False, write_statistics=False)


def test_the_table_as_it_is(toy: Release, table: pa.Table, tmp_path: Path) -> None:
    folder = forge(toy, tmp_path / "r", PATH, _plain(table).build())
    assert load_release(folder).classes("cats").equals(table)
    assert table.num_rows == ROWS


@pytest.mark.parametrize("name", TWISTS)
def test_what_two_readers_would_read_differently(
    name: str, toy: Release, table: pa.Table, tmp_path: Path
) -> None:
    """It is refused, or holds what the release does: no bytes are taken for something else."""
    folder = forge(toy, tmp_path / "r", PATH, TWISTS[name](_plain(table)))
    try:
        found = load_release(folder).classes("cats")
    except CorruptReleaseError:
        return
    assert found.equals(table)
