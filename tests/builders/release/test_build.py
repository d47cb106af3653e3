"""Whole releases from a specification, interrupted anywhere."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs
from stopping import Stop, content, stopping

from benchmark_spec.errors import CorruptReleaseError, FSLBenchError, OutputError
from benchmark_spec.manifest import MANIFEST_FILE
from builders.cli import main
from builders.release.build import build_release
from builders.release.spec import ReleaseSpec
from builders.release.spec_file import read_spec
from builders.release.writer import JOURNAL_FILE, LOCK_FILE
from fslbench_data.release.release import load_release

SpecOf = Callable[..., ReleaseSpec]
FILES = 16  # two class lists, twelve task sets, card, manifest


def test_it_holds_what_the_specification_says(built: Path) -> None:
    release = load_release(built)
    assert str(release) == "small@1.0.0"
    names = [str(info) for info in release.task_sets]
    assert names == [
        *(
            f"vgg_flower/{suite}-{protocol}"
            for suite in ("published", "open", "closed", "balanced")
            for protocol in ("5w1s1q", "3w2s2q")
        ),
        *(
            f"cub/{suite}-{protocol}"
            for suite in ("open", "balanced")
            for protocol in ("5w1s1q", "3w2s2q")
        ),
    ]
    assert release.task_set_info("vgg_flower", "closed-5w1s1q").n_tasks == 40
    assert release.task_set_info("vgg_flower", "balanced-5w1s1q").n_tasks == 141
    assert len(content(built)) == FILES


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


def test_a_file_damaged_between_two_runs_is_made_again(
    built: Path, tmp_path: Path, spec_of: SpecOf
) -> None:
    spec, folder = spec_of(tmp_path), tmp_path / "release"

    with pytest.raises(Stop):
        build_release(spec, folder, progress=stopping("cub".__eq__))
    (folder / "tasks/open-5w1s1q/vgg_flower.parquet").write_bytes(b"PAR1")
    (folder / "classes/vgg_flower.parquet").unlink()
    left = folder / "tasks/open-5w1s1q/.cub.parquet.abcd1234.writing"
    left.write_bytes(b"left by a killed run")
    build_release(spec, folder)
    assert content(folder) == content(built)


_RUN = (
    "import sys; from pathlib import Path; from builders.release.build import build_release;"
    "from builders.release.spec_file import read_spec; print(flush=True);"
    "build_release(read_spec(Path(sys.argv[1])), Path(sys.argv[2]))"
)


@pytest.mark.slow
def test_killed_at_random_moments_it_gives_the_same_files(
    built: Path, tmp_path: Path, spec_of: SpecOf
) -> None:
    """SIGKILL, then the same command: no final name is ever half-written."""
    spec_of(tmp_path)
    (spec,) = tmp_path.glob("*.toml")
    expected, chance = content(built), random.Random(4)

    def start(folder: Path) -> subprocess.Popen[str]:
        run = subprocess.Popen(
            [sys.executable, "-c", _RUN, spec, folder], stdout=subprocess.PIPE, text=True
        )
        assert run.stdout is not None
        run.stdout.readline()  # imports are done, the build begins
        return run

    begin = start(tmp_path / "timed"), time.monotonic()
    assert begin[0].wait() == 0
    seconds, folder, killed = time.monotonic() - begin[1], tmp_path / "killed", 0
    while killed < 3:
        run = start(folder)
        time.sleep(chance.random() * seconds * 0.9)
        run.send_signal(signal.SIGKILL)
        killed += run.wait() != 0
        for path, data in (content(folder) if folder.exists() else {}).items():
            hidden = path.split("/")[-1].startswith(".")
            assert hidden or data == expected[path], "a final name, half-written"
        if (folder / MANIFEST_FILE).exists() and not (folder / JOURNAL_FILE).exists():
            shutil.rmtree(folder)  # it had got through: anew
    assert start(folder).wait() == 0
    assert content(folder) == expected


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


def test_a_finished_build_run_again_says_so(
    tmp_path: Path, spec_of: SpecOf, spec_text: str
) -> None:
    """Also where a kill came after the manifest: what it left is removed."""
    folder, spec = tmp_path / "release", tmp_path / "spec.toml"
    spec.write_text(spec_text.format(version="1.0.0", seed=0, closed=40))
    command = ["release", str(spec), "-o", str(folder)]
    first = CliRunner().invoke(main, command)
    assert (first.exit_code, "wrote" in first.stderr) == (0, True)
    before = content(folder)
    (folder / LOCK_FILE).touch()
    (folder / "classes/.cub.parquet.abcd1234.writing").write_bytes(b"half")
    again = CliRunner().invoke(main, command)
    assert again.exit_code == 0, again.output
    assert again.stdout == first.stdout
    assert f"{folder} is finished" in again.stderr
    assert content(folder) == before
    for other in ({"seed": 1}, {"closed": 50}, {"version": "1.0.1"}):
        with pytest.raises(OutputError, match="finished release of another"):
            build_release(spec_of(tmp_path, **other), folder)
    with pytest.raises(OutputError, match="finished release of another"):
        build_release(spec_of(tmp_path), folder, allow_missing=True)
    assert content(folder) == before
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


def test_a_journal_that_is_not_true(built: Path, tmp_path: Path, spec_of: SpecOf) -> None:
    spec, folder = spec_of(tmp_path), tmp_path / "release"

    with pytest.raises(Stop):
        build_release(spec, folder, progress=stopping("cub".__eq__))
    journal = json.loads((folder / JOURNAL_FILE).read_text())
    for step in journal["made"].values():
        for table in step["result"]["tables"]:
            table["digest"] = "0" * 64
    (folder / JOURNAL_FILE).write_text(json.dumps(journal))
    build_release(spec, folder)
    assert content(folder) == content(built)


PROJECTED = """
name = "r"
version = "1.0.0"
description = "d"
[[dataset]]
name = "digits"
suites = ["open"]
protocols = ["5w5s5q"]
features = {features}
heads = ["NCC"]
"""


def _projected(folder: Path, features: str, name: str = "release") -> Path:
    pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")
    path = folder / "spec.toml"
    path.write_text(PROJECTED.format(features=features))
    build_release(read_spec(path), folder / name)
    return folder / name


@pytest.mark.slow
def test_projected_features_with_and_without_their_own(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`, for the heads")
    import numpy as np

    from builders.features.compress import pca_int8
    from builders.release.verify import verify

    alone = load_release(_projected(tmp_path, '["pixels-pca16"]', "alone"))
    both = load_release(_projected(tmp_path, '["pixels-pca16", "pixels"]', "both"))
    assert alone.backbones == ("pixels-pca16",)
    assert alone.methods == ("pixels-pca16/NCC",)
    assert both.backbones == ("pixels", "pixels-pca16")
    values, scale, _ = pca_int8(both.features("digits", "pixels"), 16)
    assert verify(Path(alone.files.where)).problems == ()
    for release in (alone, both):
        found = release.features("digits", "pixels-pca16")
        assert np.array_equal(found, values.astype(np.float32) * np.float32(scale))
        (table,) = (t for t in release.manifest.tables if t.name == "pixels-pca16")
        assert table.provenance["scale"] == scale
        assert table.provenance["backbone"] == "pixels"
        assert table.provenance["pca"]["dimensions"] == 16


@pytest.mark.slow
def test_features_of_another_backbone_in_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`, for the heads")
    import numpy as np

    from builders.release.verify import verify

    made = []

    @contextmanager
    def features_of(backbone: str, *_: object) -> Iterator[tuple[object, dict[str, object]]]:
        made.append(backbone)
        values = np.random.default_rng(0).random((1797, 24)).astype(np.float16)
        yield [values], {"backbone": backbone, "weights_sha256": "0" * 64}

    monkeypatch.setattr("benchmark_spec.manifest.SHARD_IMAGES", 500)
    monkeypatch.setattr("builders.release.features.features_of", features_of)
    monkeypatch.setattr("builders.release.features.is_network", lambda name: False)
    monkeypatch.setattr("builders.release.preflight.check_backbone", lambda *_: None)
    release = load_release(_projected(tmp_path, '["net-pca8", "net-pca12", "net"]'))
    assert made == ["net"]  # the projections are of what is in the release
    assert release.backbones == ("net", "net-pca8", "net-pca12")
    assert release.features("digits", "net-pca12").shape == (1797, 12)
    assert len([t for t in release.manifest.tables if t.kind == "features"]) == 12
    assert verify(Path(release.files.where)).problems == ()


def test_a_projection_of_what_is_no_backbone(tmp_path: Path) -> None:
    with pytest.raises(FSLBenchError, match="did you mean 'pixels'"):
        _projected(tmp_path, '["pixel-pca16"]')
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`, for its heads")
    with pytest.raises(FSLBenchError, match="cannot be projected to 65 dimensions"):
        _projected(tmp_path, '["pixels-pca65"]')
