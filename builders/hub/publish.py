"""Publish a release on the Hugging Face Hub: one checked commit, then a tag.

Nothing is kept between runs: each looks at the repository and does what is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from benchmark_spec.catalogue import catalogue
from benchmark_spec.errors import (
    HubAccessError,
    HubError,
    OutputError,
    ReleaseError,
    listing,
    many,
)
from benchmark_spec.manifest import CARD_FILE, MANIFEST_FILE, Manifest
from builders.hub.repository import Changes, ReleaseFile, Repository, changes
from builders.release.diff import check_version
from builders.release.verify import verify
from fslbench_data.files import scratch_folder, temporary_of
from fslbench_data.hub import (
    commit_of,
    is_repo_id,
    no_repository,
    open_pull_requests,
    version_of,
)
from fslbench_data.release.folder import ReleaseFiles, read_manifest
from fslbench_data.release.release import Release, load_release
from fslbench_data.render.card import dataset_card
from fslbench_data.render.export import write_drawn

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoFile


def release_files(
    folder: Path, manifest: Manifest, repo_id: str, scratch: Path, progress: Callable[[str], None]
) -> dict[str, ReleaseFile]:
    """List the files of a release by path, its manifest last; OutputError if it has changed.

    The manifest, the card, which names the address of the published release, and tables without a
    file are written into `scratch`.
    """
    text = (folder / MANIFEST_FILE).read_bytes()
    if Manifest.from_json(text, MANIFEST_FILE) != manifest:
        raise OutputError(
            f"{folder} changed while it was verified", fix="let nothing write to it meanwhile"
        )
    release = Release(manifest, ReleaseFiles(str(folder)))
    whole = write_drawn(release, scratch, progress)
    files = {}
    for table, original in zip(whole.tables, manifest.tables, strict=True):
        path = (scratch if original.drawn else folder) / table.path
        files[table.path] = ReleaseFile(path, table.bytes, table.sha256, table.digest)
    text = text if whole == manifest else whole.to_json().encode()
    card = dataset_card(whole, release, repo_id).encode()
    for name, content in ((CARD_FILE, card), (MANIFEST_FILE, text)):
        (scratch / name).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        files[name] = ReleaseFile(scratch / name, len(content), digest)
    return files


def left_out(folder: Path, files: Mapping[str, ReleaseFile]) -> tuple[str, ...]:
    """List the files in a release's folder that are not published, such as images."""
    paths = (
        p.relative_to(folder).as_posix()
        for p in folder.rglob("*")
        if not p.is_dir() and temporary_of(p.name) is None
    )
    return tuple(sorted(path for path in paths if path not in files))


def check_licences(manifest: Manifest) -> None:
    """Refuse pictures and tables computed from them that may not be redistributed.

    The catalogue may allow less than a data set declares.
    """
    licences = {d.name: d.licence for d in manifest.datasets}
    terms = {d.name: d.redistribution for d in manifest.datasets}
    for name in terms:
        entry = catalogue().get(name)
        if entry is not None and entry.redistribution == "tables":
            terms[name] = "tables"
    tables = [
        t
        for t in manifest.tables
        if (t.kind == "pictures" and terms[t.dataset] != "images")
        or (t.kind in ("features", "attributes") and terms[t.dataset] == "tables")
    ]
    if not tables:
        return
    names = ", ".join(dict.fromkeys(t.dataset for t in tables))
    kinds = list(dict.fromkeys(t.kind for t in tables))
    raise ReleaseError(
        f"{many(len(tables), 'table')} may not be published: images, or what is computed from "
        "them, whose licence does not let that be passed on",
        where=listing([f"{t.path} ({t.dataset}: {licences[t.dataset]})" for t in tables]),
        expected=f"of {names} no {' or '.join(kinds)}",
        fix=f"take {' and '.join(kinds)} of {names} out of the specification and build the release "
        "again. A private repository changes nothing: it is a copy for others, too. If the licence "
        'of images of your own does allow it, say redistribution = "features", or "images" for '
        "pictures, in the options of that data set",
    )


class Published(Struct, frozen=True):
    """What was published, and where.

    `changes` were committed or proposed, None if the release was published before; `proposal` is
    the page of the pull request to be merged; `compared` is the number of files that were
    downloaded again and are equal; files `left_out` are no part of the release.
    """

    manifest: Manifest
    repo_id: str
    tag: str
    commit: str
    left_out: tuple[str, ...]
    tagged: bool
    changes: Changes | None = None
    proposal: str | None = None
    compared: int = 0


