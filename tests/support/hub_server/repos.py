"""Repositories: commits, and the branches, tags and pull requests that point to them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hub_server.answers import HubError
from hub_server.objects import Blob

if TYPE_CHECKING:
    from hub_server.community import PullRequest

Tree = dict[str, Blob]
LFS_ENDINGS = (".parquet", ".arrow", ".bin", ".safetensors", ".pt", ".npz", ".zip", ".gz")
GITATTRIBUTES = "".join(f"*{e} filter=lfs diff=lfs merge=lfs -text\n" for e in LFS_ENDINGS).encode()


class Clock:
    """A time that goes on by one second whenever it is asked for."""

    def __init__(self) -> None:
        self._ticks = 0

    def now(self) -> str:
        self._ticks += 1
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._ticks)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


@dataclass(frozen=True)
class Commit:
    oid: str
    parents: tuple[str, ...]
    tree: Tree
    title: str
    message: str
    author: str
    date: str


@dataclass
class Repo:
    """A model, dataset or space with its whole history."""

    kind: str  # model, dataset, space
    id: str
    clock: Clock
    private: bool = False
    gated: bool = False
    created: str = ""
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    pulls: dict[int, str] = field(default_factory=dict)
    discussions: dict[int, PullRequest] = field(default_factory=dict)
    lfs: set[str] = field(default_factory=set)  # objects that were uploaded to this repository

    @property
    def namespace(self) -> str:
        return self.id.split("/")[0]

    @property
    def url_path(self) -> str:
        return self.id if self.kind == "model" else f"{self.kind}s/{self.id}"

    def refs(self) -> dict[str, str]:
        """Every full name of a ref, with its commit."""
        return (
            {f"refs/heads/{name}": oid for name, oid in self.branches.items()}
            | {f"refs/tags/{name}": oid for name, oid in self.tags.items()}
            | {f"refs/pr/{num}": oid for num, oid in self.pulls.items()}
        )

    def at(self, revision: str) -> Commit:
        """The commit of a branch, tag, pull request or commit id."""
        short = revision.removeprefix("refs/heads/")
        oid = self.branches.get(short) or self.tags.get(revision.removeprefix("refs/tags/"))
        if pull := re.fullmatch(r"refs/pr/(\d+)", revision):
            oid = self.pulls.get(int(pull[1]))
        oid = oid or revision
        if oid in self.commits:
            return self.commits[oid]
        raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")

    def blob(self, revision: str, path: str) -> tuple[Commit, Blob]:
        commit = self.at(revision)
        if path not in commit.tree:
            headers = {"X-Repo-Commit": commit.oid}
            raise HubError(404, "Entry not found", "EntryNotFound", headers)
        return commit, commit.tree[path]

    def commit(
        self, tree: Tree, parents: tuple[str, ...], title: str, message: str, author: str
    ) -> Commit:
        """A new commit; no ref points to it yet."""
        date = self.clock.now()
        text = repr((self.kind, self.id, parents, sorted(tree.items()), title, author, date))
        oid = hashlib.sha1(text.encode()).hexdigest()
        new = Commit(oid, parents, dict(sorted(tree.items())), title, message, author, date)
        self.commits[oid] = new
        return new

    def move(self, ref: str, oid: str) -> None:
        """Let a branch (by its short or full name) or a pull request point to a commit."""
        if ref.startswith("refs/pr/"):
            self.pulls[int(ref.removeprefix("refs/pr/"))] = oid
        else:
            self.branches[ref.removeprefix("refs/heads/")] = oid

    def history(self, oid: str) -> Iterator[Commit]:
        """A commit and its first parents, newest first."""
        parents: tuple[str, ...] = (oid,)
        while parents:
            commit = self.commits[parents[0]]
            yield commit
            parents = commit.parents

    def last_change(self, oid: str, path: str) -> Commit:
        """The commit that gave a file its present contents."""
        found = self.commits[oid]
        for commit in self.history(oid):
            if commit.tree.get(path) != found.tree.get(path):
                break
            found = commit
        return found

    def base(self, ours: str, theirs: str) -> Commit:
        """The newest commit that two lines of history share."""
        known = {commit.oid for commit in self.history(ours)}
        return next(commit for commit in self.history(theirs) if commit.oid in known)
