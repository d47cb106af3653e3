"""Digests of the content of a table, independent of its file.

The content digest covers column names, logical types, lengths, nulls and values.  It does not
depend on chunks, row groups, encodings, compression, nullability flags or metadata, so that a
table keeps its digest through Parquet, ``datasets`` and DuckDB.

Definition.  Each column gives one or more byte streams, each hashed by SHA-256:

- *validity*: one byte a row, 1 if present and 0 if null;
- *lengths* (strings, bytes and lists of free length): int64 a row, 0 where null;
- *values*: numbers little-endian, booleans as one byte, strings as UTF-8, with zero or nothing
  where null; a list's values are again a column, of the values of its present rows.

A column of structs counts as its fields, columns of their own: ``image.bytes``.

The digest is the SHA-256 of the JSON array ``[version, rows, [[name, type, [hex, ...]], ...]]``.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from benchmark_spec.errors import SpecError
from benchmark_spec.schemas import type_name

_VERSION = "fslbench-content-1"


def content_digest(table: pa.Table) -> str:
    """Compute the SHA-256 (hex) of a table's content."""
    return content_digest_of([table])


def content_digest_of(parts: Iterable[pa.Table]) -> str:
    """Compute the SHA-256 (hex) of the content of a table in parts, of which one is held at a time.

    Raises a SpecError if there are no parts, their columns differ, or a type has no digest.
    """
    logical: list[tuple[str, str]] | None = None
    columns: list[_Column] = []
    rows = 0
    for part in parts:
        if any(pa.types.is_struct(kind) for kind in part.schema.types):
            part = part.flatten()
        kinds = [
            (name, type_name(column.type))
            for name, column in zip(part.column_names, part.columns, strict=True)
        ]
        if logical is None:
            for name, kind in kinds:
                if "unsupported" in kind:
                    kind = str(part.schema.field(name).type)
                    raise SpecError(f"column {name!r} of type {kind} has no digest")
            logical, columns = kinds, [_Column(kind) for _, kind in kinds]
        if kinds != logical:
            raise SpecError("the parts of a table have different columns")
        rows += part.num_rows
        for streams, column in zip(columns, part.columns, strict=True):
            for chunk in column.chunks:
                streams.update(chunk)
    if logical is None:
        raise SpecError("a table without any part has no digest")
    content = [
        [*column, streams.hexdigests()] for column, streams in zip(logical, columns, strict=True)
    ]
    text = json.dumps([_VERSION, rows, content], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(dataset: str, task_set: str, digest: str) -> str:
    """Identify a task set by the SHA-256 (hex) of its data set, name and table's digest."""
    return hashlib.sha256(json.dumps([dataset, task_set, digest]).encode()).hexdigest()


class _Column:
    """The running hashes of a column, fed chunk by chunk."""

    def __init__(self, logical: str) -> None:
        self.validity = hashlib.sha256()
        self.values = hashlib.sha256()
        self.lengths = hashlib.sha256() if logical in ("string", "binary") else None
        self.child: _Column | None = None
        if logical.startswith(("list<", "fixed_size_list<")):
            if logical.startswith("list<"):
                self.lengths = hashlib.sha256()
            self.child = _Column(logical.split("<", 1)[1].rsplit(">", 1)[0])

    def hexdigests(self) -> list[str]:
        hashes = [self.validity.hexdigest()]
        if self.lengths is not None:
            hashes.append(self.lengths.hexdigest())
        if self.child is not None:
            return hashes + self.child.hexdigests()
        return [*hashes, self.values.hexdigest()]

    def update(self, array: Any) -> None:
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if array.null_count:
            self.validity.update(_bytes_of(array.is_valid().cast(pa.uint8())))
        else:
            self.validity.update(b"\x01" * len(array))
        if self.child is not None:
            if self.lengths is not None:
                self.lengths.update(_bytes_of(_lengths(array)))
            self.child.update(array.flatten())
        elif self.lengths is not None:
            text = array if _is_bytes(array.type) else array.cast(pa.large_string())
            text = text.cast(pa.large_binary())
            text = text.fill_null(b"") if text.null_count else text
            self.lengths.update(_bytes_of(_lengths(text)))
            self.values.update(_text_of(text))
        else:
            if pa.types.is_boolean(array.type):
                array = array.cast(pa.uint8())
            if array.null_count:
                array = array.fill_null(pa.scalar(0, pa.int8()).cast(array.type))
            self.values.update(_bytes_of(array))


def _lengths(array: Any) -> Any:
    """Count the values of each list or bytes of each string, int64, 0 where null."""
    import pyarrow.compute as pc

    length = pc.binary_length if _is_bytes(array.type) else pc.list_value_length
    return pc.fill_null(length(array).cast(pa.int64()), pa.scalar(0, pa.int64()))


def _bytes_of(array: Any) -> pa.Buffer | bytes:
    """Return the memory of a primitive array without nulls (Arrow is little-endian)."""
    if len(array) == 0:
        return b""
    width = array.type.bit_width // 8
    values: pa.Buffer = array.buffers()[1]
    return values.slice(array.offset * width, len(array) * width)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _text_of(array: Any) -> pa.Buffer | bytes:
    """Return the concatenated bytes of a large_binary array without nulls."""
    _, offsets, data = array.buffers()
    if len(array) == 0 or data is None:
        return b""
    start, end = (
        struct.unpack_from("<q", offsets, 8 * (array.offset + i))[0] for i in (0, len(array))
    )
    return data.slice(start, end - start)
