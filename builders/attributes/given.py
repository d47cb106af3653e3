"""Texts and attributes that came with a data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmark_spec.errors import SourceError, UnknownNameError
from builders.sources import SOURCES
from builders.sources.image_set import ImageSet
from builders.sources.source import source_of

GIVEN = "given"
"""The name for texts that came with the data set, in place of a captioner's."""


def given_texts(images: ImageSet, source: str) -> list[str | None]:
    """Return the text that came with each of N images; None where nothing came."""
    if images.texts is None:
        check_given(source, "texts")
    of_path = images.texts or {}
    return [of_path.get(path) for path in images.images.column("path").to_pylist()]


def given_attributes(images: ImageSet, source: str) -> list[list[str]]:
    """Return the attributes that came with each of N images: sorted, each once, in lower case."""
    if images.attributes is None:
        check_given(source, "attributes")
    of_path, paths = images.attributes or {}, images.images.column("path").to_pylist()
    return [sorted({attribute.lower() for attribute in of_path.get(path, ())}) for path in paths]


def given_values(
    images: ImageSet, source: str, word: str, texts: Sequence[str | None]
) -> tuple[list[list[str]], list[str | None]]:
    """Return whether each of N images has an attribute, as a value of one that all have.

    Gives ``[word]`` or ``["not word"]`` of each, and as text the object in it: its given text and
    its other attributes.  The object is None for an image without a text, and for a second image of
    an object with the same value.  Raises an UnknownNameError if no image has the attribute.
    """
    values, objects, seen = [], [], set()
    classes = images.images.column("class_id").to_pylist()
    attributes = given_attributes(images, source)
    if not any(word in of_image for of_image in attributes):
        known = sorted({other for of_image in attributes for other in of_image})
        raise UnknownNameError(f"attribute of {images.name}", word, known)
    for label, text, of_image in zip(classes, texts, attributes, strict=True):
        value = word if word in of_image else f"not {word}"
        depicted = "; ".join([text or "", *(other for other in of_image if other != word)])
        first = text is not None and (label, depicted, value) not in seen
        seen.add((label, depicted, value))
        values.append([value])
        objects.append(depicted if first else None)
    return values, objects


def check_given(source: str, name: str, where: str = "") -> Any:
    """Return whether ``texts`` came with a source, or its ``attributes``; SourceError if none."""
    came = came_with(source, name)
    if not came:
        others = ", ".join(other for other in SOURCES if came_with(other, name))
        raise SourceError(
            f"no {name} came with {source}",
            where=where,
            expected=f"a source that has some: {others}",
            fix="of own data name in the options `texts`, a CSV file of a folder or a column of a "
            "Hub data set, or of a folder `attributes`, for the recipe given; or let a captioner "
            "write texts, such as blip+textblob",
        )
    return came


def came_with(source: str, name: str) -> Any:
    """Return whether ``texts`` came with a source; or its ``attributes``, none if it has none."""
    return getattr(source_of(source), name)