def publish(
    folder: Path,
    repo_id: str,
    *,
    private: bool = False,
    create_pr: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Published:
    """Publish a release, or finish what a previous run began.

    Parameters
    ----------
    repo_id
        ``ORG/NAME``; the repository is made, as a `private` one if asked, if there is none.
    create_pr
        Only propose the release in a pull request; a later run without this sets the tag.

    Raises
    ------
    ReleaseError
        If the release has problems, too low a version or tables that may not be redistributed, or
        comes back from the Hub changed; nothing is then tagged.
    HubError
        If the repository holds something else, the tag names another release, or the Hub refuses.
    """
    folder, manifest = read_manifest(folder)
    _check_account(repo_id)
    check_licences(manifest)
    if problems := verify(folder, lambda path: progress(f"verifying {path}")).problems:
        raise ReleaseError(
            f"{folder} has {many(len(problems), 'problem')}",
            where=listing([f"{p.path}: {p.what}" for p in problems]),
            expected="a release as fslbench-build release makes it",
            fix="see fslbench-build verify, and build it again",
        )
    tag = f"v{manifest.version}"
    with scratch_folder("publish") as scratch:
        files = release_files(folder, manifest, repo_id, scratch, progress)
        others, repo = left_out(folder, files), Repository(repo_id)
        progress("looking at the repository")
        main, tags = repo.opened(private=private)
        if commit := tags.get(tag):
            _check_tagged(repo, files, tag, commit)
            return Published(manifest, repo_id, tag, commit, others, tagged=True)
        _check_version(repo, Release(manifest, ReleaseFiles(str(folder))), tags, progress)
        remote = repo.files(main)
        to_commit = changes(files, remote, _published_before(repo, manifest, files, main, remote))
        commit, proposal = main, None
        if to_commit:
            message = f"{manifest.name} {tag}"
            for found in open_pull_requests(repo_id, message) if create_pr else ():
                commit, proposal = commit_of(repo_id, f"refs/pr/{found.num}"), found.url
                if not changes(files, repo.files(commit), None):
                    break
            else:
                progress(f"uploading {len(to_commit.new) + len(to_commit.changed)} files")
                commit, proposal = repo.commit(
                    files, to_commit, message=message, parent=main, create_pr=create_pr
                )
        repo.check(files, commit, progress)
        if not create_pr:
            progress(f"setting the tag {tag}")
            repo.tag(tag, commit)
            repo.check({MANIFEST_FILE: files[MANIFEST_FILE]}, tag, progress)
    return Published(
        manifest, repo_id, tag, commit, others, not create_pr, to_commit, proposal, len(files)
    )


def _check_account(repo_id: str) -> None:
    """Refuse a name that no repository can have, and use without a login."""
    from huggingface_hub import get_token

    if not is_repo_id(repo_id):
        raise no_repository(repo_id)
    if get_token() is None:
        raise HubAccessError(
            "nobody is logged in to the Hub",
            fix="log in with an account that may write there: hf auth login, or HF_TOKEN",
        )


_OTHERS = (".gitattributes", ".gitignore", CARD_FILE, "LICENSE", "LICENSE.md")
"""Files that a repository may hold before its first release."""


def _published_before(
    repo: Repository,
    manifest: Manifest,
    files: Mapping[str, ReleaseFile],
    main: str,
    remote: Mapping[str, RepoFile],
) -> Manifest | None:
    """Return the manifest on the main branch, if any: an earlier release's, or this one's."""
    if MANIFEST_FILE not in remote:
        unexpected = sorted(remote.keys() - {*_OTHERS, *files})
        if unexpected:
            raise HubError(
                f"{repo.id} holds something, and no release",
                where=listing(unexpected),
                fix="publish into a repository of its own, which is made if there is none",
            )
        return None
    if files[MANIFEST_FILE].is_as(remote[MANIFEST_FILE]):
        return manifest
    with repo.downloaded(MANIFEST_FILE, main) as path:
        before = Manifest.from_json(path.read_bytes(), f"{MANIFEST_FILE} of {repo.id}@{main}")
    if before.name != manifest.name:
        raise HubError(
            f"{repo.id} holds the release {before.name}, not {manifest.name}",
            expected=f"a repository of {manifest.name}, or a new one",
            fix="publish into a repository of its own, which is made if there is none",
        )
    if _number(before) > _number(manifest):
        raise HubError(
            f"{repo.id} holds version {before.version}, which is later than {manifest.version}",
            fix="give the release a later version; fslbench-build diff says which number to raise",
        )
    return before


def _check_version(
    repo: Repository, release: Release, tags: Mapping[str, str], progress: Callable[[str], None]
) -> None:
    """Compare the release with the published versions just below and above it."""
    version = _number(release.manifest)
    published: dict[tuple[int, ...], str] = {
        number: commit for tag, commit in tags.items() if (number := version_of(tag))
    }

    def nearest(numbers: Iterable[tuple[int, ...]]) -> Release | None:
        for number in numbers:
            if MANIFEST_FILE in repo.files(published[number]):
                found = load_release(f"{repo.id}@{published[number]}")
                progress(f"comparing with {found}")
                return found
        return None

    if below := nearest(sorted((n for n in published if n < version), reverse=True)):
        check_version(below, release)
    if above := nearest(sorted(n for n in published if n > version)):
        fix = f"give the release a version above {above.manifest.version}"
        check_version(release, above, fix)


def _check_tagged(
    repo: Repository, files: Mapping[str, ReleaseFile], tag: str, commit: str
) -> None:
    """Refuse a release that differs from the one that its tag names."""
    remote = repo.files(commit)
    differing = [path for path, file in files.items() if not file.is_as(remote.get(path))]
    if differing:
        raise HubError(
            f"{repo.id} has published {tag} already, and it is another release: "
            f"{many(len(differing), 'file')} differ",
            where=listing(differing),
            expected="the same files: a tag is never moved, for results are bound to it",
            fix="raise the version of the release and build it again; fslbench-build diff says "
            "which number to raise",
        )


def _number(manifest: Manifest) -> tuple[int, ...]:
    return tuple(int(part) for part in manifest.version.split("."))
