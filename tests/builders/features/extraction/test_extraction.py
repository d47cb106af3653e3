"""Extraction in blocks: the features of a plain loop, however it is decoded, stopped or damaged."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_features import TINY, read_pictures, stop_after, write_pictures

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import EngineError, OutputError, SourceError, SpecError
from builders.features import Settings
from builders.features.backbone import Backbone
from builders.features.backbones import load_backbone
from builders.sources.checking import keeping_damaged

Extract = Callable[..., tuple[np.ndarray[Any, Any], dict[str, Any]]]


def test_they_are_those_of_a_plain_loop_over_reference_pictures(
    tiny: Any, plain: np.ndarray[Any, Any], weights: Path
) -> None:
    backbone = load_backbone(TINY, weights)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    expected = []
    for block in range(0, 76, 16):
        for first in range(block, min(block + 16, 76), 8):
            ids = range(first, min(first + 8, 76))
            pixels = [backbone.preprocessing.reference(tiny.open(i)) for i in ids]
            batch = torch.from_numpy(np.stack(pixels))
            expected.append(backbone.features(batch).numpy().astype(np.float16))
    torch.set_num_threads(threads)
    assert plain.dtype == np.float16
    assert plain.shape == (76, 64)
    np.testing.assert_array_equal(plain, np.concatenate(expected))
    assert len(np.unique(plain, axis=0)) == 76


def test_what_is_recorded(tiny: Any, extract: Extract, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    _, found = extract(tiny, tmp_path)
    assert torch.get_num_threads() == before
    assert (found["backbone"], found["dataset"]) == (TINY, "tiny")
    assert (found["batch"], found["block"], found["threads"]) == (8, 16, 1)
    assert (found["dtype"], found["stored"], found["device"]) == ("float32", "float16", "cpu")
    assert found["packages"]["torch"] == torch.__version__.partition("+")[0]
    assert (found["dimensions"], found["parameters"]) == (64, 306_240)
    assert found["preprocessing"]["crop"] == [160, 160]
    assert found["images"] == content_digest(tiny.images)
    assert len(found["weights"]["sha256"]) == 64
    assert found["processor"]
    assert "left_out" not in found


def test_a_batch_that_does_not_fit_is_halved_and_all_begun_again(
    tiny: Any,
    plain: np.ndarray[Any, Any],
    extract: Extract,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []
    real = Backbone.features
    limit = 8

    def features(self: Backbone, batch: Any) -> Any:
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


def test_features_that_overflow_are_refused(
    tiny: Any, extract: Extract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Backbone.features
    monkeypatch.setattr(Backbone, "features", lambda self, batch: 1e9 * real(self, batch))
    with pytest.raises(SourceError, match=r"not finite in float16 for 16 images(.|\n)*image 0 "):
        extract(tiny, tmp_path)


def test_other_packages_or_processors_are_refused(
    tiny: Any, extract: Extract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from builders.features import extraction

    real, calls = extraction.facts, []

    def facts(device: Any, backbone: str) -> dict[str, Any]:
        calls.append(device)
        return real(device, backbone) | {"processor": "another"}

    monkeypatch.setattr(extraction, "facts", facts)  # where it is surveyed
    with pytest.raises(EngineError, match=r"another processor than the machine(.|\n)*one digest"):
        extract(tiny, tmp_path)
    assert calls == ["cpu"]


def test_there_is_no_gpu_where_there_is_none(tiny: Any, extract: Extract, tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(EngineError, match="torch sees no GPU"):
        extract(tiny, tmp_path, device="cuda")


@pytest.mark.parametrize("given", [{"batch": 0}, {"batch": 1025}, {"workers": -1}, {"threads": 0}])
def test_settings_that_make_no_sense(given: dict[str, int]) -> None:
    with pytest.raises(SpecError, match=f"{next(iter(given))} is"):
        Settings(**given)


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """40 pictures in 4 classes, of which 13 is cut off and 25 is no picture."""
    folder = write_pictures(tmp_path / "pictures", 10)
    for path, data in (("class_1/0003.jpg", None), ("class_2/0005.jpg", b"not a picture")):
        data = data or (folder / path).read_bytes()[:-200]
        (folder / path).write_bytes(data)
    return folder


def _numbered(folder: Path) -> Any:
    with keeping_damaged():
        return read_pictures(folder)


def test_damaged_ones_that_are_skipped_are_zeros_and_recorded_and_change_no_other(
    damaged: Path, extract: Extract, tmp_path: Path
) -> None:
    found, provenance = extract(_numbered(damaged), tmp_path / "a", skip_corrupt=True, workers=2)
    assert list(provenance["left_out"]) == ["13", "25"]
    assert "no image of a known format" in provenance["left_out"]["25"]
    assert not found[[13, 25]].any()
    whole, _ = extract(read_pictures(write_pictures(tmp_path / "whole", 10)), tmp_path / "b")
    others = np.delete(np.arange(40), [13, 25])
    np.testing.assert_array_equal(found[others], whole[others])


def test_what_was_skipped_is_remembered_by_a_resumed_run(
    damaged: Path, extract: Extract, tmp_path: Path
) -> None:
    images = _numbered(damaged)
    for folder in ("a", "b"):
        with pytest.raises(KeyboardInterrupt):
            extract(images, tmp_path / folder, stop_after(1), skip_corrupt=True)
    found, provenance = extract(images, tmp_path / "a", skip_corrupt=True)
    assert list(provenance["left_out"]) == ["13", "25"]
    assert not found[13].any()
    with pytest.raises(SourceError, match=r"tiny: image 13 \(class_1/0003.jpg\) cannot be shown"):
        extract(images, tmp_path / "b")  # which is not to skip any


def _blocks(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.npy"))


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_stopped_after_every_block_in_turn(
    workers: int, tiny: Any, plain: np.ndarray[Any, Any], extract: Extract, tmp_path: Path
) -> None:
    for done in range(1, 5):
        with pytest.raises(KeyboardInterrupt):
            extract(tiny, tmp_path, stop_after(1), workers=workers)
        assert len(_blocks(tmp_path)) == done
    told: list[tuple[int, bool]] = []
    found, _ = extract(
        tiny, tmp_path, lambda n, /, resumed=False: told.append((n, resumed)), workers=workers
    )
    np.testing.assert_array_equal(found, plain)
    assert told == [(64, True), (12, False)]
    assert not list(tmp_path.iterdir())  # nothing is left behind


def test_a_run_is_gone_on_with_by_none_but_its_own(
    tiny: Any, plain: np.ndarray[Any, Any], extract: Extract, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        extract(tiny, tmp_path, stop_after(2))
    with pytest.raises(
        OutputError, match="unfinished extraction of something else: they differ in batch\n"
    ):
        extract(tiny, tmp_path, batch=4)
    with pytest.raises(OutputError, match="they differ in agreement, dtype"):
        extract(tiny, tmp_path, dtype="bfloat16")
    with pytest.raises(OutputError, match="they differ in threads"):
        extract(tiny, tmp_path, threads=2)
    fewer = replace(tiny, images=tiny.images.slice(0, 75))
    with pytest.raises(OutputError, match="they differ in images"):
        extract(fewer, tmp_path)
    assert len(_blocks(tmp_path)) == 2
    found, provenance = extract(tiny, tmp_path, batch=None)  # that of the journal, not the default
    assert provenance["batch"] == 8
    np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize("compared", [True, False])
def test_images_that_change_meanwhile(extract: Extract, tmp_path: Path, compared: bool) -> None:
    """Files are compared as they are decoded; blocks of what is no file are thrown away."""
    raw = write_pictures(tmp_path / "raw", 10)
    picture = raw / "class_3/0009.jpg"

    def meanwhile(images: int, /, *, resumed: bool = False) -> None:
        picture.write_bytes((raw / "class_3/0007.jpg").read_bytes())

    images = read_pictures(raw) if compared else replace(read_pictures(raw), file=None)
    what = "another file than was read" if compared else "changed after its images were read"
    with pytest.raises(SourceError, match=what):
        extract(images, tmp_path, meanwhile)
    assert bool(_blocks(tmp_path)) == compared


def test_a_lost_image_does_not_cost_what_is_done(
    tiny: Any, plain: np.ndarray[Any, Any], extract: Extract, tmp_path: Path
) -> None:
    def picture(path: str) -> Any:
        if path.endswith("0018.png"):
            raise OSError("the disk is gone")
        return tiny.picture(path)

    broken = replace(tiny, picture=picture, file=None)
    with pytest.raises(SourceError, match=r"image 18 \(class_0/0018.png\).*the disk is gone"):
        extract(broken, tmp_path)
    assert len(_blocks(tmp_path)) == 1
    found, _ = extract(tiny, tmp_path)
    np.testing.assert_array_equal(found, plain)
