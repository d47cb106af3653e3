"""Crops of the objects of MS COCO 2017's training images, for `mscoco` and `mscoco_boxes`.

A crop is an annotation's box, scaled by 1.2 about its centre, rounded to whole pixels and cut at
the picture's edges, as Meta-Dataset makes it.  COCO puts the centre of the first pixel at
(0.5, 0.5): hence the half pixels in :func:`crop`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmark_spec.errors import SourceError
from builders.sources.catalogued_source import CataloguedSource, Classes
from builders.sources.image_set import Item
from builders.sources.meta_dataset_split import Split
from builders.sources.raw_files import read_json, reading_entries

SPLIT = Split(0, 40, 40)
"""Of the 80 categories in the order of the annotation file."""
SCALE = 1.2
IMAGES = "train2017"
PLACES = ("annotations/instances_train2017.json", "instances_train2017.json")
"""Of the annotation file, the official one first."""


@dataclass(frozen=True)
class Box:
    """An annotation of a test category whose crop has at least one pixel.

    Attributes
    ----------
    file
        Name of the photograph; its annotations come in the order of the annotation file.
    xywh
        Of the crop, as a fragment of a path has it.
    area
        Of the annotated box, in pixels.
    crowd
        It marks a group of objects, not one.
    """

    file: str
    xywh: str
    area: float
    crowd: bool
    licence: str | None

    def item(self) -> Item:
        """Make it an image of the data set, in the group of its photograph."""
        return Item(f"{IMAGES}/{self.file}#xywh={self.xywh}", group=self.file, licence=self.licence)


class CocoSource(CataloguedSource):
    """Crops around boxes that a photograph's annotations give."""

    @classmethod
    def choosing(cls, name: str, choose: Callable[[list[Box]], list[Box]], **record: str) -> Self:
        """Make the source that takes some boxes of each category, which come by photograph.

        The crops of a photograph are a group, across classes.
        """

        def find(folder: Path, _: Mapping[str, int]) -> Classes:
            return {
                label: [box.item() for box in choose(boxes)]
                for label, boxes in read_boxes(folder / _annotations_in(folder)).items()
            }

        crops = f"boxes scaled by {SCALE} about their centre, cut at the picture's edges"
        return cls(
            name,
            "train2017/*.jpg, and instances_train2017.json there or in annotations/, as "
            "train2017.zip and annotations_trainval2017.zip unpack",
            (),
            find,
            {"crops": crops, **record, "groups": "photographs"},
            SPLIT,
        )

    def files_in(self, folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Give the folder of photographs and the annotation file."""
        annotations = _annotations_in(folder)
        return (IMAGES, annotations), (annotations,)


def _annotations_in(folder: Path) -> str:
    return next((place for place in PLACES if (folder / place).is_file()), PLACES[0])


def read_boxes(path: Path) -> dict[str, list[Box]]:
    """Read the boxes of each test category from an annotation file, by photograph."""
    content = read_json(path, "images", "annotations", "categories")
    with reading_entries(path):
        boxes = _boxes(content, path)
    return {label: sorted(of_class, key=lambda box: box.file) for label, of_class in boxes.items()}


def _boxes(content: Mapping[str, Any], where: Path) -> dict[str, list[Box]]:
    """Collect the boxes of each test category, in the order of the annotation file."""
    categories = {category["id"]: category["name"] for category in content["categories"]}
    licences = {entry["id"]: entry["name"] for entry in content.get("licenses", ())}
    images = {image["id"]: image for image in content["images"]}
    boxes: dict[str, list[Box]] = {
        label: [] for label in SPLIT.held_out(list(categories.values()), where)
    }
    for annotation in content["annotations"]:
        label = categories.get(annotation["category_id"])
        image = images.get(annotation["image_id"])
        if image is None or label is None:
            raise SourceError(
                f"{where.name}: annotation {annotation.get('id')} is of image "
                f"{annotation['image_id']} and category {annotation['category_id']}, "
                f"which are not both listed",
                where=str(where),
                fix="get the annotations again",
            )
        if label not in boxes:
            continue
        x, y, width, height = annotation["bbox"]
        xywh = crop((x, y, width, height), image["width"], image["height"])
        if xywh:
            crowd = bool(annotation.get("iscrowd"))
            licence = licences.get(image.get("license"))
            boxes[label].append(Box(image["file_name"], xywh, width * height, crowd, licence))
    return boxes


def crop(box: tuple[float, float, float, float], width: int, height: int) -> str:
    """Crop a box (x, y, w, h) in a picture: ``x,y,w,h``, or '' if nothing is left of it."""
    x, y, w, h = box
    left, top = x - w * (SCALE - 1) / 2, y - h * (SCALE - 1) / 2
    first_column, first_row = max(round(left - 0.5), 0), max(round(top - 0.5), 0)
    end_column = min(round(left + w * SCALE - 0.5) + 1, width)
    end_row = min(round(top + h * SCALE - 0.5) + 1, height)
    if end_column <= first_column or end_row <= first_row:
        return ""
    return f"{first_column},{first_row},{end_column - first_column},{end_row - first_row}"


def largest_of_each_photograph(boxes: list[Box]) -> list[Box]:
    """Choose a box of each photograph: single objects before crowds, the largest, the first."""
    best: dict[str, Box] = {}
    for box in boxes:
        rival = best.get(box.file)
        if rival is None or (not box.crowd, box.area) > (not rival.crowd, rival.area):
            best[box.file] = box
    return list(best.values())
