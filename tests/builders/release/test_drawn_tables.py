"""Task sets that a release holds no table of: built, verified, loaded, and never believed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from forged import change_entry

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    CorruptReleaseError,
    FSLBenchError,
    OutputError,
    SamplingError,
    SpecError,
)
from benchmark_spec.manifest import CARD_FILE, MANIFEST_FILE, Manifest, check_manifest
from builders.release.build import build_release
from builders.release.diff import diff
from builders.release.spec_file import read_spec
from builders.release.verify import verify
from builders.release.writer import JOURNAL_FILE
from fslbench_data.cli import main
from fslbench_data.release import tables as redrawing
from fslbench_data.release.release import Release, load_release
from fslbench_data.render.export import export

SPEC = """
name = "r"
version = "1.0.0"
description = "d"
protocols = ["5w1s1q", "3w2s2q"]
tasks = {{ closed = 40, pooled = 300 }}
{drawn}
[[dataset]]
name = "cub"
source = "catalogue"
suites = ["open", "closed", "pooled"]
"""
POOLED, POOLED_PATH = "pooled-5w1s1q", "tasks/pooled-5w1s1q/cub.parquet"
DRAWN = 'drawn = ["pooled"]'
MADE: dict[str, Path] = {}


@pytest.fixture(autouse=True)
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Kept tables are in a folder of the test's own."""
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    return tmp_path / "assets" / "fslbench" / "tasks"


