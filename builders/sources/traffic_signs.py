"""German Traffic Sign Recognition Benchmark: the 43 classes of its training images.

Meta-Dataset tests on all of them.  The images of a class come in tracks: 30 frames of one sign,
filmed as a car drives by, and so far from independent.  A track is the images' `group`.
"""

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
from builders.sources.raw_files import image_files

NAME = "traffic_signs"
ABOUT = About.of_catalogue(NAME)
LAYOUT = (
    "Final_Training/Images/00000/ to 00042/ with *.ppm, "
    "as GTSRB_Final_Training_Images.zip unpacks into GTSRB/"
)
COUNTS = counts_of_catalogue(NAME)
IMAGES = "Final_Training/Images"


def read(
    folder: Path,
    *,
    allow_missing: bool = False,
    progress: Progress = silent,
    expected: Mapping[str, int] = COUNTS,
) -> ImageSet:
    """Read the training images; classes are named as in the catalogue, in the order of their id.

    Parameters and errors are those of :class:`builders.sources.image_set.Source`.
    """
    require_entries(NAME, folder, IMAGES)
    classes = {
        name: [
            Item(path, group=(class_id, Path(path).name.partition("_")[0]))
            for path in image_files(folder, f"{IMAGES}/{class_id:05d}")
        ]
        for class_id, name in enumerate(COUNTS)
    }
    return image_set(
        NAME,
        ABOUT,
        folder,
        classes,
        expected=expected,
        allow_missing=allow_missing,
        provenance={
            "split": "all 43 classes of the training images",
            "order": "classes by id, images by path",
            "groups": "tracks: the number before '_' in a file's name, within its class",
        },
        progress=progress,
    )
