"""Texts and attributes that came with a data set.

A source has them if its module defines a function for them:

``texts(folder, progress)``
    The words that came with each image, :class:`builders.sources.rdf.Text`, by its path in the
    images table, and perhaps of more images.
``attributes_of(path)``
    The attributes of the image at a path, such as the style that it is drawn in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmark_spec.errors import SourceError
from builders.sources import SOURCES, source_module
from builders.sources.image_set import ImageSet, Progress, silent
from builders.sources.rdf import Text

TEXTS, ATTRIBUTES = "texts", "attributes_of"
"""Names of the functions."""


def check_texts(source: str, where: str = "") -> None:
    """Refuse a source without texts.

    Raises
    ------
    SourceError
        Naming those that have some.
    """
    _function(source, TEXTS, "texts", where)


def check_attributes(source: str, where: str = "") -> None:
    """Refuse a source without attributes of its own.

    Raises
    ------
    SourceError
        Naming those that have some.
    """
    _function(source, ATTRIBUTES, "attributes", where)


def given_texts(
    images: ImageSet, source: str, folder: Path, progress: Progress = silent
) -> list[str | None]:
    """The text that came with each image: title, description and tags, as sentences.

    Parameters
    ----------
    images
        N, as the source has read them.
    folder
        The raw folder that they were read from.

    Returns
    -------
    N texts, None where nothing came with an image.

    Raises
    ------
    SourceError
        If the source has no texts, or none of some image.
    """
    read: Callable[[Path, Progress], Mapping[str, Text]] = _function(source, TEXTS, "texts")
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
    """The attributes that came with each of N images: sorted, each once, in lower case.

    Raises
    ------
    SourceError
        If the source has none.
    """
    of: Callable[[str], tuple[str, ...]] = _function(source, ATTRIBUTES, "attributes")
    paths = images.images.column("path").to_pylist()
    return [sorted({attribute.lower() for attribute in of(path)}) for path in paths]


def has_texts(source: str) -> bool:
    """Whether texts came with a data set."""
    return hasattr(source_module(source), TEXTS)


def sentences(text: Text) -> str:
    """Title, description and tags as one text; a description that repeats the title is left out."""
    title, description = text.title.strip(), text.description.strip()
    parts = [title, description if description != title else "", ", ".join(text.tags)]
    return ". ".join(part.rstrip(".") for part in parts if part)


def _function(source: str, name: str, what: str, where: str = "") -> Any:
    found = getattr(source_module(source), name, None)
    if found is None:
        having = [s for s in SOURCES if hasattr(source_module(s), name)]
        raise SourceError(
            f"no {what} came with {source}",
            where=where,
            expected=f"a source that has some: {', '.join(having)}",
            fix="let a captioner write texts, such as blip+textblob, or take pixels",
        )
    return found
