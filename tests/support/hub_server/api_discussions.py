"""The API of discussions and pull requests."""

from __future__ import annotations

from typing import Any

from hub_server.access import User, check_discuss, check_write
from hub_server.answers import Answer, HubError, as_json
from hub_server.community import (
    Discussion,
    Status,
    conflicts,
    diff,
    find,
    merge,
    open_discussion,
)
from hub_server.repos import Repo
from hub_server.routing import Call, route

PAGE = 50


def _summary(repo: Repo, found: Discussion) -> dict[str, Any]:
    return {
        "num": found.num,
        "title": found.title,
        "status": found.status,
        "author": {"name": found.author, "type": "user"},
        "repo": {"name": repo.id, "type": repo.kind},
        "createdAt": found.created,
        "isPullRequest": found.is_pull_request,
        "numComments": len(found.comments),
    }


@route("GET", "/api/{kind}/{repo}/discussions")
def listed(call: Call, repo: Repo) -> Answer:
    def asked(name: str) -> str | None:
        value = call.query.get(name, ["all"])[-1]
        return None if value == "all" else value

    kind, status, author = asked("type"), asked("status"), asked("author")
    found = [
        d
        for d in sorted(repo.discussions.values(), key=lambda d: -d.num)
        if kind is None or d.is_pull_request == (kind == "pull_request")
        if status is None or (d.status in ("open", "draft")) == (status == "open")
        if author is None or d.author == author
    ]
    start = PAGE * int(call.query.get("p", ["0"])[-1])
    page = [_summary(repo, d) for d in found[start : start + PAGE]]
    return as_json({"discussions": page, "count": len(found), "start": start})


@route("POST", "/api/{kind}/{repo}/discussions")
def create(call: Call, repo: Repo) -> Answer:
    user, asked = check_discuss(call.user), call.json()
    pull = bool(asked.get("pullRequest"))
    status: Status = "draft" if pull else "open"
    text = asked.get("description") or ""
    new = open_discussion(repo, user.name, asked["title"], text, status=status, pull=pull)
    if pull:
        repo.pulls[new.num] = repo.branches["main"]
    return as_json({"num": new.num, "pullRequest": pull})


@route("GET", "/api/{kind}/{repo}/discussions/{num}")
def details(call: Call, repo: Repo, num: int) -> Answer:
    found = find(repo, num)
    data = _summary(repo, found) | {"events": found.events}
    if found.is_pull_request:
        data["changes"] = {"base": "refs/heads/main"}
        if found.merge_commit:
            data["changes"]["mergeCommitId"] = found.merge_commit
        opened = found.status in ("open", "draft")
        data["filesWithConflicts"] = conflicts(repo, num) if opened else []
        if call.flag("diff"):
            data["diff"] = diff(repo, num, call.hub.store)
    return as_json(data)


@route("POST", "/api/{kind}/{repo}/discussions/{num}/comment")
def comment(call: Call, repo: Repo, num: int) -> Answer:
    user, text = check_discuss(call.user), call.json()["comment"]
    if not text.strip():
        raise HubError(400, "A comment must not be empty")
    return as_json({"newMessage": find(repo, num).comment(repo, user.name, text)})


@route("POST", "/api/{kind}/{repo}/discussions/{num}/comment/{id}/{how}")
def change_comment(call: Call, repo: Repo, num: int, id: str, how: str) -> Answer:  # noqa: A002
    user = check_discuss(call.user)
    if how not in ("edit", "hide"):
        raise HubError(404, "Not found")
    text = call.json()["content"] if how == "edit" else None
    return as_json({"updatedComment": find(repo, num).edit(repo, id, user.name, text)})


@route("POST", "/api/{kind}/{repo}/discussions/{num}/title")
def rename(call: Call, repo: Repo, num: int) -> Answer:
    user, found = _may_manage(call, repo, num)
    old, found.title = found.title, call.json()["title"]
    data = {"from": old, "to": found.title}
    return as_json({"newTitle": found.add(repo, "title-change", user.name, data)})


@route("POST", "/api/{kind}/{repo}/discussions/{num}/status")
def change_status(call: Call, repo: Repo, num: int) -> Answer:
    user, found = _may_manage(call, repo, num)
    asked = call.json()
    if asked.get("status") not in ("open", "closed"):
        raise HubError(400, "The status must be open or closed")
    if found.status == "merged":
        raise HubError(400, "The pull request is merged")
    if asked.get("comment"):
        found.comment(repo, user.name, asked["comment"])
    return as_json({"newStatus": found.turn(repo, user.name, asked["status"])})


@route("POST", "/api/{kind}/{repo}/discussions/{num}/merge")
def merge_pull_request(call: Call, repo: Repo, num: int) -> Answer:
    user = check_write(repo.namespace, call.user, "merge a pull request")
    if text := call.json().get("comment"):
        find(repo, num).comment(repo, user.name, text)
    return as_json({"mergeCommitId": merge(repo, num, user.name).oid})


def _may_manage(call: Call, repo: Repo, num: int) -> tuple[User, Discussion]:
    """Titles and states are for authors and for those who may write."""
    user, found = check_discuss(call.user), find(repo, num)
    if found.author != user.name:
        check_write(repo.namespace, call.user, "change a discussion")
    return user, found
