"""Pull requests of a repository with their events, and the API of them."""

from __future__ import annotations

import hashlib
import html
from dataclasses import dataclass, field
from typing import Any, Literal

from hub_server.access import check_discuss
from hub_server.answers import Answer, HubError, as_json
from hub_server.objects import Blob
from hub_server.repos import Commit, Repo, Tree
from hub_server.routing import Call, route

Event = dict[str, Any]
Status = Literal["open", "merged"]


@dataclass
class PullRequest:
    num: int
    title: str
    author: str
    created: str
    status: Status = "open"
    events: list[Event] = field(default_factory=list)

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


def open_pull_request(repo: Repo, author: str, title: str, text: str) -> PullRequest:
    num = len(repo.discussions) + 1
    new = PullRequest(num, title, author, repo.clock.now())
    repo.discussions[num] = new
    new.comment(repo, author, text)
    return new


def changed(repo: Repo, num: int) -> tuple[Commit, dict[str, Blob | None]]:
    """Where a pull request started, and what it puts in place of which files (None: deleted)."""
    head = repo.commits[repo.pulls[num]]
    base = repo.base(repo.branches["main"], head.oid)
    return base, _difference(base.tree, head.tree)


def conflicts(repo: Repo, num: int) -> list[str]:
    """Files that the pull request and main changed in different ways."""
    base, ours = changed(repo, num)
    theirs = _difference(base.tree, repo.commits[repo.branches["main"]].tree)
    return sorted(p for p in ours.keys() & theirs.keys() if ours[p] != theirs[p])


def merge(repo: Repo, num: int, author: str) -> Commit:
    """Merge a pull request into main."""
    pull = repo.discussions[num]
    if found := conflicts(repo, num):
        raise HubError(409, f"Cannot merge: conflicts in {', '.join(found)}")
    _, changes = changed(repo, num)
    main = repo.commits[repo.branches["main"]]
    tree: Tree = {p: b for p, b in main.tree.items() if p not in changes}
    tree |= {p: b for p, b in changes.items() if b is not None}
    parents = (main.oid, repo.pulls[num])
    new = repo.commit(tree, parents, f"{pull.title} (#{num})", "", author)
    repo.move("main", new.oid)
    pull.status = "merged"
    pull.add(repo, "status-change", author, {"status": "merged"})
    return new


def _difference(old: Tree, new: Tree) -> dict[str, Blob | None]:
    return {p: new.get(p) for p in old.keys() | new.keys() if old.get(p) != new.get(p)}


def _version(raw: str, author: str, date: str) -> dict[str, Any]:
    page = f"<p>{html.escape(raw)}</p>"
    return {"raw": raw, "html": page, "updatedAt": date, "author": {"name": author}}


def _summary(repo: Repo, found: PullRequest) -> dict[str, Any]:
    return {
        "num": found.num,
        "title": found.title,
        "status": found.status,
        "author": {"name": found.author, "type": "user"},
        "repo": {"name": repo.id, "type": repo.kind},
        "createdAt": found.created,
        "isPullRequest": True,
        "numComments": len(found.comments),
    }


@route("GET", "/api/{kind}/{repo}/discussions")
def listed(call: Call, repo: Repo) -> Answer:
    def asked(name: str) -> str | None:
        value = call.query.get(name, ["all"])[-1]
        return None if value == "all" else value

    status, author = asked("status"), asked("author")
    found = [
        d
        for d in sorted(repo.discussions.values(), key=lambda d: -d.num)
        if status is None or (d.status == "open") == (status == "open")
        if author is None or d.author == author
    ]
    start = 50 * int(call.query.get("p", ["0"])[-1])
    page = [_summary(repo, d) for d in found[start : start + 50]]
    return as_json({"discussions": page, "count": len(found), "start": start})


@route("GET", "/api/{kind}/{repo}/discussions/{num}")
def details(call: Call, repo: Repo, num: int) -> Answer:
    found = repo.discussions[num]
    data = _summary(repo, found) | {"events": found.events}
    data["changes"] = {"base": "refs/heads/main"}
    data["filesWithConflicts"] = conflicts(repo, num) if found.status == "open" else []
    return as_json(data)


@route("POST", "/api/{kind}/{repo}/discussions/{num}/comment")
def comment(call: Call, repo: Repo, num: int) -> Answer:
    user, text = check_discuss(call.user), call.json()["comment"]
    return as_json({"newMessage": repo.discussions[num].comment(repo, user.name, text)})
