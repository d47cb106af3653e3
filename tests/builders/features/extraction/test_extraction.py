"""Extraction in blocks: the features of a plain loop, however it is decoded, stopped or damaged."""

import io
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_features import TINY, read_pictures, stop_after, write_pictures

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import EngineError, OutputError, SourceError, SpecError
from builders.execution.engine import reproducible
from builders.features import Settings, extraction
from builders.features.backbone import Backbone
from builders.features.backbones import load_backbone
from builders.features.decoding import Batch, Batches, Reader, ahead, grey_levels, is_plain_jpeg
from builders.sources.checking import keeping_damaged

Array = np.ndarray[Any, Any]
Extract = Callable[..., tuple[Array, dict[str, Any]]]


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
    real, calls = extraction.facts, []

    def facts(device, backbone):
        calls.append(device)
        return real(device, backbone) | {"processor": "another"}

    monkeypatch.setattr(extraction, "facts", facts)  # where it is surveyed
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


def test_damaged_ones_that_are_skipped_are_zeros(extract, tmp_path):
    """Also by a run that goes on, unless it is not to skip any."""
    pictures = write_pictures(tmp_path / "pictures", 10)
    whole, _ = extract(read_pictures(pictures), tmp_path / "whole")
    cut_off = pictures / "class_1/0003.jpg"
    cut_off.write_bytes(cut_off.read_bytes()[:-200])
    (pictures / "class_2/0005.jpg").write_bytes(b"not a picture")
    with keeping_damaged():
        images = read_pictures(pictures)
    for folder in ("a", "b"):
        with pytest.raises(KeyboardInterrupt):
            extract(images, tmp_path / folder, stop_after(1), skip_corrupt=True, workers=2)
    found, provenance = extract(images, tmp_path / "a", skip_corrupt=True, workers=2)
    assert list(provenance["left_out"]) == ["13", "25"]
    assert "no image of a known format" in provenance["left_out"]["25"]
    assert not found[[13, 25]].any()
    others = np.delete(np.arange(40), [13, 25])
    np.testing.assert_array_equal(found[others], whole[others])
    with pytest.raises(SourceError, match=r"tiny: image 13 \(class_1/0003.jpg\) cannot be shown"):
        extract(images, tmp_path / "b")


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
    """A JPEG file, if nothing else is said."""
    exif, file = Image.Exif(), io.BytesIO()
    if turned:
        exif[0x0112] = turned
    rough = Image.fromarray(np.random.default_rng(0).integers(0, 256, (4, 5, 3), dtype=np.uint8))
    rough.resize((50, 40)).convert(mode).save(file, **({"format": "JPEG", "exif": exif} | options))
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "plain"),
    [
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
    ],
)
def test_which_files_are_plain(data, plain):
    assert is_plain_jpeg(data) is plain


def test_the_path_of_a_gpu_gives_nearly_the_reference(weights, tmp_path):
    """As far as it can be had without one: torch's decoder and resizing, on the CPU."""
    images = read_pictures(write_pictures(tmp_path / "pictures", 8))
    preprocessing = load_backbone(TINY, weights).preprocessing
    ids = list(range(20))
    batch = Reader(images, preprocessing, "files").__getitems__(ids)
    kinds = [len(shape) for shape in batch.shapes]
    assert [k == 1 for k in kinds] == [i % 2 == 1 for i in [*range(8), *range(8), *range(4)]]
    pixels = Reader(images, preprocessing, "pixels").__getitems__(ids)
    assert [len(shape) for shape in pixels.shapes] == [3] * 20
    for i, part in zip(ids, pixels.parts(), strict=True):
        np.testing.assert_array_equal(part.numpy().transpose(1, 2, 0), np.asarray(images.open(i)))
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
    reader = Reader(broken, load_backbone(TINY, weights).preprocessing, "inputs")
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
