"""Read a results repository: its settings, and which of its files are submissions.

::

    leaderboard.toml                title = "…", releases = ["ORG/NAME@v1.1.0", "embedded"]
    submissions/<sha256>.parquet    64 hexadecimal digits: the SHA-256 of the file

It is a folder, such as a checkout of git, or on the Hub.  Everything in it comes from strangers.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Mapping, Sequence
from functools import cached_property
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from benchmark_spec.declared import MisfitError, declared, parsed_toml
from benchmark_spec.errors import HubUnreachableError, ResultsError, TooLargeError
from benchmark_spec.naming import one_line
from fslbench_data.files import sha256_of, temporary_of
from fslbench_data.hub import (
    HubAddress,
    api,
    commit_of,
    fetch,
    files_at,
    hub_errors,
    is_address,
    is_commit,
    transferred,
    version_of,
)
from fslbench_data.release.release import EMBEDDED
from fslbench_data.sandbox.limits import LIMITS

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoFile

BOARD_FILE = "leaderboard.toml"
SUBMISSIONS = "submissions"
ENDING = ".parquet"
"""The ending of a submission's file."""

_NAME = re.compile(rf"{SUBMISSIONS}/[0-9a-f]{{64}}{re.escape(ENDING)}")
_MOST_BYTES = 1 << 16
_REPOSITORY = f"a results repository: {BOARD_FILE} and a folder {SUBMISSIONS}"
_FILES_AT_ONCE = 100
"""Files in one request to the Hub for last changes."""
_GIT_SECONDS = 120
_GIT_SETTINGS = (
    # the folder and its `.git` may come from strangers: no program that it names is run
    "log.showSignature=false",
    "gpg.program=false",
    "core.fsmonitor=false",
    "core.hooksPath=.git/no-hooks",
    "core.pager=cat",
    "core.alternateRefsCommand=false",
    "protocol.allow=never",
    # no setting of it changes the output
    "log.showRoot=true",
)
_MARK = "\x01"


class FolderFiles:
    """A results repository in a folder.

    Only the folder itself may be a symbolic link; below it none is followed, and only regular files
    are opened.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.where = str(self.folder)
        if not self.folder.is_dir():
            raise ResultsError(
                f"there is no folder {one_line(str(folder))}",
                expected=f"a folder with {BOARD_FILE} and a folder {SUBMISSIONS}, or ORG/NAME on "
                "the Hub",
                fix="name the checkout of a results repository, or its address",
            )

    def names(self) -> Sequence[str]:
        """List paths below `submissions`, without temporary files; a folder ends in a slash."""
        folder = self.folder / SUBMISSIONS
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise ResultsError(
                f"{SUBMISSIONS} is a symbolic link or no folder",
                where=str(folder),
                expected="a folder of submissions",
                fix="put a folder there",
            )
        return [
            f"{SUBMISSIONS}/{entry.name}{'/' if entry.is_dir(follow_symlinks=False) else ''}"
            for entry in (os.scandir(folder) if folder.exists() else ())
            if temporary_of(entry.name) is None
        ]

    def path(self, name: str) -> Path:
        """Return the path of a file by name; raise a ResultsError unless it is a regular file."""
        path = self.folder / name
        if name != BOARD_FILE and (not _NAME.fullmatch(name) or path.parent.is_symlink()):
            raise ResultsError(f"{one_line(name)} is no path inside the repository")
        _check_regular(path, name, self.where)
        return path

    def arrivals(self, names: Sequence[str]) -> Mapping[str, int]:
        """Return the number of the git commit that added each file; files without one came last.

        Commits are counted along the first parents of HEAD: a commit's author chooses its date, but
        a merged branch arrives with its merge.  The files of a shallow checkout's first commit
        arrive together.  Empty without git, or if the folder has no `.git` of its own.
        """
        if not (self.folder / ".git").exists():
            return {}
        command = ["git", "-C", str(self.folder), "--no-pager", "--literal-pathspecs"]
        for setting in _GIT_SETTINGS:
            command += ["-c", setting]
        command += ["log", "-z", "--reverse", "--first-parent", "-m", "--no-renames", "--name-only"]
        command += ["--diff-filter=A", "--no-ext-diff", "--no-textconv", "--no-show-signature"]
        command += [f"-O{os.devnull}"]  # ignores a configured order of files
        command += [f"--format=%x{ord(_MARK):02x}", "HEAD", "--", SUBMISSIONS]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            done = subprocess.run(  # noqa: S603 - fixed arguments
                command,
                env={**kept, "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_GIT_SECONDS,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return {}
        commits: dict[str, int] = {}
        commit = 0
        for part in done.stdout.decode("utf-8", "surrogateescape").split("\0"):
            commit += part.count(_MARK)
            commits.setdefault(part.replace(_MARK, "").strip("\n"), commit)
        return {name: commits[name] for name in names if name in commits}


class LooseFiles:
    """Files from anywhere, under the names that they have or would have in a repository.

    A file below a folder `submissions` has its path from there as its name, from the first such
    folder: whoever proposes files chooses what is below it.  Any other file is called as a
    submission of its content.  Symbolic links are not followed.  Raises a ResultsError if two
    different files have one name.
    """

    where = "the files"

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths: dict[str, Path] = {}
        for path in dict.fromkeys(paths):
            name = _name_of(path)
            if name in self.paths and _digest(path) != _digest(self.paths[name]):
                both = f"{one_line(str(self.paths[name]))} and {one_line(str(path))}"
                raise ResultsError(
                    f"two files are {one_line(name)}", where=both, fix="review one at a time"
                )
            self.paths.setdefault(name, path)

    def path(self, name: str) -> Path:
        """Return a file's path; raise a ResultsError unless it is a regular file."""
        path = self.paths[name]
        _check_regular(path, path.name)
        return path


