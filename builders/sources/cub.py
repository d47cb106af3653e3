"""Caltech-UCSD Birds-200-2011: the 30 of its 200 species that Meta-Dataset tests on."""

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
from builders.sources.raw_files import image_files, read_table, sha256_of_files

NAME = "cub"
ABOUT = About.of_catalogue(NAME)
LAYOUT = "classes.txt, images/NNN.Name/*.jpg, as CUB_200_2011.tgz unpacks into CUB_200_2011/"
SPLIT = Split(140, 30, 30)
COUNTS = counts_of_catalogue(NAME)
CLASS_LIST = "classes.txt"


def read(
    folder: Path,
    *,
    allow_missing: bool = False,
    progress: Progress = silent,
    expected: Mapping[str, int] = COUNTS,
) -> ImageSet:
    """Read the test species.

    Parameters and errors are those of :class:`builders.sources.image_set.Source`.
    """
    require_entries(NAME, folder, CLASS_LIST, "images")
    species = list(read_table(folder / CLASS_LIST, 2).values())
    chosen = SPLIT.held_out(species, folder / CLASS_LIST)
    return image_set(
        NAME,
        ABOUT,
        folder,
        {name: [Item(path) for path in image_files(folder, f"images/{name}")] for name in chosen},
        expected=expected,
        allow_missing=allow_missing,
        provenance={
            "lists": sha256_of_files(folder, CLASS_LIST),
            "split": SPLIT.provenance(),
            "order": f"classes as in {CLASS_LIST}, images by path",
        },
        progress=progress,
    )
