"""Call the Hub, translate its errors, and fetch files into its cache.

The cache's assets folder remembers, for each repository, the commit that a tag named when it was
first loaded, and the SHA-256 of that release's manifest.  If the folder is lost or unwritable, tags
count as new.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from benchmark_spec.declared import parsed_json
from benchmark_spec.errors import (
    CorruptReleaseError,
    FSLBenchError,
    FSLBenchWarning,
    HubAccessError,
    HubError,
    HubNotFoundError,
    HubUnreachableError,
    HubXetError,
    OutputError,
)
from benchmark_spec.version import __version__
from fslbench_data.files import read_kept, sha256_of, write_whole

if TYPE_CHECKING:
    from huggingface_hub import Discussion, HfApi
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.hf_api import RepoFile

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_ADDRESS = re.compile(rf"{_NAME}/{_NAME}(@[A-Za-z0-9][A-Za-z0-9._/-]*)?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_TAG = re.compile(r"v(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")


class HubAddress(Struct, frozen=True):
    """A data set repository and its tag, branch or commit, empty for the newest release."""

    repo_id: str
    revision: str = ""

    def __str__(self) -> str:
        return f"{self.repo_id}@{self.revision}" if self.revision else self.repo_id

    @classmethod
    def parse(cls, text: str) -> HubAddress:
        """Read ``ORG/NAME`` or ``ORG/NAME@REVISION``; raise a HubError if the text is neither."""
        if not is_address(text):
            raise HubError(
                f"{text!r:.200} is not the address of a repository",
                expected="ORG/NAME, or ORG/NAME@v1.0.0 with a tag or a whole commit",
            )
        repo_id, _, revision = text.partition("@")
        return cls(repo_id, revision)


def is_repo_id(text: str) -> bool:
    """Return whether a text has the form ``ORG/NAME``."""
    return is_address(text) and "@" not in text


def no_repository(text: str) -> HubError:
    """Return the error about a text that is not ``ORG/NAME``."""
    return HubError(
        f"{text!r} is not the name of a repository",
        expected="ORG/NAME: letters, digits, dashes, dots and underscores",
    )


def is_address(text: str) -> bool:
    """Return whether a text has the form of an address; a folder's name may have it too."""
    return _ADDRESS.fullmatch(text) is not None and ".." not in text


def is_commit(revision: str) -> bool:
    """Return whether a revision is a whole commit, whose files never change."""
    return _COMMIT.fullmatch(revision) is not None


def version_of(tag: str) -> tuple[int, int, int] | None:
    """Return the version that a tag such as v1.0.0 names; None for any other tag."""
    match = _TAG.fullmatch(tag)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)
_NETWORK = ("httpx", "httpcore", "requests", "urllib3", "aiohttp")
"""Packages whose exceptions the Hub's client raises about the network."""

_SECRET = re.compile(
    r"hf_\w+|(?i:bearer\s+|(?:token|authorization)\s*[:=]\s*)\S+|[?&](?i:X-Amz-\w+|sig\w*)=\S+"
)


def api() -> HfApi:
    """Return the Hub's client, which reads the login's token; this package never does."""
    from huggingface_hub import HfApi

    return HfApi(library_name="fslbench", library_version=__version__)


def commit_of(repo_id: str, revision: str) -> str:
    """Return the commit that a branch, a tag or a pull request of a data set repository names."""
    with hub_errors(f"looking up {revision}", repo_id):
        info = api().dataset_info(repo_id, revision=revision)
    if info.sha is None:
        raise HubError(f"the Hub does not say what commit {revision} is", where=repo_id)
    return info.sha


def files_at(repo_id: str, revision: str) -> dict[str, RepoFile]:
    """List all files of a data set repository by path, in order."""
    from huggingface_hub.hf_api import RepoFile

    with hub_errors(f"listing the files at {revision}", repo_id):
        tree = api().list_repo_tree(repo_id, recursive=True, revision=revision, repo_type="dataset")
        files = {entry.path: entry for entry in tree if isinstance(entry, RepoFile)}
    return dict(sorted(files.items()))