@pytest.fixture(scope="module", autouse=True)
def once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Build what most tests begin with."""
    for drawn in ("", DRAWN):
        MADE[drawn] = _built(tmp_path_factory.mktemp("made") / "a", drawn)


def _built(folder: Path, drawn: str = DRAWN, *, anew: bool = False) -> Path:
    folder.mkdir()
    (folder / "spec.toml").write_text(SPEC.format(drawn=drawn))
    if drawn in MADE and not anew:
        return Path(shutil.copytree(MADE[drawn], folder / "release"))
    build_release(read_spec(folder / "spec.toml"), folder / "release")
    return folder / "release"


def test_a_release_without_tables_says_the_same_as_one_with_them(tmp_path: Path) -> None:
    stored, drawn = _built(tmp_path / "a", ""), _built(tmp_path / "b")
    one, other = load_release(stored), load_release(drawn)
    assert one.manifest.digest == other.manifest.digest
    assert one.task_sets == other.task_sets
    left_out = {t.path for t in other.manifest.tables if t.drawn}
    assert left_out == {f"tasks/{name}/cub.parquet" for name in (POOLED, "pooled-3w2s2q")}
    files = {p.relative_to(stored).as_posix() for p in stored.rglob("*") if p.is_file()}
    assert files - {p.relative_to(drawn).as_posix() for p in drawn.rglob("*")} == left_out
    for info in one.task_sets:
        assert one.task_table(info) == other.task_table(info)
        assert (one.class_ids(info) == other.class_ids(info)).all()
        assert (one.query_labels(info) == other.query_labels(info)).all()
    assert '"drawn"' not in (stored / MANIFEST_FILE).read_text()
    changes = [change.what for change in diff(one, other).changes]
    assert "same content, not stored any more: it is drawn again" in changes


def test_what_makers_of_releases_see(tmp_path: Path) -> None:
    folder = _built(tmp_path / "a")
    found = verify(folder)
    assert found.problems == ()
    assert found.drawn_again == 6
    card = (folder / CARD_FILE).read_text()
    assert "tasks-closed-5w1s1q" in card
    assert "tasks-pooled" not in card
    assert "The tables of pooled-3w2s2q, pooled-5w1s1q are not stored" in card
    stray = folder / POOLED_PATH
    stray.parent.mkdir()
    shutil.copy(folder / "tasks/closed-5w1s1q/cub.parquet", stray)
    assert [(p.path, p.what) for p in verify(folder).problems] == [
        (POOLED_PATH, "is not in the manifest")
    ]


def test_an_export_is_the_release_that_stores_its_tables(tmp_path: Path) -> None:
    stored, drawn = _built(tmp_path / "a", ""), _built(tmp_path / "b")
    out = tmp_path / "new" / "out"
    result = CliRunner().invoke(main, ["export", str(out), "--release", str(drawn)])
    assert result.exit_code == 0, result.output
    release, wanted = load_release(out), load_release(stored)
    assert f"r@1.0.0#{wanted.manifest.digest[:12]}, 7 tables, 2 of them drawn" in result.output
    specification = release.manifest.specification  # which says that they are drawn
    assert release.manifest == replace(wanted.manifest, specification=specification)
    assert verify(out).problems == ()
    files = [p.relative_to(stored) for p in stored.rglob("*") if p.is_file()]
    assert sorted(files) == sorted(p.relative_to(out) for p in out.rglob("*") if p.is_file())
    for file in files:
        if file.name != MANIFEST_FILE:
            assert (out / file).read_bytes() == (stored / file).read_bytes()
    cache = str(tmp_path / "cache")
    for config, split in (
        ("tasks-pooled-5w1s1q", "cub"),
        ("tasks-3w2s2q-cub", "pooled"),
        ("classes", "cub"),
    ):
        rows = datasets.load_dataset(str(out), config, split=split, cache_dir=cache)
        assert len(rows) == release.load_dataset(config, split).num_rows  # which compares digests
    assert rows.to_list() == release.classes("cub").to_pylist()


def test_an_export_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _built(tmp_path / "a")
    release, there = load_release(folder), sorted(tmp_path.iterdir())
    out = tmp_path / "out"
    monkeypatch.setattr("fslbench_data.render.export.dataset_card", _stop)
    with pytest.raises(KeyboardInterrupt):
        export(release, out)
    assert set(tmp_path.iterdir()) - {tmp_path / "assets"} == set(there)
    monkeypatch.undo()
    out.mkdir()
    kept = out / "kept"
    kept.touch()
    for path in (out, kept):
        with pytest.raises(OutputError, match="is there and not empty"):
            export(release, path)
    kept.unlink()
    export(release, out)
    assert load_release(out).manifest.digest == release.manifest.digest
    assert set(tmp_path.iterdir()) - {tmp_path / "assets"} == {*there, out}
    tasks = folder / "tasks/closed-5w1s1q/cub.parquet"
    tasks.write_bytes(tasks.read_bytes()[:-1])  # after it was opened
    with pytest.raises(CorruptReleaseError, match="is not the file that was released"):
        export(release, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_build_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _built(tmp_path / "a")
    monkeypatch.setattr("builders.release.writer.dataset_card", _stop)
    with pytest.raises(KeyboardInterrupt):
        _built(tmp_path / "b", anew=True)
    assert (tmp_path / "b/release" / JOURNAL_FILE).exists()
    monkeypatch.undo()
    spec = read_spec(tmp_path / "b/spec.toml")
    monkeypatch.setattr("builders.release.build.draw_task_set", _stop)  # nor drawn again
    build_release(spec, tmp_path / "b/release")
    again = (tmp_path / "b/release" / MANIFEST_FILE).read_bytes()
    assert again == (whole / MANIFEST_FILE).read_bytes()


def _stop(*args: object, **kwargs: object) -> str:
    raise KeyboardInterrupt


def test_the_table_is_kept_and_drawn_once(
    tmp_path: Path, assets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = load_release(_built(tmp_path / "a"))
    info = release.task_set_info("cub", POOLED)
    first = release.task_table(info)
    (kept,) = assets.iterdir()
    assert kept.name == f"{content_digest(first)}.parquet"
    monkeypatch.setattr(redrawing, "draw_again", _stop)
    assert release.task_table(info) == first
    assert release.class_ids(info).shape == (300, 5)
    # one that was garbled is drawn again, and takes its place
    monkeypatch.undo()
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    other = release.task_table(release.task_set_info("cub", "closed-5w1s1q"))
    for content in (b"", b"PAR1", kept.read_bytes()[:-9], other):
        if isinstance(content, bytes):
            kept.write_bytes(content)
        else:
            pq.write_table(content, kept)
        assert release.task_table(info) == first
        assert content_digest(pq.read_table(kept)) == info_digest(release)
    assert [path.name for path in assets.iterdir()] == [kept.name]


def info_digest(release: Release) -> str:
    return next(t.digest for t in release.manifest.tables if t.name == POOLED)


def test_where_nothing_can_be_written(
    tmp_path: Path, assets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = load_release(_built(tmp_path / "a"))
    info = release.task_set_info("cub", POOLED)
    expected = release.task_table(info)
    shutil.rmtree(assets)
    assets.write_text("a file where the folder would be")
    draws: list[str] = []
    draw = redrawing.draw_again
    monkeypatch.setattr(
        redrawing, "draw_again", lambda *a, **k: (draws.append(a[0]), draw(*a, **k))[1]
    )
    for _ in range(3):
        assert release.task_table(info) == expected
    assert len(draws) == 3


def test_a_cache_that_may_only_be_read_is_read(
    tmp_path: Path, assets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = load_release(_built(tmp_path / "a"))
    info = release.task_set_info("cub", POOLED)
    expected = release.task_table(info)
    monkeypatch.setattr(redrawing, "draw_again", _stop)
    monkeypatch.setattr(redrawing, "whole_file", _stop)
    assets.chmod(0o555)
    try:
        assert release.task_table(info) == expected
    finally:
        assets.chmod(0o755)


def test_another_digest_is_refused_and_not_kept(tmp_path: Path, assets: Path) -> None:
    folder = _built(tmp_path / "a")
    change_entry(folder, POOLED_PATH, digest="0" * 64)
    release = load_release(folder)
    with pytest.raises(CorruptReleaseError, match="not those that were released") as caught:
        release.task_set("cub", POOLED)
    assert "expected: content digest 000" in str(caught.value)
    assert "get the release again" in str(caught.value)
    assert not assets.exists()
    assert any("not those that were released" in p.what for p in verify(folder).problems)


@pytest.mark.parametrize(
    ("changes", "error", "what"),
    [
        ({"provenance": {"sampler_version": 2}}, SamplingError, "version 2 of the samplers"),
        ({"provenance": {}}, SamplingError, "version None of the samplers"),
        ({"rows": 299}, SamplingError, "it has 299 tasks, its provenance says 300"),
        ({"digest": "../" * 20 + "etc/x"}, CorruptReleaseError, "is no content digest"),
        ({"rows": 10**9}, CorruptReleaseError, "too many to be drawn again"),
    ],
)
def test_provenance_that_does_not_draw_it(
    changes: dict[str, Any], error: type[FSLBenchError], what: str, tmp_path: Path
) -> None:
    folder = _built(tmp_path / "a")
    change_entry(folder, POOLED_PATH, **changes)
    with pytest.raises(error, match=what):
        load_release(folder).task_set("cub", POOLED)


def test_what_would_take_long_is_not_begun(tmp_path: Path) -> None:
    manifest = load_release(_built(tmp_path / "a")).manifest
    entry = next(t for t in manifest.tables if t.name == POOLED)
    for name, rows in (("pooled-2w20000s1q", 4), ("pooled-5w1s1q", 2**31 - 1)):
        with pytest.raises(CorruptReleaseError, match="too many to be drawn again"):
            redrawing.redrawn(replace(entry, name=name, rows=rows), _stop)  # type: ignore[arg-type]


def test_only_uniform_task_sets_without_a_file_may_be_drawn(tmp_path: Path) -> None:
    manifest = load_release(_built(tmp_path / "a")).manifest
    assert Manifest.from_json(manifest.to_json(), "x") == manifest
    for name, changes in (
        ("open-5w1s1q", {"drawn": True, "bytes": 0, "sha256": ""}),
        (POOLED, {"bytes": 1}),
        (POOLED, {"sha256": "0"}),
        ("", {"drawn": True, "bytes": 0, "sha256": ""}),  # the classes
    ):
        tables = tuple(replace(t, **changes) if t.name == name else t for t in manifest.tables)  # type: ignore[arg-type]
        with pytest.raises(FSLBenchError, match="only uniform task sets"):
            check_manifest(replace(manifest, tables=tables))
    raw = json.loads(manifest.to_json())
    for table in raw["tables"]:
        table["drawn"] = "yes"
    with pytest.raises(CorruptReleaseError, match="drawn is 'yes', not true or false"):
        Manifest.from_json(json.dumps(raw), "x")


def test_a_specification_leaves_out_what_can_be_drawn_alone(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="open sets cannot be left out"):
        _built(tmp_path / "a", 'drawn = ["open"]')


def test_it_is_loaded_as_a_dataset(tmp_path: Path) -> None:
    release = load_release(_built(tmp_path / "a"))
    dataset = release.load_dataset("tasks-pooled-5w1s1q", "cub")
    table = release.task_table(release.task_set_info("cub", POOLED))
    assert dataset[7]["class_ids"] == table.column("class_ids")[7].as_py()
    assert content_digest(dataset.data.table) == content_digest(table)
