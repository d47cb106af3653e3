"""A data set repository of the Hub, as publishing needs it; every failure is an own error."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from huggingface_hub import CommitOperationAdd, CommitOperationDelete
from huggingface_hub.hf_api import RepoFile

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import CorruptReleaseError, HubAccessError, HubError, HubNotFoundError
from benchmark_spec.manifest import Manifest
from fslbench_data.files import scratch_folder, sha256_of
from fslbench_data.hub import api, fetch, hub_errors, plain, transferred


@dataclass(frozen=True)
class ReleaseFile:
    """A file to publish: its path on the disk or its bytes; of a table its content digest, too."""

    content: Path | bytes
    size: int
    sha256: str
    digest: str = ""

    def is_as(self, remote: RepoFile | None) -> bool:
        """Return whether a file of a repository has the same content."""
        if remote is None or remote.size != self.size:
            return False
        if remote.lfs is not None:
            return remote.lfs.sha256 == self.sha256
        # a file that the repository does not keep as a large one has git's digest, and is small
        content = self.content if isinstance(self.content, bytes) else self.content.read_bytes()
        blob = f"blob {self.size}\0".encode() + content
        return remote.blob_id == hashlib.sha1(blob, usedforsecurity=False).hexdigest()


def small_file(content: bytes) -> ReleaseFile:
    """Make a file of these bytes."""
    return ReleaseFile(content, len(content), hashlib.sha256(content).hexdigest())


@dataclass(frozen=True)
class Changes:
    """What a commit would do to a repository; `unchanged` files are not in it."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    deleted: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.deleted)

    def __str__(self) -> str:
        counts = ((len(getattr(self, kind)), kind) for kind in self.__dataclass_fields__)
        return ", ".join(f"{count} {kind}" for count, kind in counts)


def changes(
    files: Mapping[str, ReleaseFile], remote: Mapping[str, RepoFile], before: Manifest | None
) -> Changes:
    """List what differs between a release and a repository's files.

    Of what the repository held before, only tables of the release `before` are deleted.
    """
    same = [path for path, file in files.items() if file.is_as(remote.get(path))]
    other = [path for path in files if path not in same]
    old = [t.path for t in before.tables] if before else []
    return Changes(
        new=tuple(path for path in other if path not in remote),
        changed=tuple(path for path in other if path in remote),
        unchanged=tuple(same),
        deleted=tuple(path for path in old if path in remote and path not in files),
    )


@dataclass(frozen=True)
class Proposal:
    """A pull request: its number, its page and its last commit."""

    number: int
    url: str
    commit: str


