"""FGVC-Aircraft 2013b: the 15 of its 100 variants that Meta-Dataset tests on.

Each picture is cropped to the box of its aircraft, which also cuts the copyright line off.  A
box's ``xmin ymin xmax ymax`` bounds the crop from the left and top edge of the picture, as in
Meta-Dataset; the authors count pixels from 1, so that a tight box would begin one pixel earlier.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmark_spec.errors import SourceError, listing
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
from builders.sources.raw_files import read_lines, read_table, sha256_of_files

NAME = "aircraft"
ABOUT = About.of_catalogue(NAME)
LAYOUT = (
    "data/ with images/*.jpg, variants.txt, images_box.txt, images_variant_trainval.txt and "
    "images_variant_test.txt, as fgvc-aircraft-2013b.tar.gz unpacks"
)
SPLIT = Split(70, 15, 15)
COUNTS = counts_of_catalogue(NAME)
VARIANTS, BOXES = "data/variants.txt", "data/images_box.txt"
LISTS = ("data/images_variant_trainval.txt", "data/images_variant_test.txt")


def read(
    folder: Path,
    *,
    allow_missing: bool = False,
    progress: Progress = silent,
    expected: Mapping[str, int] = COUNTS,
) -> ImageSet:
    """Read the test variants, training and test images of the authors alike.

    Parameters and errors are those of :class:`builders.sources.image_set.Source`.
    """
    require_entries(NAME, folder, "data/images", VARIANTS, BOXES, *LISTS)
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
    chosen = {
        name: sorted(of_variant[name]) for name in SPLIT.held_out(variants, folder / VARIANTS)
    }
    boxless = [image for images in chosen.values() for image in images if image not in boxes]
    if boxless:
        raise SourceError(
            f"{BOXES} has no box of {listing(boxless)}",
            where=str(folder / BOXES),
            fix="get the file again from the data set's authors",
        )
    return image_set(
        NAME,
        ABOUT,
        folder,
        {
            name: [Item(f"data/images/{image}.jpg#xywh={boxes[image]}") for image in images]
            for name, images in chosen.items()
        },
        expected=expected,
        allow_missing=allow_missing,
        provenance={
            "lists": sha256_of_files(folder, VARIANTS, BOXES, *LISTS),
            "split": SPLIT.provenance(),
            "order": "variants sorted by name, images by path",
        },
        progress=progress,
    )


def _box(fields: list[str]) -> str:
    """The line ``image xmin ymin xmax ymax`` as ``x,y,w,h``."""
    left, top, right, bottom = (int(field) for field in fields[1:])
    if not (0 <= left < right and 0 <= top < bottom):
        raise ValueError(f"has no box: {' '.join(fields[1:])}")
    return f"{left},{top},{right - left},{bottom - top}"
