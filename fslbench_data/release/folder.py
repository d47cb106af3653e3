"""A release in a folder: where its files may lie, and that they are those of the manifest."""

from __future__ import annotations

from dataclasses import dataclass
from errno import EISDIR
from importlib.resources import files
from os import strerror
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Protocol

from benchmark_spec.errors import CorruptReleaseError, ReleaseNotFoundError
from benchmark_spec.manifest import MANIFEST_FILE, Manifest
from benchmark_spec.tables import Table
from fslbench_data.files import sha256_of
from fslbench_data.files.lfs import EXPECTED, FIX, POINTER, is_lfs_pointer
from fslbench_data.hub.address import meant_address

MOST_MANIFEST = 64 << 20
"""Bytes of a manifest; that of the embedded release has some hundred kilobytes."""


class ReleaseFiles(Protocol):
    """Where the files of a release lie."""

    @property
    def where(self) -> str:
        """The folder, or the address on the Hub."""

    @property
    def hub(self) -> str:
        """On the Hub, the repository and whole commit as ``ORG/NAME@COMMIT``; else empty."""

    def path(self, table: Table) -> Path:
        """The file of a table, compared with the manifest's SHA-256."""


@dataclass(frozen=True)
class Folder:
    """A release in a folder, whose files were compared with the manifest when it was opened."""

    folder: Path
    hub: str = ""

    @property
    def where(self) -> str:
        """The folder."""
        return str(self.folder)

    def path(self, table: Table) -> Path:
        """The file of a table."""
        return regular_file(self.folder / table.path, self.folder)


def regular_file(path: Path, within: Path | None = None) -> Path:
    """Follow symbolic links to a regular file.

    It must lie `within` the folder of a release, itself free of symbolic links; or, if that is a
    snapshot in the Hub's cache, among the repository's blobs.  Raises a CorruptReleaseError if it
    is a device, a pipe or a socket, or lies elsewhere; an OSError if there is no such file, or it
    is a folder.
    """
    try:
        file = path.resolve(strict=True)
    except RuntimeError as error:  # symbolic links in a circle, before Python 3.13
        raise OSError(str(error)) from None
    mode = file.stat().st_mode
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
    if within is not None and not (file.is_relative_to(within) or _is_blob(file, within)):
        raise CorruptReleaseError(
            f"{name} leads out of the release",
            where=str(path),
            expected=f"a file in {within}; only a snapshot of the Hub's cache leads out of its "
            "folder, to the blobs beside it",
            fix="copy the release with the files that its links lead to, or get it again",
        )
    return file


def _pointer(path: Path, name: str) -> CorruptReleaseError:
    return CorruptReleaseError(
        f"{name} is {POINTER}", where=str(path), expected=EXPECTED, fix=f"{FIX}, in the release"
    )


def read_manifest_file(path: Path) -> bytes:
    """Read the bytes of a manifest, if it is a regular file and not larger than any manifest."""
    if is_lfs_pointer(path):
        raise _pointer(path, path.name)
    with regular_file(path).open("rb") as file:
        content = file.read(MOST_MANIFEST + 1)
    if len(content) > MOST_MANIFEST:
        raise CorruptReleaseError(
            f"{path.name} has more than {MOST_MANIFEST} bytes",
            where=str(path),
            expected="a manifest, one line for each table",
            fix="get the release again",
        )
    return content


def _is_blob(file: Path, snapshot: Path) -> bool:
    """Whether a file is what a link in ``snapshots/<commit>/`` of the Hub's cache leads to."""
    return snapshot.parent.name == "snapshots" and file.parent == snapshot.parent.parent / "blobs"


def embedded_folder() -> Path:
    """Return the folder of the release that comes with the package."""
    return Path(str(files("fslbench_data") / "embedded"))


def read_manifest(where: str | Path | None = None) -> tuple[Path, Manifest]:
    """Read a release's folder and manifest; its tables are not looked at."""
    folder = Path(where) if where is not None else embedded_folder()
    try:
        folder = folder.resolve()
        text = read_manifest_file(folder / MANIFEST_FILE)
    except (OSError, RuntimeError) as error:  # the latter for symbolic links in a circle
        meant = meant_address(str(where))
        raise ReleaseNotFoundError(
            f"there is no release at {folder}: {getattr(error, 'strerror', error)}",
            where=str(folder / MANIFEST_FILE),
            expected=f"a folder with {MANIFEST_FILE} and the tables it lists, or on the Hub "
            "ORG/NAME@v1.0.0",
            fix=(f"did you mean {meant}? Or " if meant else "")
            + "name the folder of a finished release; the one in the package needs no name",
        ) from None
    return folder, Manifest.from_json(text, str(folder / MANIFEST_FILE))


def check_file(folder: Path, table: Table) -> None:
    """Raise a CorruptReleaseError unless a table's file is the one of the manifest."""
    try:
        path = regular_file(folder / table.path, folder)
        size = path.stat().st_size
        digest = sha256_of(path) if size == table.bytes else ""
    except OSError as error:
        problem, expected = f"cannot be read: {error.strerror}", f"{table.bytes} bytes"
    else:
        if digest == table.sha256:
            return
        if is_lfs_pointer(path):
            raise _pointer(path, table.path)
        what = f"its SHA-256 is {digest}" if digest else f"it has {size} bytes"
        problem = f"is not the file that was released: {what}"
        expected = f"{table.bytes} bytes with the SHA-256 {table.sha256}"
    raise CorruptReleaseError(
        f"{table.path} {problem}",
        where=str(folder / table.path),
        expected=expected,
        fix="get the release again; a table is never edited in place",
    )
