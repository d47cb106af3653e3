"""Caltech-UCSD Birds-200-2011: the 30 of its 200 species that Meta-Dataset tests on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from builders.sources.catalogued_source import CataloguedSource, Classes
from builders.sources.meta_dataset_split import Split
from builders.sources.raw_files import items_in, read_table

SPLIT = Split(140, 30, 30)
CLASS_LIST = "classes.txt"


def _find(folder: Path, _: Mapping[str, int]) -> Classes:
    species = list(read_table(folder / CLASS_LIST, 2).values())
    return {
        name: items_in(folder, f"images/{name}")
        for name in SPLIT.held_out(species, folder / CLASS_LIST)
    }


SOURCE = CataloguedSource(
    "cub",
    "classes.txt, images/NNN.Name/*.jpg, as CUB_200_2011.tgz unpacks into CUB_200_2011/",
    (CLASS_LIST, "images"),
    _find,
    {"order": f"classes as in {CLASS_LIST}, images by path"},
    SPLIT,
    lists=(CLASS_LIST,),
)
LAYOUT, read = SOURCE.layout, SOURCE.read