def open_pull_requests(repo_id: str, title: str) -> list[Discussion]:
    """List the open pull requests of that title on a data set repository."""
    with hub_errors("listing its pull requests", repo_id):
        requests = api().get_repo_discussions(
            repo_id,
            repo_type="dataset",
            discussion_type="pull_request",
            discussion_status="open",
        )
        return [request for request in requests if request.title == title]


@contextmanager
def hub_errors(doing: str, repo_id: str) -> Iterator[None]:
    """Translate errors of the Hub's client into this package's errors.

    A HubError says that the Hub refuses, lacks the file or does not answer; an OutputError that the
    disk is full or read-only.  `doing` describes the action, such as "downloading
    tasks/open-5w5s5q/cub.parquet".
    """
    try:
        yield
    except FSLBenchError:
        raise
    except Exception as error:
        translated = _translated(error, doing, repo_id)
        if translated is None:
            raise
        raise translated from None


def _translated(error: Exception, doing: str, repo_id: str) -> FSLBenchError | None:
    """Return the error for the first cause of an exception that has one; None without any."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__) is not None and cause not in causes:
        causes.append(cause)
    if any(map(_is_of_xet, causes)):
        return HubXetError(
            f"xet, the Hub's storage of large files, fails: {plain(causes[-1])}",
            where=f"{repo_id}, {doing}",
            expected="a storage that this machine reaches, and that takes the Hub's token",
            fix="set HF_HUB_DISABLE_XET=1: files then go by HTTP",
        )
    translated = (_translated_cause(cause, doing, repo_id) for cause in reversed(causes))
    return next((error for error in translated if error is not None), None)


def _is_of_xet(error: BaseException) -> bool:
    """Return whether the Hub's client raised an error while it used xet.

    hf_xet mostly raises Python's exceptions, such as ConnectionError and RuntimeError, which are
    recognized by the functions in their traceback.
    """
    return any(
        "xet" in frame.f_code.co_name
        and str(frame.f_globals.get("__name__")).startswith("huggingface_hub.")
        for frame, _ in walk_tb(error.__traceback__)
    )


def _translated_cause(error: BaseException, doing: str, repo_id: str) -> FSLBenchError | None:
    from huggingface_hub import constants, errors

    where, name, login = f"{repo_id}, {doing}", type(error).__name__, "hf auth login, or HF_TOKEN"
    if isinstance(error, errors.HfHubHTTPError):
        return _http_error(error, where, login)
    if isinstance(error, errors.LocalTokenNotFoundError):
        return HubAccessError("nobody is logged in to the Hub", where=where, fix=login)
    if isinstance(error, errors.OfflineModeIsEnabled | errors.LocalEntryNotFoundError):
        if constants.HF_HUB_OFFLINE or isinstance(error, errors.OfflineModeIsEnabled):
            what = "this is not in the cache, and HF_HUB_OFFLINE forbids to ask the Hub"
            fix = "load it once with a connection, or unset HF_HUB_OFFLINE"
            return HubUnreachableError(what, where=where, fix=fix)
        return _unreachable("", where)
    if isinstance(error, errors.FileMetadataError | json.JSONDecodeError):
        return _unreachable("what answers is not the Hub, or a broken one", where)
    if isinstance(error, errors.HFValidationError):
        return no_repository(repo_id)
    if "HTTPStatusError" in name:
        return None  # the Hub's error that it causes says more
    if type(error).__module__.split(".")[0].rstrip("0123456789") in _NETWORK:
        interrupted = "Read" in name or "Protocol" in name
        return _unreachable(f"{name}: {plain(error)}", where, transient=interrupted)
    if isinstance(error, UnicodeEncodeError):  # in a header
        what = "the token is none: it holds characters that no token has"
        fix = "copy it again from the Hub's settings, or hf auth login"
        return HubAccessError(what, where=where, fix=fix)
    if isinstance(error, OSError) and error.errno in _DISK:
        return OutputError(
            f"cannot write what comes from the Hub: {os.strerror(error.errno or 0)}",
            where=f"{where}: {error.filename or 'the cache'}",
            fix="make room there, or set HF_HOME to a folder on another disk; what is complete "
            "stays and is not fetched again",
        )
    if isinstance(error, OSError) and "onsistency check" in str(error):
        return _unreachable("the file came short", where, transient=True)
    if isinstance(error, ValueError) and "LFS batch" in str(error):
        return HubError(f"the Hub refused an upload: {plain(error)}", where=where)
    return None


def _http_error(error: HfHubHTTPError, where: str, login: str) -> FSLBenchError:
    """Return the error for an HTTP status."""
    from huggingface_hub import errors

    status, message = error.response.status_code, plain(error.server_message or "")
    another = f"log in with an account that may ({login})"
    detail = message and f": {message}"
    kind, what, fix = HubError, f"the Hub answered {status}{detail}", ""
    if isinstance(error, errors.GatedRepoError):
        kind, what = HubAccessError, "the repository is gated, and this account has no access to it"
        fix = f"ask for access on the repository's page, and {another}"
    elif isinstance(error, errors.RepositoryNotFoundError):
        kind, what = HubNotFoundError, "there is no such repository, or it is private"
        fix = f"check the name, ORG/NAME; if it is private, {another}"
    elif isinstance(error, errors.RevisionNotFoundError):
        kind, what = HubNotFoundError, "the repository has no such tag, branch or commit"
    elif isinstance(error, errors.EntryNotFoundError):
        kind, what = HubNotFoundError, "the repository has no such file at that revision"
    elif status == 401 and "credentials" in f"{message} {error}":
        kind, what, fix = HubAccessError, "the token is not valid, or no longer", login
    elif status in (401, 403):
        kind, what, fix = HubAccessError, f"the Hub does not allow it{detail}", another
    elif status in (409, 412):
        what, fix = f"the repository changed meanwhile{detail}", "run the same command again"
    elif status == 429 or status >= 500:
        # the client retries all requests except those for contents
        content = status >= 500 and error.response.request.method == "GET"
        return _unreachable(f"it answered {status} each time", where, transient=content)
    return kind(what, where=where, fix=fix)


def _unreachable(why: str, where: str, *, transient: bool = False) -> HubUnreachableError:
    error = HubUnreachableError(
        f"the Hub cannot be reached{f': {why}' if why else ''}",
        where=where,
        expected="an answer from the Hub, or from the endpoint that HF_ENDPOINT names",
        fix="check the connection and run the same command again: what is complete is kept",
    )
    error.transient = transient
    return error


def plain(error: object) -> str:
    """Return the first line of a foreign message, printable, with secrets masked."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = "".join(c if c.isprintable() else "?" for c in (lines[0] if lines else "")[:300])
    return _SECRET.sub("…", text)


