"""A tiny network with its checkpoint, and folders of small pictures, for tests of extraction."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

TINY = "timm:test_vit@tiny.safetensors"
"""Of pictures of 160 x 160; features are 64 numbers."""

ABOUT = {
    "title": "Tiny",
    "homepage": "https://example.org",
    "licence": "CC0",
    "citation": "@misc{tiny}",
    "redistribution": "features",
}

OPTIONS = "[dataset.options]\n" + "".join(f'{key} = "{value}"\n' for key, value in ABOUT.items())


def write_checkpoint(folder: Path) -> Path:
    """The checkpoint of :data:`TINY`, randomly initialised, in a folder; gives the folder."""
    import timm
    import torch
    from safetensors.torch import save_file

    with torch.random.fork_rng():
        torch.manual_seed(7)
        module = timm.create_model("test_vit", pretrained=False)
    save_file(module.state_dict(), str(folder / "tiny.safetensors"))
    return folder


def write_pictures(folder: Path, of_each: int, classes: int = 4) -> Path:
    """Folders of classes of small PNG and JPEG files; gives the folder."""
    from PIL import Image

    chance = np.random.default_rng(0)
    for label in range(classes):
        (folder / f"class_{label}").mkdir(parents=True)
        for number in range(of_each):
            height, width = chance.integers(12, 40, 2)
            rough = chance.integers(0, 256, (3, 3, 3), dtype=np.uint8)
            picture = Image.fromarray(rough).resize((int(width), int(height)))
            suffix = "jpg" if number % 2 else "png"
            picture.save(folder / f"class_{label}" / f"{number:04d}.{suffix}")
    return folder


def read_pictures(folder: Path, **options: Any) -> Any:
    from builders.sources.source import read_source

    return read_source("image_folder", folder, name="tiny", options=ABOUT, **options)


def feature_array(table: pa.Table) -> NDArray[Any]:
    """Values (n, D) of a table of features, as :func:`feature_table` makes it."""
    values: NDArray[Any] = table.column("feature").combine_chunks().flatten().to_numpy()
    return values.reshape(len(table), -1)


def features_of_pictures(backbone: Any, pictures: list[Any]) -> Any:
    """The features of arrays (h, w, 3) that a backbone gives, each made its input as by Pillow."""
    import torch
    from PIL import Image

    reference = [backbone.preprocessing.reference(Image.fromarray(array)) for array in pictures]
    return backbone.features(torch.from_numpy(np.stack(reference)))


def stop_after(blocks: int) -> Callable[..., None]:
    """Progress that interrupts a run when so many blocks are made."""
    left = iter(range(blocks - 1))

    def progress(images: int, /, *, resumed: bool = False) -> None:
        if not resumed and next(left, None) is None:
            raise KeyboardInterrupt

    return progress


def write_pictured_release(folder: Path) -> Path:
    """A release of the data set `tiny` that holds its pictures, and tasks made with attributes.

    Task sets are ``closed-2w1s2q``, of 5 tasks, and all steps of ``ladder_pixels-2w1s2q``; gives
    the release's folder, beside which ``raw/tiny`` has the files.
    """
    from benchmark_spec.protocol import LADDER

    return build_pictures(
        folder,
        12,
        suites=("closed",),
        protocols=("2w1s2q",),
        tasks={"closed": 5},
        task_sets=tuple(f"{step}_pixels-2w1s2q" for step in LADDER),
        attributes={"pixels": "pixels"},
        pictures="files",
        options=ABOUT | {"redistribution": "images"},
    )


def build_pictures(folder: Path, of_each: int, options: Any = ABOUT, **dataset: Any) -> Path:
    """Build a release of a data set `tiny`, whose pictures lie in ``raw/tiny``; gives its place."""
    from builders.release.build import build_release
    from builders.release.spec import DatasetSpec, ReleaseSpec

    write_pictures(folder / "raw/tiny", of_each)
    about = {"name": "tiny", "source": "image_folder", "folder": "tiny", "options": options}
    tiny = DatasetSpec(**about, **dataset)
    build_release(ReleaseSpec("p", "1.0.0", "d", (tiny,)), folder / "r", raw=folder / "raw")
    return folder / "r"
