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
from typing import Annotated, Protocol

from msgspec import Meta, Struct

from benchmark_spec.declared import MisfitError, declared, parsed_toml
from benchmark_spec.errors import ResultsError
from benchmark_spec.naming import one_line
from fslbench_data.hub.address import HubAddress, is_address, is_commit, version_of

BOARD_FILE = "leaderboard.toml"
SUBMISSIONS = "submissions"
EMBEDDED = "embedded"
ENDING = ".parquet"
"""Of a submission's file."""

_NAME = re.compile(rf"{SUBMISSIONS}/[0-9a-f]{{64}}{re.escape(ENDING)}")
_MOST_BYTES = 1 << 16


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


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `leaderboard.toml`: of the releases the newest comes first."""

    releases: Annotated[
        tuple[str, ...], Meta(min_length=1, description="a list of different releases")
    ]
    title: Annotated[
        str, Meta(max_length=200, description="a printable line of at most 200 characters")
    ] = ""


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


def parse_board(raw: bytes, where: str) -> Settings:
    """Read settings from the bytes of `leaderboard.toml`; see :func:`read_board`."""

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
        settings = declared(parsed_toml(raw.decode("utf-8")), Settings)
    except MisfitError as error:
        raise wrong(f"the settings are wrong: {one_line(str(error))}") from None
    except ValueError as error:
        raise wrong(f"the settings are not TOML: {one_line(str(error))}") from None
    if one_line(settings.title) != settings.title:
        raise wrong("the title is not printable")
    if len(set(settings.releases)) < len(settings.releases):
        raise wrong("a release is listed twice in `releases`")
    for name in settings.releases:
        check_release_name(name, where)
    return settings


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
