import hashlib
import json
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark_spec.digest import content_digest, content_digest_of, fingerprint
from benchmark_spec.errors import SpecError


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_the_definition_by_hand() -> None:
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "name": pa.array(["é", None], pa.string()),
            "pair": pa.array([[7, 8], [9, 10]], pa.list_(pa.int8(), 2)),
            "free": pa.array([[2, 3], None], pa.list_(pa.int16())),
        }
    )
    ones = _sha(b"\1\1")
    columns = [
        ["id", "int32", [ones, _sha(struct.pack("<2i", 1, 2))]],
        ["name", "string", [_sha(b"\1\0"), _sha(struct.pack("<2q", 2, 0)), _sha("é".encode())]],
        ["pair", "fixed_size_list<int8>[2]", [ones, _sha(b"\1" * 4), _sha(bytes([7, 8, 9, 10]))]],
        [
            "free",
            "list<int16>",
            [
                _sha(b"\1\0"),
                _sha(struct.pack("<2q", 2, 0)),
                _sha(b"\1\1"),
                _sha(struct.pack("<2h", 2, 3)),
            ],
        ],
    ]
    assert content_digest(table) == _sha(json.dumps(["fslbench-content-1", 2, columns]).encode())


def _wide(n: int) -> pa.Table:
    rng = np.random.default_rng(0)
    lists = [None if i % 7 == 3 else list(range(i % 5)) for i in range(n)]
    return pa.table(
        {
            "a": pa.array(rng.integers(0, 100, n), pa.int32()),
            "b": pa.array([None if i % 3 == 0 else f"word {i % 11}" for i in range(n)]),
            "c": pa.array(
                [None if i % 4 == 0 else [i, -i] for i in range(n)], pa.list_(pa.int16(), 2)
            ),
            "d": pa.array(lists, pa.list_(pa.int8())),
            "e": pa.array(rng.random(n).astype(np.float16)),
            "f": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in range(n)]),
        }
    )


def test_chunks_slices_and_dictionaries_do_not_matter() -> None:
    table = _wide(50)
    expected = content_digest(table)
    pieces = pa.concat_tables([table.slice(0, 13), table.slice(13, 1), table.slice(14)])
    assert content_digest(pieces) == expected
    index = table.column_names.index("b")
    coded = table.set_column(index, "b", table.column("b").dictionary_encode())
    assert content_digest(coded) == expected
    large = table.set_column(index, "b", table.column("b").cast(pa.large_string()))
    assert content_digest(large) == expected


def test_parquet_encodings_and_metadata_do_not_matter(tmp_path: Path) -> None:
    # (older Arrow cannot write nulls among lists of fixed size; no release has any)
    pairs = pa.array([[i, -i] for i in range(1000)], pa.list_(pa.int16(), 2))
    table = _wide(1000).set_column(2, "c", pairs)
    path = tmp_path / "t.parquet"
    digests = set()
    for options in (
        {"compression": "none", "use_dictionary": True},
        {"compression": "zstd", "use_dictionary": False, "row_group_size": 17},
        {"use_dictionary": False, "use_byte_stream_split": ["a", "c.list.element"]},
    ):
        pq.write_table(table.replace_schema_metadata({"x": "y"}), path, **options)
        digests.add(content_digest(pq.ParquetFile(path).read()))
    assert digests == {content_digest(table)}


def test_nullability_does_not_matter() -> None:
    strict = pa.schema([pa.field("a", pa.int32(), nullable=False)])
    assert content_digest(pa.table({"a": [1]}, schema=strict)) == content_digest(
        pa.table({"a": pa.array([1], pa.int32())})
    )


def test_types_that_no_release_has() -> None:
    with pytest.raises(SpecError, match="timestamp"):
        content_digest(pa.table({"a": pa.array([0], pa.timestamp("s"))}))


def test_fingerprints_tell_names_apart() -> None:
    assert fingerprint("a", "b", "c") == _sha(b'["a", "b", "c"]')
    assert len({fingerprint(*x) for x in (("a", "b", "c"), ("ab", "", "c"), ("b", "a", "c"))}) == 3


def test_parts_have_the_digest_of_the_whole() -> None:
    whole = pa.table({"a": pa.array([1, None, 3, 4], pa.int32()), "b": ["x", "yy", None, ""]})
    parts = [whole.slice(0, 1), whole.slice(1, 0), whole.slice(1)]
    assert content_digest_of(iter(parts)) == content_digest(whole)
    assert content_digest_of([whole, whole]) != content_digest(whole)
    with pytest.raises(SpecError, match="different columns"):
        content_digest_of([whole, whole.drop_columns("a")])
    with pytest.raises(SpecError, match="without any part"):
        content_digest_of([])
