"""German Traffic Sign Recognition Benchmark: the 43 classes of its training images.

Meta-Dataset tests on all of them; they are named as in the catalogue, in the order of their id.
The images of a class come in tracks: 30 frames of one sign, filmed as a car drives by, and so far
from independent.  A track is the images' `group`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from builders.sources.catalogued_source import CataloguedSource, Classes
from builders.sources.image_set import Item
from builders.sources.raw_files import image_files

IMAGES = "Final_Training/Images"


def _find(folder: Path, _: Mapping[str, int]) -> Classes:
    return {
        name: [
            Item(path, group=(class_id, Path(path).name.partition("_")[0]))
            for path in image_files(folder, f"{IMAGES}/{class_id:05d}")
        ]
        for class_id, name in enumerate(SOURCE.counts)
    }


SOURCE = CataloguedSource(
    "traffic_signs",
    "Final_Training/Images/00000/ to 00042/ with *.ppm, "
    "as GTSRB_Final_Training_Images.zip unpacks into GTSRB/",
    (IMAGES,),
    _find,
    {
        "order": "classes by id, images by path",
        "groups": "tracks: the number before '_' in a file's name, within its class",
    },
    "all 43 classes of the training images",
)
LAYOUT, read = SOURCE.layout, SOURCE.read
