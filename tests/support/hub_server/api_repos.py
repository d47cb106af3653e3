"""The API of repositories as a whole: who am I, create, describe, refs, tags, branches."""

from __future__ import annotations

import re
from typing import Any

import yaml

from hub_server.access import check_write, logged_in
from hub_server.answers import Answer, HubError, as_json
from hub_server.repos import Commit, Repo
from hub_server.routing import Call, route


@route("GET", "/api/whoami-v2")
def whoami(call: Call) -> Answer:
    user = logged_in(call.user)
    role = "read" if user.read_only else "write"
    orgs = [{"name": name, "type": "org", "roleInOrg": "write"} for name in sorted(user.write)]
    auth = {"type": "access_token", "accessToken": {"displayName": "test", "role": role}}
    return as_json({"type": "user", "name": user.name, "orgs": orgs, "auth": auth})


@route("POST", "/api/repos/create")
def create(call: Call) -> Answer:
    asked = call.json()
    kind = asked.get("type") or "model"
    namespace = asked.get("organization") or logged_in(call.user).name
    check_write(namespace, call.user, f"create a {kind}")
    repo_id = f"{namespace}/{asked['name']}"
    if (kind, repo_id) in call.hub.repos:
        raise HubError(409, f"You already created this {kind} repo: {repo_id}")
    private = bool(asked.get("private")) or asked.get("visibility") == "private"
    repo = call.hub.create_repo(repo_id, kind, private=private)
    return as_json({"url": f"{call.hub.endpoint}/{repo.url_path}", "name": repo_id, "id": repo_id})


@route("POST", "/api/validate-yaml")
def validate_yaml(call: Call) -> Answer:
    """Nothing is wrong with any README.md."""
    return as_json({"errors": [], "warnings": []})


@route("GET", "/api/{kind}/{repo}")
@route("GET", "/api/{kind}/{repo}/revision/{rev}")
def info(call: Call, repo: Repo, rev: str = "main") -> Answer:
    commit = repo.at(rev)
    data = {
        "_id": f"{len(repo.id):024x}",
        "id": repo.id,
        "author": repo.namespace,
        "sha": commit.oid,
        "lastModified": commit.date,
        "createdAt": repo.created,
        "private": repo.private,
        "gated": "auto" if repo.gated else False,
        "cardData": _card(call, commit),
        "siblings": [{"rfilename": path} for path in commit.tree],
    }
    return as_json(data)


def _card(call: Call, commit: Commit) -> dict[str, Any]:
    if "README.md" not in commit.tree:
        return {}
    text = call.hub.store.read(commit.tree["README.md"]).decode(errors="replace")
    front_matter = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    return yaml.safe_load(front_matter[1]) if front_matter else {}


@route("GET", "/api/{kind}/{repo}/refs")
def refs(call: Call, repo: Repo) -> Answer:
    found: dict[str, list[dict[str, str]]] = {"branches": [], "tags": [], "converts": []}
    groups = {"heads": "branches", "tags": "tags"}
    if call.flag("include_prs"):
        groups["pr"] = "pullRequests"
        found["pullRequests"] = []
    for ref, oid in repo.refs().items():
        group, name = ref.removeprefix("refs/").split("/", 1)
        if group in groups:
            found[groups[group]].append({"name": name, "ref": ref, "targetCommit": oid})
    return as_json(found)


@route("POST", "/api/{kind}/{repo}/tag/{rev}")
def create_tag(call: Call, repo: Repo, rev: str) -> Answer:
    check_write(repo.namespace, call.user, "create a tag")
    tag = call.json()["tag"]
    commit = repo.at(rev)
    if tag in repo.tags:
        raise HubError(409, f"Tag reference exists already: refs/tags/{tag}")
    repo.tags[tag] = commit.oid
    return as_json({})
