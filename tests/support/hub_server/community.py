"""Discussions and pull requests of a repository, with their events."""

from __future__ import annotations

import difflib
import hashlib
import html
from dataclasses import dataclass, field
from typing import Any, Literal

from hub_server.answers import HubError
from hub_server.objects import Blob, ObjectStore, pointer
from hub_server.repos import Commit, Repo, Tree

Event = dict[str, Any]
Status = Literal["open", "closed", "merged", "draft"]


@dataclass
class Discussion:
    num: int
    title: str
    author: str
    created: str
    is_pull_request: bool
    status: Status = "open"
    events: list[Event] = field(default_factory=list)
    merge_commit: str | None = None

    @property
    def comments(self) -> list[str]:
        """Raw text of all comments, oldest first; the first is the description."""
        return [e["data"]["latest"]["raw"] for e in self.events if e["type"] == "comment"]

    def add(self, repo: Repo, kind: str, author: str, data: dict[str, Any]) -> Event:
        text = f"{repo.kind} {repo.id} {self.num} {len(self.events)}"
        event: Event = {
            "id": hashlib.sha1(text.encode()).hexdigest()[:24],
            "type": kind,
            "createdAt": repo.clock.now(),
            "author": {"name": author, "type": "user"},
            "data": data,
        }
        self.events.append(event)
        return event

    def comment(self, repo: Repo, author: str, raw: str) -> Event:
        latest = _version(raw, author, repo.clock.now())
        data = {"edited": False, "hidden": False, "latest": latest, "history": [latest]}
        return self.add(repo, "comment", author, data)

    def edit(self, repo: Repo, comment: str, author: str, raw: str | None) -> Event:
        """Give a comment another text, or hide it (None)."""
        for event in self.events:
            if event["id"] == comment and event["type"] == "comment":
                data = event["data"]
                if raw is None:
                    data["hidden"] = True
                else:
                    data["latest"] = _version(raw, author, repo.clock.now())
                    data["history"].append(data["latest"])
                    data["edited"] = True
                return event
        raise HubError(404, "Comment not found")

    def turn(self, repo: Repo, author: str, status: Status) -> Event:
        self.status = status
        return self.add(repo, "status-change", author, {"status": status})


def open_discussion(
    repo: Repo, author: str, title: str, text: str, *, status: Status = "open", pull: bool = False
) -> Discussion:
    num = len(repo.discussions) + 1
    new = Discussion(num, title, author, repo.clock.now(), pull, status)
    repo.discussions[num] = new
    new.comment(repo, author, text)
    return new


def find(repo: Repo, num: int) -> Discussion:
    if num not in repo.discussions:
        raise HubError(404, "Discussion not found")
    return repo.discussions[num]


def changed(repo: Repo, num: int) -> tuple[Commit, dict[str, Blob | None]]:
    """Where a pull request started, and what it puts in place of which files (None: deleted)."""
    head = repo.commits[repo.pulls[num]]
    base = repo.base(repo.branches["main"], head.oid)
    if head.oid in {c.oid for c in repo.history(repo.branches["main"])}:
        return head, {}
    return base, _difference(base.tree, head.tree)


def conflicts(repo: Repo, num: int) -> list[str]:
    """Files that the pull request and main changed in different ways."""
    base, ours = changed(repo, num)
    theirs = _difference(base.tree, repo.commits[repo.branches["main"]].tree)
    return sorted(p for p in ours.keys() & theirs.keys() if ours[p] != theirs[p])


def merge(repo: Repo, num: int, author: str) -> Commit:
    """Merge a pull request into main."""
    pull = find(repo, num)
    if not pull.is_pull_request or pull.status not in ("open", "draft"):
        raise HubError(400, f"Cannot merge: #{num} is not an open pull request")
    if found := conflicts(repo, num):
        raise HubError(409, f"Cannot merge: conflicts in {', '.join(found)}")
    _, changes = changed(repo, num)
    main = repo.commits[repo.branches["main"]]
    tree: Tree = {p: b for p, b in main.tree.items() if p not in changes}
    tree |= {p: b for p, b in changes.items() if b is not None}
    parents = (main.oid, repo.pulls[num])
    new = repo.commit(tree, parents, f"{pull.title} (#{num})", "", author)
    repo.move("main", new.oid)
    pull.merge_commit = new.oid
    pull.turn(repo, author, "merged")
    return new


def diff(repo: Repo, num: int, store: ObjectStore) -> str:
    """What a pull request changes, as Git would print it (LFS files by their pointers)."""
    base, changes = changed(repo, num)
    lines: list[str] = []
    for path, new in sorted(changes.items()):
        old_lines, new_lines = _lines(base.tree.get(path), store), _lines(new, store)
        lines.append(f"diff --git a/{path} b/{path}")
        lines += difflib.unified_diff(old_lines, new_lines, f"a/{path}", f"b/{path}", lineterm="")
    return "\n".join(lines)


def _lines(blob: Blob | None, store: ObjectStore) -> list[str]:
    if blob is None:
        return []
    data = pointer(blob.sha256, blob.size) if blob.sha256 else store.read(blob)
    return data.decode(errors="replace").splitlines()


def _difference(old: Tree, new: Tree) -> dict[str, Blob | None]:
    return {p: new.get(p) for p in old.keys() | new.keys() if old.get(p) != new.get(p)}


def _version(raw: str, author: str, date: str) -> dict[str, Any]:
    page = f"<p>{html.escape(raw)}</p>"
    return {"raw": raw, "html": page, "updatedAt": date, "author": {"name": author}}
