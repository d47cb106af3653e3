"""Pointers of Git LFS, which a checkout has in place of files that were not fetched."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark_spec.errors import ResultsError

if TYPE_CHECKING:
    from fslbench_data.leaderboard.admission import Refused

WHAT = "it is a pointer of Git LFS, not the file itself"
FIX = "git lfs pull"
_BEGINNING = b"version https://git-lfs.github.com/spec/"
_MOST_BYTES = 1023
"""A longer file is no pointer, as Git LFS has it."""


def check_is_no_pointer(path: Path, size: int) -> None:
    """Raise if the file, of that many bytes, is a pointer.

    Raises
    ------
    ResultsError
        If so.
    OSError
        If it cannot be read.
    """
    if size > _MOST_BYTES:
        return
    with path.open("rb") as file:
        if file.read(len(_BEGINNING)) == _BEGINNING:
            raise ResultsError(WHAT, expected="the bytes that it points to", fix=FIX)


def pointers_among(refused: Iterable[Refused]) -> int:
    """How many files are refused because they are pointers."""
    return sum(each.what == WHAT for each in refused)


def unfetched(pointers: int, total: int) -> str:
    """What to do about pointers among the submissions, as sentences."""
    number = f"All {total}" if pointers == total > 1 else f"{pointers} of {total}"
    verb = "is a pointer" if pointers == 1 else "are pointers"
    noun = "submission" if total == 1 else "submissions"
    return f"{number} {noun} {verb} of Git LFS, not the files themselves: run `{FIX}` first."
