"""Read and write a data set repository of the Hub; failures are errors of this package."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from huggingface_hub import CommitOperationAdd, CommitOperationDelete
from msgspec import Struct

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import CorruptReleaseError, HubAccessError, HubError, HubNotFoundError
from benchmark_spec.manifest import Manifest
from fslbench_data.files import scratch_folder, sha256_of
from fslbench_data.hub import (
    api,
    commit_of,
    fetch,
    files_at,
    git_blob,
    hub_errors,
    plain,
    transferred,
)

if TYPE_CHECKING:
    from huggingface_hub.hf_api import GitRefs, RepoFile


class ReleaseFile(Struct, frozen=True):
    """A file to publish; a table's has its content digest, too."""

    path: Path
    size: int
    sha256: str
    digest: str = ""

    def is_as(self, remote: RepoFile | None) -> bool:
        """Return whether a file of a repository has the same content."""
        if remote is None or remote.size != self.size:
            return False
        if remote.lfs is not None:
            return remote.lfs.sha256 == self.sha256
        return remote.blob_id == git_blob(self.path)  # not stored as a large file


class Changes(Struct, frozen=True):
    """The files that a commit would change in a repository, and those it would not."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    deleted: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.deleted)

    def __str__(self) -> str:
        return ", ".join(f"{len(getattr(self, kind))} {kind}" for kind in self.__struct_fields__)


def changes(
    files: Mapping[str, ReleaseFile], remote: Mapping[str, RepoFile], before: Manifest | None
) -> Changes:
    """List the differences between a release and a repository's files.

    Only tables of the release `before` are deleted.
    """
    unchanged = [path for path, file in files.items() if file.is_as(remote.get(path))]
    differing = [path for path in files if path not in unchanged]
    old = [table.path for table in before.tables] if before else []
    return Changes(
        new=tuple(path for path in differing if path not in remote),
        changed=tuple(path for path in differing if path in remote),
        unchanged=tuple(unchanged),
        deleted=tuple(path for path in old if path in remote and path not in files),
    )


class Repository:
    """A data set repository of the Hub, with the token of the Hub's own login."""

    def __init__(self, repo_id: str) -> None:
        self.id = repo_id
        self._api = api()

    def opened(self, *, private: bool) -> tuple[str, dict[str, str]]:
        """Return the commits of the main branch and of tags; makes a missing repository.

        With `private`, a public repository is refused.
        """
        try:
            refs = self._refs()
        except HubNotFoundError:
            with hub_errors("making the repository", self.id):  # if nobody did meanwhile
                self._api.create_repo(self.id, repo_type="dataset", private=private, exist_ok=True)
            refs = self._refs()
        if private:
            with hub_errors("asking whether it is private", self.id):
                private = bool(self._api.dataset_info(self.id).private)
            if not private:
                raise HubError(
                    f"{self.id} is there already, and it is public",
                    expected="with --private, a repository that is private, or none",
                    fix="make it private in its settings on the Hub, or publish without --private",
                )
        branches = {ref.name: ref.target_commit for ref in refs.branches}
        return branches.get("main", ""), {ref.name: ref.target_commit for ref in refs.tags}

    def _refs(self) -> GitRefs:
        with hub_errors("looking at its tags", self.id):
            return self._api.list_repo_refs(self.id, repo_type="dataset")

    def files(self, revision: str) -> dict[str, RepoFile]:
        """List all files of a revision by path; none for the revision ''."""
        return files_at(self.id, revision) if revision else {}

    def commit(
        self,
        files: Mapping[str, ReleaseFile],
        to_commit: Changes,
        *,
        message: str,
        parent: str,
        create_pr: bool,
    ) -> tuple[str, str | None]:
        """Upload changes in one commit on `parent`; returns it, and its pull request's page."""
        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            CommitOperationAdd(path, str(files[path].path))
            for path in (*to_commit.new, *to_commit.changed)
        ]
        operations += [CommitOperationDelete(path, is_folder=False) for path in to_commit.deleted]
        doing = f"uploading {len(operations)} files"
        try:
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
        except (RuntimeError, ValueError) as error:  # of the Hub's client
            raise HubError(
                f"the upload failed: {plain(error)}",
                where=f"{self.id}, {doing}",
                fix="run the same command again: what is uploaded is not uploaded again",
            ) from None
        return done.oid, done.pr_url

    def tag(self, name: str, commit: str) -> None:
        """Set a tag, and check that it names the commit; an existing tag is not moved."""
        with hub_errors(f"setting the tag {name}", self.id):
            self._api.create_tag(
                self.id, tag=name, revision=commit, repo_type="dataset", exist_ok=True
            )
        tagged = commit_of(self.id, name)
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
        """Download files, without any cache, and compare them with the uploaded ones."""
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
            yield fetch(self.id, path, revision, cache=folder)
