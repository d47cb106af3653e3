"""The sample, from its real packages: slow, and in need of a network."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from real_packages import fetch_or_skip, package_folder

from benchmark_spec.digest import content_digest
from builders.attributes import given_attributes
from builders.sources.glyph_fonts import STYLES, small
from builders.sources.image_set import ImageSet
from builders.sources.packaged import glyphs_sample
from builders.sources.read import read_source

pytestmark = pytest.mark.slow

RENDERER = "Pillow 12.3.0, FreeType 2.14.3"
DIGEST = "b9a26c4762bde0831c45e2a90028fbc300d6a67a662241fa3025052b3dde5b6f"
"""Of the images table, as that renderer draws."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with package_folder(tmp_path_factory) as place:
        fetch_or_skip(glyphs_sample.PACKAGES, place)
        yield place


@pytest.fixture(scope="module")
def images(folder: Path) -> ImageSet:
    for package in ("PIL", "fontTools"):
        pytest.importorskip(package, reason="needs Pillow and fontTools, of `builders`")
    return read_source("glyphs_sample", folder)


def test_it_is_small(folder: Path) -> None:
    files = [folder / package.file for package in glyphs_sample.PACKAGES]
    assert sum(file.stat().st_size for file in files) < 10_000_000


def test_classes_and_superclasses(images: ImageSet) -> None:
    assert images.superclasses is not None
    assert len(images.class_names) == 176
    assert set(Counter(images.superclasses).values()) == {16}
    assert min(images.class_sizes) >= 10
    assert max(images.class_sizes) <= 40
    latin = images.class_names[images.superclasses.index("Latin")]
    assert latin.startswith("LATIN ")
    assert images.images["group"].null_count == 0
    assert images.images["licence"].null_count == images.images["creator"].null_count == 0


def test_the_table_is_what_this_renderer_makes(images: ImageSet) -> None:
    if images.provenance["renderer"] != RENDERER:
        pytest.skip(f"drawn by {images.provenance['renderer']}, recorded with {RENDERER}")
    assert content_digest(images.images) == DIGEST


def test_every_image_is_another_and_is_drawn_again_as_it_was(images: ImageSet) -> None:
    hashes = images.images["sha256"].to_pylist()
    assert len(set(hashes)) == len(hashes)
    assert images.pixels is not None
    for image_id in range(0, len(hashes), 97):
        picture = images.open(image_id)
        assert (picture.mode, picture.size) == ("RGB", (84, 84))
        levels = np.asarray(picture)[..., 0]
        assert hashlib.sha256(levels.tobytes()).hexdigest() == hashes[image_id]
        assert (small(levels).ravel() == images.pixels[image_id]).all()


def test_at_most_eight_of_a_design(images: ImageSet) -> None:
    groups = Counter(images.images["group"].to_pylist())
    assert max(groups.values()) == 8
    of_group: dict[int, set[int]] = {}
    for row in images.images.select(["group", "class_id"]).to_pylist():
        of_group.setdefault(row["group"], set()).add(row["class_id"])
    assert all(len(classes) == 1 for classes in of_group.values())


def test_styles_are_attributes(images: ImageSet) -> None:
    attributes = given_attributes(images, "glyphs_sample")
    words = Counter(word for own in attributes for word in own)
    assert set(words) == set(STYLES)
    assert not any(
        {"serif", "sans"} <= set(own) or {"bold", "light"} <= set(own) for own in attributes
    )
    paths = images.images["path"].to_pylist()
    mono = [
        own
        for path, own in zip(paths, attributes, strict=True)
        if "DejaVuSansMono-Bold.ttf" in path
    ]
    assert mono
    assert all({"bold", "monospaced", "sans"} <= set(own) for own in mono)
