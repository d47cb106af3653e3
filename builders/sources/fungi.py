"""FGVCx Fungi 2018: the 200 of its 1394 species that Meta-Dataset tests on.

Training and validation images of the competition alike; its test images have no public labels.
A class is called ``NNNN.name`` after its category, since two categories may share a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
from builders.sources.raw_files import read_json, reading_entries, sha256_of_files

NAME = "fungi"
ABOUT = About.of_catalogue(NAME)
LAYOUT = (
    "train.json, val.json and the images where these name them (images/...), as "
    "fungi_train_val.tgz and train_val_annotations.tgz unpack"
)
SPLIT = Split(994, 200, 200)
COUNTS = counts_of_catalogue(NAME)
LISTS = ("train.json", "val.json")


def read(
    folder: Path,
    *,
    allow_missing: bool = False,
    progress: Progress = silent,
    expected: Mapping[str, int] = COUNTS,
) -> ImageSet:
    """Read the test species.

    Parameters and errors are those of :class:`builders.sources.image_set.Source`.
    """
    require_entries(NAME, folder, *LISTS)
    contents = [read_json(folder / name, "images", "annotations", "categories") for name in LISTS]
    with reading_entries(folder / LISTS[0]):
        classes = _classes(contents, folder)
    return image_set(
        NAME,
        ABOUT,
        folder,
        classes,
        expected=expected,
        allow_missing=allow_missing,
        provenance={
            "lists": sha256_of_files(folder, *LISTS),
            "split": SPLIT.provenance(),
            "order": "categories by id, images as in train.json, then as in val.json",
        },
        progress=progress,
    )


def _classes(contents: list[Mapping[str, Any]], folder: Path) -> dict[str, list[Item]]:
    """Images of each test species."""
    labels = _labels(contents, folder)
    names = [labels[category] for category in sorted(labels)]
    classes: dict[str, list[Item]] = {name: [] for name in SPLIT.held_out(names, folder / LISTS[0])}
    category_of = _categories_of_images(contents, folder)
    for content in contents:
        for image in content["images"]:
            if image["id"] not in category_of:
                raise SourceError(
                    f"{NAME}: image {image['file_name']} has no annotation", where=str(folder)
                )
            label = labels[category_of[image["id"]]]
            if label in classes:
                classes[label].append(Item(image["file_name"], creator=image.get("rights_holder")))
    return classes


def _labels(contents: list[Mapping[str, Any]], folder: Path) -> dict[int, str]:
    """Class name of each category id, which both files must name alike."""
    train, val = (
        {c["id"]: f"{c['id']:04d}.{c['name']}" for c in content["categories"]}
        for content in contents
    )
    if train != val:
        other = sorted(set(train.items()) ^ set(val.items()))
        raise SourceError(
            f"{NAME}: train.json and val.json name other categories: "
            f"{listing([label for _, label in other])}",
            where=str(folder),
            fix="take both files from the same competition",
        )
    return train


def _categories_of_images(contents: list[Mapping[str, Any]], folder: Path) -> dict[Any, int]:
    """Category of each image id."""
    found: dict[Any, int] = {}
    for content in contents:
        for annotation in content["annotations"]:
            image = annotation["image_id"]
            if image in found:
                raise SourceError(f"{NAME}: image {image} has two annotations", where=str(folder))
            found[image] = annotation["category_id"]
    return found
