"""What a manifest says; what is refused in one is frozen: tests/test_refusals.py."""

import json
from dataclasses import replace

import pytest

from benchmark_spec.errors import FSLBenchError
from benchmark_spec.manifest import Dataset, Manifest, Table, check_manifest, table_path

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
