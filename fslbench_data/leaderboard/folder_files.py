"""Files of a results repository on this machine: in its folder, or anywhere before they join it.

A checkout may have pointers of Git LFS in place of files that were not fetched.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark_spec.errors import ResultsError
from benchmark_spec.naming import one_line
from fslbench_data.files import sha256_of, temporary_of
from fslbench_data.files.lfs import EXPECTED, FIX, POINTER, is_lfs_pointer
from fslbench_data.leaderboard.history import arrivals
from fslbench_data.leaderboard.repository import (
    BOARD_FILE,
    ENDING,
    SUBMISSIONS,
    submission_name,
)
from fslbench_data.sandbox.limits import LIMITS

IS_POINTER = f"it is {POINTER}"


class FolderFiles:
    """A results repository in a folder.

    Only the folder itself may be reached through a symbolic link; below it none is followed, and
    nothing is opened but regular files.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise ResultsError(
                f"there is no folder {one_line(str(folder))}",
                expected=f"a folder with {BOARD_FILE} and a folder {SUBMISSIONS}, or ORG/NAME on "
                "the Hub",
                fix="name the checkout of a results repository, or its address",
            )

    @property
    def where(self) -> str:
        """The folder."""
        return str(self.folder)

    def names(self) -> Sequence[str]:
        """Paths of the files; a folder among the submissions ends in a slash."""
        names = [entry.name for entry in _entries(self.folder)]
        if SUBMISSIONS not in names:
            return names
        folder = self.folder / SUBMISSIONS
        if folder.is_symlink() or not folder.is_dir():
            raise ResultsError(
                f"{SUBMISSIONS} is a symbolic link or no folder",
                where=str(folder),
                expected="a folder of submissions",
                fix="put a folder there",
            )
        below = [
            f"{SUBMISSIONS}/{entry.name}{'/' if entry.is_dir(follow_symlinks=False) else ''}"
            for entry in _entries(folder)
        ]
        return [name for name in names if name != SUBMISSIONS] + below

    def path(self, name: str) -> Path:
        """Return a file's path; raises ResultsError unless it is a regular file."""
        parts = name.split("/")
        path = self.folder.joinpath(*parts)
        if {"", ".", ".."} & set(parts) or any("\\" in part or "\0" in part for part in parts):
            raise ResultsError(f"{one_line(name)} is no path inside the repository")
        check_regular(path, name, self.where)
        for folder in path.parents[: len(parts) - 1]:
            if not stat.S_ISDIR(_mode(folder, name, self.where)):
                raise ResultsError(f"{one_line(name)} lies behind a symbolic link")
        return path

    def came(self, names: Sequence[str]) -> Mapping[str, int]:
        """Say when files came, by the history of git."""
        commits = arrivals(self.folder, SUBMISSIONS)
        return {name: commits[name] for name in names if name in commits}


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """List what is in a folder, without the temporary files of writers."""
    return [entry for entry in os.scandir(folder) if temporary_of(entry.name) is None]


def check_regular(path: Path, name: str, where: str = "") -> None:
    """Raise a ResultsError unless a file, called `name` there, is regular; follow no links."""
    mode = _mode(path, name, where)
    if not stat.S_ISREG(mode):
        what = "a symbolic link, which is not followed" if stat.S_ISLNK(mode) else "no file"
        raise ResultsError(f"{one_line(name)} is {what}", expected="a regular file")


def _mode(path: Path, name: str, where: str) -> int:
    try:
        return path.lstat().st_mode
    except OSError as error:
        if name == BOARD_FILE and isinstance(error, FileNotFoundError):
            raise ResultsError(
                f"the repository has no {name}",
                where=where,
                expected=f"a results repository: {BOARD_FILE} and a folder {SUBMISSIONS}",
                fix="name the checkout of one, or start one: fslbench-build results-repo",
            ) from None
        what = f"{one_line(name)} cannot be opened: {error.strerror}"
        raise ResultsError(what, where=where) from None


class LooseFiles:
    """Files from anywhere, under the names that they have or would have in a repository.

    A file below a folder `submissions` is called as it is there; any other one as a submission of
    its content.  Symbolic links are not followed.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths: dict[str, Path] = {}
        for path in paths:
            self.paths.setdefault(_name_of(path), path)

    @property
    def where(self) -> str:
        """What messages call them."""
        return "the files"

    def names(self) -> Sequence[str]:
        """Their names."""
        return list(self.paths)

    def path(self, name: str) -> Path:
        """Return a file's path; raises ResultsError unless it is a regular file."""
        path = self.paths[name]
        check_regular(path, path.name)
        return path

    def came(self, names: Sequence[str]) -> Mapping[str, int]:
        """Return nothing: such files have no history."""
        return {}


def _name_of(path: Path) -> str:
    if SUBMISSIONS in path.parts[:-1]:
        start = len(path.parts) - 1 - path.parts[::-1].index(SUBMISSIONS)
        return "/".join(path.parts[start:])
    if path.suffix != ENDING:  # of no submission, whatever its bytes
        return path.as_posix()
    try:
        if not path.is_symlink() and path.is_file() and path.stat().st_size <= LIMITS.file_bytes:
            return submission_name(sha256_of(path))
    except OSError:
        pass
    return path.name


def check_is_no_pointer(path: Path) -> None:
    """Raise a ResultsError if a file is a pointer; OSError if it is unreadable."""
    if is_lfs_pointer(path):
        raise ResultsError(IS_POINTER, expected=EXPECTED, fix=FIX)


def unfetched(pointers: int, total: int) -> str:
    """Say how many of `total` submissions are pointers, and what to do about them."""
    number = f"All {total}" if pointers == total > 1 else f"{pointers} of {total}"
    verb = "is a pointer" if pointers == 1 else "are pointers"
    noun = "submission" if total == 1 else "submissions"
    return f"{number} {noun} {verb} of Git LFS, not the files themselves: run `{FIX}` first."
