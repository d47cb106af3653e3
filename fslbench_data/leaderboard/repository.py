"""A results repository: what it holds, and which of its files are submissions.

::

    leaderboard.toml                title = "…", releases = ["ORG/NAME@v1.1.0", "embedded"]
    submissions/<sha256>.parquet    64 hexadecimal digits: the SHA-256 of the file

A repository may be a folder, such as a checkout of git, or on the Hub; :class:`ResultsFiles` is
what both have in common.  Everything in it comes from strangers.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmark_spec.declared import parsed_toml
from benchmark_spec.errors import ResultsError, listing
from benchmark_spec.naming import one_line
from fslbench_data.files import temporary_of
from fslbench_data.hub.address import HubAddress, is_address, is_commit, version_of
from fslbench_data.leaderboard.history import arrivals
from fslbench_data.release.release import Release, load_release

BOARD_FILE = "leaderboard.toml"
SUBMISSIONS = "submissions"
EMBEDDED = "embedded"

_NAME = re.compile(rf"{SUBMISSIONS}/[0-9a-f]{{64}}\.parquet")
_MOST_BYTES = 1 << 16
_LONGEST_TITLE = 200


class ResultsFiles(Protocol):
    """The files of a results repository, wherever they lie."""

    @property
    def where(self) -> str:
        """The folder or the address, for messages."""

    def names(self) -> Sequence[str]:
        """Paths of its files, relative, with slashes; at least those below `submissions`."""

    def path(self, name: str) -> Path:
        """Where a file lies on this machine.

        Raises
        ------
        ResultsError, TooLargeError
            If it is no file that one may open, or larger than a submission can be.
        HubError
            If it cannot be fetched.
        """

    def came(self, names: Sequence[str]) -> Mapping[str, int]:
        """When files came, by name: of two, the smaller number came first, equal ones together.

        What is left out came after all others.  Empty where there is no history.
        """


@dataclass(frozen=True)
class Settings:
    """What `leaderboard.toml` says.

    Attributes
    ----------
    title
        Of the leaderboard; perhaps empty.
    releases
        Whose tasks submissions may answer, newest first: ``embedded``, or ``ORG/NAME@`` with a
        version's tag or a whole commit.
    """

    title: str
    releases: tuple[str, ...]


@dataclass(frozen=True)
class Ignored:
    """A file below `submissions` that is none, and was not opened."""

    name: str
    reason: str


@dataclass(frozen=True)
class Listing:
    """The names of a repository's submissions, in order, and what else lies beside them."""

    submissions: tuple[str, ...]
    ignored: tuple[Ignored, ...]


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
        found = [entry.name for entry in _entries(self.folder)]
        if SUBMISSIONS not in found:
            return found
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
        return [name for name in found if name != SUBMISSIONS] + below

    def path(self, name: str) -> Path:
        """Where a file lies; see :class:`ResultsFiles`."""
        parts = name.split("/")
        path = self.folder.joinpath(*parts)
        if {"", ".", ".."} & set(parts) or any("\\" in part or "\0" in part for part in parts):
            raise ResultsError(f"{one_line(name)} is no path inside the repository")
        for each in [path, *path.parents][: len(parts)]:
            if each == path:
                check_regular(path, name, self.where)
            elif not stat.S_ISDIR(_mode(each, name, self.where)):
                raise ResultsError(f"{one_line(name)} lies behind a symbolic link")
        return path

    def came(self, names: Sequence[str]) -> Mapping[str, int]:
        """When files came, by the history of git; see :class:`ResultsFiles`."""
        found = arrivals(self.folder, SUBMISSIONS)
        return {name: found[name] for name in names if name in found}


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder but the temporary files of writers."""
    return [entry for entry in os.scandir(folder) if temporary_of(entry.name) is None]


def check_regular(path: Path, name: str, where: str = "") -> None:
    """Raise if a file, to be called `name`, is no regular one; links are not followed.

    Raises
    ------
    ResultsError
        Saying what it is instead.
    """
    mode = _mode(path, name, where)
    if not stat.S_ISREG(mode):
        what = "a symbolic link, which is not followed" if stat.S_ISLNK(mode) else "no file"
        raise ResultsError(f"{one_line(name)} is {what}", expected="a regular file")


def _mode(path: Path, name: str, where: str) -> int:
    try:
        return path.lstat().st_mode
    except OSError as error:
        what = f"{one_line(name)} cannot be opened: {error.strerror}"
        raise ResultsError(what, where=where) from None


def open_results(where: str | Path) -> ResultsFiles:
    """The results repository in a folder, or on the Hub as ``ORG/NAME`` or ``ORG/NAME@REVISION``.

    Raises
    ------
    ResultsError
        If there is no such folder, and the text is no address.
    HubError
        If the Hub has no such repository, refuses it or does not answer.
    """
    if isinstance(where, str) and is_address(where) and not Path(where).exists():
        from fslbench_data.leaderboard.hub_files import HubResults

        return HubResults.open(HubAddress.parse(where))
    return FolderFiles(where)


def submission_name(digest: str) -> str:
    """The name of a submission in a repository, of the SHA-256 (hex) of its bytes."""
    return f"{SUBMISSIONS}/{digest}.parquet"


def is_submission_name(name: str) -> bool:
    """Whether a file of this name is a submission, if its content agrees."""
    return _NAME.fullmatch(name) is not None


def list_submissions(files: ResultsFiles) -> Listing:
    """Submissions by name, in order, and what lies beside them; no file is opened."""
    below = sorted({name for name in files.names() if name.startswith(f"{SUBMISSIONS}/")})
    reason = "not named as a submission, 64 hexadecimal digits and .parquet"
    return Listing(
        tuple(name for name in below if is_submission_name(name)),
        tuple(Ignored(one_line(name), reason) for name in below if not is_submission_name(name)),
    )


def read_board(files: ResultsFiles) -> Settings:
    """Read and check `leaderboard.toml`.

    Raises
    ------
    ResultsError
        If it is not there, or not what it should be.
    """
    with files.path(BOARD_FILE).open("rb") as file:
        raw = file.read(_MOST_BYTES + 1)
    return parse_board(raw, f"{files.where}: {BOARD_FILE}")


def parse_board(raw: bytes, where: str) -> Settings:
    """Settings from the bytes of `leaderboard.toml`; see :func:`read_board`."""

    def wrong(what: str) -> ResultsError:
        return ResultsError(
            what,
            where=where,
            expected='title = "…" and releases = ["ORG/NAME@v1.1.0", "embedded"], newest first',
            fix="write the file so",
        )

    if len(raw) > _MOST_BYTES:
        raise wrong(f"the settings are longer than {_MOST_BYTES} bytes")
    try:
        content = parsed_toml(raw.decode("utf-8"))
    except ValueError as error:
        raise wrong(f"the settings are not TOML: {one_line(str(error))}") from None
    if unknown := sorted(set(content) - {"title", "releases"}):
        raise wrong(f"unknown settings: {one_line(listing(unknown))}")
    title, releases = content.get("title", ""), content.get("releases")
    if not isinstance(title, str) or len(title) > _LONGEST_TITLE or one_line(title) != title:
        raise wrong(f"the title is no printable line of at most {_LONGEST_TITLE} characters")
    if (
        not isinstance(releases, list)
        or not releases
        or not all(isinstance(name, str) for name in releases)
        or len(set(releases)) != len(releases)
    ):
        raise wrong("`releases` is no list of different releases")
    for name in releases:
        check_release_name(name, where)
    return Settings(title, tuple(releases))


def check_release_name(name: str, where: str = "") -> None:
    """Raise unless a text names one release, to everybody and for ever.

    Raises
    ------
    ResultsError
        If it is neither ``embedded`` nor ``ORG/NAME`` with a version's tag or a whole commit.
    """
    if name == EMBEDDED:
        return
    expected = "ORG/NAME@vX.Y.Z, ORG/NAME@ with a whole commit, or embedded"
    if not is_address(name):
        what = f"{one_line(repr(name))} is no release that everybody can open"
        raise ResultsError(what, where=where, expected=expected)
    address = HubAddress.parse(name)
    if not address.revision:
        raise ResultsError(f"name a version: {address.repo_id}@v1.0.0", where=where)
    if version_of(address.revision) is None and not is_commit(address.revision):
        raise ResultsError(
            f"{one_line(name)} can come to name other tasks, and the results would with it",
            where=where,
            expected=expected,
            fix="name the version, or the whole commit that is meant",
        )


def open_releases(names: Sequence[str]) -> tuple[Release, ...]:
    """The releases of these names, in order."""
    return tuple(load_release(None if name == EMBEDDED else name) for name in names)
