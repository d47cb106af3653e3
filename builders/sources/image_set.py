"""What every source gives: the images of a data set, in their frozen order.

A source walks its raw layout and lists, class by class, where each image is (:class:`Item`).
:func:`image_set` does what all of them need: it compares classes and counts with what is
expected, looks at every file, and numbers the images.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec import schemas
from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import SourceError, listing
from benchmark_spec.tables import Redistribution
from builders.sources.counts import check_classes
from builders.sources.damage import keeps_damaged
from builders.sources.doubles import check_doubles
from builders.sources.pictures import (
    Picture,
    check_file,
    file_of,
    fragment_of,
    look_at_files,
    open_picture,
)
from builders.sources.unchanged import raw_state

Progress = Callable[[str], None]


def silent(step: str) -> None:
    """Progress that nobody follows."""


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
        """Of a data set that the catalogue knows."""
        known = lookup(name)
        return cls(
            known.title,
            known.homepage,
            known.licence,
            known.citation,
            known.note,
            known.redistribution,
        )


@dataclass(frozen=True)
class Item:
    """An image of a raw layout, before it has an id.

    Attributes
    ----------
    path
        Of its file, relative to the raw folder, with ``/``.  A fragment says which part of the
        file it is: ``#xywh=x,y,w,h`` a box in pixels (W3C Media Fragments), ``#n`` row n, from 0.
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
        """The image of that id, as an RGB picture."""
        return self.picture(self.images.column("path")[image_id].as_py())


class Source(Protocol):
    """What the module of a data set offers.

    Attributes
    ----------
    NAME, ABOUT
        Of the data set.
    LAYOUT
        What its raw folder holds.
    """

    NAME: str
    ABOUT: About
    LAYOUT: str

    def read(
        self, folder: Path, *, allow_missing: bool = False, progress: Progress = silent
    ) -> ImageSet:
        """Read the data set from its raw folder.

        Parameters
        ----------
        folder
            Laid out as `LAYOUT` says.
        allow_missing
            Leave out what is missing or damaged, and record it in the provenance.

        The readers of catalogued data sets also take `expected`: images of each class, in their
        order, unless they are the catalogue's.

        Raises
        ------
        CatalogueError
            If classes or counts are not the expected ones.
        SourceError
            If the folder is not the raw layout, is not whole or has damaged images.
        """


def image_set(
    name: str,
    about: About,
    folder: Path,
    classes: Mapping[str, Sequence[Item]],
    *,
    expected: Mapping[str, int] | None = None,
    allow_missing: bool = False,
    provenance: Mapping[str, Any] | None = None,
    finish: Callable[[Picture], Picture] | None = None,
    picture: Callable[[str], Picture] | None = None,
    check: Callable[[Path], tuple[str, str]] = check_file,
    progress: Progress = silent,
) -> ImageSet:
    """Check and number the images that a source has found.

    Parameters
    ----------
    folder
        The raw folder, which the items' paths are relative to.
    classes
        The items of each class, both in their frozen order.
    expected
        Images of each class, in the frozen order of classes; None takes what there is, and then
        no two images may be the same (:mod:`builders.sources.doubles`).  Data sets whose counts
        are promised keep the doubles that their authors distribute.
    allow_missing
        Leave out what is missing, damaged or there twice, and record it in
        ``provenance["left_out"]``.
    finish
        What is done to a picture after it is read and cropped, such as an inversion.
    picture
        Gives the image at a path, where that is no picture file of its own in the folder.
    check
        Gives the SHA-256 of a file and what is wrong with it ('' if nothing).

    Raises
    ------
    CatalogueError
        If classes or counts are not the expected ones.
    SourceError
        If an image is missing, truncated, no image at all, or there twice.
    """
    left_out: dict[str, Any] = {}
    check_classes(name, classes, expected, folder, left_out if allow_missing else None)
    known = {file_of(item.path): item.sha256 for items in classes.values() for item in items}
    digests, damaged = look_at_files(name, folder, known, check, progress)
    unknown = set(damaged)
    if keeps_damaged():
        damaged = {}
    if damaged:
        if not allow_missing:
            path, problem = next(iter(damaged.items()))
            raise SourceError(
                f"{name}: {len(damaged)} file{'s' if len(damaged) > 1 else ''} of the raw folder "
                f"cannot be read: {path} {problem}",
                where=listing([str(folder / path) for path in damaged]),
                expected="whole images",
                fix="get them again, or leave them out with --allow-missing, which records them",
            )
        left_out["images"] = sorted(damaged)
    kept = {
        label: [item for item in items if file_of(item.path) not in damaged]
        for label, items in classes.items()
    }
    if expected is None:
        images = [
            (label, item.path, (item.sha256 or digests[file_of(item.path)], fragment_of(item.path)))
            for label, items in kept.items()
            for item in items
            if file_of(item.path) not in unknown
        ]
        doubles = check_doubles(name, folder, images, allow_missing=allow_missing)
        if doubles:
            left_out["doubles"] = doubles
            gone = set(doubles)
            kept = {k: [item for item in v if item.path not in gone] for k, v in kept.items()}
    emptied = [label for label, items in kept.items() if classes[label] and not items]
    if emptied:
        left_out["classes"] = [*left_out.get("classes", ()), *emptied]
    kept = {label: items for label, items in kept.items() if items}
    if not kept:
        raise SourceError(f"{name}: no images are left", where=str(folder))
    columns = _columns(kept, digests)
    return ImageSet(
        name=name,
        about=about,
        class_names=tuple(kept),
        class_sizes=tuple(len(items) for items in kept.values()),
        images=images_table(columns),
        provenance={**(provenance or {}), **({"left_out": left_out} if left_out else {})},
        picture=picture or (lambda path: open_picture(folder, path, finish)),
        file=None if picture or finish else (lambda path: _whole_file(folder, path)),
    )


def _whole_file(folder: Path, path: str) -> Path | None:
    return None if fragment_of(path) else folder / path


def images_table(columns: Mapping[str, Any]) -> pa.Table:
    """An images table from its columns; those that are absent are null throughout."""
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


def require_entries(name: str, folder: Path, *entries: str) -> None:
    """Refuse a folder that lacks files or folders of the raw layout.

    Raises
    ------
    SourceError
        Naming what is missing and what the layout is.
    """
    missing = [entry for entry in entries if not (folder / entry).exists()]
    if missing:
        raise SourceError(
            f"{folder} is not the raw folder of {name}: there is no {listing(missing)}",
            where=str(folder),
            expected=f"a folder with {', '.join(entries)}",
            fix=f"unpack {name} as its authors distribute it, and give the folder that holds these",
        )


def _columns(
    classes: Mapping[str, Sequence[Item]], digests: Mapping[str, str]
) -> dict[str, list[Any]]:
    items = [item for of_class in classes.values() for item in of_class]
    names = [label for label, of_class in classes.items() for _ in of_class]
    number = {label: i for i, label in enumerate(classes)}
    groups: dict[Hashable, int] = {}
    return {
        "image_id": list(range(len(items))),
        "class_id": [number[label] for label in names],
        "class_name": names,
        "path": [item.path for item in items],
        "sha256": [item.sha256 or digests.get(file_of(item.path)) for item in items],
        "group": [
            None if item.group is None else groups.setdefault(item.group, len(groups))
            for item in items
        ],
        "creator": [item.creator for item in items],
        "licence": [item.licence for item in items],
    }


def sha256_of_bytes(data: bytes) -> str:
    """SHA-256 (hex) of bytes."""
    return hashlib.sha256(data).hexdigest()
