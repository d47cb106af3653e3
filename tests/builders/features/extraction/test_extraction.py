"""Extraction: features of a plain loop, however it is stopped; in a folder, and in releases."""

import io
import json
import os
import shutil
import signal
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from commands import build as called
from msgspec import structs
from PIL import Image
from stopping import Stop, content, stopping, stopping_at_new
from tiny_features import ABOUT, TINY, read_pictures, stop_after, write_pictures

from benchmark_spec import errors
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import EngineError, OutputError, SourceError, SpecError
from benchmark_spec.schemas import check_features
from builders.execution import parquet
from builders.execution.engine import reproducible
from builders.features import Settings, block_job
from builders.features.backbone import Backbone
from builders.features.backbones import load_backbone
from builders.features.decoding import Batch, Batches, Reader, ahead, grey_levels, is_plain_jpeg
from builders.features.precomputed import FILE, read_precomputed, write_precomputed
from builders.release.build import build_release
from builders.release.spec_file import read_spec
from builders.release.verify import verify
from fslbench_data.release.release import load_release


def test_they_are_those_of_a_plain_loop_and_recorded(tiny, extract, tmp_path, weights):
    before = torch.get_num_threads()
    values, made = extract(tiny, tmp_path)
    assert torch.get_num_threads() == before
    backbone, expected = load_backbone(TINY, weights), []
    with reproducible(1):
        for first in range(0, 76, 8):
            ids = range(first, min(first + 8, 76))
            pixels = [backbone.preprocessing.reference(tiny.open(i)) for i in ids]
            batch = torch.from_numpy(np.stack(pixels))
            expected.append(backbone.features(batch).numpy().astype(np.float16))
    assert values.dtype == np.float16
    np.testing.assert_array_equal(values, np.concatenate(expected))
    assert len(np.unique(values, axis=0)) == 76
    assert (made["backbone"], made["dataset"]) == (TINY, "tiny")
    assert (made["batch"], made["block"], made["threads"]) == (8, 16, 1)
    assert (made["dtype"], made["stored"], made["device"]) == ("float32", "float16", "cpu")
    assert made["packages"]["torch"] == torch.__version__.partition("+")[0]
    assert (made["dimensions"], made["parameters"]) == (64, 306_240)
    assert made["preprocessing"]["crop"] == [160, 160]
    assert made["images"] == content_digest(tiny.images)
    assert len(made["weights"]["sha256"]) == 64
    assert made["processor"]
    assert "left_out" not in made


def test_a_batch_that_does_not_fit_is_halved(tiny, plain, extract, tmp_path, monkeypatch):
    calls = []
    real = Backbone.features
    limit = 8

    def features(self, batch):
        calls.append(len(batch))
        if len(batch) > limit or len(calls) == 2:  # the second block's first batch, once
            raise torch.OutOfMemoryError
        return real(self, batch)

    monkeypatch.setattr(Backbone, "features", features)
    found, provenance = extract(tiny, tmp_path, batch=16)
    assert provenance["batch"] == 4
    assert calls[:3] == [16, 8, 4]
    assert set(calls[2:]) == {4}
    np.testing.assert_allclose(found, plain, rtol=0.02, atol=0.01)
    limit = 0
    with pytest.raises(EngineError, match="a batch of 1 pictures does not fit the memory"):
        extract(tiny, tmp_path / "other", batch=2)


def test_features_that_overflow_are_refused(tiny, extract, tmp_path, monkeypatch):
    real = Backbone.features
    monkeypatch.setattr(Backbone, "features", lambda self, batch: 1e9 * real(self, batch))
    with pytest.raises(SourceError, match=r"not finite in float16 for 16 images(.|\n)*image 0 "):
        extract(tiny, tmp_path)


def test_other_packages_or_processors_are_refused(tiny, extract, tmp_path, monkeypatch):
    real, calls = block_job.facts, []

    def facts(device, backbone):
        calls.append(device)
        return real(device, backbone) | {"processor": "another"}

    monkeypatch.setattr(block_job, "facts", facts)  # where it is surveyed
    with pytest.raises(EngineError, match=r"another processor than the machine(.|\n)*one digest"):
        extract(tiny, tmp_path)
    assert calls == ["cpu"]


