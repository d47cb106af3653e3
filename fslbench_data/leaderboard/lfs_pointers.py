"""Pointers of Git LFS, which a checkout has in place of files that were not fetched."""

from __future__ import annotations

from pathlib import Path

from benchmark_spec.errors import ResultsError

POINTER = "it is a pointer of Git LFS, not the file itself"
FIX = "git lfs pull"
_BEGINNING = b"version https://git-lfs.github.com/spec/"
_MOST_BYTES = 1023
"""A longer file is no pointer, as Git LFS has it."""


def check_is_no_pointer(path: Path, size: int) -> None:
    """Raise a ResultsError if a file of `size` bytes is a pointer; OSError if it is unreadable."""
    if size > _MOST_BYTES:
        return
    with path.open("rb") as file:
        if file.read(len(_BEGINNING)) == _BEGINNING:
            raise ResultsError(POINTER, expected="the bytes that it points to", fix=FIX)


def unfetched(pointers: int, total: int) -> str:
    """Say how many of `total` submissions are pointers, and what to do about them."""
    number = f"All {total}" if pointers == total > 1 else f"{pointers} of {total}"
    verb = "is a pointer" if pointers == 1 else "are pointers"
    noun = "submission" if total == 1 else "submissions"
    return f"{number} {noun} {verb} of Git LFS, not the files themselves: run `{FIX}` first."
