"""Extraction in blocks: the features a plain loop gives, whoever decodes and however often."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_features import TINY

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import EngineError, SourceError, SpecError
from builders.features import Settings
from builders.features.backbone import Backbone
from builders.features.backbones import load_backbone

Extract = Callable[..., tuple[np.ndarray[Any, Any], dict[str, Any]]]


def test_they_are_those_of_a_plain_loop_over_reference_pictures(
    tiny: Any, plain: np.ndarray[Any, Any], weights: Path
) -> None:
    import torch

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


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_processes_that_decode_change_nothing(
    workers: int, tiny: Any, plain: np.ndarray[Any, Any], extract: Extract, tmp_path: Path
) -> None:
    told: list[tuple[int, bool]] = []

    def progress(images: int, /, *, resumed: bool = False) -> None:
        told.append((images, resumed))

    found, _ = extract(tiny, tmp_path, progress, workers=workers)
    np.testing.assert_array_equal(found, plain)
    assert told == [(0, True), *[(16, False)] * 4, (12, False)]
    assert not list(tmp_path.iterdir())  # nothing is left behind


def test_what_is_recorded(tiny: Any, extract: Extract, tmp_path: Path) -> None:
    import torch

    before = torch.get_num_threads()
    _, found = extract(tiny, tmp_path)
    assert torch.get_num_threads() == before
    assert (found["backbone"], found["dataset"]) == (TINY, "tiny")
    assert (found["batch"], found["block"], found["threads"]) == (8, 16, 1)
    assert (found["dtype"], found["stored"], found["device"]) == ("float32", "float16", "cpu")
    assert set(found["packages"]) == {
        *("fslbench", "numpy", "pillow", "timm", "torch", "torchvision")
    }
    assert found["packages"]["torch"] == torch.__version__.partition("+")[0]
    assert found["preprocessing"]["reference"] == "Pillow"
    assert found["images"] == content_digest(tiny.images)
    assert len(found["weights"]["sha256"]) == 64
    assert found["processor"]
    assert "left_out" not in found


@pytest.mark.slow
def test_bfloat16_is_near(
    tiny: Any, plain: np.ndarray[Any, Any], extract: Extract, tmp_path: Path
) -> None:
    found, provenance = extract(tiny, tmp_path, dtype="bfloat16")
    assert provenance["dtype"] == "bfloat16"
    a, b = found.astype(float), plain.astype(float)
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert 0.99 < cosine.min() < 1


def test_a_batch_that_does_not_fit_is_halved_and_all_begun_again(
    tiny: Any,
    plain: np.ndarray[Any, Any],
    extract: Extract,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

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
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(EngineError, match="torch sees no GPU"):
        extract(tiny, tmp_path, device="cuda")


@pytest.mark.parametrize("given", [{"batch": 0}, {"batch": 1025}, {"workers": -1}, {"threads": 0}])
def test_settings_that_make_no_sense(given: dict[str, int]) -> None:
    with pytest.raises(SpecError, match=f"{next(iter(given))} is"):
        Settings(**given)


def test_a_source_without_files_is_read_too(
    tiny: Any, plain: np.ndarray[Any, Any], extract: Extract, tmp_path: Path
) -> None:
    found, _ = extract(replace(tiny, file=None), tmp_path, workers=1)
    np.testing.assert_array_equal(found, plain)
