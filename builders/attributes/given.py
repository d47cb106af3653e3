"""Return the texts and attributes that came with a data set."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from benchmark_spec.errors import SourceError, UnknownNameError
from builders.sources import SOURCES
from builders.sources.image_set import ImageSet
from builders.sources.source import source_of

GIVEN = "given"
"""The name in a recipe for texts or attributes that came with the data set."""


def given_texts(images: ImageSet, source: str) -> list[str | None]:
    """Return the text that came with each of N images, None without one."""
    if images.texts is None:
        check_given(source, "texts")
    texts = images.texts or {}
    return [texts.get(path) for path in images.images.column("path").to_pylist()]


def given_attributes(images: ImageSet, source: str) -> list[list[str]]:
    """Return the attributes that came with each of N images: sorted, each once, in lower case."""
    if images.attributes is None:
        check_given(source, "attributes")
    attributes, paths = images.attributes or {}, images.images.column("path").to_pylist()
    return [sorted({word.lower() for word in attributes.get(path, ())}) for path in paths]


def given_values(
    images: ImageSet, source: str, word: str, texts: Sequence[str | None]
) -> tuple[list[list[str]], list[str | None]]:
    """Return ``[word]`` or ``["not word"]`` for each of N images, and the object in it as text.

    An object is the image's given text and its other attributes.  It is None for an image without a
    text, and for a second image of an object with the same value.  UnknownNameError if no image has
    the attribute `word`.
    """
    values, objects, seen = [], [], set()
    classes = images.images.column("class_id").to_pylist()
    attributes = given_attributes(images, source)
    known = sorted(set(chain.from_iterable(attributes)))
    if word not in known:
        raise UnknownNameError(f"attribute of {images.name}", word, known)
    for label, text, words in zip(classes, texts, attributes, strict=True):
        value = word if word in words else f"not {word}"
        depicted = "; ".join([text or "", *(other for other in words if other != word)])
        is_first = text is not None and (label, depicted, value) not in seen
        seen.add((label, depicted, value))
        values.append([value])
        objects.append(depicted if is_first else None)
    return values, objects


def check_given(source: str, name: str, where: str = "") -> Any:
    """Return what :func:`came_with` does; SourceError if nothing came with the source."""
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
    """Return whether ``texts`` came with a source, or which ``attributes``."""
    return getattr(source_of(source), name)
