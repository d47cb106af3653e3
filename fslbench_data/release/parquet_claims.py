"""Count what a Parquet file holds, from its footer and the headers of its pages.

The footer can say otherwise than the pages.  Both are read here in plain Python, so that nothing
is decoded, and no library is asked, before the numbers agree with each other.  Thrift's compact
protocol becomes plain values: a struct is a dict by the numbers of parquet.thrift.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

MAGIC = b"PAR1"
MOST_FOOTER = 4 << 20
"""Bytes of a footer; those of releases have some kilobytes."""

_MOST_FIELDS = 200
"""Columns, and levels of these; tables of releases have 20 at most."""

_FEW_PAGES, _PAGE = 10_000, 1024
"""A file has at most so many pages, and one more for so many bytes; most have a megabyte."""

_DEPTH = 12
_HEADER_BYTES = (1 << 10, 1 << 20)
"""What is read of a page at first, and where its header, with its statistics, is longer."""

_FALSE, _TRUE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = (
    2, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
)  # fmt: skip

_PAGES = {0: 5, 2: 7, 3: 8}
"""Of each kind of page the field of its header: data, dictionary, data of the second version."""

_DELTA_BYTE_ARRAY = 7
"""The encoding in which a byte can stand for a text of any length."""


class ClaimError(ValueError):
    """A Parquet file that contradicts itself, or cannot be followed."""


@dataclass(frozen=True)
class ColumnClaim:
    """What a leaf column's chunks hold in one row group, by its path in the schema, joined by dots.

    Nulls and empty lists count among the values; bytes of pages are those once decompressed.
    `differences` says that texts are stored as differences from the text before.
    """

    name: str
    values: int
    page_bytes: int
    has_dictionary: bool
    differences: bool


@dataclass(frozen=True)
class GroupClaim:
    """A row group: how many rows, and its leaf columns."""

    rows: int
    columns: tuple[ColumnClaim, ...]


def read_claims(path: Path, rows: int) -> tuple[GroupClaim, ...]:
    """Read the row groups of a file of so many rows, whose pages are as its footer says.

    Raises a ClaimError if it is no Parquet file, is encrypted, or has other rows or pages.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read(8)
        if size < 12 or end[-4:] != MAGIC:
            raise ClaimError("does not end as Parquet files do")
        length = struct.unpack("<I", end[:4])[0]
        if length > min(MOST_FOOTER, size - 8):
            raise ClaimError(f"has a footer of {length} bytes, where {MOST_FOOTER} are the most")
        file.seek(size - 8 - length)
        try:
            footer = _Thrift(file.read(length)).struct()
            if len(footer[2]) > _MOST_FIELDS:
                raise ClaimError(f"has {len(footer[2])} columns and lists")
            counts = [_count(footer[3]), sum(_count(group[3]) for group in footer[4])]
            if counts != [rows, rows]:
                raise ClaimError(f"has {counts[counts[0] == rows]} rows, not {rows}")
            return tuple(_groups(file, footer[4], size - 8 - length))
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ClaimError(f"cannot be followed ({type(error).__name__})") from None


def _groups(file: BinaryIO, groups: list[Any], size: int) -> Iterator[GroupClaim]:
    """Yield the row groups, no byte of which is used twice."""
    left, pages = size, _FEW_PAGES + size // _PAGE
    for group in groups:
        columns = []
        for chunk in group[1]:
            column, used, n = _column(file, chunk, size)
            left, pages = left - used, pages - n
            if left < 0 or pages < 0:
                raise ClaimError("has more pages than it has room for")
            columns.append(column)
        yield GroupClaim(group[3], tuple(columns))


def _column(file: BinaryIO, chunk: dict[int, Any], size: int) -> tuple[ColumnClaim, int, int]:
    """Read a column chunk page by page; also return how many bytes and pages it takes."""
    if 8 in chunk or 9 in chunk:
        raise ClaimError("is encrypted")
    about = chunk[3]
    name = b".".join(about[3]).decode("utf-8", "replace")
    values, at = _count(about[5]), _count(about[9])
    if about.get(-11, _I64) != _I64:  # then other readers overlook it
        raise ClaimError("has a field of another type")
    if 0 < about.get(11, 0) < at:
        at = _count(about[11])
    end = at + _count(about[7])
    if end > size:
        raise ClaimError(f"has pages of {name[:60]!r} beyond its end")
    counted = page_bytes = pages = 0
    dictionary = differences = False
    while values and at < end:  # of a chunk without values only the dictionary is written
        page, length = _header(file, at, end)
        page_bytes, pages = page_bytes + _count(page[2]), pages + 1
        if pages > _FEW_PAGES + size // _PAGE:
            raise ClaimError("has more pages than it has room for")
        kind = _PAGES.get(page[1])
        if kind is None or {5, 6, 7, 8} & page.keys() != {kind}:
            raise ClaimError("has a page of two kinds, or of none")
        dictionary |= kind == 7
        if kind != 7:
            counted += _count(page[kind][1])
            differences |= page[kind][2 if kind == 5 else 4] == _DELTA_BYTE_ARRAY
        at += length + _count(page[3])
    if counted != values or (values and at != end):
        raise ClaimError(f"has pages of {name[:60]!r} that are others than its footer says")
    claim = ColumnClaim(name, values, page_bytes, dictionary, differences)
    return claim, _count(about[7]), pages


def _header(file: BinaryIO, at: int, end: int) -> tuple[dict[int, Any], int]:
    """Read the header of the page at a place, and its length."""
    for most in _HEADER_BYTES:
        file.seek(at)
        thrift = _Thrift(file.read(min(most, end - at)))
        try:
            return thrift.struct(), thrift.at
        except IndexError:
            continue
    raise ClaimError("has a page without a whole header")


def _count(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 1 << 62:
        raise ClaimError("counts what cannot be counted")
    return value


class _Thrift:
    """Reads values from `at` on; IndexError beyond the end."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value
        raise ClaimError("holds a number of too many bytes")

    def _integer(self, bits: int) -> int:
        value = self._varint()
        if value >> bits:  # of which other readers keep the lower bits
            raise ClaimError("holds a number of too many bits")
        return (value >> 1) ^ -(value & 1)

    def _bytes(self, length: int) -> bytes:
        if length > len(self._data) - self.at:
            raise IndexError
        self.at += length
        return self._data[self.at - length : self.at]

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in (_I16, _I32, _I64):
            return self._integer(8 << (kind - 3))
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in (_LIST, _SET):
            head = self._byte()
            length = head >> 4 if head >> 4 < 15 else self._varint()
            element = head & 0x0F
            if element in (_TRUE, _FALSE):
                return self._bytes(length)
            if depth > _DEPTH:
                raise ClaimError("is nested deep")
            return [self._value(element, depth + 1) for _ in range(length)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ClaimError("holds what no Parquet file holds")

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """A struct by the numbers of its fields; their types stand at the negative numbers."""
        if depth > _DEPTH:
            raise ClaimError("is nested deep")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer(16)
            if number in fields or not 0 < number < 1 << 15:
                raise ClaimError("holds a field twice")
            fields[-number] = head & 0x0F
            fields[number] = self._value(head & 0x0F, depth)
        return fields
