"""Whole releases from a specification, interrupted anywhere."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from forged import rewrite
from msgspec import structs
from specs import HEAD, spec_in
from stopping import Stop, content, stopping

from benchmark_spec.errors import CorruptReleaseError, FSLBenchError, OutputError
from benchmark_spec.manifest import MANIFEST_FILE
from builders.features.compress import pca_int8
from builders.release.build import build_release
from builders.release.spec import ReleaseSpec
from builders.release.verify import verify
from builders.release.writer import JOURNAL_FILE, LOCK_FILE
from fslbench_data.release.release import Release, load_release

SpecOf = Callable[..., ReleaseSpec]
FILES = 16  # two class lists, twelve task sets, card, manifest


def test_stopped_before_every_step_in_turn_it_gives_the_same_files(
    built: Path, tmp_path: Path, spec_of: SpecOf
) -> None:
    spec, folder = spec_of(tmp_path), tmp_path / "release"
    seen: list[str] = []

    def stop_at_the_first_new_step(step: str) -> None:
        if step not in seen:
            seen.append(step)
            raise Stop

    for _ in range(FILES - 2):
        with pytest.raises(Stop):
            build_release(spec, folder, progress=stop_at_the_first_new_step)
        assert not (folder / MANIFEST_FILE).exists()
        assert (folder / JOURNAL_FILE).exists()
    with pytest.raises(FSLBenchError, match="its build was not finished"):
        load_release(folder)
    again: list[str] = []
    build_release(spec, folder, progress=again.append)
    assert again == [seen[-1]]  # nothing that was finished is made again
    assert content(folder) == content(built)


def test_what_is_damaged_between_two_runs_is_made_again(
    built: Path, tmp_path: Path, spec_of: SpecOf
) -> None:
    spec, folder = spec_of(tmp_path), tmp_path / "release"
    with pytest.raises(Stop):
        build_release(spec, folder, progress=stopping("cub".__eq__))
    (folder / "tasks/open-5w1s1q/vgg_flower.parquet").write_bytes(b"PAR1")
    (folder / "classes/vgg_flower.parquet").unlink()
    journal = json.loads((folder / JOURNAL_FILE).read_text())
    step = journal["made"]["tasks/vgg_flower/closed-5w1s1q"]
    step["result"]["tables"][0]["digest"] = "0" * 64
    (folder / JOURNAL_FILE).write_text(json.dumps(journal))
    build_release(spec, folder)
    assert content(folder) == content(built)


def test_an_unfinished_build_is_continued_by_none_but_its_own(
    tmp_path: Path, spec_of: SpecOf
) -> None:
    folder = tmp_path / "release"
    with pytest.raises(Stop):
        build_release(spec_of(tmp_path), folder, progress=stopping(bool))
    with pytest.raises(OutputError, match="another release: they differ in release"):
        build_release(structs.replace(spec_of(tmp_path), name="other"), folder)
    for damaged in ("{", '{"build": null, "datasets": [], "tables": []}', "[]"):
        (folder / JOURNAL_FILE).write_text(damaged)
        with pytest.raises(OutputError, match="cannot be read"):
            build_release(spec_of(tmp_path), folder)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("x")
    with pytest.raises(OutputError, match="not an empty folder"):
        build_release(spec_of(tmp_path), other)
    assert [path.name for path in other.iterdir()] == ["thesis.tex"]


def test_a_finished_build_is_left_as_it_is(built: Path, tmp_path: Path, spec_of: SpecOf) -> None:
    """What a kill left that came after the manifest is removed."""
    folder = Path(shutil.copytree(built, tmp_path / "release"))
    (folder / LOCK_FILE).touch()
    (folder / "classes/.cub.parquet.abcd1234.writing").write_bytes(b"half")
    build_release(spec_of(tmp_path), folder)
    assert content(folder) == content(built)
    for other in ({"seed": 1}, {"closed": 50}, {"version": "1.0.1"}):
        with pytest.raises(OutputError, match="finished release of another"):
            build_release(spec_of(tmp_path, **other), folder)
    with pytest.raises(OutputError, match="finished release of another"):
        build_release(spec_of(tmp_path), folder, allow_missing=True)
    assert content(folder) == content(built)
    (folder / "classes/cub.parquet").write_bytes(b"PAR1")
    with pytest.raises(CorruptReleaseError):
        build_release(spec_of(tmp_path), folder)


@pytest.mark.slow
def test_stopped_at_a_write_the_next_run_leaves_nothing_behind(
    built: Path, tmp_path: Path, spec_of: SpecOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The temporary file of the first and the last writes stays behind, as a kill leaves it."""
    written: list[Path] = []
    nth, real, left = 0, Path.replace, "x0000000.writing"

    def killed(path: Path, target: Path) -> Path:
        written.append(target)
        if len(written) == nth:
            shutil.copy(path, target.with_name(f".{target.name}.{left}"))
            raise Stop
        return real(path, target)

    monkeypatch.setattr(Path, "replace", killed)
    build_release(spec_of(tmp_path), tmp_path / "counted")
    whole = len(written)
    assert sum(path.suffix == ".parquet" for path in written) == FILES - 2
    for nth in (1, 3, whole - 2, whole - 1, whole):
        folder = tmp_path / str(nth)
        written.clear()
        monkeypatch.setattr(Path, "replace", killed)
        with pytest.raises(Stop):
            build_release(spec_of(tmp_path), folder)
        monkeypatch.setattr(Path, "replace", real)
        assert list(folder.rglob(f".*{left}"))
        build_release(spec_of(tmp_path), folder)
        assert content(folder) == content(built)


