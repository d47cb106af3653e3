"""The API: repositories, files at a revision, uploads, commits, pull requests and comments."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, quote

import yaml

from hub_server.answers import Answer, HubError, as_file, as_json
from hub_server.handler import Call, route
from hub_server.repos import Commit, PullRequest, Repo, Tree, is_lfs
from hub_server.server import User
from hub_server.xet import announced, receive

# ---- repositories --------------------------------------------------------------------------------


def _writer(call: Call, namespace: str, what: str) -> User:
    """Who asks, if they may write there."""
    if call.user is None or not call.user.may_write(namespace):
        text = f"You don't have the rights to {what} under the namespace {namespace}"
        raise HubError(403, text)
    return call.user


def _member(call: Call) -> User:
    """Who asks, if they may open pull requests and comment on them."""
    if call.user is None or call.user.read_only:
        text = "Forbidden: your token does not have the rights to write discussions"
        raise HubError(403, text)
    return call.user


@route("GET", "/api/whoami-v2")
def whoami(call: Call) -> Answer:
    if call.user is None:
        raise HubError(401, "Invalid username or password.")
    return as_json({"type": "user", "name": call.user.name, "orgs": []})


@route("POST", "/api/repos/create")
def create(call: Call) -> Answer:
    asked = call.json()
    kind, repo_id = asked["type"], f"{asked['organization']}/{asked['name']}"
    _writer(call, asked["organization"], f"create a {kind}")
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
        "id": repo.id,
        "author": repo.namespace,
        "sha": commit.oid,
        "lastModified": commit.date,
        "private": repo.private,
        "gated": "auto" if repo.gated else False,
        "cardData": _card(call, commit),
        "siblings": [{"rfilename": path} for path in commit.tree],
    }
    return as_json(data)


def _card(call: Call, commit: Commit) -> dict[str, Any]:
    if "README.md" not in commit.tree:
        return {}
    text = call.hub.contents[commit.tree["README.md"].etag].decode(errors="replace")
    front_matter = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    return yaml.safe_load(front_matter[1]) if front_matter else {}


@route("GET", "/api/{kind}/{repo}/refs")
def refs(call: Call, repo: Repo) -> Answer:
    groups: dict[str, tuple[str, dict[Any, str]]] = {
        "branches": ("heads", repo.branches),
        "tags": ("tags", repo.tags),
        "converts": ("convert", {}),
        "pullRequests": ("pr", repo.pulls),
    }
    found = {
        group: [
            {"name": str(name), "ref": f"refs/{short}/{name}", "targetCommit": oid}
            for name, oid in own.items()
        ]
        for group, (short, own) in groups.items()
        if group != "pullRequests" or call.flag("include_prs")
    }
    return as_json(found)


@route("POST", "/api/{kind}/{repo}/tag/{rev}")
def create_tag(call: Call, repo: Repo, rev: str) -> Answer:
    _writer(call, repo.namespace, "create a tag")
    tag = call.json()["tag"]
    if tag in repo.tags:
        raise HubError(409, f"Tag reference exists already: refs/tags/{tag}")
    repo.tags[tag] = repo.at(rev).oid
    return as_json({})


# ---- files ---------------------------------------------------------------------------------------


def _check_contents(call: Call, repo: Repo) -> None:
    """Files of a gated repository are for those who were let in."""
    if repo.gated and not (call.user and call.user.may_read(repo.namespace)):
        raise HubError(403, f"Access to {repo.kind} {repo.id} is restricted.", "GatedRepo")


@route("GET", "/api/{kind}/{repo}/tree/{rev}")
@route("GET", "/api/{kind}/{repo}/tree/{rev}/{rest}")
def tree(call: Call, repo: Repo, rev: str, path: str = "") -> Answer:
    commit = repo.at(rev)
    below = f"{path.strip('/')}/" if path.strip("/") else ""
    paths = [p for p in commit.tree if p.startswith(below)]
    if below and not paths:
        raise HubError(404, f"{path} does not exist on {rev!r}", "EntryNotFound")
    names = set()
    for found in paths:
        parts = found.removeprefix(below).split("/")
        depth = len(parts) if call.flag("recursive") else 1
        names |= {below + "/".join(parts[:n]) for n in range(1, depth + 1)}
    entries = [_entry(call, repo, commit, name, call.flag("expand")) for name in sorted(names)]
    return as_json(entries)


@route("POST", "/api/{kind}/{repo}/paths-info/{rev}")
def paths_info(call: Call, repo: Repo, rev: str) -> Answer:
    commit, fields = repo.at(rev), parse_qs(call.body.decode())
    expand = fields.get("expand", ["false"])[-1].lower() == "true"
    folders = {str(f) for p in commit.tree for f in PurePosixPath(p).parents} - {"."}
    asked = [path.strip("/") for path in fields.get("paths", [])]
    known = [path for path in asked if path in commit.tree or path in folders]
    return as_json([_entry(call, repo, commit, path, expand) for path in known])


def _entry(call: Call, repo: Repo, commit: Commit, path: str, expand: bool) -> dict[str, Any]:
    """A file or a folder as lists describe it."""
    blob = commit.tree.get(path)
    if blob is None:
        inside = sorted((p, b.oid) for p, b in commit.tree.items() if p.startswith(f"{path}/"))
        oid = hashlib.sha1(repr(inside).encode()).hexdigest()
        return {"type": "directory", "oid": oid, "size": 0, "path": path}
    entry = {"type": "file", "oid": blob.oid, "size": blob.size, "path": path}
    if blob.sha256:
        entry["lfs"] = {"oid": blob.sha256, "size": blob.size, "pointerSize": blob.pointer_size}
        if file_hash := announced(call.hub, repo, commit.oid, blob).get("X-Xet-Hash"):
            entry["xetHash"] = file_hash
    if expand:
        last = repo.last_change(commit.oid, path)
        entry["lastCommit"] = {"id": last.oid, "title": last.title, "date": last.date}
    return entry


@route("GET", "/api/{kind}/{repo}/commits/{rev}")
def commits(call: Call, repo: Repo, rev: str) -> Answer:
    found = [
        {"id": c.oid, "title": c.title, "message": "", "authors": [], "date": c.date}
        for c in repo.history(repo.at(rev).oid)
    ]
    return as_json(found)


@route("GET HEAD", "/{prefix}{repo}/resolve/{rev}/{rest}")
def resolve(call: Call, repo: Repo, rev: str, path: str) -> Answer:
    """A regular file itself; for an LFS file the way to its contents."""
    _check_contents(call, repo)
    commit, blob = repo.blob(rev, path)
    headers = {"X-Repo-Commit": commit.oid, "ETag": f'"{blob.oid}"'}
    if blob.sha256 is None:
        return as_file(call.hub.contents[blob.oid], headers, call.headers.get("Range"))
    where = f"/cdn/{repo.url_path}/resolve/{commit.oid}/{quote(path)}?object={blob.sha256}"
    headers |= {
        "X-Linked-Etag": f'"{blob.sha256}"',
        "X-Linked-Size": str(blob.size),
        "Location": f"{call.hub.cdn}{where}",
    }
    return Answer(302, headers | announced(call.hub, repo, commit.oid, blob), b"Found.")


@route("GET HEAD", "/cdn/{rest}")
def cdn(call: Call, path: str) -> Answer:
    """Contents of an LFS file; whoever has the address may read."""
    sha256 = call.query["object"][-1]
    content = call.hub.contents.get(sha256)
    if content is None:  # a client that an earlier test left behind
        raise HubError(404, "Not found")
    return as_file(content, {"ETag": f'"{sha256}"'}, call.headers.get("Range"))


@route("GET", "/api/{kind}/{repo}/xet-{right}-token/{rev}")
def xet_token(call: Call, repo: Repo, right: str, rev: str) -> Answer:
    """Where the storage is, and a token for it."""
    if call.hub.xet == "off":
        raise HubError(404, "Sorry, we can't find the page you are looking for.")
    if right == "write":
        _member(call)
    else:
        _check_contents(call, repo)
    storage = f"{call.hub.endpoint}/no-xet"  # where its token is none
    if call.hub.xet == "on":
        call.hub.xet_folder.mkdir(exist_ok=True, parents=True)
        storage = f"local://{call.hub.xet_folder}"
    expires = 1893456000
    answer = as_json({"casUrl": storage, "accessToken": "xet", "exp": expires})
    answer.headers |= {
        "X-Xet-Cas-Url": storage,
        "X-Xet-Access-Token": "xet",
        "X-Xet-Token-Expiration": str(expires),
    }
    return answer


# ---- uploads and commits -------------------------------------------------------------------------


def _may_commit(call: Call, repo: Repo) -> User:
    """Writers may commit; others to pull requests that they open."""
    if call.flag("create_pr"):
        return _member(call)
    return _writer(call, repo.namespace, "commit")


@route("POST", "/api/{kind}/{repo}/preupload/{rev}")
def preupload(call: Call, repo: Repo, rev: str) -> Answer:
    _may_commit(call, repo)
    commit, files = repo.at(rev), []
    for asked in call.json()["files"]:
        path = asked["path"]
        lfs = is_lfs(path, asked["size"], base64.b64decode(asked["sample"]))
        file = {"path": path, "uploadMode": "lfs" if lfs else "regular", "shouldIgnore": False}
        if path in commit.tree:
            file["oid"] = commit.tree[path].etag
        files.append(file)
    return as_json({"files": files, "commitOid": commit.oid})


@route("POST", r"/{prefix}{repo}\.git/info/lfs/objects/batch")
def lfs_batch(call: Call, repo: Repo) -> Answer:
    """Where to send each object; nothing to do for those that the repository has."""
    _member(call)
    objects = []
    for asked in call.json()["objects"]:
        oid = asked["oid"]
        found: dict[str, Any] = {"oid": oid, "size": asked["size"], "authenticated": True}
        if oid not in repo.lfs:
            href = f"{call.hub.cdn}/upload/{repo.url_path}/{oid}"
            found["actions"] = {"upload": {"href": href}}
        objects.append(found)
    return as_json({"transfer": "basic", "objects": objects})


@route("PUT", "/upload/{prefix}{owner}/{name}/{oid}")
def upload(call: Call, owner: str, name: str, oid: str, kind: str | None) -> Answer:
    """An LFS object; whoever has the address may send it."""
    repo = call.hub.repos[(kind or "models").removesuffix("s"), f"{owner}/{name}"]
    repo.lfs.add(call.hub.contents.add_lfs(call.body).etag)
    return Answer()


@route("POST", "/api/{kind}/{repo}/commit/{rev}")
def commit(call: Call, repo: Repo, rev: str) -> Answer:
    user = _may_commit(call, repo)
    lines = [json.loads(line) for line in call.body.splitlines() if line.strip()]
    header = next(line["value"] for line in lines if line["key"] == "header")
    parent = repo.at(header.get("parentCommit") or rev)
    if parent.oid != repo.at(rev).oid and not call.flag("create_pr"):
        raise HubError(412, "A commit has happened since. Please refresh and try again.")
    tree = dict(parent.tree)
    for line in lines:
        _change(call, repo, tree, line["key"], line["value"])
    new = repo.commit(tree, (parent.oid,), header["summary"], user.name)
    page = f"{call.hub.endpoint}/{repo.url_path}"
    answer = {"success": True, "commitOid": new.oid, "commitUrl": f"{page}/commit/{new.oid}"}
    if call.flag("create_pr"):
        pull = repo.propose(new, header.get("description", ""))
        answer["pullRequestUrl"] = f"{page}/discussions/{pull.num}"
    else:
        repo.move(rev, new.oid)
    return as_json(answer)


def _change(call: Call, repo: Repo, tree: Tree, key: str, value: dict[str, Any]) -> None:
    """Do one line of a commit to a tree."""
    if key == "file":
        tree[value["path"]] = call.hub.contents.add_regular(base64.b64decode(value["content"]))
    elif key == "lfsFile":
        if value["oid"] not in repo.lfs:
            receive(call.hub, repo, value["oid"])
        tree[value["path"]] = call.hub.contents.lfs_blob(value["oid"])
    elif key == "deletedFile":
        del tree[value["path"]]


# ---- pull requests -------------------------------------------------------------------------------


def _summary(repo: Repo, found: PullRequest) -> dict[str, Any]:
    return {
        "num": found.num,
        "title": found.title,
        "status": found.status,
        "author": {"name": found.author, "type": "user"},
        "repo": {"name": repo.id, "type": repo.kind},
        "createdAt": found.created,
        "isPullRequest": True,
    }


@route("GET", "/api/{kind}/{repo}/discussions")
def listed(call: Call, repo: Repo) -> Answer:
    """The open ones, the newest first, which are all that is asked for."""
    found = [d for d in reversed(repo.discussions.values()) if d.status == "open"]
    page = [_summary(repo, d) for d in found]
    return as_json({"discussions": page, "count": len(found), "start": 0})


@route("GET", "/api/{kind}/{repo}/discussions/{num}")
def details(call: Call, repo: Repo, num: str) -> Answer:
    found = repo.discussions[int(num)]
    more = {
        "events": found.events,
        "changes": {"base": "refs/heads/main"},
        "filesWithConflicts": [],
    }
    return as_json(_summary(repo, found) | more)


@route("POST", "/api/{kind}/{repo}/discussions/{num}/comment")
def comment(call: Call, repo: Repo, num: str) -> Answer:
    user, text = _member(call), call.json()["comment"]
    return as_json({"newMessage": repo.discussions[int(num)].comment(repo, user.name, text)})
