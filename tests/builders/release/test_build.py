"""Whole releases from a specification: interrupted anywhere, and gone on with after changes."""

import json
import os
import shutil
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from commands import build as called
from forged import rewrite
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from specs import HEAD, spec_in
from stopping import Stop, content, stopping, stopping_at_new
from tiny_features import ABOUT, OPTIONS, read_pictures, write_pictures

from benchmark_spec.errors import CorruptReleaseError, FSLBenchError, OutputError, SourceError
from benchmark_spec.manifest import MANIFEST_FILE
from builders.features.compress import pca_int8
from builders.release.build import build_release
from builders.release.verify import verify
from builders.release.writer import JOURNAL_FILE, LOCK_FILE
from builders.sources.export import write_pictures as export
from builders.sources.image_set import raw_state
from fslbench_data.release.release import load_release

for package in ("torch", "sklearn"):
    pytest.importorskip(package, reason="needs the extra `builders`")
Image = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")

FILES = 16  # two class lists, twelve task sets, card, manifest


def test_stopped_before_every_step_in_turn(built, tmp_path, spec_of):
    spec, folder = spec_of(tmp_path), tmp_path / "release"
    seen = []
    for _ in range(FILES - 2):
        with pytest.raises(Stop):
            build_release(spec, folder, progress=stopping_at_new(seen))
        assert not (folder / MANIFEST_FILE).exists()
        assert (folder / JOURNAL_FILE).exists()
    with pytest.raises(FSLBenchError, match="its build was not finished"):
        load_release(folder)
    again = []
    build_release(spec, folder, progress=again.append)
    assert again == [seen[-1]]  # nothing that was finished is made again
    assert content(folder) == content(built)


def test_damage_between_two_runs_is_made_good(built, tmp_path, spec_of):
    spec, folder = spec_of(tmp_path), tmp_path / "release"
    with pytest.raises(Stop):
        build_release(spec, folder, progress=stopping("cub".__eq__))
    (folder / "tasks/open-5w1s1q/vgg_flower.parquet").write_bytes(b"PAR1")
    (folder / "classes/vgg_flower.parquet").unlink()
    (folder / "classes/.cub.parquet.x0000000.writing").write_bytes(b"half")  # as a kill leaves it
    journal = json.loads((folder / JOURNAL_FILE).read_text())
    journal["made"]["tasks/vgg_flower/closed-5w1s1q"]["result"]["tables"][0]["digest"] = "0" * 64
    (folder / JOURNAL_FILE).write_text(json.dumps(journal))
    build_release(spec, folder)
    assert content(folder) == content(built)


def test_an_unfinished_build_is_continued_by_its_own_alone(tmp_path, spec_of):
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


def test_a_finished_build_is_left_as_it_is(built, tmp_path, spec_of):
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


def test_one_build_at_a_time(tmp_path, spec_of):
    folder = tmp_path / "release"

    def meanwhile(step):
        with pytest.raises(OutputError, match="another build is running"):
            build_release(spec_of(tmp_path), folder)

    build_release(spec_of(tmp_path), folder, progress=meanwhile)
    assert len(content(folder)) == FILES


OF_DIGITS = 'name = "digits"\nsuites = ["open"]\nprotocols = ["5w5s5q"]\nheads = ["NCC"]\n'
PROJECTED = f"{HEAD}[[dataset]]\n{OF_DIGITS}"


def _projected(folder, *features):
    build_release(spec_in(folder, f"{PROJECTED}features = {json.dumps(features)}"), folder / "r")
    return load_release(folder / "r")


@pytest.mark.slow
def test_features_that_are_projected(tmp_path, monkeypatch):
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


def test_a_projection_to_more_dimensions_than_there_are(tmp_path):
    with pytest.raises(FSLBenchError, match="cannot be projected to 65 dimensions"):
        _projected(tmp_path / "r", "pixels-pca65")


# ---- under a changed specification: what does not depend on it is kept ---------------------------
WHOLE_SPEC = (
    HEAD
    + """
protocols = ["5w1s", "5w5s5q"]
queries = { seeds = 2 }
tasks = { closed = 20 }

[[dataset]]
name = "digits"
features = ["pixels"]
heads = ["NCC", "MatchingNet"]
suites = ["open", "closed"]

[[dataset]]
name = "tiny"
source = "image_folder"
suites = ["open", "open_biased_own"]
protocols = ["2w1s1q"]
attributes = { look = "pixels", own = "given" }
pictures = 16
"""
    + OPTIONS.replace('"features"', '"images"')
    + 'attributes = "own.csv"\n'
)
_TINY = WHOLE_SPEC[WHOLE_SPEC.rindex("[[dataset]]") :]

