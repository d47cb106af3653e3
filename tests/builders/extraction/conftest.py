"""A tiny network with its checkpoint, and a folder of small pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders.sources import ImageSet, read_source

TINY = "timm:test_vit@tiny.safetensors"
"""97 thousand... parameters are few; pictures become 160 x 160, features 64 numbers."""

ABOUT = {
    "title": "Tiny",
    "homepage": "https://example.org",
    "licence": "CC0",
    "citation": "@misc{tiny}",
    "redistribution": "features",
}
Folder = Callable[..., Path]


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the checkpoint of :data:`TINY`, randomly initialised."""
    timm = pytest.importorskip("timm", reason="needs timm, of the extra `builders`")
    torch = pytest.importorskip("torch")
    save = pytest.importorskip("safetensors.torch").save_file
    state = torch.random.get_rng_state()
    torch.manual_seed(7)
    module = timm.create_model("test_vit", pretrained=False)
    torch.random.set_rng_state(state)
    folder = tmp_path_factory.mktemp("weights")
    save(module.state_dict(), str(folder / "tiny.safetensors"))
    return folder


@pytest.fixture(scope="session")
def make_pictures(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Writes a folder of classes of small PNG and JPEG files."""
    pil = pytest.importorskip("PIL.Image")

    def make(of_each: int, classes: int = 4, seed: int = 0) -> Path:
        chance = np.random.default_rng(seed)
        folder = tmp_path_factory.mktemp("pictures")
        for label in range(classes):
            (folder / f"class_{label}").mkdir()
            for number in range(of_each):
                height, width = chance.integers(12, 40, 2)
                rough = chance.integers(0, 256, (3, 3, 3), dtype=np.uint8)
                picture = pil.fromarray(rough).resize((int(width), int(height)))
                suffix = "jpg" if number % 2 else "png"
                picture.save(folder / f"class_{label}" / f"{number:04d}.{suffix}")
        return folder

    return make


def read(folder: Path, **options: Any) -> ImageSet:
    return read_source("image_folder", folder, name="tiny", options=ABOUT, **options)


@pytest.fixture(scope="session")
def pictures(make_pictures: Folder) -> Path:
    """2100 of them, in three blocks."""
    return make_pictures(525)


@pytest.fixture(scope="session")
def tiny(pictures: Path) -> ImageSet:
    return read(pictures)
