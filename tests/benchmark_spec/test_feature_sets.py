"""Shards of a feature set: all there, in order, once each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from benchmark_spec.errors import CorruptReleaseError, FSLBenchError, ReleaseError
from benchmark_spec.manifest import (
    MANIFEST_FILE,
    Table,
    check_manifest,
    number_of_shards,
    scale_of,
    shard_of,
    table_path,
    without_shard,
)
from fslbench_data.release.release import Release, load_release

Tables = list[Table]


def test_how_many_and_which() -> None:
    assert [number_of_shards(n) for n in (1, 65_536, 65_537, 7_710_295)] == [1, 1, 2, 118]
    path = table_path("features", "cub", "a:b", 3, 12)
    assert path == "features/a-b/cub-00003-of-00012.parquet"
    assert (shard_of(path), without_shard(path)) == ((3, 12), "features/a-b/cub.parquet")
    assert table_path("features", "cub", "a") == "features/a/cub-00000-of-00001.parquet"
    assert shard_of("tasks/open-5w1s1q/cub.parquet") == (0, 1)


def _swapped(tables: Tables) -> Tables:
    return [tables[0], tables[2], tables[1], *tables[3:]]


def _renamed(tables: Tables, *of: tuple[int, int]) -> Tables:
    pairs = zip(tables, of, strict=True)
    return [replace(t, path=table_path("features", "birds", "net", *n)) for t, n in pairs]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda t: t[1:], "of 4 shards 1, 2, 3 are listed"),
        (lambda t: t[:3], "shards 0, 1, 2 are listed"),
        (lambda t: [*t, t[1]], r"would share|each once"),
        (_swapped, "0, 2, 1, 3 are listed, not each once in order"),
        (lambda t: _renamed(t, (0, 4), (1, 4), (2, 4), (4, 4)), "0, 1, 2, 4 are listed"),
        (lambda t: _renamed(t, (0, 4), (1, 4), (2, 4), (3, 5)), "shards of 4, 5 are listed"),
        (lambda t: _renamed(t[:1], (0, 0)), "of 0 shards 0 are listed"),
        (lambda t: [replace(t[0], path="features/net/birds.parquet"), *t[1:]], "where such"),
    ],
)
def test_shards_that_are_not_all_there_once_and_in_order(
    sharded: Release, change: Callable[[Tables], Tables], what: str, tmp_path: Path
) -> None:
    manifest = sharded.manifest
    check_manifest(manifest)
    shards = [t for t in manifest.tables if t.name == "net"]
    others = [t for t in manifest.tables if t.name != "net"]
    assert len(shards) == 4
    changed = replace(manifest, tables=(*others, *change(shards)))
    with pytest.raises(FSLBenchError, match=what):
        check_manifest(changed)
    (tmp_path / MANIFEST_FILE).write_text(changed.to_json())
    with pytest.raises(CorruptReleaseError, match=what):
        load_release(tmp_path)


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
