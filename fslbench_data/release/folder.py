"""Find the files of a release and compare them with its manifest."""

from __future__ import annotations

from errno import EISDIR
from os import strerror
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from msgspec import Struct

from benchmark_spec.errors import (
    CorruptReleaseError,
    HubError,
    HubNotFoundError,
    HubUnreachableError,
    MovedTagError,
    ReleaseNotFoundError,
    listing,
)
from benchmark_spec.manifest import MANIFEST_FILE, Manifest, Table
from fslbench_data.files import EXPECTED, FIX, POINTER, is_lfs_pointer, sha256_of
from fslbench_data.hub import (
    HubAddress,
    Memory,
    Pin,
    api,
    fetch_checked,
    fits_its_name,
    hub_errors,
    is_address,
    is_commit,
    version_of,
)

UNFINISHED = ".building.json"
"""The journal of a build, in the folder of an unfinished release."""

MOST_MANIFEST = 64 << 20
"""Bytes of a manifest; the embedded release's has some hundred kilobytes."""


class ReleaseFiles(Struct, frozen=True):
    """The place of a release's files: a folder, or an address on the Hub and its commit.

    Files of a folder are compared with the manifest when it is opened; those of the package and of
    the Hub when they are read.
    """

    where: str
    commit: str = ""
    of_package: bool = False

    @property
    def hub(self) -> str:
        """On the Hub, the repository and whole commit as ``ORG/NAME@COMMIT``; else empty."""
        return f"{self.where.partition('@')[0]}@{self.commit}" if self.commit else ""

    def path(self, table: Table) -> Path:
        """Return the file of a table, fetched from the Hub unless it is in the cache."""
        if self.commit:
            return fetch_checked(
                self.where.partition("@")[0],
                table.path,
                self.commit,
                lambda path: sha256_of(path) == table.sha256,
                f"SHA-256 {table.sha256}",
            )
        folder = Path(self.where)
        if self.of_package:
            return check_file(folder, table)
        return regular_file(folder / table.path, folder)


def regular_file(path: Path, within: Path | None = None) -> Path:
    """Follow symbolic links to a regular file.

    The file must lie `within` the folder of a release, which is free of symbolic links; or, if that
    is a snapshot in the Hub's cache, among the repository's blobs.  Raises a CorruptReleaseError if
    it is a device, a pipe or a socket, or lies elsewhere; an OSError if it does not exist or is a
    folder.
    """
    try:
        file = path.resolve(strict=True)
    except RuntimeError as error:  # symbolic links in a circle, before Python 3.13
        raise OSError(str(error)) from None
    mode = file.stat().st_mode
    name = path.name if within is None else path.relative_to(within).as_posix()
    if S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, strerror(EISDIR), str(path))
    if not S_ISREG(mode):
        raise CorruptReleaseError(
            f"{name} is not a regular file",
            where=str(path),
            expected="a file; no device, pipe or socket is read",
            fix="get the release again",
        )
    blobs = within and within.parent.name == "snapshots" and within.parent.parent / "blobs"
    if within is not None and not (file.is_relative_to(within) or file.parent == blobs):
        raise CorruptReleaseError(
            f"{name} leads out of the release",
            where=str(path),
            expected=f"a file in {within}; only a snapshot of the Hub's cache leads out of its "
            "folder, to the blobs beside it",
            fix="copy the release with the files that its links lead to, or get it again",
        )
    return file


def read_manifest_file(path: Path) -> bytes:
    """Read the bytes of a manifest; raise a CorruptReleaseError if it is too large or no file."""
    if is_lfs_pointer(path):
        raise _pointer(path, path.name)
    with regular_file(path).open("rb") as file:
        content = file.read(MOST_MANIFEST + 1)
    if len(content) > MOST_MANIFEST:
        raise CorruptReleaseError(
            f"{path.name} has more than {MOST_MANIFEST} bytes",
            where=str(path),
            expected="a manifest, one line for each table",
            fix="get the release again",
        )
    return content


def embedded_folder() -> Path:
    """Return the folder of the release that comes with the package."""
    return Path(__file__).parents[1] / "embedded"


def read_manifest(where: str | Path | None = None) -> tuple[Path, Manifest]:
    """Return a release's folder and its manifest."""
    folder = Path(where) if where is not None else embedded_folder()
    try:
        folder = folder.resolve()
        text = read_manifest_file(folder / MANIFEST_FILE)
    except (OSError, RuntimeError) as error:  # the latter for symbolic links in a circle
        why = getattr(error, "strerror", error)
        fix = "name the folder of a finished release; the one in the package needs no name"
        if is_address(str(where)) and not folder.exists():  # this command takes only folders
            fix = f"get one of the Hub first, `fslbench export FOLDER --release {where}`, or {fix}"
        if (folder / UNFINISHED).exists():
            why, fix = "its build was not finished", "call the command that began it again"
        raise ReleaseNotFoundError(
            f"there is no release at {folder}: {why}",
            where=str(folder / MANIFEST_FILE),
            expected=f"a folder with {MANIFEST_FILE} and the tables it lists, or on the Hub "
            "ORG/NAME@v1.0.0",
            fix=fix,
        ) from None
    return folder, Manifest.from_json(text, str(folder / MANIFEST_FILE))


