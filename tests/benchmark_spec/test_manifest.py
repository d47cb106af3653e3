"""What a manifest says, and shards; what is refused in one is frozen: tests/test_refusals.py."""

import json
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from benchmark_spec.errors import FSLBenchError, ReleaseError
from benchmark_spec.manifest import (
    Dataset,
    Manifest,
    Table,
    check_manifest,
    number_of_picture_shards,
    number_of_shards,
    scale_of,
    shard_of,
    table_path,
    without_shard,
)

DATASET = Dataset("cub", "Birds", "https://example.org", "none", "@misc{x}", 2, 4, "")


def _table(kind: str, dataset: str, name: str) -> Table:
    path = table_path(kind, dataset, name)
    return Table(path, kind, dataset, name, 1, 2, "s", "d", "", {"seed": 0})


MANIFEST = Manifest(
    "small",
    "1.0.0",
    "é",
    (DATASET,),
    (
        _table("classes", "cub", ""),
        _table("tasks", "cub", "open-5w1s1q"),
        _table("features", "cub", "a:b/c"),
        _table("results", "", "b/c"),
    ),
)


def test_configurations_as_the_card_lists_them() -> None:
    assert list(MANIFEST.configs().items()) == [
        ("classes", {"cub": ["classes/cub.parquet"]}),
        ("tasks-open-5w1s1q", {"cub": ["tasks/open-5w1s1q/cub.parquet"]}),
        ("features-a-b-c-cub", {"cub": ["features/a-b-c/cub-00000-of-00001.parquet"]}),
        ("results", {"test": ["results/b-c.parquet"]}),
        ("tasks-5w1s1q-cub", {"open": ["tasks/open-5w1s1q/cub.parquet"]}),
    ]


def test_the_digest_is_of_content_not_of_files_or_of_what_wrote_them() -> None:
    first, *rest = MANIFEST.tables
    rewritten = (replace(first, sha256="other", bytes=9), *rest)
    assert replace(MANIFEST, tables=rewritten, made_with="fslbench 9").digest == MANIFEST.digest
    changed = replace(MANIFEST, tables=(replace(first, digest="other"), *rest))
    assert changed.digest != MANIFEST.digest
    assert replace(MANIFEST, version="1.0.1").digest != MANIFEST.digest


def test_where_nothing_is_said_tables_alone_may_be_redistributed() -> None:
    raw = json.loads(MANIFEST.to_json())
    del raw["datasets"][0]["redistribution"]
    assert Manifest.from_json(json.dumps(raw), "x").datasets[0].redistribution == "tables"


def test_names_that_would_share_a_path_are_refused() -> None:
    tables = (_table("results", "", "a/b"), _table("results", "", "a-b"))
    with pytest.raises(FSLBenchError, match="share"):
        check_manifest(replace(MANIFEST, tables=tables))


def test_how_many_shards_and_which() -> None:
    assert [number_of_shards(n) for n in (1, 65_536, 65_537, 7_710_295)] == [1, 1, 2, 118]
    assert [number_of_picture_shards(n) for n in (1, 8_192, 8_193)] == [1, 1, 2]
    path = table_path("features", "cub", "a:b", 3, 12)
    assert path == "features/a-b/cub-00003-of-00012.parquet"
    assert (shard_of(path), without_shard(path)) == ((3, 12), "features/a-b/cub.parquet")
    assert table_path("features", "cub", "a") == "features/a/cub-00000-of-00001.parquet"
    assert shard_of("tasks/open-5w1s1q/cub.parquet") == (0, 1)


@pytest.mark.parametrize(("kind", "name"), [("features", "net"), ("pictures", "")])
@pytest.mark.parametrize(
    ("shards", "what"),
    [
        ([(0, 4), (1, 4), (2, 4), (4, 4)], "of 4 shards 0, 1, 2, 4 are listed"),
        ([(0, 4), (2, 4), (1, 4), (3, 4)], "0, 2, 1, 3 are listed, not each once in order"),
        ([(0, 4), (1, 4), (2, 4), (3, 5)], "shards of 4, 5 are listed together"),
        ([(0, 0)], "of 0 shards 0 are listed"),
    ],
)
def test_shards_that_are_not_all_there_in_order(
    kind: Any, name: str, shards: list[tuple[int, int]], what: str
) -> None:
    paths = [table_path(kind, "cub", name, *shard) for shard in shards]
    tables = tuple(replace(_table(kind, "cub", name), path=path) for path in paths)
    with pytest.raises(ReleaseError, match=what):
        check_manifest(replace(MANIFEST, tables=tables))


def test_what_steps_stand_for() -> None:
    assert scale_of(pa.float32(), {"scale": 2}, "x") == 2.0
    assert scale_of(pa.float16(), {}, "x") is None
    with pytest.raises(ReleaseError, match=r"(half)?float(16)? with a scale"):
        scale_of(pa.float16(), {"scale": 0.5}, "x")


@pytest.mark.parametrize("scale", [None, 0, -1.0, float("nan"), "1", True, 10**400, 1e31])
def test_what_is_no_scale(scale: Any) -> None:
    about = json.loads(json.dumps({"scale": scale}))
    with pytest.raises(ReleaseError, match="float features whose provenance gives scale"):
        scale_of(pa.float32(), about, "x")