NCC, MATCHING = "pixels/NCC", "pixels/MatchingNet"
OPEN, OPEN_5, CLOSED, CLOSED_5 = (f"digits/{s}-5w{n}s" for s in ("open", "closed") for n in (1, 5))
LOOK, OWN = "tiny: attributes look", "tiny: attributes own"
BIASED = "tiny/open_biased_own-2w1s1q"
TINY_TASKS = ["tiny/open-2w1s1q", BIASED]
CHOICE, PICTURES = "digits: the number of", "tiny: 0 of 24 pictures"
SPEC_CHANGES = {
    "nothing": ("", "", [MATCHING]),
    "version": ('"1.0.0"', '"1.1.0"', [MATCHING]),
    "description": ('"d"', '"What it is for."', [MATCHING]),
    "a head more": ('gNet"', 'gNet", "LR"', [MATCHING, "pixels/LR"]),
    "a head less": ('"NCC", ', "", [MATCHING]),
    "features more": (
        '["pixels"]',
        '["pixels-pca8", "pixels"]',
        ["digits: features of pixels-pca8", "pixels-pca8/NCC", "pixels-pca8/MatchingNet", MATCHING],
    ),
    "fewer suites": ('["open", "closed"]', '["closed"]', [NCC, MATCHING]),
    "readers draw": ("tasks =", 'drawn = ["closed"]\ntasks =', [CLOSED, CLOSED_5, MATCHING]),
    "more tasks": ("closed = 20", "closed = 30", [CLOSED, CLOSED_5, NCC, MATCHING]),
    "another seed": (
        "tasks =", "seed = 1\ntasks =",
        [OPEN, OPEN_5, CLOSED, CLOSED_5, *TINY_TASKS, NCC, MATCHING],
    ),
    "another rule": ("seeds = 2", "seeds = 3", [CHOICE, OPEN, CLOSED, NCC, MATCHING]),
    "another title": ('"Tiny"', '"Small"', ["tiny", MATCHING]),
    "groups": (
        "citation", 'groups = "groups.csv"\ncitation', ["tiny", LOOK, OWN, *TINY_TASKS, MATCHING],
    ),
    "files": ("pictures = 16", 'pictures = "files"', [PICTURES, MATCHING]),
    "another licence": ('"CC0"', '"CC-BY-4.0"', ["tiny", PICTURES, MATCHING]),
    "other attributes": ('"own.csv"', '"others.csv"', ["tiny", LOOK, OWN, BIASED, MATCHING]),
    "no data set": (_TINY, "", [MATCHING]),
}  # fmt: skip
"""Of each change what is written otherwise, and how the steps begin that are then made."""


def _changed(folder, change):
    old, new, _ = SPEC_CHANGES[change]
    assert old in WHOLE_SPEC
    return spec_in(folder, WHOLE_SPEC.replace(old, new) if old else WHOLE_SPEC)


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """A folder of raw folders: `tiny` has six images of each of four classes."""
    folder = tmp_path_factory.mktemp("raw")
    images = write_pictures(folder / "tiny", 6)
    (images / "groups.csv").write_text("path,group\nclass_0/0000.png,a\nclass_0/0002.png,a\n")
    paths = [path.relative_to(images) for path in images.glob("*/*")]
    for name, number in (("own", 2), ("others", 3)):
        rows = "".join(f"{path},{int(path.stem) % number == 0}\n" for path in paths)
        (images / f"{name}.csv").write_text(f"path,attributes\n{rows}")
    return folder


@pytest.fixture(scope="module")
def stopped(raw, tmp_path_factory):
    """The folder of a build that was stopped before its last table."""
    folder, at_the_last = tmp_path_factory.mktemp("stopped"), stopping(MATCHING.__eq__)
    with pytest.raises(Stop):
        build_release(_changed(folder, "nothing"), folder / "r", raw=raw, progress=at_the_last)
    return folder / "r"