Result = TypeVar("Result")

_XET_ATTEMPTS = ("HF_XET_CLIENT_RETRY_MAX_ATTEMPTS", "3")
"""How often xet retries without an answer; by default it retries for seven minutes."""


def transferred(doing: str, repo_id: str, transfer: Callable[[], Result]) -> Result:
    """Call a function of the Hub's client that uploads or downloads files, and return its result.

    If xet, which large files use, fails, a warning says so, and this and every later transfer of
    this process uses HTTP.  `transfer` may be called twice.  Raises the errors of
    :func:`fslbench_data.hub.hub_errors`.
    """
    from huggingface_hub import constants

    os.environ.setdefault(*_XET_ATTEMPTS)
    try:
        with hub_errors(doing, repo_id):
            return transfer()
    except HubXetError as error:
        if not constants.HF_HUB_DISABLE_XET:
            constants.HF_HUB_DISABLE_XET = True
            message = f"{error.what}; files go by HTTP now, as always with HF_HUB_DISABLE_XET=1"
            warnings.warn(FSLBenchWarning(message), stacklevel=2)
    with hub_errors(doing, repo_id):
        return transfer()


class Pin(Struct, frozen=True):
    """The commit of a tag and the SHA-256 of its manifest, when it was first loaded."""

    commit: str
    manifest: str


