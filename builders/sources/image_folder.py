"""Read any folder of images that has one folder per class."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from benchmark_spec.errors import SourceError, listing
from builders.sources.checking import Found
from builders.sources.image_set import Item, Progress
from builders.sources.lists import LISTS, is_missing, read_list
from builders.sources.raw_files import folders, image_files, sha256_of_files
from builders.sources.source import Source
from fslbench_data.pictures import formats

_PART = re.compile(
    "((data|images?)[^a-z]*)?"
    "(base|dev|development|eval|evaluation|novel|test|testing|train|training|val|valid|validation)"
    "[^a-z]*((data|images?|set|split)[^a-z]*)?"
)
"""Usual names of the folders of parts, in lower case: train2017, val, test_set."""
Listing = tuple[dict[str, list[str]], dict[str, dict[str, str]]]
"""The images of each class, and the values of each list, by path or by class."""


def find(_: Source, folder: Path, __: Progress, **lists: str) -> Found:
    """Find the images: classes sorted by name, the images of each sorted by path, at any depth.

    `lists` are files in the folder by option (:data:`builders.sources.lists.LISTS`); semicolons
    separate the attributes of an image.
    """
    paths, values = list_images(folder, **lists)
    groups = values.get("groups", {})
    classes = {label: [Item(p, groups.get(p)) for p in images] for label, images in paths.items()}
    attributes = {
        path: tuple(word for part in text.split(";") if (word := part.strip()))
        for path, text in values.get("attributes", {}).items()
    }
    return Found(
        classes,
        folder,
        provenance={
            "order": "classes sorted by name, images by path",
            **{key: sha256_of_files(folder, lists[key]) for key in LISTS if lists.get(key)},
        },
        superclass_of=values.get("superclasses"),
        texts=values.get("texts"),
        attributes=attributes if "attributes" in values else None,
    )


def list_images(folder: Path, **lists: str) -> Listing:
    """List the images and read the named lists; SourceError as in :func:`find`."""
    classes = folders(folder, broken_links=True) if folder.is_dir() else []
    paths = {label: image_files(folder, label, deep=True) for label in classes}
    if not any(paths.values()):
        raise SourceError(
            f"{folder} has no folders of classes with images"
            if folder.is_dir()
            else f"there is no folder {folder}",
            where=str(folder),
            expected=f"one folder per class: FOLDER/<class>/.../<image>, of {', '.join(formats())}",
            fix=f"name the folder above: {folder.parent.parent}"
            if not folder.exists() and folder.parent.name == folder.name
            else "",
        )
    _check_layout(folder, paths)
    if missing := [label for label in classes if is_missing(label)]:
        raise SourceError(
            f"{len(missing)} of {len(classes)} folders name no class: "
            + listing([f"{label!r} ({len(paths[label])} images)" for label in missing]),
            where=str(folder),
            expected="folders that have the names of classes",
            fix="move the images without a label out of the raw folder, or give the class a name",
        )
    all_paths = set(chain.from_iterable(paths.values()))
    return paths, {
        option: read_list(option, folder, file, classes if option == "superclasses" else all_paths)
        for option, file in lists.items()
        if file
    }


def _check_layout(folder: Path, paths: Mapping[str, Sequence[str]]) -> None:
    """Refuse pictures outside the folders of classes, and parts of a data set instead of classes.

    Folders named like parts are taken for parts if they hold folders, or if all are named so.
    """
    if stray := image_files(folder, ""):
        raise SourceError(
            f"{len(stray)} picture{'s lie' if len(stray) > 1 else ' lies'} beside the folders of "
            f"classes: {listing(stray, 4)}",
            where=str(folder),
            expected="every picture in the folder of its class",
            fix="move each into the folder of its class, or out of the raw folder",
        )
    parts = [name for name in paths if _PART.fullmatch(name.casefold())]
    deep = [name for name in parts if paths[name] and all(p.count("/") > 1 for p in paths[name])]
    if len(deep) > 1 or (len(parts) == len(paths) and (deep or len(parts) > 1)):
        raise SourceError(
            f"{listing(parts)} in {folder}: no classes, but parts of a data set",
            where=str(folder),
            expected="one folder per class",
            fix=f"name the folder of one part, such as {folder / (deep or parts)[-1]}",
        )
