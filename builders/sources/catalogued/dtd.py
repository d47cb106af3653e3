"""Describable Textures Dataset: the 7 of its 47 textures that Meta-Dataset tests on.

A folder with these textures alone will do.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from builders.sources.catalogued_source import CataloguedSource, Classes
from builders.sources.meta_dataset_split import Split
from builders.sources.raw_files import folders, items_in

SPLIT = Split(33, 7, 7)


def _find(folder: Path, expected: Mapping[str, int]) -> Classes:
    textures = folders(folder / "images")
    tested = SPLIT.held_out_or_known(textures, expected, folder / "images")
    return {name: items_in(folder, f"images/{name}") for name in tested}


SOURCE = CataloguedSource(
    "dtd",
    "images/<texture>/*.jpg, as dtd-r1.0.1.tar.gz unpacks into dtd/",
    ("images",),
    _find,
    {"order": "classes sorted by name, images by path"},
    SPLIT,
)
LAYOUT, read = SOURCE.layout, SOURCE.read
