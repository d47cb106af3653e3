"""What every source reads: the images of a data set, in their frozen order."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import SourceError, listing
from benchmark_spec.manifest import Redistribution
from fslbench_data.pictures import Picture

Progress = Callable[[str], None]


def silent(*_: object, **__: object) -> None:
    """Ignore progress."""


AT_ONCE = 256
"""Images that are handed to threads at a time, so that few are in memory."""

T = TypeVar("T")
R = TypeVar("R")


def in_threads(
    work: Callable[[T], R], items: Iterable[T], progress: Progress = silent, text: str = ""
) -> Iterator[R]:
    """Yield the results of work on items by threads, in order.

    Progress is reported as `text`, with the number of finished items for its ``{}``.
    """
    remaining, done = iter(items), 0
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        while batch := list(islice(remaining, AT_ONCE)):
            progress(text.format(done))
            yield from threads.map(work, batch)
            done += len(batch)


@dataclass(frozen=True)
class About:
    """The description of a data set on the card of a release; `citation` is BibTeX.

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
    def of(cls, entry: Any, **more: str) -> About:
        """Copy the description from an object with these fields; `more` replaces some."""
        return cls(**{option: getattr(entry, option) for option in ABOUT_OPTIONS} | more)


ABOUT_OPTIONS = tuple(field.name for field in fields(About))


@dataclass(frozen=True)
class Text:
    """The words that came with an image; `complete` unless it refers to another file's picture."""

    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    creator: str | None = None
    licence: str | None = None
    complete: bool = True

    @property
    def sentences(self) -> str:
        """Title, description and tags; a description that repeats the title is left out."""
        title, description = self.title.strip(), self.description.strip()
        parts = [title, description if description != title else "", ", ".join(self.tags)]
        return ". ".join(part.rstrip(".") for part in parts if part)


@dataclass(frozen=True)
class Item:
    """An image of a raw layout, before it has an id.

    `path` is relative to the raw folder, with ``/``; a fragment names a part of the file:
    ``#xywh=x,y,w,h`` a box in pixels (W3C Media Fragments), ``#n`` row n, ``#n,U+code`` a character
    of font n.  Images of one `group` are not independent.  `sha256` is the file's, if it is known.
    """

    path: str
    group: Hashable | None = None
    creator: str | None = None
    licence: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Known:
    """What a source knows of images besides their table.

    Attributes
    ----------
    pixels : uint8 (N, D), optional
        Grey levels 0..`white` of images so small that these can be their features.
    content
        Returns the encoded bytes of the image at a path, for images that are not files.
    texts, attributes
        The texts and attributes that came with images, by path.
    """

    pixels: NDArray[np.uint8] | None = field(default=None, repr=False)
    white: int = 255
    content: Callable[[str], bytes] | None = field(default=None, repr=False)
    texts: Mapping[str, str] | None = field(default=None, repr=False)
    attributes: Mapping[str, tuple[str, ...]] | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class ImageSet(Known):
    """A data set read from its raw layout.

    Attributes
    ----------
    class_names, class_sizes
        In the frozen order of classes.
    images : pyarrow.Table
        The schema is :data:`benchmark_spec.schemas.IMAGES`; row i is image id i.
    picture
        Returns the image at a path of the table, RGB.
    file
        Returns the file of a path of the table, if decoding it is enough to get the image.
    raw, state
        The raw folder, if there is one, and its :func:`raw_state` before it was read.
    """

    name: str
    about: About
    class_names: tuple[str, ...]
    class_sizes: tuple[int, ...]
    images: pa.Table
    provenance: Mapping[str, Any]
    picture: Callable[[str], Picture] = field(repr=False)
    file: Callable[[str], Path | None] | None = field(default=None, repr=False)
    superclasses: tuple[str, ...] | None = None
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

    def open(self, image_id: int) -> Picture:
        """Return the image of an id, RGB."""
        path = self.images.column("path")[image_id].as_py()
        try:
            return self.picture(path)
        except (OSError, SourceError, ValueError) as error:
            problem = getattr(error, "what", error)
            raise SourceError(
                f"{self.name}: image {image_id} cannot be shown: {problem}", where=str(path)
            ) from error

    def encoded(self, image_id: int) -> bytes | None:
        """Return the encoded bytes of an image, if decoding them is enough to get it."""
        path = self.images.column("path")[image_id].as_py()
        if self.content is not None:
            return self.content(path)
        file = self.file(path) if self.file is not None else None
        return None if file is None else file.read_bytes()


