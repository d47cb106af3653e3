"""Taking Parquet files apart and putting them together wrongly: footers and pages that lie.

Thrift's compact protocol is read into plain values and written back: a struct is a dict of field
number to (type, value), a list is a (type of its elements, list).  Numbers of fields are those of
parquet.thrift, and only those that the tests change have names here.
"""

import io
import struct
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

Struct = dict[int, tuple[int, Any]]

TRUE, FALSE, BYTE, I16, I32, I64, _, BINARY, LIST, _, _, STRUCT = range(1, 13)

# FileMetaData
SCHEMA, NUM_ROWS, ROW_GROUPS, KEY_VALUES = 2, 3, 4, 5
# RowGroup
COLUMNS, GROUP_ROWS = 1, 3
# ColumnChunk and its metadata
CHUNK_META = 3
NUM_VALUES, COMPRESSED, DATA_OFFSET, DICTIONARY_OFFSET = 5, 7, 9, 11
# PageHeader
PAGE_UNCOMPRESSED, PAGE_COMPRESSED, DATA_PAGE, DICTIONARY_PAGE = 2, 3, 5, 7


class _Reader:
    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while (byte := self.byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self.byte()
        if kind in (I16, I32, I64):
            return self.zigzag()
        if kind == BINARY:
            length = self.varint()
            self.at += length
            return self.data[self.at - length : self.at]
        if kind == LIST:
            head = self.byte()
            length = self.varint() if head >> 4 == 15 else head >> 4
            return head & 0x0F, [self.value(head & 0x0F) for _ in range(length)]
        if kind == STRUCT:
            return self.struct()
        raise ValueError(kind)

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            fields[number] = (head & 0x0F, self.value(head & 0x0F))
        return fields


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _value(kind: int, value: Any) -> bytes:
    if kind in (TRUE, FALSE):
        return b""
    if kind == BYTE:
        return bytes([value])
    if kind in (I16, I32, I64):
        return _zigzag(value)
    if kind == BINARY:
        return _varint(len(value)) + bytes(value)
    if kind == LIST:
        element, items = value
        head = [len(items) << 4 | element] if len(items) < 15 else [0xF0 | element]
        length = b"" if len(items) < 15 else _varint(len(items))
        return bytes(head) + length + b"".join(_value(element, item) for item in items)
    return encode(value)


def encode(fields: Struct) -> bytes:
    out, last = [], 0
    for number, (kind, value) in sorted(fields.items()):
        if kind in (TRUE, FALSE):
            kind = TRUE if value else FALSE
        step = number - last
        out.append(bytes([step << 4 | kind]) if step < 16 else bytes([kind]) + _zigzag(number))
        out.append(_value(kind, value))
        last = number
    return b"".join(out) + b"\0"


@dataclass
class Parquet:
    """A Parquet file in two parts, either of which may be changed."""

    body: bytes
    footer: Struct

    @classmethod
    def parse(cls, data: bytes) -> Self:
        (length,) = struct.unpack("<I", data[-8:-4])
        start = len(data) - 8 - length
        return cls(data[:start], _Reader(data, start).struct())

    @classmethod
    def of(cls, table: pa.Table, **options: Any) -> Self:
        sink = io.BytesIO()
        pq.write_table(table, sink, **options)
        return cls.parse(sink.getvalue())

    def build(self) -> bytes:
        footer = encode(self.footer)
        return self.body + footer + struct.pack("<I", len(footer)) + b"PAR1"

    @property
    def groups(self) -> list[Struct]:
        found: list[Struct] = self.footer[ROW_GROUPS][1][1]
        return found

    def chunk(self, column: int) -> Struct:
        """Of the first row group."""
        found: Struct = self.groups[0][COLUMNS][1][1][column][CHUNK_META][1]
        return found

    def pages(self, column: int) -> list[tuple[Struct, bytes]]:
        chunk = self.chunk(column)
        at = min(chunk[n][1] for n in (DATA_OFFSET, DICTIONARY_OFFSET) if n in chunk)
        end = at + chunk[COMPRESSED][1]
        pages = []
        while at < end:
            reader = _Reader(self.body, at)
            header = reader.struct()
            at = reader.at + header[PAGE_COMPRESSED][1]
            if not reader.at <= at <= len(self.body):
                raise ValueError(f"a page ends at {at}")
            pages.append((header, self.body[reader.at : at]))
        return pages

    def replace(self, column: int, pages: list[tuple[Struct, bytes]]) -> None:
        """Give a chunk other pages, at the end of the body."""
        chunk = self.chunk(column)
        chunk.pop(DICTIONARY_OFFSET, None)
        parts: list[bytes] = []
        at, data_at = len(self.body), 0
        for header, content in pages:
            if DICTIONARY_PAGE in header:
                chunk[DICTIONARY_OFFSET] = (I64, at)
            data_at = data_at or (0 if DICTIONARY_PAGE in header else at)
            parts.append(encode(header) + content)
            at += len(parts[-1])
        put(chunk, DATA_OFFSET, data_at)
        put(chunk, COMPRESSED, at - len(self.body))
        self.body += b"".join(parts)


def put(fields: Struct, number: int, value: Any) -> None:
    fields[number] = (fields[number][0], value)


def inflating(size: int, head: bytes = b"", fill: bytes = b"\0") -> bytes:
    """By zstd: `head`, then the byte `fill` again and again, `size` bytes in all."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(head)
        block = fill * (1 << 20)
        for left in range(size - len(head), 0, -len(block)):
            out.write(block[:left])
    return bytes(sink.getvalue())


def with_page(table: pa.Table, name: str, size: int) -> bytes:
    """Write a file in which one column's only page inflates to so many bytes."""
    file = Parquet.of(table, use_dictionary=False, compression="zstd")
    chunk = table.column_names.index(name)
    ((header, _),) = file.pages(chunk)
    data = inflating(size)
    put(header, PAGE_UNCOMPRESSED, size)
    put(header, PAGE_COMPRESSED, len(data))
    file.replace(chunk, [(header, data)])
    return file.build()
