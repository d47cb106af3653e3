"""Packages of data and weights as a maintainer fetches them, for slow tests.

FSLBENCH_PACKAGES names a folder that keeps them between runs.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmark_spec.errors import MissingPackageError, SourceError
from builders.sources.packaged import openclipart
from builders.sources.packages import MARK, Package, fetch
from builders.sources.source import source_of

THEMES = ("buildings/homes", "people/smilies", "shapes/flowchart", "shapes/jigsaw")
"""Classes of openclipart with small drawings, of which none is filed elsewhere too: 158 images."""


@contextmanager
def package_folder(factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the folder that is kept, or a passing one: packages take over a gigabyte."""
    kept = os.environ.get("FSLBENCH_PACKAGES")
    if kept:
        yield Path(kept)
        return
    passing = factory.mktemp("packages")
    yield passing
    shutil.rmtree(passing)


def fetch_or_skip(packages: Sequence[Package], folder: Path) -> None:
    """Fetch packages; a test is skipped where they cannot be had, and fails on a wrong file."""
    try:
        fetch(packages, folder)
    except (MissingPackageError, SourceError) as error:
        if "is not the pinned file" in error.what:
            raise
        pytest.skip(f"{error.what} ({error.where})")


def some_clip_art(packages: Path, folder: Path) -> None:
    """Copy the drawings of :data:`THEMES`, also those behind links, and their texts."""
    png, svg = source_of("openclipart").packages
    drawings, texts = (f"{png.name}/{openclipart.PNG}", f"{svg.name}/{openclipart.SVG}")
    root = (packages / drawings).resolve()
    for theme in THEMES:
        for file in sorted((root / theme).rglob("*.png")):
            place = file.resolve().relative_to(root)
            text = place.with_suffix(".svg")
            for copied in (Path(drawings, place), Path(texts, text)):
                (folder / copied).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(packages / copied, folder / copied)
            if file.is_symlink():
                link = folder / drawings / file.relative_to(root)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(folder / drawings / place)
    for package in (png, svg):
        (folder / package.name / MARK).write_text(package.sha256)
