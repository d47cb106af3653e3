"""The canaries stay what they are."""

import hashlib

import numpy as np
import pytest

from benchmark_spec.errors import BackboneError
from builders.sources.packaged import canaries
from builders.sources.packaged.canaries import CANARY_IMAGES, FAMILIES, digest, pictures

ALL_SHA256 = "f85f4105ba780b00b6d16597b69683d1d4e0ff5dfb7e56890a485728974a6907"
"""Of the 32 digests, one after the other: change it, and published feature sets no longer fit."""


def test_names_and_families() -> None:
    assert len({canary.name for canary in CANARY_IMAGES}) == 32
    assert len({canary.sha256 for canary in CANARY_IMAGES}) == 32
    assert [canary.family for canary in CANARY_IMAGES] == [f for f in FAMILIES for _ in range(4)]
    assert all("CC BY 2.0" in c.credit or "Apache-2.0" in c.credit for c in CANARY_IMAGES)
    together = "".join(canary.sha256 for canary in CANARY_IMAGES)
    assert hashlib.sha256(together.encode("ascii")).hexdigest() == ALL_SHA256


def test_the_photographs_are_cut_out_of_scikit_learns() -> None:
    pytest.importorskip("PIL.Image", reason="needs Pillow")
    load = pytest.importorskip("sklearn.datasets", reason="needs scikit-learn").load_sample_image
    found = pictures()
    assert len(found) == 32
    assert [(c.height, c.width, 3) for c in CANARY_IMAGES] == [pixels.shape for pixels in found]
    np.testing.assert_array_equal(found[3], load("china.jpg"))
    np.testing.assert_array_equal(found[10], load("flower.jpg"))
    np.testing.assert_array_equal(found[7], load("china.jpg")[335:399, 20:84])
    found[3][:] = 0  # which spoils nothing
    assert digest(pictures(CANARY_IMAGES[3:4])[0]) == CANARY_IMAGES[3].sha256


def test_another_decoder_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def decode(name: str) -> np.ndarray:
        return np.zeros((427, 640, 3), dtype=np.uint8)

    monkeypatch.setattr(canaries, "_photograph", decode)
    with pytest.raises(BackboneError, match="palace-0 is not what it was") as caught:
        pictures()
    assert CANARY_IMAGES[0].sha256 in caught.value.expected