class Memory:
    """The tags of one repository that were loaded before."""

    def __init__(self, repo_id: str) -> None:
        from huggingface_hub import constants

        self._folder = Path(constants.HF_ASSETS_CACHE) / "fslbench" / repo_id.replace("/", "--")

    def pin_path(self, tag: str) -> Path:
        """Return the file that remembers a tag."""
        return self._folder / "tags" / f"{tag}.json"

    def pin(self, tag: str) -> Pin | None:
        """Return the pin of a tag; None if it was not loaded before."""
        try:
            pin: Pin = parsed_json(read_kept(self.pin_path(tag)), Pin)
        except (OSError, ValueError):
            return None
        return pin if is_commit(pin.commit) else None

    def remember_pin(self, tag: str, pin: Pin) -> None:
        """Remember the pin of a tag."""
        path = self.pin_path(tag)
        with suppress(OSError, OutputError):  # the cache may be read-only
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps(asdict(pin)), follow=False)

    def tags(self) -> list[str]:
        """Return the tags of versions that were loaded before."""
        tags: list[str] = []
        with suppress(OSError):  # the cache may not be readable
            tags = [path.stem for path in (self._folder / "tags").glob("v*.json")]
        return sorted(tag for tag in tags if version_of(tag) is not None)


_ATTEMPTS = 3
"""Attempts at a file while the connection breaks; the Hub's client itself resumes after most."""

_PAUSE = 2.0
"""Seconds before the second attempt; twice as many before the third."""


def fetch(
    repo_id: str,
    path: str,
    revision: str,
    *,
    repo_type: str = "dataset",
    cache: Path | None = None,
) -> Path:
    """Fetch a file of a repository at a revision, unless it is in the cache, by default the Hub's.

    An interrupted download is resumed; a file appears in the cache whole or not at all.
    """
    from huggingface_hub import hf_hub_download

    def download() -> Path:
        for _ in range(2):
            file = Path(
                hf_hub_download(
                    repo_id,
                    path,
                    repo_type=repo_type,
                    revision=revision,
                    cache_dir=cache,
                    library_name="fslbench",
                    library_version=__version__,
                )
            )
            if file.is_file():  # else a FIFO or a device has its name in the cache
                break
            forget(file)
        return file

    for attempt in range(_ATTEMPTS):
        try:
            return transferred(f"fetching {path} at {revision[:12]}", repo_id, download)
        except HubUnreachableError as error:
            if not error.transient or attempt == _ATTEMPTS - 1:
                raise
            time.sleep(_PAUSE * (attempt + 1))
    raise AssertionError  # the last attempt returned or raised


def fetch_checked(
    repo_id: str, path: str, revision: str, whole: Callable[[Path], bool], expected: str
) -> Path:
    """Fetch a file that is `whole`; a bad copy in the cache is removed and fetched once more.

    Raises a CorruptReleaseError, with what was `expected`, if the file is wrong twice.
    """
    from huggingface_hub import constants

    for _ in range(2):
        file = fetch(repo_id, path, revision)
        if whole(file):
            return file
        if constants.HF_HUB_OFFLINE:
            raise CorruptReleaseError(
                f"the cached copy of {path} is damaged; HF_HUB_OFFLINE forbids to fetch another",
                where=str(file),
                expected=expected,
                fix="load the release once with a connection",
            )
        forget(file)
    raise CorruptReleaseError(
        f"{path} is not the file that was released, however often it is fetched",
        where=f"{repo_id} at {revision}",
        expected=expected,
        fix="try again later or through another network; if it stays so, tell the maintainers: "
        "the repository, or what stands between, changes files",
    )


def forget(path: Path) -> None:
    """Remove a file from the cache, with the blob of the cache that it links to."""
    target = Path(os.path.realpath(path))
    repositories = [folder.parent for folder in path.parents if folder.name == "snapshots"]
    if any(target.parent == Path(os.path.realpath(r), "blobs") for r in repositories):
        target.unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def fits_its_name(path: Path) -> bool:
    """Return whether a file of the cache has the digest that the Hub's client named it after.

    Small files are named after Git's SHA-1 of a blob, large ones after their SHA-256. In a cache
    without symbolic links these names are lost, and nothing can be checked.
    """
    blob = path.resolve()
    if re.fullmatch(r"[0-9a-f]{40}", blob.name):
        return git_blob(blob) == blob.name
    if re.fullmatch(r"[0-9a-f]{64}", blob.name):
        return sha256_of(blob) == blob.name
    return blob.name == path.name


def git_blob(path: Path) -> str:
    """Return the SHA-1 (hex) by which Git names a file's content."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: digest).hexdigest()