@pytest.mark.slow
@pytest.mark.parametrize("change", SPEC_CHANGES)
def test_what_stays_after_a_change(change, raw, stopped, tmp_path):
    folder, fresh = tmp_path / "release", tmp_path / "fresh"
    shutil.copytree(stopped, folder)
    steps = []
    build_release(_changed(tmp_path, change), folder, raw=raw, progress=steps.append)
    expected = SPEC_CHANGES[change][2]
    for begin in expected:
        assert any(step.startswith(begin) for step in steps), begin
    assert any(step.startswith(CHOICE) for step in steps) == (CHOICE in expected)
    made = [step for step in steps if "/" in step or step in (LOOK, OWN)]
    made = [step for step in made if "images" not in step]
    assert len(made) == sum("/" in step or step in (LOOK, OWN) for step in expected), made
    build_release(_changed(tmp_path, change), fresh, raw=raw)
    assert content(folder) == content(fresh)
    names = [sorted(p.relative_to(one) for p in one.rglob("*")) for one in (folder, fresh)]
    assert names[0] == names[1]  # nor is a folder left


# ---- images that change between or during the runs, and afterwards -------------------------------
IMAGES_SPEC = f"""{HEAD}
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


def _raw(folder):
    write_pictures(folder / "raw/tiny", 4, classes=3)
    return folder / "raw"


def _pixel(path):
    picture = Image.open(path).convert("RGB")
    red, green, blue = picture.getpixel((3, 3))
    picture.putpixel((3, 3), (255 - red, green, blue))
    picture.save(path)


def _new(path, name="zzz.png"):
    Image.new("RGB", (20, 20), (1, 2, 3)).save(path.with_name(name))


IMAGE_CHANGES = {
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
    change=st.sampled_from(sorted(IMAGE_CHANGES)),
    file=st.sampled_from([FIRST, "class_2/0000.png"]),
    steps=st.integers(0, 5),
)
def test_a_resumed_build_is_refused_or_what_a_new_one_gives(tmp_path_factory, change, file, steps):
    folder = tmp_path_factory.mktemp("changed")
    spec, raw, done = spec_in(folder, IMAGES_SPEC), _raw(folder), count()
    stop = stopping(lambda step: next(done) == steps)
    with pytest.raises(Stop):
        build_release(spec, folder / "release", raw=raw, progress=stop)
    IMAGE_CHANGES[change](raw / "tiny" / file)
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
def test_images_that_change_while_they_are_used(tmp_path, step):
    spec, raw = spec_in(tmp_path, IMAGES_SPEC), _raw(tmp_path)

    def meanwhile(begun):
        if step in begun:
            _pixel(raw / "tiny" / FIRST)

    with pytest.raises(SourceError, match="the raw folder changed after its images were read"):
        build_release(spec, tmp_path / "release", raw=raw, progress=meanwhile)
    assert (tmp_path / "release/attributes").exists() == (step == "balanced")
    assert not (tmp_path / "release/release.json").exists()


def test_what_an_unfinished_build_left_out_is_missing_where_nothing_may_be(tmp_path):
    spec, raw, folder = spec_in(tmp_path, IMAGES_SPEC), _raw(tmp_path), tmp_path / "release"
    (raw / "tiny" / FIRST).write_bytes(b"no image")
    how = {"raw": raw, "progress": stopping(lambda step: "balanced" in step)}
    with pytest.raises(Stop):
        build_release(spec, folder, allow_missing=True, **how)
    with pytest.raises(SourceError, match=FIRST):
        build_release(spec, folder, raw=raw)


def test_exported_pictures_of_changed_images_are_removed(tmp_path):
    raw = _raw(tmp_path) / "tiny"
    images = read_pictures(raw)
    with pytest.raises(SourceError, match="changed after"):
        export(images, tmp_path / "out", lambda step: _pixel(raw / FIRST))
    assert not list((tmp_path / "out").glob("*.png"))
    assert export(read_pictures(raw), tmp_path / "again") == 12


@pytest.mark.parametrize("with_spec", [True, False], ids=["as its source reads it", "as files"])
def test_verify_hashes_images_again(tmp_path, with_spec):
    spec, raw = spec_in(tmp_path, IMAGES_SPEC), _raw(tmp_path)
    build_release(spec, tmp_path / "release", raw=raw)
    command = ["verify", tmp_path / "release", "--raw", raw]
    command += ["--spec", tmp_path / "spec.toml"] if with_spec else []
    assert "12 images read again, no problems" in called(0, *command).output
    stat = (raw / "tiny" / FIRST).stat()
    _pixel(raw / "tiny" / FIRST)
    os.utime(raw / "tiny" / FIRST, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert f"1 image in {raw} not the released one: {FIRST}" in called(1, *command).output
    shutil.rmtree(raw / "tiny")
    assert "cannot be compared" in called(1, *command).output


def test_the_state_of_a_folder(tmp_path):
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
