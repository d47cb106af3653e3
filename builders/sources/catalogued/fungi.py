"""FGVCx Fungi 2018: the 200 of its 1394 species that Meta-Dataset tests on.

Training and validation images of the competition alike; its test images have no public labels.
A class is called ``NNNN.name`` after its category, since two categories may share a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmark_spec.errors import SourceError, listing
from builders.sources.catalogued_source import CataloguedSource, Classes
from builders.sources.image_set import Item
from builders.sources.meta_dataset_split import Split
from builders.sources.raw_files import read_json, reading_entries

SPLIT = Split(994, 200, 200)
LISTS = ("train.json", "val.json")


def _find(folder: Path, _: Mapping[str, int]) -> Classes:
    contents = [read_json(folder / name, "images", "annotations", "categories") for name in LISTS]
    with reading_entries(folder / LISTS[0]):
        return _classes(contents, folder)


def _classes(contents: list[Mapping[str, Any]], folder: Path) -> dict[str, list[Item]]:
    """Collect the images of each test species."""
    labels = _labels(contents, folder)
    names = [labels[category] for category in sorted(labels)]
    classes: dict[str, list[Item]] = {name: [] for name in SPLIT.held_out(names, folder / LISTS[0])}
    category_of = _categories_of_images(contents, folder)
    for content in contents:
        for image in content["images"]:
            if image["id"] not in category_of:
                raise SourceError(
                    f"fungi: image {image['file_name']} has no annotation", where=str(folder)
                )
            label = labels[category_of[image["id"]]]
            if label in classes:
                classes[label].append(Item(image["file_name"], creator=image.get("rights_holder")))
    return classes


def _labels(contents: list[Mapping[str, Any]], folder: Path) -> dict[int, str]:
    """Name the class of each category id, which both files must name alike."""
    train, val = (
        {c["id"]: f"{c['id']:04d}.{c['name']}" for c in content["categories"]}
        for content in contents
    )
    if train != val:
        other = sorted(set(train.items()) ^ set(val.items()))
        raise SourceError(
            "fungi: train.json and val.json name other categories: "
            f"{listing([label for _, label in other])}",
            where=str(folder),
            fix="take both files from the same competition",
        )
    return train


def _categories_of_images(contents: list[Mapping[str, Any]], folder: Path) -> dict[Any, int]:
    """Look up the category of each image id."""
    category_of: dict[Any, int] = {}
    for content in contents:
        for annotation in content["annotations"]:
            image = annotation["image_id"]
            if image in category_of:
                raise SourceError(f"fungi: image {image} has two annotations", where=str(folder))
            category_of[image] = annotation["category_id"]
    return category_of


SOURCE = CataloguedSource(
    "fungi",
    "train.json, val.json and the images where these name them (images/...), as "
    "fungi_train_val.tgz and train_val_annotations.tgz unpack",
    LISTS,
    _find,
    {"order": "categories by id, images as in train.json, then as in val.json"},
    SPLIT,
    lists=LISTS,
)
LAYOUT, read = SOURCE.layout, SOURCE.read