class Repository:
    """A data set repository of the Hub, with the token of the Hub's own login."""

    def __init__(self, repo_id: str) -> None:
        self.id = repo_id
        self._api = api()

    def opened(self, *, private: bool) -> tuple[str, dict[str, str]]:
        """Return the commits of its main branch and its tags; it is made if there is none.

        If it is to be `private`, one that is public is refused.
        """
        refs = self._refs()
        if refs is None:
            with hub_errors("making the repository", self.id):  # if nobody did meanwhile
                self._api.create_repo(self.id, repo_type="dataset", private=private, exist_ok=True)
            return self._refs() or ("", {})
        if private:
            with hub_errors("asking whether it is private", self.id):
                private = bool(self._api.dataset_info(self.id).private)
            if not private:
                raise HubError(
                    f"{self.id} is there already, and it is public",
                    expected="with --private, a repository that is private, or none",
                    fix="make it private in its settings on the Hub, or publish without --private",
                )
        return refs

    def _refs(self) -> tuple[str, dict[str, str]] | None:
        """Return the same; None without such a repository."""
        try:
            with hub_errors("looking at its tags", self.id):
                refs = self._api.list_repo_refs(self.id, repo_type="dataset")
        except HubNotFoundError:
            return None
        branches = {ref.name: ref.target_commit for ref in refs.branches}
        return branches.get("main", ""), {ref.name: ref.target_commit for ref in refs.tags}

    def files(self, revision: str) -> dict[str, RepoFile]:
        """List all files of a revision by path."""
        if not revision:
            return {}
        with hub_errors(f"listing the files at {revision}", self.id):
            tree = self._api.list_repo_tree(
                self.id, recursive=True, revision=revision, repo_type="dataset"
            )
            return {entry.path: entry for entry in tree if isinstance(entry, RepoFile)}

    def commit(
        self,
        files: Mapping[str, ReleaseFile],
        what: Changes,
        *,
        message: str,
        parent: str,
        create_pr: bool,
    ) -> tuple[str, Proposal | None]:
        """Upload what differs in one commit on `parent`; gives it, and its pull request, if any."""
        operations: list[CommitOperationAdd | CommitOperationDelete] = []
        for path in (*what.new, *what.changed):
            content = files[path].content
            source = content if isinstance(content, bytes) else str(content)
            operations.append(CommitOperationAdd(path, source))
        operations += [CommitOperationDelete(path, is_folder=False) for path in what.deleted]
        doing = f"uploading {len(operations)} files"
        try:
            with _without_bars():
                done = transferred(
                    doing,
                    self.id,
                    lambda: self._api.create_commit(
                        self.id,
                        operations,
                        commit_message=message,
                        repo_type="dataset",
                        create_pr=create_pr,
                        parent_commit=parent or None,
                    ),
                )
        except HubAccessError as error:
            if create_pr:
                raise
            raise error.with_advice(
                fix=f"{error.fix}; or propose it to those who may: --create-pr"
            ) from None
        except (RuntimeError, ValueError) as error:  # the client's own words for what went wrong
            raise HubError(
                f"the upload failed: {plain(error)}",
                where=f"{self.id}, {doing}",
                fix="run the same command again: what is uploaded is not uploaded again",
            ) from None
        if not create_pr:
            return done.oid, None
        number, url = done.pr_num, done.pr_url
        if number is None or url is None:
            raise HubError("the Hub opened no pull request", where=self.id)
        return done.oid, Proposal(number, url, done.oid)

    def proposals(self, title: str) -> Iterator[Proposal]:
        """Yield open pull requests of that title."""
        with hub_errors("listing its pull requests", self.id):
            requests = list(
                self._api.get_repo_discussions(
                    self.id,
                    repo_type="dataset",
                    discussion_type="pull_request",
                    discussion_status="open",
                )
            )
            heads = self._api.list_repo_refs(
                self.id, repo_type="dataset", include_pull_requests=True
            ).pull_requests
        commits = {ref.ref: ref.target_commit for ref in heads or []}
        for request in requests:
            ref = f"refs/pr/{request.num}"
            if request.title == title and ref in commits:
                yield Proposal(request.num, request.url, commits[ref])

    def tag(self, name: str, commit: str) -> None:
        """Set a tag, and check that it names the commit; one that exists is not moved."""
        with hub_errors(f"setting the tag {name}", self.id):
            self._api.create_tag(
                self.id, tag=name, revision=commit, repo_type="dataset", exist_ok=True
            )
        with hub_errors(f"looking up the tag {name}", self.id):
            tagged = self._api.dataset_info(self.id, revision=name).sha
        if tagged != commit:
            raise HubError(
                f"the tag {name} names commit {tagged}, and not the one that was just verified",
                where=self.id,
                expected=commit,
                fix="see who else publishes there: a tag is never moved, so the next version must "
                "have another number",
            )

    def check(
        self, files: Mapping[str, ReleaseFile], revision: str, progress: Callable[[str], None]
    ) -> None:
        """Download files, past every cache, and compare them with what they should be."""
        for path, file in files.items():
            progress(f"downloading {path} again")
            with self.downloaded(path, revision) as copy:
                sha256, problem = sha256_of(copy), ""
                if sha256 != file.sha256:
                    problem = f"its SHA-256 is {sha256}, not {file.sha256}"
                elif file.digest:
                    digest = content_digest(pq.ParquetFile(copy).read())
                    if digest != file.digest:
                        problem = f"its content digest is {digest}, not {file.digest}"
            if problem:
                raise CorruptReleaseError(
                    f"{path} came back from the Hub as another file: {problem}",
                    where=f"{self.id} at {revision}",
                    expected="the bytes that were uploaded",
                    fix="run the same command again, perhaps through another network; if it stays "
                    "so, the Hub or what stands between changes files, and nobody should load them",
                )

    @contextmanager
    def downloaded(self, path: str, revision: str) -> Iterator[Path]:
        """Yield a file of a revision, downloaded anew and removed afterwards."""
        with scratch_folder("publish") as folder:
            with _without_bars():
                copy = fetch(self.id, path, revision, cache=folder)
            yield copy


@contextmanager
def _without_bars() -> Iterator[None]:
    """Disable the progress bars of the Hub's client: the command has its own."""
    from huggingface_hub.utils.tqdm import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    before = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if not before:
            enable_progress_bars()
