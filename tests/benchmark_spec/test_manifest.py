import json
from dataclasses import replace

import pytest

from benchmark_spec.errors import CorruptReleaseError, FSLBenchError
from benchmark_spec.manifest import Dataset, Manifest, Table, check_manifest, table_path

DATASET = Dataset("cub", "Birds", "https://example.org", "none", "@misc{x}", 2, 4, "")


def _table(kind: str, dataset: str, name: str) -> Table:
    path = table_path(kind, dataset, name)  # type: ignore[arg-type]
    return Table(path, kind, dataset, name, 1, 2, "s", "d", "", {"seed": 0})  # type: ignore[arg-type]


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


def test_a_manifest_reads_its_own_text() -> None:
    assert Manifest.from_json(MANIFEST.to_json(), "x") == MANIFEST


def test_configurations_as_the_card_lists_them() -> None:
    assert list(MANIFEST.configs().items()) == [
        ("classes", {"cub": ["classes/cub.parquet"]}),
        ("tasks-open-5w1s1q", {"cub": ["tasks/open-5w1s1q/cub.parquet"]}),
        ("features-a-b-c-cub", {"cub": ["features/a-b-c/cub-00000-of-00001.parquet"]}),
        ("results", {"test": ["results/b-c.parquet"]}),
        ("tasks-5w1s1q-cub", {"open": ["tasks/open-5w1s1q/cub.parquet"]}),
    ]


def test_the_digest_is_of_content_not_of_files() -> None:
    first, *rest = MANIFEST.tables
    rewritten = replace(MANIFEST, tables=(replace(first, sha256="other", bytes=9), *rest))
    assert rewritten.digest == MANIFEST.digest
    changed = replace(MANIFEST, tables=(replace(first, digest="other"), *rest))
    assert changed.digest != MANIFEST.digest
    assert replace(MANIFEST, version="1.0.1").digest != MANIFEST.digest


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"digest": "0"}, "digest"),
        ({"tables": {}}, "tables"),
        ({"name": 3}, "name"),
        ({"version": "1"}, "version"),
        ({"datasets": [{"name": "cub"}]}, "title"),
        ({"datasets": ["cub"]}, r"datasets\[0\] is"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, object], what: str) -> None:
    raw = {**json.loads(MANIFEST.to_json()), **change}
    with pytest.raises(CorruptReleaseError, match=what):
        Manifest.from_json(json.dumps(raw), "x")


def test_what_may_be_redistributed() -> None:
    said = replace(MANIFEST, datasets=(replace(DATASET, redistribution="features"),))
    assert Manifest.from_json(said.to_json(), "x") == said
    raw = json.loads(said.to_json())
    del raw["datasets"][0]["redistribution"]
    assert Manifest.from_json(json.dumps(raw), "x").datasets == (DATASET,)
    assert DATASET.redistribution == "tables"
    raw["datasets"][0]["redistribution"] = "everything"
    with pytest.raises(CorruptReleaseError, match="redistribution is 'everything'"):
        Manifest.from_json(json.dumps(raw), "x")


def test_what_it_was_made_with() -> None:
    said = replace(MANIFEST, made_with="fslbench 9")
    assert Manifest.from_json(said.to_json(), "x") == said
    assert said.digest == MANIFEST.digest
    assert Manifest.from_json(MANIFEST.to_json(), "x").made_with == ""


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_texts_that_are_no_manifests(text: str) -> None:
    with pytest.raises(CorruptReleaseError):
        Manifest.from_json(text, "x")


def test_a_later_specification_asks_for_an_upgrade() -> None:
    raw = json.loads(MANIFEST.to_json()) | {"spec_version": "2.0"}
    with pytest.raises(CorruptReleaseError, match="upgrade fslbench"):
        Manifest.from_json(json.dumps(raw), "x")


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.parquet", "tasks/x.parquet", "x.txt"])
def test_tables_stay_inside_the_release(path: str) -> None:
    tables = (replace(MANIFEST.tables[0], path=path),)
    with pytest.raises(FSLBenchError):
        check_manifest(replace(MANIFEST, tables=tables))


def test_names_that_would_share_a_path_are_refused() -> None:
    tables = (_table("results", "", "a/b"), _table("results", "", "a-b"))
    with pytest.raises(FSLBenchError, match="share"):
        check_manifest(replace(MANIFEST, tables=tables))


HARMFUL: dict[str, str] = {
    "nested": '{"a":' * 100_000,
    "a number of many digits": '{"spec_version": ' + "9" * 5000 + "}",
    "a specification that is a list": '{"spec_version": [[1]]}',
    "nested in what is told": '{"spec_version": "1.0", "name": ' + "[" * 900 + "]" * 900 + "}",
    "a surrogate": '{"spec_version": "\\ud800"}',
}


@pytest.mark.parametrize("name", HARMFUL)
def test_texts_made_to_harm(name: str) -> None:
    with pytest.raises(CorruptReleaseError) as caught:
        Manifest.from_json(HARMFUL[name], "x")
    assert str(caught.value).replace("\n", "").isprintable()
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("name", "a\x1b[31m"),
        ("description", "\x1b]0;title\x07"),
        ("description", "\u202egnp"),
        ("description", "x" * 20_000),
        ("datasets.title", "a\nb"),
        ("datasets.citation", "\ud800"),
        ("datasets.licence", "\x9b31m"),
        ("tables.name", "\x1b[31m"),
        ("tables.name", "x"),
        ("tables.path", "\x1b.parquet"),
        ("tables.sha256", "\x1b"),
        ("tables.rows", -1),
        ("tables.rows", 10**4000),
        ("tables.bytes", True),
        ("tables.provenance", {"seed": float("nan")}),
        ("tables.provenance", {"seed": [[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]}),
    ],
)
def test_fields_made_to_harm(where: str, value: object) -> None:
    raw = json.loads(MANIFEST.to_json())
    place, _, field = where.rpartition(".")
    (raw[place][0] if place else raw)[field] = value
    with pytest.raises(CorruptReleaseError) as caught:
        Manifest.from_json(json.dumps(raw), "x")
    assert "its digest" not in str(caught.value)
    assert str(caught.value).replace("\n", "").isprintable()
    assert len(str(caught.value)) < 1000


def test_protocols_of_absurd_size() -> None:
    raw = json.loads(MANIFEST.to_json())
    raw["tables"][1]["name"] = "open-" + "9" * 5000 + "w1s1q"
    with pytest.raises(CorruptReleaseError, match="not a protocol"):
        Manifest.from_json(json.dumps(raw), "x")


def test_versions_of_many_digits_are_refused() -> None:
    with pytest.raises(FSLBenchError, match="version"):
        check_manifest(replace(MANIFEST, version="9" * 5000 + ".0.0"))
