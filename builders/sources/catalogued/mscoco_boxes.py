"""MS COCO 2017: 40 of its 80 categories, a crop of every annotation, as Meta-Dataset has them.

346,980 images, boxes around crowds among them; :mod:`builders.sources.catalogued.mscoco` has one
crop of each photograph and category.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from builders.sources.coco_boxes import CocoSource
from builders.sources.counts import counts_of_catalogue
from builders.sources.image_set import About

# annotations of each test category, in the order of the catalogue's mscoco; from Meta-Dataset's
# dataset_specs/mscoco_dataset_spec.json (google-research/meta-dataset)
# fmt: off
_ANNOTATIONS = (
    7113, 43867, 5135, 6069, 9973, 10759, 1983, 9838, 10806, 6587,
    9509, 8147, 5131, 6496, 2682, 6646, 3276, 4812, 24342, 7913,
    20650, 5479, 6165, 14358, 9458, 5851, 6399, 2918, 5821, 38491,
    5779, 8652, 4192, 2262, 2855, 225, 5610, 2637, 6613, 1481,
)
# fmt: on


class _Boxes(CocoSource):
    @cached_property
    def about(self) -> About:
        return replace(
            About.of_catalogue("mscoco"),
            note="346,980 images: one crop of every annotation, as in Meta-Dataset; the released "
            "runs of Lafargue et al. (2024) had one crop of each (image, class) pair, which is "
            "mscoco.",
        )

    @cached_property
    def counts(self) -> Mapping[str, int]:
        return dict(zip(counts_of_catalogue("mscoco"), _ANNOTATIONS, strict=True))


SOURCE = _Boxes.choosing(
    "mscoco_boxes",
    list,
    order="categories as in the annotation file, crops by photograph, then as there",
)
LAYOUT, read = SOURCE.layout, SOURCE.read