class HubResults(Struct, frozen=True, dict=True):
    """A results repository on the Hub at a commit; sizes are known before files are fetched."""

    address: HubAddress
    commit: str
    tree: dict[str, RepoFile]

    @classmethod
    def open(cls, address: HubAddress) -> HubResults:
        """Open a data set repository, at its branch ``main`` if no revision is named."""
        from huggingface_hub import constants

        if constants.HF_HUB_OFFLINE:
            raise HubUnreachableError(
                "a results repository is asked anew each time, and HF_HUB_OFFLINE forbids it",
                where=address.repo_id,
                fix="unset HF_HUB_OFFLINE, or name a folder with a copy of the repository",
            )
        commit = commit_of(address.repo_id, address.revision or "main")
        return cls(address, commit, files_at(address.repo_id, commit))

    @property
    def where(self) -> str:
        """The address."""
        return str(self.address)

    def names(self) -> Sequence[str]:
        """List paths below `submissions`, sorted."""
        return [name for name in self.tree if name.startswith(f"{SUBMISSIONS}/")]

    def path(self, name: str) -> Path:
        """Fetch a file into the cache; raise a TooLargeError instead if it is too large."""
        if name not in self.tree:
            raise ResultsError(
                f"the repository has no {one_line(name)}",
                where=f"{self.where}, commit {self.commit}",
                expected=_REPOSITORY,
                fix="name the repository that results are sent to",
            )
        if self._is_large(name):
            raise TooLargeError(
                f"{one_line(name)} has {self.tree[name].size:,} bytes",
                where=self.where,
                expected=f"at most {LIMITS.file_bytes:,}",
            )
        if name == BOARD_FILE:
            return fetch(self.address.repo_id, name, self.commit)
        return self._submissions / name

    def arrivals(self, names: Sequence[str]) -> Mapping[str, int]:
        """Return the number of the commit that added each file; empty if one is unknown."""
        from huggingface_hub.hf_api import RepoFile

        repo_id, arrivals = self.address.repo_id, dict[str, int]()
        with hub_errors("reading its history", repo_id):
            numbers = {commit: n for n, commit in enumerate(reversed(self.commits()))}
            for start in range(0, len(names), _FILES_AT_ONCE):
                for file in api().get_paths_info(
                    repo_id,
                    list(names[start : start + _FILES_AT_ONCE]),
                    expand=True,
                    revision=self.commit,
                    repo_type="dataset",
                ):
                    last = file.last_commit if isinstance(file, RepoFile) else None
                    if last is None or last.oid not in numbers:
                        return {}
                    arrivals[file.path] = numbers[last.oid]
        return arrivals

    def commits(self) -> list[str]:
        """List the commits that led to this one, the newest first."""
        history = api().list_repo_commits(
            self.address.repo_id, repo_type="dataset", revision=self.commit
        )
        return [commit.commit_id for commit in history]

    @cached_property
    def _submissions(self) -> Path:
        """The folder of all submissions that are not too large, fetched concurrently."""
        from huggingface_hub import snapshot_download

        def download() -> str:
            return snapshot_download(
                self.address.repo_id,
                repo_type="dataset",
                revision=self.commit,
                allow_patterns=f"{SUBMISSIONS}/*",
                ignore_patterns=[escape(name) for name in self.tree if self._is_large(name)],
                library_name="fslbench",
            )

        return Path(transferred("fetching its files", self.address.repo_id, download))

    def _is_large(self, name: str) -> bool:
        return self.tree[name].size > LIMITS.file_bytes


