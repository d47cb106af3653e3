"""Repositories: contents, commits, and the branches, tags and pull requests that point to them."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hub_server.answers import HubError

LFS_ENDINGS = (".parquet", ".arrow", ".bin", ".safetensors", ".pt", ".npz", ".zip", ".gz")
GITATTRIBUTES = "".join(f"*{e} filter=lfs diff=lfs merge=lfs -text\n" for e in LFS_ENDINGS).encode()
REGULAR_LIMIT = 10 * 2**20


@dataclass(frozen=True)
class Blob:
    """One version of a file, as a tree names it."""

    oid: str  # Git's SHA-1 of the file, or of the pointer that stands for an LFS file
    size: int
    sha256: str | None = None  # set for LFS files
    pointer_size: int = 0

    @property
    def etag(self) -> str:
        return self.sha256 or self.oid


Tree = dict[str, Blob]


def is_lfs(path: str, size: int, sample: bytes) -> bool:
    """What the `.gitattributes` of this server say; also what is large or not text."""
    return path.endswith(LFS_ENDINGS) or size > REGULAR_LIMIT or b"\0" in sample


def _git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Contents(dict[str, bytes]):
    """Contents of all files of a server, by ETag: Git's SHA-1, or the SHA-256 of LFS objects."""

    def add_regular(self, data: bytes) -> Blob:
        blob = Blob(_git_sha1(data), len(data))
        self[blob.oid] = data
        return blob

    def add_lfs(self, data: bytes) -> Blob:
        sha256 = hashlib.sha256(data).hexdigest()
        self.setdefault(sha256, data)
        return self.lfs_blob(sha256)

    def lfs_blob(self, sha256: str) -> Blob:
        size = len(self[sha256])
        head = "version https://git-lfs.github.com/spec/v1"
        pointer = f"{head}\noid sha256:{sha256}\nsize {size}\n".encode()
        return Blob(_git_sha1(pointer), size, sha256, len(pointer))


class Clock:
    """A time that goes on by one second whenever it is asked for."""

    _now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> str:
        self._now += timedelta(seconds=1)
        return self._now.strftime("%Y-%m-%dT%H:%M:%S.000Z")


@dataclass(frozen=True)
class Commit:
    oid: str
    parents: tuple[str, ...]
    tree: Tree
    title: str
    author: str
    date: str


@dataclass
class PullRequest:
    num: int
    title: str
    author: str
    created: str
    status: str = "open"  # or merged
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def comments(self) -> list[str]:
        """Raw text of all comments, oldest first; the first is the description."""
        return [e["data"]["latest"]["raw"] for e in self.events if e["type"] == "comment"]

    def add(self, repo: "Repo", kind: str, author: str, data: dict[str, Any]) -> dict[str, Any]:
        event = {
            "id": f"{self.num:012x}{len(self.events):012x}",
            "type": kind,
            "createdAt": repo.clock.now(),
            "author": {"name": author, "type": "user"},
            "data": data,
        }
        self.events.append(event)
        return event

    def comment(self, repo: "Repo", author: str, text: str) -> dict[str, Any]:
        data = {"edited": False, "hidden": False, "latest": {"raw": text}}
        return self.add(repo, "comment", author, data)


@dataclass
class Repo:
    """A model, dataset or space with its whole history."""

    kind: str  # model, dataset, space
    id: str
    clock: Clock
    private: bool = False
    gated: bool = False
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

    def at(self, revision: str) -> Commit:
        """The commit of a branch, tag, pull request or commit id."""
        oid = self.branches.get(revision) or self.tags.get(revision) or revision
        if pull := re.fullmatch(r"refs/pr/(\d+)", revision):
            oid = self.pulls.get(int(pull[1]), "")
        if oid in self.commits:
            return self.commits[oid]
        raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")

    def blob(self, revision: str, path: str) -> tuple[Commit, Blob]:
        commit = self.at(revision)
        if path not in commit.tree:
            headers = {"X-Repo-Commit": commit.oid}
            raise HubError(404, "Entry not found", "EntryNotFound", headers)
        return commit, commit.tree[path]

    def commit(self, tree: Tree, parents: tuple[str, ...], title: str, author: str) -> Commit:
        date = self.clock.now()
        text = repr((self.kind, self.id, parents, sorted(tree.items()), title, author, date))
        oid = hashlib.sha1(text.encode()).hexdigest()
        self.commits[oid] = Commit(oid, parents, dict(sorted(tree.items())), title, author, date)
        return self.commits[oid]

    def move(self, ref: str, oid: str) -> None:
        """Let a branch or a pull request point to a commit."""
        if ref.startswith("refs/pr/"):
            self.pulls[int(ref.removeprefix("refs/pr/"))] = oid
        else:
            self.branches[ref] = oid

    def history(self, oid: str) -> Iterator[Commit]:
        parents: tuple[str, ...] = (oid,)
        while parents:
            commit = self.commits[parents[0]]
            yield commit
            parents = commit.parents

    def last_change(self, oid: str, path: str) -> Commit:
        found = self.commits[oid]
        for commit in self.history(oid):
            if commit.tree.get(path) != found.tree.get(path):
                break
            found = commit
        return found

    def propose(self, commit: Commit, text: str) -> PullRequest:
        num = len(self.discussions) + 1
        new = PullRequest(num, commit.title, commit.author, self.clock.now())
        self.discussions[num], self.pulls[num] = new, commit.oid
        new.comment(self, commit.author, text)
        return new

    def merge(self, num: int, author: str) -> Commit:
        """Put what a pull request changes into main, whatever main has become."""
        pull, main = self.discussions[num], self.at("main")
        head = self.commits[self.pulls[num]]
        known = {commit.oid for commit in self.history(main.oid)}
        base = next(commit for commit in self.history(head.oid) if commit.oid in known)
        tree = {p: b for p, b in main.tree.items() if p in head.tree or p not in base.tree}
        tree |= {p: b for p, b in head.tree.items() if base.tree.get(p) != b}
        new = self.commit(tree, (main.oid, head.oid), f"{pull.title} (#{num})", author)
        self.move("main", new.oid)
        pull.status = "merged"
        pull.add(self, "status-change", author, {"status": "merged"})
        return new
