"""A results repository: what it holds, and which of its files are submissions.

::

    leaderboard.toml                title = "…", releases = ["ORG/NAME@v1.1.0", "embedded"]
    submissions/<sha256>.parquet    64 hexadecimal digits: the SHA-256 of the file

A repository may be a folder, such as a checkout of git, or on the Hub (:mod:`.opening`).
Everything in it comes from strangers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmark_spec.declared import Expected, field_of, is_text, is_texts, parsed_toml
from benchmark_spec.errors import ResultsError, listing
from benchmark_spec.naming import one_line
from fslbench_data.hub.address import HubAddress, is_address, is_commit, version_of

BOARD_FILE = "leaderboard.toml"
SUBMISSIONS = "submissions"
EMBEDDED = "embedded"
ENDING = ".parquet"
"""Of a submission's file."""

_NAME = re.compile(rf"{SUBMISSIONS}/[0-9a-f]{{64}}{re.escape(ENDING)}")
_MOST_BYTES = 1 << 16
_LONGEST_TITLE = 200


class ResultsFiles(Protocol):
    """The files of a results repository, wherever they lie."""

    @property
    def where(self) -> str:
        """The folder or the address, for messages."""

    def names(self) -> Sequence[str]:
        """Paths of the files, relative, with slashes; at least those below `submissions`."""

    def path(self, name: str) -> Path:
        """Return a file's path on this machine; fetch it if need be.

        Raises a ResultsError or a TooLargeError if it is no file that one may open, or larger than
        a submission can be; a HubError if it cannot be fetched.
        """

    def came(self, names: Sequence[str]) -> Mapping[str, int]:
        """Say when files came, by name: of two, the smaller number came first.

        A name that is left out came after all others.  Empty where there is no history.
        """


@dataclass(frozen=True)
class Settings:
    """The content of `leaderboard.toml`: of the releases the newest comes first."""

    title: str
    releases: tuple[str, ...]


@dataclass(frozen=True)
class Ignored:
    """A file below `submissions` that is not named as one, and was not opened."""

    name: str
    reason: str


@dataclass(frozen=True)
class Listing:
    """The names of a repository's submissions, in order, and what else lies beside them."""

    submissions: tuple[str, ...]
    ignored: tuple[Ignored, ...]


def submission_name(digest: str) -> str:
    """Return a submission's name in a repository from the SHA-256 (hex) of its bytes."""
    return f"{SUBMISSIONS}/{digest}{ENDING}"


def list_submissions(files: ResultsFiles) -> Listing:
    """List submissions by name, in order, and what lies beside them; no file is opened."""
    below = sorted({name for name in files.names() if name.startswith(f"{SUBMISSIONS}/")})
    reason = "not named as a submission, 64 hexadecimal digits and .parquet"
    return Listing(
        tuple(name for name in below if _NAME.fullmatch(name)),
        tuple(Ignored(one_line(name), reason) for name in below if not _NAME.fullmatch(name)),
    )


def read_board(files: ResultsFiles) -> Settings:
    """Read and check `leaderboard.toml`; raises a ResultsError if anything is wrong."""
    with files.path(BOARD_FILE).open("rb") as file:
        raw = file.read(_MOST_BYTES + 1)
    return parse_board(raw, f"{files.where}: {BOARD_FILE}")


_TITLE = Expected(
    f"the title is no printable line of at most {_LONGEST_TITLE} characters",
    lambda title: is_text(title) and len(title) <= _LONGEST_TITLE and one_line(title) == title,
)
_RELEASES = Expected(
    "`releases` is no list of different releases",
    lambda names: is_texts(names) and 0 < len(names) == len(set(names)),
)


def parse_board(raw: bytes, where: str) -> Settings:
    """Read settings from the bytes of `leaderboard.toml`; see :func:`read_board`."""

    def wrong(what: str) -> ResultsError:
        return ResultsError(
            what,
            where=where,
            expected='title = "…" and releases = ["ORG/NAME@v1.1.0", "embedded"], newest first',
            fix="write the file so",
        )

    def not_as(name: str, value: Any, expected: Expected) -> ResultsError:
        return wrong(expected.words)

    if len(raw) > _MOST_BYTES:
        raise wrong(f"the settings are longer than {_MOST_BYTES} bytes")
    try:
        content = parsed_toml(raw.decode("utf-8"))
    except ValueError as error:
        raise wrong(f"the settings are not TOML: {one_line(str(error))}") from None
    if unknown := sorted(set(content) - {"title", "releases"}):
        raise wrong(f"unknown settings: {one_line(listing(unknown))}")
    title = field_of(content, "title", _TITLE, not_as, default="")
    releases = field_of(content, "releases", _RELEASES, not_as)
    for name in releases:
        check_release_name(name, where)
    return Settings(title, tuple(releases))


def check_release_name(name: str, where: str = "") -> None:
    """Raise a ResultsError unless a text names one release, to everybody and for ever.

    That is ``embedded``, or ``ORG/NAME`` with a version's tag or a whole commit.
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
