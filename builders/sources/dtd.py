"""Describable Textures Dataset: the 7 of its 47 textures that Meta-Dataset tests on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from builders.sources.counts import counts_of_catalogue
from builders.sources.image_set import (
    About,
    ImageSet,
    Item,
    Progress,
    image_set,
    require_entries,
    silent,
)
from builders.sources.meta_dataset_split import Split
from builders.sources.raw_files import folders, image_files

NAME = "dtd"
ABOUT = About.of_catalogue(NAME)
LAYOUT = "images/<texture>/*.jpg, as dtd-r1.0.1.tar.gz unpacks into dtd/"
SPLIT = Split(33, 7, 7)
COUNTS = counts_of_catalogue(NAME)


def read(
    folder: Path,
    *,
    allow_missing: bool = False,
    progress: Progress = silent,
    expected: Mapping[str, int] = COUNTS,
) -> ImageSet:
    """Read the test textures; a folder with these textures alone will do.

    Parameters and errors are those of :class:`builders.sources.image_set.Source`.
    """
    require_entries(NAME, folder, "images")
    textures = folders(folder / "images")
    chosen = SPLIT.held_out_or_known(textures, expected, folder / "images")
    return image_set(
        NAME,
        ABOUT,
        folder,
        {name: [Item(path) for path in image_files(folder, f"images/{name}")] for name in chosen},
        expected=expected,
        allow_missing=allow_missing,
        provenance={
            "split": SPLIT.provenance(),
            "order": "classes sorted by name, images by path",
        },
        progress=progress,
    )