def test_there_is_no_gpu_where_there_is_none(tiny, extract, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(EngineError, match="torch sees no GPU"):
        extract(tiny, tmp_path, device="cuda")


@pytest.mark.parametrize("given", [{"batch": 0}, {"batch": 1025}, {"workers": -1}, {"threads": 0}])
def test_settings_that_make_no_sense(given):
    with pytest.raises(SpecError, match=f"{next(iter(given))} is"):
        Settings(**given)


def _blocks(folder):
    return sorted(folder.rglob("*.npy"))


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_stopped_after_every_block_in_turn(workers, tiny, plain, extract, tmp_path):
    for done in range(1, 5):
        with pytest.raises(KeyboardInterrupt):
            extract(tiny, tmp_path, stop_after(1), workers=workers)
        assert len(_blocks(tmp_path)) == done
    told = []
    found, _ = extract(
        tiny, tmp_path, lambda n, /, resumed=False: told.append((n, resumed)), workers=workers
    )
    np.testing.assert_array_equal(found, plain)
    assert told == [(64, True), (12, False)]
    assert not list(tmp_path.iterdir())  # nothing is left behind


def test_a_run_is_gone_on_with_by_none_but_its_own(tiny, plain, extract, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        extract(tiny, tmp_path, stop_after(2))
    fewer = replace(tiny, images=tiny.images.slice(0, 75))
    for images, given, differing in (
        (tiny, {"batch": 4}, "batch"),
        (tiny, {"dtype": "bfloat16"}, "agreement, dtype"),
        (tiny, {"threads": 2}, "threads"),
        (fewer, {}, "images"),
    ):
        with pytest.raises(OutputError, match=f"of something else: they differ in {differing}\n"):
            extract(images, tmp_path, **given)
    assert len(_blocks(tmp_path)) == 2
    found, provenance = extract(tiny, tmp_path, batch=None)  # that of the journal, not the default
    assert provenance["batch"] == 8
    np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize("compared", [True, False])
def test_images_that_change_meanwhile(extract, tmp_path, compared):
    """Files are compared as they are decoded; blocks of what is no file are thrown away."""
    raw = write_pictures(tmp_path / "raw", 10)
    picture = raw / "class_3/0009.jpg"

    def meanwhile(images, /, *, resumed=False):
        picture.write_bytes((raw / "class_3/0007.jpg").read_bytes())

    images = read_pictures(raw) if compared else replace(read_pictures(raw), file=None)
    what = "another file than was read" if compared else "changed after its images were read"
    with pytest.raises(SourceError, match=what):
        extract(images, tmp_path, meanwhile)
    assert bool(_blocks(tmp_path)) == compared


def test_a_lost_image_does_not_cost_what_is_done(tiny, plain, extract, tmp_path):
    def picture(path):
        if path.endswith("0018.png"):
            raise OSError("the disk is gone")
        return tiny.picture(path)

    broken = replace(tiny, picture=picture, file=None)
    with pytest.raises(SourceError, match=r"image 18 \(class_0/0018.png\).*the disk is gone"):
        extract(broken, tmp_path)
    assert len(_blocks(tmp_path)) == 1
    found, _ = extract(tiny, tmp_path)
    np.testing.assert_array_equal(found, plain)


def _file(mode="RGB", turned=0, **options):
    exif, file = Image.Exif(), io.BytesIO()
    if turned:
        exif[0x0112] = turned
    rough = Image.fromarray(np.random.default_rng(0).integers(0, 256, (4, 5, 3), dtype=np.uint8))
    rough.resize((50, 40)).convert(mode).save(file, **({"format": "JPEG", "exif": exif} | options))
    return file.getvalue()


def test_which_files_are_plain():
    for data, plain in (
        (_file(), True),
        (_file("L"), True),
        (_file(progressive=True), True),
        (_file() + b"\0\0", True),
        (_file(turned=1), True),
        (_file(turned=6), False),  # a decoder on the GPU would not turn it
        (_file("CMYK"), False),
        (_file(keep_rgb=True), False),
        (_file(format="PNG"), False),
        (_file()[:-100], False),
        (b"\xff\xd8\xff\xd9", False),
        (b"", False),
    ):
        assert is_plain_jpeg(data) is plain


def test_the_path_of_a_gpu_gives_nearly_the_reference(weights, tmp_path):
    """As far as it can be had without one: torch's decoder, on the CPU."""
    images = read_pictures(write_pictures(tmp_path / "pictures", 8))
    preprocessing = load_backbone(TINY, weights).preprocessing
    ids = list(range(20))
    batch = Reader(images, preprocessing, for_gpu=True).__getitems__(ids)
    kinds = [len(shape) for shape in batch.shapes]
    assert [k == 1 for k in kinds] == [i % 2 == 1 for i in [*range(8), *range(8), *range(4)]]
    found = preprocessing.batch(grey_levels(batch, "cpu")).numpy()
    scale = 255 * np.array(preprocessing.std, np.float32)[:, None, None]
    for i, values in zip(ids, found, strict=True):
        off = np.abs(values - preprocessing.reference(images.open(i))) * scale
        assert off.max() < (2.01 if kinds[i] == 3 else 8)  # the decoders differ a little
        assert off.mean() < 0.5


def test_bytes_that_no_decoder_takes_are_left_to_pillow():
    data = _file(format="PNG")  # refused by the decoder of JPEG files, though no reader gives it
    bytes_ = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    (found,) = grey_levels(Batch([0], bytes_, (tuple(bytes_.shape),)), "cpu")
    assert found.shape == (3, 40, 50)


def test_a_killed_decoder_is_said_to_be(tiny, weights):
    broken = replace(tiny, file=None, picture=lambda path: os.kill(os.getpid(), signal.SIGKILL))
    reader = Reader(broken, load_backbone(TINY, weights).preprocessing)
    with pytest.raises(EngineError, match=r"decodes pictures has died(.|\n)*fewer --workers"):
        list(Batches(reader, 1, pinned=False)([[0], [1]]))


def test_a_thread_is_ahead_and_ends():
    made = []

    def numbers():
        for i in range(100):
            made.append(i)
            yield i
            if i == 50:
                raise ValueError("no more")

    some = ahead(numbers(), 2)
    assert next(some) == 0
    time.sleep(0.3)
    assert len(made) == 3  # one taken, two ahead
    some.close()
    assert len(made) <= 5
    with pytest.raises(ValueError, match="no more"):
        list(ahead(numbers(), 2))


SPEC = """
name = "small"
version = "1.0.0"
description = "d"
protocols = ["3w2s2q"]
[[dataset]]
name = "tiny"
source = "image_folder"
folder = "{folder}"
suites = ["open"]
{methods}
[dataset.options]
{options}
"""
METHODS = """
features = ["{0}", "{0}-pca8"]
heads = ["NCC"]
"""
LEAN = """
features = ["{0}-pca8"]
backbones = ["{0}"]
heads = ["NCC"]
fine_tuning = {{ backbones = ["{0}"], task_sets = ["open-3w2s2q"], max_tasks = 2 }}
"""


@pytest.fixture
def spec(pictures, tmp_path):
    def write(methods=METHODS, backbone=TINY):
        options = "\n".join(f'{key} = "{value}"' for key, value in ABOUT.items())
        methods, path = methods.format(backbone), tmp_path / "spec.toml"
        path.write_text(SPEC.format(folder=pictures.name, methods=methods, options=options))
        return read_spec(path)

    return write


@pytest.fixture
def build(pictures, settings):
    return partial(build_release, raw=pictures.parent, settings=settings)


@pytest.fixture(scope="module")
def written(tiny, settings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("loose") / "features"
    write_precomputed(tiny, TINY, folder, settings)
    return folder


def test_it_is_never_edited_in_place(written, tiny, settings, tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    for images, folder, how in (
        (replace(tiny, name="other"), written, settings),
        (replace(tiny, images=tiny.images.slice(0, 75)), written, settings),
        (tiny, written, replace(settings, dtype="bfloat16")),
        (tiny, tmp_path, settings),
    ):
        with pytest.raises(errors.OutputError, match="is not an empty folder"):
            write_precomputed(images, TINY, folder, how)


@pytest.mark.slow
def test_interrupted_while_shards_are_written(written, tiny, settings, tmp_path, monkeypatch):
    calls = []
    real = parquet.write_table

    def killed(table, path):
        calls.append(path.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(table, path)

    monkeypatch.setattr(parquet, "write_table", killed)
    with pytest.raises(KeyboardInterrupt):
        write_precomputed(tiny, TINY, tmp_path, settings)
    (tmp_path / "features/.tiny.parquet.abcd1234.writing").write_bytes(b"half")
    told = []
    write_precomputed(
        tiny, TINY, tmp_path, settings, lambda n, /, resumed=False: told.append((n, resumed))
    )
    assert told == [(76, True)]
    assert content(tmp_path) == content(written)


def test_it_holds_shards_and_stays_as_it_is(written, tiny, settings, tmp_path, plain):
    of = "features/timm-test_vit-tiny.safetensors"
    shards = [f"{of}/{name}-00000-of-00001.parquet" for name in ("canaries", "tiny")]
    assert sorted(content(written)) == [FILE, *shards]
    found = read_precomputed(written)
    assert (found.backbone, found.datasets) == (TINY, ("tiny", "canaries"))
    np.testing.assert_array_equal(found.features("tiny"), plain)
    assert found.features("canaries").shape == (32, 64)
    assert found.provenance("canaries")["batch"] == 8
    table = pq.read_table(written / shards[1])
    check_features(table, "")
    assert table.column("image_id").to_pylist() == list(range(76))
    folder = Path(shutil.copytree(written, tmp_path / "x"))
    (folder / ".extracting/half/removed").mkdir(parents=True)
    (folder / "features/.tiny.parquet.abcd1234.writing").write_bytes(b"half")
    assert write_precomputed(tiny, TINY, folder, settings) == read_precomputed(folder)
    assert content(folder) == content(written)
    assert not (folder / ".extracting").exists()
    next(folder.rglob("*.parquet")).write_bytes(b"PAR1")
    with pytest.raises(errors.CorruptReleaseError, match="is not the file that was written"):
        write_precomputed(tiny, TINY, folder, settings)


def test_damage_is_noticed(written, tmp_path):
    with pytest.raises(errors.ReleaseError, match="holds no features that can be read"):
        read_precomputed(tmp_path)
    listed = json.loads((written / FILE).read_text())
    first, *others = listed["tables"]
    for change in (
        {"path": "../../secret.parquet"},
        {"path": first["path"].replace("00000-of-00001", "00001-of-00002")},
        {"name": "other"},
    ):
        (tmp_path / FILE).write_text(json.dumps({**listed, "tables": [first | change, *others]}))
        with pytest.raises(errors.ReleaseError, match="holds no features that can be read"):
            read_precomputed(tmp_path)


@pytest.mark.slow
def test_the_command(spec, pictures, weights, tmp_path, plain):
    spec("")
    common = ["features", "tiny", "--backbone", TINY, "--weights", weights, "--workers", 1]
    common += ["--spec", tmp_path / "spec.toml", "--raw", pictures.parent, "-o"]
    out = tmp_path / "out"
    said = called(0, *common, out, "--batch", "8", "--threads", "1")
    assert "64 dimensions, float32 on" in said.stderr
    assert "batches of 8" in said.stderr
    tiny, canaries = said.stdout.splitlines()
    assert tiny.startswith("tiny 76 images ")
    assert canaries.startswith("canaries 32 images ")
    np.testing.assert_allclose(read_precomputed(out).features("tiny"), plain, rtol=0.01, atol=0.002)
    (pictures / "class_1/0003.jpg").rename(tmp_path / "kept")
    (pictures / "class_1/0003.jpg").write_bytes(b"damaged")
    try:
        refused = called(2, *common, tmp_path / "b")
    finally:
        (tmp_path / "kept").replace(pictures / "class_1/0003.jpg")
    assert "class_1/0003.jpg is damaged: no image" in refused.stderr


def test_pixels_need_no_network(tmp_path):
    command = ["features", "digits", "--backbone", "pixels", "-o", tmp_path / "x"]
    assert "--address goes with --engine ray" in called(2, *command, "--address", "x:1").output
    for told in ("wrote", "is finished"):
        said = called(0, *command)
        assert said.stdout.startswith("digits 1,797 images ")
        assert told in said.stderr
        assert {path.name for path in (tmp_path / "x").iterdir()} == {FILE, "features"}
    assert read_precomputed(tmp_path / "x").datasets == ("digits",)


@pytest.mark.slow
def test_it_has_them_and_those_of_the_canaries(spec, build, tmp_path, plain):
    steps = []
    folder, again = tmp_path / "release", tmp_path / "again"
    made = build(spec(), folder, progress=steps.append)
    assert not verify(folder).problems
    assert not (folder / ".extracting").exists()
    release = load_release(folder)
    assert release.datasets == ("tiny", "canaries")
    np.testing.assert_array_equal(release.features("tiny", TINY), plain)
    assert release.features("tiny", f"{TINY}-pca8").shape == (76, 8)
    assert release.features("canaries", TINY).shape == (32, 64)
    assert set(release.methods) == {f"{TINY}/NCC", f"{TINY}-pca8/NCC"}
    assert any("32 of 76 images, " in step and "images/s" in step for step in steps)
    with pytest.raises(Stop):
        build(spec(), again, progress=stopping(lambda step: "48 of 76" in step))
    assert len(list(again.rglob("*.npy"))) == 3
    seen = []
    assert build(spec(), again, progress=seen.append) == made
    assert not any(" 16 of 76" in step for step in seen)
    assert content(again) == content(folder)


def test_what_cannot_be_in_a_release(spec, build, weights, tmp_path):
    named = spec(backbone=f"timm:test_vit@{weights / 'tiny.safetensors'}")
    with pytest.raises(errors.SpecError, match=f"a release calls it '{TINY}'"):
        build(named, tmp_path / "c")


@pytest.mark.slow
def test_the_command_of_releases(spec, pictures, weights, tmp_path):
    spec()
    words = ["release", tmp_path / "spec.toml", "-o", tmp_path / "release", "--batch", 16]
    called(0, *words, "--raw", pictures.parent, "--weights", weights)
    tables = load_release(tmp_path / "release").manifest.tables
    assert {t.provenance["batch"] for t in tables if t.kind == "features"} == {16}


def _results(folder):
    return {next(iter(found.methods)): found for found in load_release(folder).references()}


@pytest.mark.slow
def test_results_on_features_that_it_does_not_hold(spec, build, tmp_path):
    build(spec(), tmp_path / "whole")
    lean = spec(LEAN)
    build(lean, tmp_path / "lean")
    assert not verify(tmp_path / "lean").problems
    small, release = _results(tmp_path / "lean"), load_release(tmp_path / "lean")
    assert release.datasets_with("features", TINY) == ("canaries",)
    assert set(small) == {f"{TINY}/NCC", f"{TINY}-pca8/NCC", f"{TINY}/FT"}
    for method, found in _results(tmp_path / "whole").items():
        assert small[method].table.equals(found.table)
    assert [binding.tasks for binding in small[f"{TINY}/FT"].bindings.values()] == [2]
    provenance = {t.name: t.provenance for t in release.manifest.tables if t.kind == "results"}
    assert provenance[f"{TINY}/NCC"]["extraction"]["batch"] == 8
    assert provenance[f"{TINY}-pca8/NCC"] == {"head": "NCC", "features": f"{TINY}-pca8"}
    assert provenance[f"{TINY}/FT"]["network"]["weights"]["sha256"]
    seen = []
    for _ in range(40):
        with suppress(Stop):
            build(lean, tmp_path / "again", progress=stopping_at_new(seen, "images/s"))
            break
    assert f"{TINY}/FT on tiny" in seen
    assert content(tmp_path / "again") == content(tmp_path / "lean")


@pytest.mark.slow
def test_features_that_were_extracted_before(written, spec, build, tmp_path, pictures):
    def nothing_is_extracted(*_):
        raise AssertionError

    spec(LEAN.replace("fine_tuning", "# "))
    given, release = read_precomputed(written), tmp_path / "release"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("features_of", "write_precomputed"):
            patch.setattr(f"builders.release.features.{name}", nothing_is_extracted)
        words = ["release", tmp_path / "spec.toml", "--raw", pictures.parent]
        called(0, *words, "-o", release, "--features", written)
    build(spec(), tmp_path / "whole", settings=None, features=[given])
    lean, whole = load_release(release), load_release(tmp_path / "whole")
    assert np.array_equal(lean.features("canaries", TINY), given.features("canaries"))
    assert lean.features("tiny", f"{TINY}-pca8").shape == (76, 8)
    assert np.array_equal(whole.features("tiny", TINY), given.features("tiny"))
    mine, theirs = (_results(at)[f"{TINY}/NCC"] for at in (tmp_path / "whole", release))
    assert mine.table.equals(theirs.table)


@pytest.mark.slow
def test_features_of_other_images_or_of_no_use(written, spec, build, settings, tmp_path):
    others = read_pictures(write_pictures(tmp_path / "others", 20))
    given = write_precomputed(others, TINY, tmp_path / "given", settings)
    with pytest.raises(errors.SourceError, match="of other images than tiny"):
        build(spec(), tmp_path / "a", features=[given])
    assert (tmp_path / "a/images/tiny.parquet").exists()
    assert not (tmp_path / "a/tasks").exists()  # told before anything is drawn
    renamed = (structs.replace(table, name="mobilenet_v2") for table in given.tables)
    unused = replace(given, tables=tuple(renamed))
    with pytest.raises(errors.SpecError, match="nothing takes the features of mobilenet_v2"):
        build(spec(), tmp_path / "c", features=[unused])
