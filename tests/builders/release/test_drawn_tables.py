"""Task sets that a release holds no table of: built, verified, loaded, and never believed."""

import shutil
from pathlib import Path
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest
from commands import invoke
from forged import change_entry
from msgspec.structs import replace
from specs import HEAD, spec_in
from stopping import content

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import CorruptReleaseError, FSLBenchError, OutputError, SamplingError
from benchmark_spec.manifest import CARD_FILE, MANIFEST_FILE, check_manifest
from builders.release.build import build_release
from builders.release.diff import diff
from builders.release.verify import verify
from builders.release.writer import JOURNAL_FILE
from fslbench_data.release import tables as redrawing
from fslbench_data.release.release import load_release
from fslbench_data.render.export import export

SPEC = f"""{HEAD}protocols = ["5w1s1q", "3w2s2q"]
tasks = {{ closed = 40, pooled = 300 }}
[[dataset]]
name = "cub"
source = "catalogue"
suites = ["open", "closed", "pooled"]
"""
DRAWN = SPEC.replace("tasks =", 'drawn = ["pooled"]\ntasks =')
POOLED, POOLED_PATH = "pooled-5w1s1q", "tasks/pooled-5w1s1q/cub.parquet"


@pytest.fixture(autouse=True)
def assets(tmp_path, monkeypatch):
    """Kept tables are in a folder of the test's own."""
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    return tmp_path / "assets" / "fslbench" / "tasks"


def _built(folder, text):
    build_release(spec_in(folder, text), folder / "r")
    return folder / "r"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return _built(tmp_path_factory.mktemp("stored"), SPEC)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return _built(tmp_path_factory.mktemp("drawn"), DRAWN)


@pytest.fixture
def folder(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "drawn"))


@pytest.fixture
def release(folder):
    return load_release(folder)


def test_a_release_without_tables_says_the_same_as_one_with_them(stored, whole):
    one, other = load_release(stored), load_release(whole)
    assert one.manifest.digest == other.manifest.digest
    assert one.task_sets == other.task_sets
    left_out = {t.path for t in other.manifest.tables if t.drawn}
    assert left_out == {f"tasks/{name}/cub.parquet" for name in (POOLED, "pooled-3w2s2q")}
    files = {p.relative_to(stored).as_posix() for p in stored.rglob("*") if p.is_file()}
    assert files - {p.relative_to(whole).as_posix() for p in whole.rglob("*")} == left_out
    for info in one.task_sets:
        assert one.task_table(info) == other.task_table(info)
        assert (one.class_ids(info) == other.class_ids(info)).all()
        assert (one.query_labels(info) == other.query_labels(info)).all()
    assert '"drawn"' not in (stored / MANIFEST_FILE).read_text()
    assert not diff(one, other).changes  # publishing stores them


def test_what_makers_of_releases_see(folder):
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
    (problem,) = verify(folder).problems
    assert (problem.path, problem.what) == (POOLED_PATH, "is not in the manifest")


def test_an_export_is_a_release_with_all_tables(stored, whole, tmp_path):
    out = tmp_path / "new" / "out"
    told = invoke("export", out, "--release", whole)
    assert told.exit_code == 0, told.output
    release, wanted = load_release(out), load_release(stored)
    assert f"r@1.0.0#{wanted.manifest.digest[:12]}, 7 tables, 2 of them drawn" in told.output
    specification = release.manifest.specification  # which says that they are drawn
    assert release.manifest == replace(wanted.manifest, specification=specification)
    assert verify(out).problems == ()
    found, expected = content(out), content(stored)
    assert found.pop(MANIFEST_FILE) != expected.pop(MANIFEST_FILE)
    assert found == expected


def test_an_export_is_whole_or_not_at_all(folder, release, tmp_path, monkeypatch):
    there = sorted(tmp_path.iterdir())
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


def test_stopped_builds_go_on(whole, tmp_path, monkeypatch):
    spec, folder = spec_in(tmp_path, DRAWN), tmp_path / "r"
    with monkeypatch.context() as patch:
        patch.setattr("builders.release.writer.dataset_card", _stop)
        with pytest.raises(KeyboardInterrupt):
            build_release(spec, folder)
    assert (folder / JOURNAL_FILE).exists()
    monkeypatch.setattr("builders.release.build.draw_task_set", _stop)  # nor drawn again
    build_release(spec, folder)
    assert content(folder) == content(whole)


def _stop(*args, **kwargs):
    raise KeyboardInterrupt


def test_the_table_is_kept_and_drawn_once(folder, release, assets, monkeypatch):
    info = release.task_set_info("cub", POOLED)
    first = release.task_table(info)
    (kept,) = assets.iterdir()
    assert kept.name == f"{content_digest(first)}.parquet"
    with monkeypatch.context() as patch:
        patch.setattr(redrawing, "draw_again", _stop)
        patch.setattr(redrawing, "whole_file", _stop)  # nor is anything written
        assert release.task_table(info) == first
        assert release.class_ids(info).shape == (300, 5)
    # one that was garbled is drawn again, and takes its place
    other = folder / "tasks/closed-5w1s1q/cub.parquet"
    for garbled in (b"", b"PAR1", kept.read_bytes()[:-9], other.read_bytes()):
        kept.write_bytes(garbled)
        assert release.task_table(info) == first
        assert content_digest(pq.read_table(kept)) == kept.stem
    assert [path.name for path in assets.iterdir()] == [kept.name]
    shutil.rmtree(assets)
    assets.write_text("a file where the folder would be")
    draw = Mock(wraps=redrawing.draw_again)
    monkeypatch.setattr(redrawing, "draw_again", draw)
    for _ in range(2):
        assert release.task_table(info) == first
    assert draw.call_count == 2


def test_another_digest_is_refused_and_not_kept(folder, assets):
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
def test_provenance_that_does_not_draw_it(changes, error, what, folder):
    change_entry(folder, POOLED_PATH, **changes)
    with pytest.raises(error, match=what):
        load_release(folder).task_set("cub", POOLED)


def test_what_would_take_long_is_not_begun(release):
    entry = next(t for t in release.manifest.tables if t.name == POOLED)
    with pytest.raises(CorruptReleaseError, match="too many to be drawn again"):
        redrawing.redrawn(replace(entry, name="pooled-2w20000s1q", rows=4), _stop)


def test_only_uniform_task_sets_without_a_file_may_be_drawn(release):
    manifest = release.manifest
    for name, changes in (
        ("open-5w1s1q", {"drawn": True, "bytes": 0, "sha256": ""}),
        (POOLED, {"bytes": 1}),
        (POOLED, {"sha256": "0"}),
    ):
        tables = tuple(replace(t, **changes) if t.name == name else t for t in manifest.tables)
        with pytest.raises(FSLBenchError, match="only uniform task sets"):
            check_manifest(replace(manifest, tables=tables))


def test_it_is_loaded_as_a_dataset(release):
    dataset = release.load_dataset("tasks-pooled-5w1s1q", "cub")
    table = release.task_table(release.task_set_info("cub", POOLED))
    assert dataset[7]["class_ids"] == table.column("class_ids")[7].as_py()
    assert content_digest(dataset.data.table) == content_digest(table)
