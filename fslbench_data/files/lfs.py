"""Pointers of Git LFS, which stand where a file was checked out without its content."""

from __future__ import annotations

import stat
from pathlib import Path

from benchmark_spec.errors import UnreadableError

POINTER = "a pointer of Git LFS, not the file itself"
EXPECTED = "the bytes that it points to"
FIX = "git lfs pull"
_BEGINNING = b"version https://git-lfs.github.com/spec/"
_MOST_BYTES = 1023
"""A longer file is no pointer, as Git LFS has it."""


def is_lfs_pointer(path: Path) -> bool:
    """Tell whether a regular file is a pointer; raises an OSError if it cannot be read."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES:
        return False
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def refuse_lfs_pointer(path: Path) -> None:
    """Raise an UnreadableError if a file is a pointer, or cannot be read."""
    try:
        pointer = is_lfs_pointer(path)
    except OSError as error:
        raise UnreadableError(f"{path} cannot be opened: {error.strerror or error}") from None
    if pointer:
        raise UnreadableError(f"{path} is {POINTER}", expected=EXPECTED, fix=FIX)