def check_file(folder: Path, table: Table) -> Path:
    """Return a table's file; raise a CorruptReleaseError if it differs from the manifest."""
    try:
        path = regular_file(folder / table.path, folder)
        size = path.stat().st_size
        digest = sha256_of(path) if size == table.bytes else ""
    except OSError as error:
        problem, expected = f"cannot be read: {error.strerror}", f"{table.bytes} bytes"
    else:
        if digest == table.sha256:
            return path
        if is_lfs_pointer(path):
            raise _pointer(path, table.path)
        what = f"its SHA-256 is {digest}" if digest else f"it has {size} bytes"
        problem = f"is not the file that was released: {what}"
        expected = f"{table.bytes} bytes with the SHA-256 {table.sha256}"
    raise CorruptReleaseError(
        f"{table.path} {problem}",
        where=str(folder / table.path),
        expected=expected,
        fix="get the release again; a table is never edited in place",
    )


def open_on_hub(address: HubAddress) -> tuple[Manifest, ReleaseFiles]:
    """Read the manifest of a release on the Hub, and pin its files to the current commit.

    A tag of a version (v1.0.0) must name the same commit, and its manifest have the same bytes, as
    when this cache first loaded it.  Raises a MovedTagError or a CorruptReleaseError if not, or if
    the manifest is of another version than the tag.
    """
    if not address.revision:
        address = HubAddress(address.repo_id, newest_tag(address.repo_id))
    try:
        path = fetch_checked(
            address.repo_id,
            MANIFEST_FILE,
            address.revision,
            fits_its_name,
            "the bytes that its name in the cache promises",
        )
    except HubNotFoundError as error:
        raise _with_tags(error, address) from None
    commit = address.revision if is_commit(address.revision) else path.parent.name
    if version_of(address.revision) is not None:
        _check_pin(address, Pin(commit, sha256_of(path)))
    manifest = Manifest.from_json(read_manifest_file(path), f"{MANIFEST_FILE} of {address}")
    if version_of(address.revision) not in (None, version_of(f"v{manifest.version}")):
        raise CorruptReleaseError(
            f"the tag {address.revision} holds version {manifest.version} of {manifest.name}",
            where=str(address),
            expected="a tag that says the version of its release",
            fix="tell the maintainers, or load it by its commit",
        )
    return manifest, ReleaseFiles(str(address), commit)


def newest_tag(repo_id: str) -> str:
    """Find the tag of a repository's highest version; offline, of the highest loaded before.

    Raises a HubNotFoundError if no tag names a version, such as v1.0.0.
    """
    from huggingface_hub import constants

    remembered = Memory(repo_id).tags()
    try:
        tags = remembered if constants.HF_HUB_OFFLINE else _tags(repo_id)
    except HubUnreachableError as error:
        if remembered:
            raise error.with_advice(
                fix=f"{error.fix}; or name a version that was loaded before: {listing(remembered)}"
            ) from None
        raise
    versions = {version: tag for tag in tags if (version := version_of(tag)) is not None}
    if not versions:
        raise HubNotFoundError(
            f"{repo_id} has no released version"
            f"{' in the cache' if constants.HF_HUB_OFFLINE else ''}",
            where=repo_id,
            expected="a tag such as v1.0.0" + (f"; its tags are {listing(tags)}" if tags else ""),
            fix="load it once with a connection, or unset HF_HUB_OFFLINE"
            if constants.HF_HUB_OFFLINE
            else "name a branch or a commit: ORG/NAME@main",
        )
    return versions[max(versions)]


def _tags(repo_id: str) -> list[str]:
    with hub_errors("listing its tags", repo_id):
        return [tag.name for tag in api().list_repo_refs(repo_id, repo_type="dataset").tags]


def _with_tags(error: HubNotFoundError, address: HubAddress) -> HubNotFoundError:
    """Return the error about an unknown revision, with the tags that exist."""
    try:
        tags = _tags(address.repo_id)
    except HubError:
        return error
    version = address.revision.lstrip("vV")
    similar = [f"v{version}", f"v{version}.0"]
    meant = next((tag for tag in similar if tag in tags and tag != address.revision), None)
    return error.with_advice(
        expected=f"one of the tags {listing(tags)}; or a branch or a whole commit" if tags else "",
        fix=f"did you mean {address.repo_id}@{meant}?" if meant else "",
    )


def _check_pin(address: HubAddress, now: Pin) -> None:
    """Compare a tag's commit and manifest with those of its first loading, or remember them."""
    memory = Memory(address.repo_id)
    before = memory.pin(address.revision)
    if before is None:
        memory.remember_pin(address.revision, now)
        return
    forget = f"remove {memory.pin_path(address.revision)}"
    if before.commit != now.commit:
        raise MovedTagError(
            f"the tag {address.revision} of {address.repo_id} was moved: it names commit "
            f"{now.commit}",
            where=str(address),
            expected=f"{before.commit}, which it named when it was first loaded here",
            fix="ask the maintainers why: the tag of a release is never moved. "
            f"{address.repo_id}@{before.commit} is what you had; to take the other, {forget}",
        )
    if before.manifest != now.manifest:
        raise CorruptReleaseError(
            f"{MANIFEST_FILE} of {address} is not the one that was first loaded here",
            where=str(address),
            expected=f"SHA-256 {before.manifest}; found {now.manifest}",
            fix="try again later; if it stays so, one of them is forged: compare with what others "
            f"have, then {forget}",
        )


def _pointer(path: Path, name: str) -> CorruptReleaseError:
    return CorruptReleaseError(
        f"{name} is {POINTER}", where=str(path), expected=EXPECTED, fix=f"{FIX}, in the release"
    )
