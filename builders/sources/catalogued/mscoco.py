"""MS COCO 2017: 40 of its 80 categories, one crop of each (photograph, category) pair.

This is what the released runs of Lafargue et al. (TMLR 2024) counted: 151,545 images.  Meta-Dataset
has a crop of every annotation; that is :mod:`builders.sources.catalogued.mscoco_boxes`.  The crop
of a pair is that of its largest annotation: by the area of its box, width times height, in pixels;
of equal ones the first in the annotation file.  A box around a crowd is taken only where the
photograph has no single object of the category.  Which crop the released runs took is not known.
"""

from __future__ import annotations

from builders.sources.coco_boxes import CocoSource, largest_of_each_photograph

SOURCE = CocoSource.choosing(
    "mscoco",
    largest_of_each_photograph,
    order="categories as in the annotation file, crops by photograph",
    pairs="of each photograph and category the largest box, crowds last",
)
LAYOUT, read = SOURCE.layout, SOURCE.read
