"""The result of every source: the images of a data set, in their frozen order."""

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
from fslbench_data.files.pictures import Picture

Progress = Callable[[str], None]


def silent(*_: object, **__: object) -> None:
    """Ignore progress."""


AT_ONCE = 256
"""Images that are handed to threads at a time, so that few are in memory."""

T = TypeVar("T")
R = TypeVar("R")


def in_threads(
    work: Callable[[T], R], things: Iterable[T], progress: Progress = silent, text: str = ""
) -> Iterator[R]:
    """Work on images by threads, in their order; ``{}`` in the `text` is how many are done."""
    left, done = iter(things), 0
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        while some := list(islice(left, AT_ONCE)):
            progress(text.format(done))
            yield from threads.map(work, some)
            done += len(some)


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
        """Take the description out of what has these fields; `more` replaces some."""
        return cls(**{option: getattr(entry, option) for option in ABOUT_OPTIONS} | more)


ABOUT_OPTIONS = tuple(field.name for field in fields(About))


@dataclass(frozen=True)
class Text:
    """The words that came with an image; `complete` if it needs no picture of another file."""

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

    `path` is relative to the raw folder, with ``/``; a fragment is the part of the file:
    ``#xywh=x,y,w,h`` a box in pixels (W3C Media Fragments), ``#n`` row n, ``#n,U+code`` a character
    of the font n.  Images of one `group` are not independent.  `sha256` is the file's, if it is
    known.
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
        Grey levels 0..`white` of images so small that these are features of their own.
    content
        Gives the bytes of the image at a path of the table that lies in no file of its own, if
        decoding them is all that it takes.
    texts, attributes
        Those that came with the image at a path, if any did.
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
        Of the schema :data:`benchmark_spec.schemas.IMAGES`: row i is image id i.
    picture
        Gives the image at a path of the table, RGB.
    file
        Gives the file at a path of the table, if decoding it is all that the image takes.
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
        """Give the image of that id, as an RGB picture."""
        path = self.images.column("path")[image_id].as_py()
        try:
            return self.picture(path)
        except (OSError, SourceError, ValueError) as error:
            problem = getattr(error, "what", error)
            raise SourceError(
                f"{self.name}: image {image_id} cannot be shown: {problem}", where=str(path)
            ) from error

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
    absent = {field.name: pa.nulls(n, field.type) for field in schemas.IMAGES}
    return pa.table(absent | dict(columns), schema=schemas.IMAGES)


def sha256_of_bytes(data: bytes) -> str:
    """Compute the SHA-256 (hex) of bytes."""
    return hashlib.sha256(data).hexdigest()


_OF_DESKTOPS = {"Thumbs.db", "desktop.ini"}
"""Files that programs leave in folders which they show; others begin with a dot."""


def raw_state(folder: Path | None) -> str:
    """Sum the SHA-256 of path, size and time of every file below a folder, links followed.

    Hidden files do not count, nor does what desktops leave.  Empty where there is no folder.
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
    """Return a line for each file; a folder that is linked to again counts once."""
    stat_of_folder = os.stat(folder)  # noqa: PTH116 - millions of files
    if (stat_of_folder.st_dev, stat_of_folder.st_ino) in seen:
        return
    seen.add((stat_of_folder.st_dev, stat_of_folder.st_ino))
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
    """Refuse images and superclasses that are not those which an unfinished build has read."""
    if content_digest(recorded) != content_digest(images.images):
        other = differing_images(recorded, images.images)
        other = other or differing_images(images.images, recorded)
        what = f"{len(other)} image{'s' if len(other) != 1 else ''}"
        which = listing(other) if other else "order, groups, creators or licences"
        change = f"{what if other else 'what is known of images'} changed", f"read it: {which}"
    elif superclasses != images.superclasses:
        change = "the superclasses of its classes changed", "read them"
    else:
        return
    raise SourceError(
        f"{images.name}: {' since the unfinished build '.join(change)}",
        where=str(images.raw or ""),
        expected="what the build began with",
        fix="put it back as it was, or build into another folder",
    )


def differing_images(recorded: pa.Table, images: pa.Table) -> list[str]:
    """List images of one table, by path, that are not the same, or not there, in another."""
    before, after = (
        dict(zip(t.column("path").to_pylist(), t.column("sha256").to_pylist(), strict=True))
        for t in (recorded, images)
    )
    return [str(path) for path, digest in before.items() if after.get(path, "") != digest]
