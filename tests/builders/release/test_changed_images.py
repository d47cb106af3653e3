"""Images that change between or during the runs of a build, and afterwards."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from specs import HEAD, spec_in
from stopping import Stop, content, stopping
from tiny_features import ABOUT, write_pictures

from benchmark_spec.errors import SourceError
from builders.cli import main
from builders.release.build import build_release
from builders.release.verify import verify
from builders.sources.export import write_pictures as export
from builders.sources.image_set import raw_state

Image = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")

SPEC = f"""{HEAD}
protocols = ["2w1s1q"]
[[dataset]]
name = "tiny"
source = "image_folder"
folder = "tiny"
suites = ["open", "balanced"]
attributes = {{ pixels = "pixels" }}
options = {{ {", ".join(f'{key} = "{value}"' for key, value in ABOUT.items())} }}
"""
FIRST = "class_0/0000.png"


def _raw(folder: Path) -> Path:
    write_pictures(folder / "raw/tiny", 4, classes=3)
    return folder / "raw"


def _pixel(path: Path) -> None:
    """Change one pixel of a picture."""
    picture = Image.open(path).convert("RGB")
    red, green, blue = picture.getpixel((3, 3))
    picture.putpixel((3, 3), (255 - red, green, blue))
    picture.save(path)


def _new(path: Path, name: str = "zzz.png") -> None:
    Image.new("RGB", (20, 20), (1, 2, 3)).save(path.with_name(name))


CHANGES: dict[str, Callable[[Path], Any]] = {
    "nothing": lambda path: None,
    "touched": os.utime,
    "a pixel": _pixel,
    "another image": lambda path: _new(path, path.name),
    "a new image": _new,
    "gone": Path.unlink,
    "renamed": lambda path: path.rename(path.with_name("0009.png")),
}


@pytest.mark.slow
@settings(max_examples=8)
@given(
    change=st.sampled_from(sorted(CHANGES)),
    file=st.sampled_from([FIRST, "class_2/0000.png"]),
    steps=st.integers(0, 5),
)
def test_a_resumed_build_is_refused_or_what_a_new_one_gives(
    tmp_path_factory: pytest.TempPathFactory, change: str, file: str, steps: int
) -> None:
    folder = tmp_path_factory.mktemp("changed")
    spec, raw, done = spec_in(folder, SPEC), _raw(folder), count()
    stop = stopping(lambda step: next(done) == steps)
    with pytest.raises(Stop):
        build_release(spec, folder / "release", raw=raw, progress=stop)
    CHANGES[change](raw / "tiny" / file)
    began = (folder / "release/images").exists()
    if began and change not in ("nothing", "touched"):
        with pytest.raises(SourceError, match="changed since the unfinished build read") as error:
            build_release(spec, folder / "release", raw=raw)
        if change in ("a pixel", "another image"):
            assert f"1 image changed since the unfinished build read it: {file}" in str(error.value)
        return
    build_release(spec, folder / "release", raw=raw)
    build_release(spec, folder / "new", raw=raw)
    assert content(folder / "release") == content(folder / "new")
    found = verify(folder / "release", raw=raw, spec=spec)
    assert found.problems == ()
    assert found.images_read in (12, 11, 13)


@pytest.mark.parametrize("step", ["attributes", "balanced"])
def test_images_that_change_while_they_are_used(tmp_path: Path, step: str) -> None:
    """Also during the last step, which does not look at them."""
    spec, raw = spec_in(tmp_path, SPEC), _raw(tmp_path)

    def meanwhile(begun: str) -> None:
        if step in begun:
            _pixel(raw / "tiny" / FIRST)

    with pytest.raises(SourceError, match="the raw folder changed after its images were read"):
        build_release(spec, tmp_path / "release", raw=raw, progress=meanwhile)
    assert (tmp_path / "release/attributes").exists() == (step == "balanced")
    assert not (tmp_path / "release/release.json").exists()


def test_what_an_unfinished_build_left_out_is_missing_where_nothing_may_be(tmp_path: Path) -> None:
    spec, raw, folder = spec_in(tmp_path, SPEC), _raw(tmp_path), tmp_path / "release"
    (raw / "tiny" / FIRST).write_bytes(b"no image")
    how: dict[str, Any] = {"raw": raw, "progress": stopping(lambda step: "balanced" in step)}
    with pytest.raises(Stop):
        build_release(spec, folder, allow_missing=True, **how)
    with pytest.raises(SourceError, match=FIRST):
        build_release(spec, folder, raw=raw)


def test_exported_pictures_of_changed_images_are_removed(tmp_path: Path) -> None:
    from tiny_features import read_pictures

    raw = _raw(tmp_path) / "tiny"
    images = read_pictures(raw)
    with pytest.raises(SourceError, match="changed after"):
        export(images, tmp_path / "out", lambda step: _pixel(raw / FIRST))
    assert not list((tmp_path / "out").glob("*.png"))
    assert export(read_pictures(raw), tmp_path / "again") == 12


@pytest.mark.parametrize("with_spec", [True, False], ids=["as its source reads it", "as files"])
def test_verify_hashes_images_again(tmp_path: Path, with_spec: bool) -> None:
    spec, raw = spec_in(tmp_path, SPEC), _raw(tmp_path)
    build_release(spec, tmp_path / "release", raw=raw)
    command = ["verify", str(tmp_path / "release"), "--raw", str(raw)]
    command += ["--spec", str(tmp_path / "spec.toml")] if with_spec else []
    run = CliRunner().invoke(main, command)
    assert run.exit_code == 0, run.output
    assert "12 images read again, no problems" in run.output
    stat = (raw / "tiny" / FIRST).stat()
    _pixel(raw / "tiny" / FIRST)
    os.utime(raw / "tiny" / FIRST, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    run = CliRunner().invoke(main, command)
    assert run.exit_code == 1
    assert f"1 image in {raw} not the released one: {FIRST}" in run.output
    shutil.rmtree(raw / "tiny")
    run = CliRunner().invoke(main, command)
    assert run.exit_code == 1
    assert "cannot be compared" in run.output


def test_the_state_of_a_folder(tmp_path: Path) -> None:
    raw = _raw(tmp_path) / "tiny"
    state = raw_state(raw)
    assert raw_state(raw) == state != raw_state(raw / "class_0")
    assert raw_state(None) == raw_state(tmp_path / "none") == ""
    for name in (".DS_Store", "class_0/Thumbs.db", ".loop"):
        (raw / name).write_bytes(b"not an image")
    assert raw_state(raw) == state
    (raw / "itself").symlink_to("itself")
    (raw / "loop").symlink_to(raw)
    (raw / "lost").symlink_to("nowhere")
    assert raw_state(raw) == raw_state(raw)
    (raw / "linked").symlink_to(tmp_path / "far", target_is_directory=True)
    write_pictures(tmp_path / "far", 1, classes=1)
    state = raw_state(raw)
    _pixel(tmp_path / "far" / FIRST)
    assert raw_state(raw) != state
