"""MS COCO 2017: 40 of its 80 categories, one crop of each (photograph, category) pair.

This is what the released runs of Lafargue et al. (TMLR 2024) counted: 151,545 images.  Meta-Dataset
has a crop of every annotation; that is :mod:`builders.sources.mscoco_boxes`.  The crop of a pair
is that of its largest annotation: by the area of its box, width times height, in pixels; of equal
ones the first in the annotation file.  A box around a crowd is taken only where the photograph
has no single object of the category.  Which crop the released runs took is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from builders.sources import coco_boxes
from builders.sources.counts import counts_of_catalogue
from builders.sources.image_set import About, ImageSet, Progress, image_set, silent

NAME = "mscoco"
ABOUT = About.of_catalogue(NAME)
LAYOUT = coco_boxes.LAYOUT
COUNTS = counts_of_catalogue(NAME)


def read(
    folder: Path,
    *,
    allow_missing: bool = False,
    progress: Progress = silent,
    expected: Mapping[str, int] = COUNTS,
) -> ImageSet:
    """Read one crop of each pair; the crops of a photograph are a group, across classes.

    Parameters and errors are those of :class:`builders.sources.image_set.Source`.
    """
    boxes, provenance = coco_boxes.read_boxes(NAME, folder, progress)
    largest = {
        label: coco_boxes.largest_of_each_photograph(of_class) for label, of_class in boxes.items()
    }
    return image_set(
        NAME,
        ABOUT,
        folder,
        coco_boxes.items(largest),
        expected=expected,
        allow_missing=allow_missing,
        provenance={
            **provenance,
            "order": "categories as in the annotation file, crops by photograph",
            "pairs": "of each photograph and category the largest box, crowds last",
            "groups": "photographs",
        },
        progress=progress,
    )
