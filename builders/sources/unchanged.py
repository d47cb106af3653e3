"""Whether images are still those that were read: by their files' size and time, by their hashes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import SourceError, listing

_OF_DESKTOPS = {"Thumbs.db", "desktop.ini"}
"""Files that programs leave in folders which they show; others begin with a dot."""


def raw_state(folder: Path | None) -> str:
    """Sum the SHA-256 of path, size and time of every file below a folder, links followed.

    It is another as soon as a file is written to, added or gone; to compute it takes a look at
    each file, which is not opened.  Hidden files do not count, nor does what desktops leave.
    Empty where there is no folder.
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


def check_same_images(
    name: str, recorded: pa.Table, images: pa.Table, folder: Path | None = None
) -> None:
    """Refuse images that are not those which an unfinished build has read before."""
    if content_digest(recorded) == content_digest(images):
        return
    paths = differing_images(recorded, images) or differing_images(images, recorded)
    what = (
        f"{len(paths)} image{'s' if len(paths) != 1 else ''}"
        if paths
        else "what is known of images"
    )
    raise SourceError(
        f"{name}: {what} changed since the unfinished build read it: "
        f"{listing(paths) if paths else 'order, groups, creators or licences'}",
        where=str(folder or ""),
        expected="the images that the build began with",
        fix="put them back as they were, or build into another folder",
    )


def check_same_superclasses(
    name: str,
    recorded: Sequence[str] | None,
    superclasses: Sequence[str] | None,
    folder: Path | None = None,
) -> None:
    """Refuse superclasses of classes that are not those which an unfinished build has read."""
    if recorded != superclasses:
        raise SourceError(
            f"{name}: the superclasses of its classes changed since the unfinished build read them",
            where=str(folder or ""),
            expected="the superclasses that the build began with",
            fix="put the list back as it was, or build into another folder",
        )


def differing_images(recorded: pa.Table, images: pa.Table) -> list[str]:
    """List images of one table, by path, that are not the same, or not there, in another."""
    before, after = (
        dict(zip(t.column("path").to_pylist(), t.column("sha256").to_pylist(), strict=True))
        for t in (recorded, images)
    )
    return [str(path) for path, digest in before.items() if after.get(path, "") != digest]
