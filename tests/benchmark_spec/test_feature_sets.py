"""Shards of a feature set: all there, in order, once each."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from benchmark_spec.errors import ReleaseError
from benchmark_spec.manifest import (
    Table,
    check_shards,
    number_of_shards,
    scale_of,
    shard_of,
    table_path,
    without_shard,
)


def test_how_many_and_which() -> None:
    assert [number_of_shards(n) for n in (1, 65_536, 65_537, 7_710_295)] == [1, 1, 2, 118]
    path = table_path("features", "cub", "a:b", 3, 12)
    assert path == "features/a-b/cub-00003-of-00012.parquet"
    assert (shard_of(path), without_shard(path)) == ((3, 12), "features/a-b/cub.parquet")
    assert table_path("features", "cub", "a") == "features/a/cub-00000-of-00001.parquet"
    assert shard_of("tasks/open-5w1s1q/cub.parquet") == (0, 1)


@pytest.mark.parametrize(
    ("shards", "what"),
    [
        ([(0, 4), (1, 4), (2, 4), (4, 4)], "of 4 shards 0, 1, 2, 4 are listed"),
        ([(0, 4), (1, 4), (2, 4), (3, 5)], "shards of 4, 5 are listed together"),
        ([(0, 0)], "of 0 shards 0 are listed"),
    ],
)
def test_shards_that_are_not_all_there(shards: list[tuple[int, int]], what: str) -> None:
    paths = [table_path("features", "cub", "net", *shard) for shard in shards]
    with pytest.raises(ReleaseError, match=what):
        check_shards(Table(path, "features", "cub", "net", 1, 2, "", "", "", {}) for path in paths)


def test_what_int8_values_stand_for() -> None:
    assert scale_of(pa.int8(), {"scale": 2}, "x") == 2.0
    assert scale_of(pa.float16(), {}, "x") is None
    with pytest.raises(ReleaseError, match=r"(half)?float(16)? with a scale"):
        scale_of(pa.float16(), {"scale": 0.5}, "x")


@pytest.mark.parametrize("scale", [None, 0, -1.0, float("nan"), "1", True, 10**400, 1e31])
def test_what_is_no_scale(scale: Any) -> None:
    about = json.loads(json.dumps({"scale": scale}))
    with pytest.raises(ReleaseError, match="int8 features whose provenance gives scale"):
        scale_of(pa.int8(), about, "x")
