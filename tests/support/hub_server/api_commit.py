"""The API of uploads: how each file is sent, LFS objects, commits and pull requests."""

from __future__ import annotations

import base64
import json
from typing import Any

from hub_server.access import User, check_discuss, check_write
from hub_server.answers import Answer, HubError, as_json
from hub_server.api_files import sign, signed
from hub_server.api_xet import receive
from hub_server.community import open_pull_request
from hub_server.repos import LFS_ENDINGS, Commit, Repo, Tree
from hub_server.routing import Call, route

REGULAR_LIMIT = 10 * 2**20


def is_lfs(path: str, size: int, sample: bytes) -> bool:
    """What the `.gitattributes` of this server say; also what is large or not text."""
    return path.endswith(LFS_ENDINGS) or size > REGULAR_LIMIT or b"\0" in sample


def _may_commit(call: Call, repo: Repo, create_pr: bool) -> User:
    """Writers may commit; others to pull requests that they open."""
    if create_pr:
        return check_discuss(call.user)
    if call.user and not call.user.may_write(repo.namespace):
        text = "Forbidden: pass `create_pr=1` as a query parameter to create a Pull Request"
        raise HubError(403, text)
    return check_write(repo.namespace, call.user, "commit")


@route("POST", "/api/{kind}/{repo}/preupload/{rev}")
def preupload(call: Call, repo: Repo, rev: str) -> Answer:
    _may_commit(call, repo, call.flag("create_pr"))
    commit, files = repo.at(rev), []
    for asked in call.json()["files"]:
        path = asked["path"]
        lfs = is_lfs(path, asked["size"], base64.b64decode(asked["sample"]))
        mode = "lfs" if lfs else "regular"
        file: dict[str, Any] = {"path": path, "uploadMode": mode, "shouldIgnore": False}
        if path in commit.tree:
            file["oid"] = commit.tree[path].etag
        files.append(file)
    return as_json({"files": files, "commitOid": commit.oid})


@route("POST", r"/{prefix}{repo}\.git/info/lfs/objects/batch")
def lfs_batch(call: Call, repo: Repo) -> Answer:
    """Where to send each object; nothing to do for those that the repository has."""
    check_discuss(call.user)
    wanted = call.json()
    if call.hub.xet != "off" and "xet" in wanted.get("transfers", ()):
        return as_json({"transfer": "xet", "objects": []})  # asked for by older clients
    objects = []
    for asked in wanted["objects"]:
        oid, size = asked["oid"], asked["size"]
        found: dict[str, Any] = {"oid": oid, "size": size, "authenticated": True}
        if oid not in repo.lfs:
            href = f"{call.hub.cdn}/upload/{repo.url_path}/{oid}?{sign(call, oid)}"
            verify = f"{call.hub.endpoint}/{repo.url_path}.git/info/lfs/objects/verify"
            found["actions"] = {"upload": {"href": href}, "verify": {"href": verify}}
        objects.append(found)
    return as_json({"transfer": "basic", "objects": objects})


@route("PUT", "/upload/{prefix}{owner}/{name}/{oid}")
def upload(call: Call, owner: str, name: str, oid: str, kind: str | None) -> Answer:
    """An LFS object."""
    sha256 = signed(call)
    call.hub.store.receive(sha256, call.chunks())
    call.hub.repos[(kind or "models").removesuffix("s"), f"{owner}/{name}"].lfs.add(sha256)
    return Answer(200, {"ETag": f'"{sha256}"'})


@route("POST", r"/{prefix}{repo}\.git/info/lfs/objects/verify")
def verify(call: Call, repo: Repo) -> Answer:
    """An object has come whole, or `upload` would have failed."""
    return as_json({})


@route("POST", "/api/{kind}/{repo}/commit/{rev}")
def commit(call: Call, repo: Repo, rev: str) -> Answer:
    create_pr = call.flag("create_pr")
    user = _may_commit(call, repo, create_pr)
    lines = [json.loads(line) for line in call.body().splitlines() if line.strip()]
    header = next(line["value"] for line in lines if line["key"] == "header")
    parent = _parent(repo, rev, header.get("parentCommit"), create_pr)
    tree = dict(parent.tree)
    for line in lines:
        _change(call, repo, tree, line["key"], line["value"])
    title, text = header.get("summary", ""), header.get("description", "")
    new = repo.commit(tree, (parent.oid,), title, text, user.name)
    answer = {
        "success": True,
        "commitOid": new.oid,
        "commitUrl": f"{call.hub.endpoint}/{repo.url_path}/commit/{new.oid}",
        "hookOutput": "",
    }
    if create_pr:
        pull = open_pull_request(repo, user.name, title, text)
        repo.pulls[pull.num] = new.oid
        where = f"{call.hub.endpoint}/{repo.url_path}/discussions/{pull.num}"
        answer["pullRequestUrl"] = where
        pull.add(repo, "commit", user.name, {"subject": title, "oid": new.oid})
    else:
        repo.move(rev, new.oid)
    return as_json(answer)


def _parent(repo: Repo, rev: str, asked: str | None, create_pr: bool) -> Commit:
    """The commit to build on; 412 when somebody else has committed since."""
    head = repo.at(rev)
    if asked is None:
        return head
    parent = repo.at(asked)
    if parent.oid != head.oid and not create_pr:
        text = "A commit has happened since. Please refresh and try again."
        raise HubError(412, text)
    return parent


def _change(call: Call, repo: Repo, tree: Tree, key: str, value: dict[str, Any]) -> None:
    """Do one line of a commit to a tree."""
    path = value.get("path", "").strip("/")
    if key == "file":
        base64_coded = value.get("encoding") == "base64"
        text = value["content"]
        data = base64.b64decode(text) if base64_coded else text.encode()
        tree[path] = call.hub.store.add_regular(data)
    elif key == "lfsFile":
        if value["oid"] not in repo.lfs:
            receive(call.hub, repo, value["oid"])
        tree[path] = call.hub.store.lfs_blob(value["oid"])
    elif key == "deletedFile":
        del tree[path]
