"""Texts and attributes that came with a data set.

A source has them if its module defines them:

``texts(folder, progress)``
    The words that came with each image, :class:`builders.sources.image_set.Text`, by its path in
    the images table, and perhaps of more images.
``ATTRIBUTES``
    The attributes that its images may have, such as styles of drawing; those of each image are
    `attributes` of the :class:`builders.sources.image_set.ImageSet`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark_spec.errors import SourceError
from builders.sources import SOURCES, source_module
from builders.sources.image_set import ImageSet, Progress, Text, silent

TEXTS, ATTRIBUTES = "texts", "ATTRIBUTES"
"""Names in the modules."""
_NOUNS = {TEXTS: "texts", ATTRIBUTES: "attributes"}


def given_texts(
    images: ImageSet, source: str, folder: Path, progress: Progress = silent
) -> list[str | None]:
    """Return the text that came with each of N images, as sentences; None where nothing came.

    Own data name a file or a column of texts; they are then those of `images`.
    """
    if images.texts is not None:
        return [images.texts.get(path) for path in images.images.column("path").to_pylist()]
    read: Callable[[Path, Progress], Mapping[str, Text]] = check_given(source, TEXTS)
    texts, paths = read(folder, progress), images.images.column("path").to_pylist()
    without = [path for path in paths if path not in texts]
    if without:
        raise SourceError(
            f"{images.name}: {len(without)} images have no entry among the texts",
            where=without[0],
            fix="fetch the data set again",
        )
    return [sentences(texts[path]) or None for path in paths]


def given_attributes(images: ImageSet, source: str) -> list[list[str]]:
    """Return the attributes that came with each of N images: sorted, each once, in lower case."""
    check_given(source, ATTRIBUTES)
    of_path, paths = images.attributes or {}, images.images.column("path").to_pylist()
    return [sorted({attribute.lower() for attribute in of_path.get(path, ())}) for path in paths]


def given_values(
    images: ImageSet, source: str, word: str, texts: Sequence[str | None]
) -> tuple[list[list[str]], list[str | None]]:
    """Tell whether each of N images has an attribute, as a value of one that all have.

    Gives ``[word]`` or ``["not word"]`` of each, and as text the object that it shows: what was
    written of it, and its other attributes.  So an object is there with and without the attribute,
    and nothing else differs.  An image without a text shows no object, nor does a second one of an
    object with the same value.
    """
    values, objects, seen = [], [], set()
    classes = images.images.column("class_id").to_pylist()
    attributes = given_attributes(images, source)
    for label, text, of_image in zip(classes, texts, attributes, strict=True):
        value = word if word in of_image else f"not {word}"
        shown = "; ".join([text or "", *(other for other in of_image if other != word)])
        first = text is not None and (label, shown, value) not in seen
        seen.add((label, shown, value))
        values.append([value])
        objects.append(shown if first else None)
    return values, objects


def has_texts(source: str) -> bool:
    """Whether texts came with a data set."""
    return _came_with(source, TEXTS) is not None


def sentences(text: Text) -> str:
    """Join title, description and tags; a description that repeats the title is left out."""
    title, description = text.title.strip(), text.description.strip()
    parts = [title, description if description != title else "", ", ".join(text.tags)]
    return ". ".join(part.rstrip(".") for part in parts if part)


def check_given(source: str, name: str, where: str = "") -> Any:
    """Return what a source has of that name, :data:`TEXTS` or :data:`ATTRIBUTES`, or refuse it."""
    came = _came_with(source, name)
    if came is None:
        others = ", ".join(other for other in SOURCES if _came_with(other, name))
        raise SourceError(
            f"no {_NOUNS[name]} came with {source}",
            where=where,
            expected=f"a source that has some: {others}",
            fix="let a captioner write texts, such as blip+textblob, or take pixels; of own data "
            "name texts in the options: a CSV file of a folder, a column of a Hub data set",
        )
    return came


def _came_with(source: str, name: str) -> Any:
    return getattr(source_module(source), name, None)