def images_table(columns: Mapping[str, Any]) -> pa.Table:
    """Make an images table of its columns; missing columns are null."""
    count = len(columns["image_id"])
    nulls = {field.name: pa.nulls(count, field.type) for field in schemas.IMAGES}
    return pa.table(nulls | dict(columns), schema=schemas.IMAGES)


def sha256_of_bytes(data: bytes) -> str:
    """Compute the SHA-256 (hex) of bytes."""
    return hashlib.sha256(data).hexdigest()


_OF_DESKTOPS = {"Thumbs.db", "desktop.ini"}
"""Files that file managers write into folders; others begin with a dot."""


def raw_state(folder: Path | None) -> str:
    """Sum the SHA-256 of path, size and time of every file below a folder, following links.

    Hidden files and those of file managers do not count.  Empty where there is no folder.
    """
    if folder is None or not folder.is_dir():
        return ""
    total = 0
    try:
        for line in _states(os.fspath(folder), "", set()):
            total += int.from_bytes(hashlib.sha256(line).digest(), "big")
    except OSError as error:
        raise SourceError(
            f"a folder cannot be read: {error.strerror}", where=str(error.filename)
        ) from None
    return f"{total % 2**256:064x}"


def _states(folder: str, below: str, seen: set[tuple[int, int]]) -> Iterator[bytes]:
    """Yield a line for each file; a folder to which a link leads back counts once."""
    folder_stat = os.stat(folder)  # noqa: PTH116 - millions of files
    identity = (folder_stat.st_dev, folder_stat.st_ino)
    if identity in seen:
        return
    seen.add(identity)
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _OF_DESKTOPS:
                continue
            path = f"{below}/{entry.name}"
            try:
                is_folder, stat = entry.is_dir(), entry.stat()
            except OSError:  # a link that leads nowhere, or to itself
                is_folder, stat = False, entry.stat(follow_symlinks=False)
            if is_folder:
                yield from _states(entry.path, path, seen)
                continue
            yield os.fsencode(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}")


def check_same(images: ImageSet, recorded: pa.Table, superclasses: Sequence[str] | None) -> None:
    """Refuse images or superclasses that changed since an unfinished build read them."""
    table, since = images.images, "changed since the unfinished build read"
    if content_digest(recorded) != content_digest(table):
        differing = differing_images(recorded, table) or differing_images(table, recorded)
        change = f"what is known of images {since} it: order, groups, creators or licences"
        if differing:
            images_changed = f"{len(differing)} image{'s' if len(differing) != 1 else ''}"
            change = f"{images_changed} {since} it: {listing(differing)}"
    elif superclasses != images.superclasses:
        change = f"the superclasses of its classes {since} them"
    else:
        return
    raise SourceError(
        f"{images.name}: {change}",
        where=str(images.raw or ""),
        expected="what the build began with",
        fix="put it back as it was, or build into another folder",
    )


def differing_images(recorded: pa.Table, images: pa.Table) -> list[str]:
    """List the recorded images, by path, that are missing or differ in another images table."""
    before, after = (
        dict(zip(t.column("path").to_pylist(), t.column("sha256").to_pylist(), strict=True))
        for t in (recorded, images)
    )
    return [str(path) for path, digest in before.items() if after.get(path, "") != digest]
