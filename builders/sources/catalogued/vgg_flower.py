"""VGG Flower (102 categories): the 16 that Meta-Dataset tests on, named as in the catalogue.

A file's number is its place in ``imagelabels.mat``, which gives its category, from 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmark_spec.errors import CatalogueError, SourceError
from benchmark_spec.extras import require
from builders.sources.catalogued_source import CataloguedSource, Classes
from builders.sources.image_set import Item
from builders.sources.meta_dataset_split import Split

SPLIT = Split(71, 15, 16)
LABELS = "imagelabels.mat"


def _find(folder: Path, _: Mapping[str, int]) -> Classes:
    named = {int(name[:3]): name for name in SOURCE.counts}  # such as 005.english marigold
    classes: dict[str, list[Item]] = {
        named[position + 1]: [] for position in SPLIT.test_positions()
    }
    for number, category in enumerate(_labels(folder / LABELS), start=1):
        if category in named:
            classes[named[category]].append(Item(f"jpg/image_{number:05d}.jpg"))
    return classes


def _labels(path: Path) -> list[int]:
    """Read the category of each image, from 1."""
    try:
        content = require("scipy.io").loadmat(path)
    except Exception as error:  # scipy raises many kinds on a damaged file
        raise SourceError(
            f"{path.name} cannot be read: {error}", where=str(path), fix="get the file again"
        ) from None
    if "labels" not in content:
        raise SourceError(
            f"{path.name} has no variable 'labels'",
            where=str(path),
            expected="one category, from 1, of each image",
        )
    labels: list[int] = content["labels"].ravel().tolist()
    if not all(1 <= label <= SPLIT.total for label in labels):
        raise CatalogueError(
            f"{path.name} has categories {min(labels)} to {max(labels)}",
            where=str(path),
            expected=f"categories from 1 to {SPLIT.total}",
        )
    return labels


SOURCE = CataloguedSource(
    "vgg_flower",
    "imagelabels.mat, jpg/image_NNNNN.jpg, as 102flowers.tgz unpacks beside the labels",
    (LABELS, "jpg"),
    _find,
    {"order": "categories by id, images by number"},
    SPLIT,
    lists=(LABELS,),
)
LAYOUT, read = SOURCE.layout, SOURCE.read
