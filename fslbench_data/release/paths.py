"""Where the files of a release may lie, and what they may be."""

from __future__ import annotations

from errno import EISDIR
from os import strerror
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from benchmark_spec.errors import CorruptReleaseError

MOST_MANIFEST = 64 << 20
"""Bytes of a manifest; that of the embedded release has some hundred kilobytes."""


def regular_file(path: Path, within: Path | None = None) -> Path:
    """The file behind a path, symbolic links followed.

    Parameters
    ----------
    within
        The folder of a release, itself free of symbolic links, in which the file must be; or, if
        it is a snapshot in the Hub's cache, among that repository's blobs.

    Raises
    ------
    CorruptReleaseError
        If it is a device, a pipe or a socket, or lies elsewhere.
    OSError
        If there is no such file, or it is a folder.
    """
    try:
        found = path.resolve(strict=True)
    except RuntimeError as error:  # symbolic links in a circle, before Python 3.13
        raise OSError(str(error)) from None
    mode = found.stat().st_mode
    name = path.name if within is None else path.relative_to(within).as_posix()
    if S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, strerror(EISDIR), str(path))
    if not S_ISREG(mode):
        raise CorruptReleaseError(
            f"{name} is not a regular file",
            where=str(path),
            expected="a file; no device, pipe or socket is read",
            fix="get the release again",
        )
    if within is not None and not (found.is_relative_to(within) or _is_blob(found, within)):
        raise CorruptReleaseError(
            f"{name} leads out of the release",
            where=str(path),
            expected=f"a file in {within}; only a snapshot of the Hub's cache leads out of its "
            "folder, to the blobs beside it",
            fix="copy the release with the files that its links lead to, or get it again",
        )
    return found


def read_manifest_file(path: Path) -> bytes:
    """The bytes of a manifest.

    Raises
    ------
    CorruptReleaseError
        If it is no regular file, or larger than any manifest.
    OSError
        If it cannot be read.
    """
    with regular_file(path).open("rb") as file:
        found = file.read(MOST_MANIFEST + 1)
    if len(found) > MOST_MANIFEST:
        raise CorruptReleaseError(
            f"{path.name} has more than {MOST_MANIFEST} bytes",
            where=str(path),
            expected="a manifest, one line for each table",
            fix="get the release again",
        )
    return found


def _is_blob(file: Path, snapshot: Path) -> bool:
    """Whether a file is what a link in ``snapshots/<commit>/`` of the Hub's cache leads to."""
    return snapshot.parent.name == "snapshots" and file.parent == snapshot.parent.parent / "blobs"
