"""What every source gives: the images of a data set, in their frozen order.

A source walks its raw layout and lists, class by class, where each image is (:class:`Item`);
:mod:`builders.sources.checking` looks at them and numbers them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import SourceError
from benchmark_spec.tables import Redistribution
from builders.sources.unchanged import raw_state
from fslbench_data.files.pictures import Picture

Progress = Callable[[str], None]


def silent(step: str) -> None:
    """Tell nobody of a step."""


@dataclass(frozen=True)
class About:
    """What the card of a release says of a data set; `citation` is BibTeX.

    `redistribution` is ``features`` only where the licence of every image lets features computed
    from it be passed on.
    """

    title: str
    homepage: str
    licence: str
    citation: str
    note: str = ""
    redistribution: Redistribution = "tables"

    @classmethod
    def of_catalogue(cls, name: str) -> About:
        """Take what the catalogue says of a data set."""
        entry = lookup(name)
        return cls(**{option: getattr(entry, option) for option in ABOUT_OPTIONS})


ABOUT_OPTIONS = tuple(field.name for field in fields(About))


@dataclass(frozen=True)
class Item:
    """An image of a raw layout, before it has an id.

    Attributes
    ----------
    path
        Of its file, relative to the raw folder, with ``/``.  A fragment says which part of the
        file it is: ``#xywh=x,y,w,h`` a box in pixels (W3C Media Fragments), ``#n`` row n, from 0;
        ``#n,U+code`` a character of the font n.
    group
        Images of one group are not independent of each other (a burst of photos, the frames of
        a track); None where the image stands for itself.
    sha256
        Of the file, where the source has read it already.
    """

    path: str
    group: Hashable | None = None
    creator: str | None = None
    licence: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, eq=False)
class ImageSet:
    """A data set read from its raw layout.

    Attributes
    ----------
    class_names, class_sizes
        In the frozen order of classes.
    images : pyarrow.Table
        Of the schema :data:`benchmark_spec.schemas.IMAGES`: row i is image id i.
    provenance
        What was read: digests of the raw layout's lists, package versions, what was left out.
    picture
        Gives the image at a path of the table, RGB.
    pixels : uint8 (N, D), optional
        Grey levels 0..`white` of images so small that these are features of their own; row i is
        image id i.
    file
        Gives the file at a path of the table whose content, decoded, is the image and nothing
        else is done to it; None where there is no such file.
    content
        Gives the bytes of the image file at a path that lies in no file of its own; decoded they
        are the image and nothing else is done to it.  None where there are none.
    superclasses
        The superclass of each class, where its source knows any.
    texts
        What was written of the image at a path; None where the data set came without texts of its
        own (those of packaged sources are read by :mod:`builders.attributes.given`).
    attributes
        Those that came with the image at a path; None where the data set came without.
    raw, state
        The raw folder, if there is one, and its :func:`builders.sources.unchanged.raw_state` before
        it was read.
    """

    name: str
    about: About
    class_names: tuple[str, ...]
    class_sizes: tuple[int, ...]
    images: pa.Table
    provenance: Mapping[str, Any]
    picture: Callable[[str], Picture] = field(repr=False)
    pixels: NDArray[np.uint8] | None = field(default=None, repr=False)
    white: int = 255
    file: Callable[[str], Path | None] | None = field(default=None, repr=False)
    content: Callable[[str], bytes] | None = field(default=None, repr=False)
    superclasses: tuple[str, ...] | None = None
    texts: Mapping[str, str] | None = field(default=None, repr=False)
    attributes: Mapping[str, tuple[str, ...]] | None = field(default=None, repr=False)
    raw: Path | None = field(default=None, repr=False)
    state: str = field(default="", repr=False)

    def check_unchanged(self) -> None:
        """Raise SourceError if the raw folder changed since it was read."""
        if raw_state(self.raw) != self.state:
            raise SourceError(
                f"{self.name}: the raw folder changed after its images were read",
                where=str(self.raw),
                expected="files of the same size and time until all is made of them",
                fix="see who writes there, and call again: the images are then read anew",
            )

    def with_superclasses(self, of_class: Mapping[str, str]) -> ImageSet:
        """Give the same data set, its classes with the superclass of each by its name."""
        return replace(self, superclasses=tuple(of_class[name] for name in self.class_names))

    def open(self, image_id: int) -> Picture:
        """Give the image of that id, as an RGB picture."""
        return self.picture(self.images.column("path")[image_id].as_py())

    def encoded(self, image_id: int) -> bytes | None:
        """Give the bytes of the image's file, if decoding them is all that the image takes."""
        path = self.images.column("path")[image_id].as_py()
        if self.content is not None:
            return self.content(path)
        file = self.file(path) if self.file is not None else None
        return None if file is None else file.read_bytes()


def images_table(columns: Mapping[str, Any]) -> pa.Table:
    """Make an images table of its columns; those that are absent are null throughout."""
    n = len(columns["image_id"])
    return pa.table(
        {
            field.name: (
                pa.array(columns[field.name], field.type)
                if columns.get(field.name) is not None
                else pa.nulls(n, field.type)
            )
            for field in schemas.IMAGES
        },
        schema=schemas.IMAGES,
    )


def sha256_of_bytes(data: bytes) -> str:
    """Compute the SHA-256 (hex) of bytes."""
    return hashlib.sha256(data).hexdigest()