def test_one_build_at_a_time(tmp_path: Path, spec_of: SpecOf) -> None:
    folder = tmp_path / "release"

    def meanwhile(step: str) -> None:
        with pytest.raises(OutputError, match="another build is running"):
            build_release(spec_of(tmp_path), folder)

    build_release(spec_of(tmp_path), folder, progress=meanwhile)
    assert len(content(folder)) == FILES


PROJECTED = f"""{HEAD}
[[dataset]]
name = "digits"
suites = ["open"]
protocols = ["5w5s5q"]
heads = ["NCC"]
"""


def _projected(folder: Path, *features: str) -> Release:
    pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`, for the heads")
    build_release(spec_in(folder, f"{PROJECTED}features = {json.dumps(features)}"), folder / "r")
    return load_release(folder / "r")


@pytest.mark.slow
def test_projected_features_with_and_without_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that the release holds come in shards, and the heads' results are verified."""
    monkeypatch.setattr("benchmark_spec.manifest.SHARD_IMAGES", 500)
    alone = _projected(tmp_path / "alone", "pixels-pca16")
    both = _projected(tmp_path / "both", "pixels-pca16", "pixels")
    assert alone.backbones == ("pixels-pca16",)
    assert alone.methods == ("pixels-pca16/NCC",)
    assert both.backbones == ("pixels", "pixels-pca16")
    values, scale, _ = pca_int8(both.features("digits", "pixels"), 16)
    folder, results = tmp_path / "alone/r", "results/pixels-pca16-NCC.parquet"
    assert verify(folder).problems == ()
    rewrite(folder, results, lambda table: table.slice(0, 20))
    assert any(p.path == results and "tasks" in p.what for p in verify(folder).problems)
    for release in (alone, both):
        found = release.features("digits", "pixels-pca16")
        assert np.array_equal(found, values.astype(np.float32) * np.float32(scale))
        table, *others = (t for t in release.manifest.tables if t.name == "pixels-pca16")
        assert len(others) == 3
        assert table.provenance["scale"] == scale
        assert table.provenance["backbone"] == "pixels"
        assert table.provenance["pca"]["dimensions"] == 16


def test_a_projection_to_more_dimensions_than_there_are(tmp_path: Path) -> None:
    with pytest.raises(FSLBenchError, match="cannot be projected to 65 dimensions"):
        _projected(tmp_path / "r", "pixels-pca65")
