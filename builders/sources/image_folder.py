"""Any folder of images that has one folder a class."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark_spec.errors import SourceError, listing
from builders.sources.checking import Found
from builders.sources.image_set import Item, Progress
from builders.sources.lists import LISTS, is_missing, read_list
from builders.sources.raw_files import folders, image_files, sha256_of_files
from builders.sources.source import Source
from fslbench_data.files.pictures import formats

_PART = re.compile(
    "((data|images?)[^a-z]*)?"
    "(base|dev|development|eval|evaluation|novel|test|testing|train|training|val|valid|validation)"
    "[^a-z]*((data|images?|set|split)[^a-z]*)?"
)
"""How data sets name the folders of their parts, in lower case: train2017, val, test_set."""
Listing = tuple[dict[str, list[str]], dict[str, dict[str, str]]]
"""The images of each class, and the values of each list, by path or by class."""


def find(_: Source, folder: Path, __: Progress, **lists: str) -> Found:
    """Find the images: classes sorted by name, the images of each sorted by path, at any depth.

    `lists` are files in the folder by option (:data:`builders.sources.lists.LISTS`); attributes of
    an image are parted by semicolons.
    """
    paths, values = list_images(folder, **lists)
    group, attributes = values.get("groups", {}), values.get("attributes")
    words = {path: map(str.strip, text.split(";")) for path, text in (attributes or {}).items()}
    of_path = {path: tuple(filter(None, parts)) for path, parts in words.items()}
    return Found(
        {label: [Item(path, group.get(path)) for path in own] for label, own in paths.items()},
        folder,
        provenance={
            "order": "classes sorted by name, images by path",
            **{key: sha256_of_files(folder, lists[key]) for key in LISTS if lists.get(key)},
        },
        superclass_of=values.get("superclasses"),
        texts=values.get("texts"),
        attributes=None if attributes is None else of_path,
    )


def list_images(folder: Path, **lists: str) -> Listing:
    """List images and read the lists that are named; errors are those of :func:`read`."""
    classes = folders(folder, lost=True) if folder.is_dir() else []
    paths = {label: image_files(folder, label, deep=True) for label in classes}
    if not any(paths.values()):
        raise SourceError(
            f"{folder} has no folders of classes with images"
            if folder.is_dir()
            else f"there is no folder {folder}",
            where=str(folder),
            expected=f"one folder a class: FOLDER/<class>/.../<image>, of {', '.join(formats())}",
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
    every = {path for of_class in paths.values() for path in of_class}
    return paths, {
        option: read_list(option, folder, file, classes if option == "superclasses" else every)
        for option, file in lists.items()
        if file
    }


def _check_layout(folder: Path, paths: Mapping[str, Sequence[str]]) -> None:
    """Refuse pictures outside the folders of classes, and parts of a data set in place of classes.

    Parts are all folders or some that hold folders; `paths` has the images of each.
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
    split = [name for name in parts if paths[name] and all(p.count("/") > 1 for p in paths[name])]
    if len(split) > 1 or (len(parts) == len(paths) and (split or len(parts) > 1)):
        raise SourceError(
            f"{listing(parts)} in {folder}: no classes, but parts of a data set",
            where=str(folder),
            expected="one folder a class",
            fix=f"name the folder of one part, such as {folder / (split or parts)[-1]}",
        )
