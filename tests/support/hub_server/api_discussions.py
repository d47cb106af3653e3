"""The API of pull requests."""

from __future__ import annotations

from typing import Any

from hub_server.access import check_discuss
from hub_server.answers import Answer, as_json
from hub_server.community import PullRequest, conflicts
from hub_server.repos import Repo
from hub_server.routing import Call, route

PAGE = 50


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
    start = PAGE * int(call.query.get("p", ["0"])[-1])
    page = [_summary(repo, d) for d in found[start : start + PAGE]]
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
