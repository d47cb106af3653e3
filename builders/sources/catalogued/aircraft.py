"""FGVC-Aircraft 2013b: the 15 of its 100 variants that Meta-Dataset tests on.

Each picture is cropped to the box of its aircraft, which also cuts the copyright line off.  A
box's ``xmin ymin xmax ymax`` bounds the crop from the left and top edge of the picture, as in
Meta-Dataset; the authors count pixels from 1, so that a tight box would begin one pixel earlier.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmark_spec.errors import SourceError, listing
from builders.sources.catalogued_source import CataloguedSource, Classes
from builders.sources.image_set import Item
from builders.sources.meta_dataset_split import Split
from builders.sources.raw_files import read_lines, read_table

SPLIT = Split(70, 15, 15)
VARIANTS, BOXES = "data/variants.txt", "data/images_box.txt"
LISTS = ("data/images_variant_trainval.txt", "data/images_variant_test.txt")


def _find(folder: Path, _: Mapping[str, int]) -> Classes:
    """Find the test variants, training and test images of the authors alike."""
    variants = sorted(line.strip() for line in read_lines(folder / VARIANTS))
    boxes = read_table(folder / BOXES, 5, _box)
    of_variant: dict[str, list[str]] = {name: [] for name in variants}
    for list_name in LISTS:
        for image, variant in read_table(folder / list_name, 2).items():
            if variant not in of_variant:
                raise SourceError(
                    f"{list_name}: image {image} is of {variant!r}, which {VARIANTS} does not name",
                    where=str(folder / list_name),
                )
            of_variant[variant].append(image)
    tested = {
        name: sorted(of_variant[name]) for name in SPLIT.held_out(variants, folder / VARIANTS)
    }
    boxless = [image for images in tested.values() for image in images if image not in boxes]
    if boxless:
        raise SourceError(
            f"{BOXES} has no box of {listing(boxless)}",
            where=str(folder / BOXES),
            fix="get the file again from the data set's authors",
        )
    return {
        name: [Item(f"data/images/{image}.jpg#xywh={boxes[image]}") for image in images]
        for name, images in tested.items()
    }


def _box(fields: list[str]) -> str:
    """Turn the line ``image xmin ymin xmax ymax`` into ``x,y,w,h``."""
    left, top, right, bottom = (int(field) for field in fields[1:])
    if not (0 <= left < right and 0 <= top < bottom):
        raise ValueError(f"has no box: {' '.join(fields[1:])}")
    return f"{left},{top},{right - left},{bottom - top}"


SOURCE = CataloguedSource(
    "aircraft",
    "data/ with images/*.jpg, variants.txt, images_box.txt, images_variant_trainval.txt and "
    "images_variant_test.txt, as fgvc-aircraft-2013b.tar.gz unpacks",
    ("data/images", VARIANTS, BOXES, *LISTS),
    _find,
    {"order": "variants sorted by name, images by path"},
    SPLIT,
    lists=(VARIANTS, BOXES, *LISTS),
)
LAYOUT, read = SOURCE.layout, SOURCE.read
