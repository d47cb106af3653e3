"""Calls to the Hub, and what can go wrong with them as this package's own errors."""

from __future__ import annotations

import errno
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import walk_tb
from typing import TYPE_CHECKING, TypeVar

from benchmark_spec.errors import (
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

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)
_NETWORK = ("httpx", "httpcore", "requests", "urllib3", "aiohttp")
"""Packages whose exceptions speak of the network, in the versions that the client uses."""

_SECRET = re.compile(
    r"hf_\w+|(?i:bearer\s+|(?:token|authorization)\s*[:=]\s*)\S+|[?&](?i:X-Amz-\w+|sig\w*)=\S+"
)


def api() -> HfApi:
    """The Hub's client, with the token of its own login, which is never looked at here."""
    from huggingface_hub import HfApi

    return HfApi(library_name="fslbench", library_version=__version__)


@contextmanager
def hub_errors(doing: str, repo_id: str) -> Iterator[None]:
    """Turn what the Hub's client raises into this package's errors.

    A HubError says that the Hub refuses, has not what is asked for or does not answer; an
    OutputError that the disk is full or may not be written.  `doing` is what is being done, as in
    "downloading tasks/open-5w5s5q/cub.parquet".
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
    """The first cause of an exception that this package has an error for."""
    cause: BaseException | None = error
    causes: list[BaseException] = []
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__
    if any(map(_is_of_xet, causes)):
        return HubXetError(
            f"xet, the Hub's storage of large files, fails: {plain(causes[-1])}",
            where=f"{repo_id}, {doing}",
            expected="a storage that this machine reaches, and that takes the Hub's token",
            fix="set HF_HUB_DISABLE_XET=1: files then go by HTTP",
        )
    for one in reversed(causes):  # what happened first says most
        translated = _of_one(one, doing, repo_id)
        if translated is not None:
            return translated
    return None


def _is_of_xet(error: BaseException) -> bool:
    """Whether the Hub's client raised an error while it used xet.

    hf_xet has few exceptions of its own: it raises Python's, such as ConnectionError and
    RuntimeError.  What they come from is told by the functions that they came through.
    """
    return any(
        "xet" in frame.f_code.co_name
        and str(frame.f_globals.get("__name__")).startswith("huggingface_hub.")
        for frame, _ in walk_tb(error.__traceback__)
    )


def _of_one(error: BaseException, doing: str, repo_id: str) -> FSLBenchError | None:
    from huggingface_hub import errors

    where = f"{repo_id}, {doing}"
    if isinstance(error, errors.HfHubHTTPError):
        return _answered(error, where)
    if isinstance(error, errors.LocalTokenNotFoundError):
        return HubAccessError(
            "nobody is logged in to the Hub", where=where, fix="hf auth login, or HF_TOKEN"
        )
    if isinstance(error, errors.OfflineModeIsEnabled):
        return _not_cached(where)
    if isinstance(error, errors.LocalEntryNotFoundError):
        from huggingface_hub import constants

        return _not_cached(where) if constants.HF_HUB_OFFLINE else _unreachable("", where)
    if isinstance(error, errors.FileMetadataError | json.JSONDecodeError):
        return _unreachable("what answers is not the Hub, or a broken one", where)
    if isinstance(error, errors.HFValidationError):
        return HubError(
            f"{repo_id!r} cannot be the name of a repository",
            expected="ORG/NAME: letters, digits, dashes, dots and underscores",
        )
    if "HTTPStatusError" in type(error).__name__:
        return None  # the Hub's own error is made of it, and says more
    if type(error).__module__.split(".")[0].rstrip("0123456789") in _NETWORK:
        name = type(error).__name__
        broke_off = "Read" in name or "Protocol" in name
        return _unreachable(f"{name}: {plain(error)}", where, transient=broke_off)
    if isinstance(error, UnicodeEncodeError):  # of a header
        return HubAccessError(
            "the token is none: it holds characters that no token has",
            where=where,
            fix="copy it again from the Hub's settings, or hf auth login",
        )
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


def _answered(error: HfHubHTTPError, where: str) -> FSLBenchError:
    """What an answer with an error status means."""
    from huggingface_hub import errors

    status = error.response.status_code
    login = "log in with an account that may (hf auth login, or HF_TOKEN)"
    if isinstance(error, errors.GatedRepoError):
        return HubAccessError(
            "the repository is gated, and this account has no access to it",
            where=where,
            fix=f"ask for access on the repository's page, and {login}",
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return HubNotFoundError(
            "there is no such repository, or it is private",
            where=where,
            expected="the name of a repository as ORG/NAME",
            fix=f"check the name; if it is private, {login}",
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return HubNotFoundError("the repository has no such tag, branch or commit", where=where)
    if isinstance(error, errors.EntryNotFoundError):
        return HubNotFoundError("the repository has no such file at that revision", where=where)
    message = plain(error.server_message or "")
    if status == 401 and "credentials" in f"{message} {error}":
        return HubAccessError(
            "the token is not valid, or no longer", where=where, fix="hf auth login, or HF_TOKEN"
        )
    if status in (401, 403):
        return HubAccessError(
            f"the Hub does not allow it{f': {message}' if message else ''}", where=where, fix=login
        )
    if status in (409, 412):
        return HubError(
            f"the repository changed meanwhile{f': {message}' if message else ''}",
            where=where,
            fix="run the same command again",
        )
    if status == 429 or status >= 500:
        # the client itself asks again for all but contents
        content = status >= 500 and error.response.request.method == "GET"
        return _unreachable(f"it answered {status} each time", where, transient=content)
    return HubError(f"the Hub answered {status}{f': {message}' if message else ''}", where=where)


def _unreachable(why: str, where: str, *, transient: bool = False) -> HubUnreachableError:
    error = HubUnreachableError(
        f"the Hub cannot be reached{f': {why}' if why else ''}",
        where=where,
        expected="an answer from the Hub, or from the endpoint that HF_ENDPOINT names",
        fix="check the connection and run the same command again: what is complete is kept",
    )
    error.transient = transient
    return error


def _not_cached(where: str) -> HubUnreachableError:
    return HubUnreachableError(
        "this is not in the cache, and HF_HUB_OFFLINE forbids to ask the Hub",
        where=where,
        fix="load it once with a connection, or unset HF_HUB_OFFLINE",
    )


def plain(error: object) -> str:
    """First line of a foreign message, printable, without anything that looks like a secret."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = "".join(c if c.isprintable() else "?" for c in (lines[0] if lines else "")[:300])
    return _SECRET.sub("…", text)


Result = TypeVar("Result")

_TRIES = ("HF_XET_CLIENT_RETRY_MAX_ATTEMPTS", "3")
"""How often xet asks again where nothing answers; left alone it does so for seven minutes."""


def transferred(doing: str, repo_id: str, transfer: Callable[[], Result]) -> Result:
    """Return what a call of the Hub's client returns that uploads or downloads files.

    If it fails by xet, which large files go by, it is done again by HTTP, and so is every later one
    of this process; a warning says so.  `transfer` may be called twice.  Raises what
    :func:`fslbench_data.hub.calls.hub_errors` makes of the client's errors.
    """
    from huggingface_hub import constants

    os.environ.setdefault(*_TRIES)
    try:
        with hub_errors(doing, repo_id):
            return transfer()
    except HubXetError as error:
        if not constants.HF_HUB_DISABLE_XET:
            constants.HF_HUB_DISABLE_XET = True
            said = f"{error.what}; files go by HTTP now, as always with HF_HUB_DISABLE_XET=1"
            warnings.warn(FSLBenchWarning(said), stacklevel=2)
    with hub_errors(doing, repo_id):
        return transfer()