ResultsFiles = FolderFiles | HubResults
"""The files of a results repository.

`names` are relative paths with slashes below `submissions`.  `path` raises a ResultsError for what
is no regular file, a TooLargeError for a file larger than a submission may be.  Of two files, that
of the smaller number in `arrivals` came first; files without a number came last.
"""


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `leaderboard.toml`; the newest release comes first."""

    releases: Annotated[
        tuple[str, ...], Meta(min_length=1, description="a list of different releases")
    ]
    title: Annotated[
        str, Meta(max_length=200, description="a printable line of at most 200 characters")
    ] = ""


def open_results(where: str | Path) -> ResultsFiles:
    """Open a results repository: a folder, or on the Hub ``ORG/NAME`` or ``ORG/NAME@REVISION``."""
    if isinstance(where, str) and is_address(where) and not Path(where).exists():
        return HubResults.open(HubAddress.parse(where))
    return FolderFiles(where)


def submission_name(digest: str) -> str:
    """Return a submission's name in a repository from the SHA-256 (hex) of its bytes."""
    return f"{SUBMISSIONS}/{digest}{ENDING}"


IGNORED = "not named as a submission, 64 hexadecimal digits and .parquet"
"""Why a file below `submissions` is not opened."""


def list_submissions(files: ResultsFiles) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """List the names of submissions, sorted, and of other files, printable; open no file."""
    names = sorted(files.names())
    return (
        tuple(name for name in names if _NAME.fullmatch(name)),
        tuple(one_line(name) for name in names if not _NAME.fullmatch(name)),
    )


def read_board(files: ResultsFiles) -> Settings:
    """Read and check `leaderboard.toml`; raise a ResultsError if anything is wrong."""
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
        _check_release_name(name, where)
    return settings


def _check_release_name(name: str, where: str) -> None:
    """Raise a ResultsError unless a name means the same release to everybody, for ever.

    Such a name is ``embedded``, or ``ORG/NAME`` with a version's tag or a whole commit.
    """
    if name == EMBEDDED:
        return
    expected = "ORG/NAME@vX.Y.Z, ORG/NAME@ with a whole commit, or embedded"
    if not is_address(name):
        what = f"{one_line(repr(name))} is no release that everybody can open"
        fix = "name embedded for a release of your own that is not published, and rank on it with "
        fix += f"fslbench leaderboard --release {one_line(name)}"
        raise ResultsError(what, where=where, expected=expected, fix=fix)
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


def _check_regular(path: Path, name: str, where: str = "") -> None:
    """Raise a ResultsError unless a file is regular; follow no links."""
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        if name == BOARD_FILE and isinstance(error, FileNotFoundError):
            raise ResultsError(
                f"the repository has no {name}",
                where=where,
                expected=_REPOSITORY,
                fix="name the checkout of one, or start one: fslbench-build results-repo",
            ) from None
        what = f"{one_line(name)} cannot be opened: {error.strerror}"
        raise ResultsError(what, where=where) from None
    if not stat.S_ISREG(mode):
        what = "a symbolic link, which is not followed" if stat.S_ISLNK(mode) else "no file"
        raise ResultsError(f"{one_line(name)} is {what}", expected="a regular file")


def _name_of(path: Path) -> str:
    if SUBMISSIONS in path.parts[:-1]:
        return "/".join(path.parts[path.parts.index(SUBMISSIONS) :])
    if path.suffix != ENDING:  # of no submission, whatever its bytes
        return path.as_posix()
    digest = _digest(path)
    return path.name if digest is None else submission_name(digest)


def _digest(path: Path) -> str | None:
    """Return the SHA-256 of a file that a submission can be; None for anything else."""
    try:
        if not path.is_symlink() and path.is_file() and path.stat().st_size <= LIMITS.file_bytes:
            return sha256_of(path)
    except OSError:
        pass
    return None
