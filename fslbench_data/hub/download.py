"""Files of a repository, fetched into the Hub's own cache and never trusted unread."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from benchmark_spec.errors import CorruptReleaseError, HubUnreachableError
from benchmark_spec.version import __version__
from fslbench_data.files import sha256_of
from fslbench_data.hub.calls import transferred

_ATTEMPTS = 3
"""Times that a file is begun while the connection breaks; most breaks the Hub's client mends by
asking for the rest."""

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
    """Fetch a file of a repository at a revision, or find it in the Hub's cache or another.

    A download that breaks off is resumed; a file appears in the cache whole or not at all.
    """
    from huggingface_hub import hf_hub_download

    def get() -> str:
        return hf_hub_download(
            repo_id,
            path,
            repo_type=repo_type,
            revision=revision,
            cache_dir=cache,
            library_name="fslbench",
            library_version=__version__,
        )

    def download() -> str:
        found = Path(get())
        if not found.is_file():  # a FIFO or a device has its name in the cache
            forget(found)
            return get()
        return str(found)

    for attempt in range(_ATTEMPTS):
        try:
            return Path(transferred(f"fetching {path} at {revision[:12]}", repo_id, download))
        except HubUnreachableError as error:
            if not error.transient or attempt == _ATTEMPTS - 1:
                raise
            time.sleep(_PAUSE * (attempt + 1))
    raise AssertionError  # the last attempt returned or raised


def fetch_checked(
    repo_id: str, path: str, revision: str, whole: Callable[[Path], bool], expected: str
) -> Path:
    """Fetch a file until `whole` holds: a bad copy in the cache is dropped and fetched once more.

    Raises a CorruptReleaseError, with what was `expected`, if what the Hub gives is wrong twice.
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
    """Take a file out of the cache, with the blob behind a symbolic link, and nothing elsewhere."""
    behind = Path(os.path.realpath(path))
    repositories = [folder.parent for folder in path.parents if folder.name == "snapshots"]
    if any(behind.parent == Path(os.path.realpath(r), "blobs") for r in repositories):
        behind.unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def fits_its_name(path: Path) -> bool:
    """Say whether a file of the cache has the digest after which the Hub's client named it.

    Small files are named by Git's SHA-1 of a blob, large ones by their SHA-256. Where the cache
    cannot have symbolic links, names are lost, and nothing can be said.
    """
    blob = path.resolve()
    if re.fullmatch(r"[0-9a-f]{40}", blob.name):
        digest = hashlib.sha1(f"blob {blob.stat().st_size}\0".encode(), usedforsecurity=False)
        with blob.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        return digest.hexdigest() == blob.name
    if re.fullmatch(r"[0-9a-f]{64}", blob.name):
        return sha256_of(blob) == blob.name
    return blob.name == path.name
