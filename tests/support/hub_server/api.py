"""The API: repositories, files at a revision, uploads, commits, pull requests, comments, xet."""

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, quote

from hub_server.answers import Answer, HubError, as_file, as_json
from hub_server.repos import Blob, Commit, PullRequest, Repo, Tree, is_lfs
from hub_server.server import Call, HubServer, User, route


def _writer(call: Call, namespace: str, what: str) -> User:
    """Who asks, if they may write there."""
    if call.user is None or not call.user.may_write(namespace):
        raise HubError(403, f"You don't have the rights to {what} under the namespace {namespace}")
    return call.user


def _member(call: Call) -> User:
    """Who asks, if they may open pull requests and comment on them."""
    if call.user is None or call.user.read_only:
        raise HubError(403, "Forbidden: your token does not have the rights to write discussions")
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
    repo = call.hub.create_repo(repo_id, kind)
    repo.private = bool(asked.get("private")) or asked.get("visibility") == "private"
    return as_json({"url": f"{call.hub.endpoint}/{repo.url_path}", "name": repo_id, "id": repo_id})


@route("POST", "/api/validate-yaml")
def validate_yaml(call: Call) -> Answer:
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
        "siblings": [{"rfilename": path} for path in commit.tree],
    }
    return as_json(data)


@route("GET", "/api/{kind}/{repo}/refs")
def refs(call: Call, repo: Repo) -> Answer:
    def listed(short: str, own: dict[Any, str]) -> list[dict[str, str]]:
        refs = {name: f"refs/{short}/{name}" for name in own}
        return [{"name": str(n), "ref": refs[n], "targetCommit": oid} for n, oid in own.items()]

    found = {"branches": listed("heads", repo.branches), "tags": listed("tags", repo.tags)}
    pulls = {"pullRequests": listed("pr", repo.pulls)} if call.flag("include_prs") else {}
    return as_json({"converts": []} | found | pulls)


@route("POST", "/api/{kind}/{repo}/tag/{rev}")
def create_tag(call: Call, repo: Repo, rev: str) -> Answer:
    _writer(call, repo.namespace, "create a tag")
    tag = call.json()["tag"]
    if tag in repo.tags:
        raise HubError(409, f"Tag reference exists already: refs/tags/{tag}")
    repo.tags[tag] = repo.at(rev).oid
    return as_json({})


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
    return as_json([_entry(call, repo, commit, name) for name in sorted(names)])


@route("POST", "/api/{kind}/{repo}/paths-info/{rev}")
def paths_info(call: Call, repo: Repo, rev: str) -> Answer:
    commit, fields = repo.at(rev), parse_qs(call.body.decode())
    expand = fields.get("expand", ["false"])[-1].lower() == "true"
    folders = {str(f) for p in commit.tree for f in PurePosixPath(p).parents} - {"."}
    asked = [path.strip("/") for path in fields.get("paths", [])]
    known = [path for path in asked if path in commit.tree or path in folders]
    return as_json([_entry(call, repo, commit, path, expand) for path in known])


def _entry(
    call: Call, repo: Repo, commit: Commit, path: str, expand: bool = False
) -> dict[str, Any]:
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
    about = {"message": "", "authors": []}
    history = repo.history(repo.at(rev).oid)
    return as_json([about | {"id": c.oid, "title": c.title, "date": c.date} for c in history])


@route("GET HEAD", "/{prefix}{repo}/resolve/{rev}/{rest}")
def resolve(call: Call, repo: Repo, rev: str, path: str) -> Answer:
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
    answer.headers |= {"X-Xet-Cas-Url": storage, "X-Xet-Access-Token": "xet"}
    answer.headers["X-Xet-Token-Expiration"] = str(expires)
    return answer


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
    _member(call)
    objects = []
    for asked in call.json()["objects"]:
        href = f"{call.hub.cdn}/upload/{repo.url_path}/{asked['oid']}"
        actions = {} if asked["oid"] in repo.lfs else {"actions": {"upload": {"href": href}}}
        objects.append({**asked, "authenticated": True, **actions})
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
    if key == "file":
        tree[value["path"]] = call.hub.contents.add_regular(base64.b64decode(value["content"]))
    elif key == "lfsFile":
        if value["oid"] not in repo.lfs:
            receive(call.hub, repo, value["oid"])
        tree[value["path"]] = call.hub.contents.lfs_blob(value["oid"])
    elif key == "deletedFile":
        del tree[value["path"]]


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
    found = [_summary(repo, d) for d in reversed(repo.discussions.values()) if d.status == "open"]
    return as_json({"discussions": found, "count": len(found), "start": 0})


@route("GET", "/api/{kind}/{repo}/discussions/{num}")
def details(call: Call, repo: Repo, num: str) -> Answer:
    found = repo.discussions[int(num)]
    more = {"changes": {"base": "refs/heads/main"}, "filesWithConflicts": []}
    return as_json(_summary(repo, found) | more | {"events": found.events})


@route("POST", "/api/{kind}/{repo}/discussions/{num}/comment")
def comment(call: Call, repo: Repo, num: str) -> Answer:
    user, text = _member(call), call.json()["comment"]
    return as_json({"newMessage": repo.discussions[int(num)].comment(repo, user.name, text)})


# ---- xet, whose storage is hf_xet's own on a disk ------------------------------------------------

_BLOCK = 48  # bytes of every entry of a shard
_HAS_VERIFICATION, _HAS_METADATA = 1 << 31, 1 << 30


def announced(hub: HubServer, repo: Repo, commit: str, blob: Blob) -> dict[str, str]:
    """What the answer about a file says of xet: nothing where it came by Git LFS."""
    file_hash = _known(hub).get(str(blob.sha256)) if hub.xet == "on" else "ab" * 32
    if hub.xet == "off" or file_hash is None:
        return {}
    route = f"{hub.endpoint}/api/{repo.kind}s/{repo.id}/xet-read-token/{commit}"
    return {"X-Xet-Hash": file_hash, "X-Xet-Refresh-Route": route}


def receive(hub: HubServer, repo: Repo, sha256: str) -> None:
    """Take an object that a commit names from the storage."""
    from hf_xet import XetFileInfo, XetSession

    target = hub.xet_folder / sha256
    with XetSession().new_file_download_group(endpoint=f"local://{hub.xet_folder}") as group:
        group.start_download_file(XetFileInfo(_known(hub)[sha256], None), str(target))
    hub.contents.add_lfs(target.read_bytes())
    target.unlink()
    repo.lfs.add(sha256)


def _known(hub: HubServer) -> dict[str, str]:
    """The hash that the storage knows a file by, by SHA-256."""
    shards = sorted(hub.xet_folder.glob("**/shards/*.mdb"))
    return dict(pair for shard in shards for pair in _files(shard.read_bytes()))


def _files(shard: bytes) -> Iterator[tuple[str, str]]:
    """SHA-256 and hash of the files in a shard, by the xet protocol's description of it."""
    at = _BLOCK
    while shard[at : at + 32] != b"\xff" * 32:
        flags = int.from_bytes(shard[at + 32 : at + 36], "little")
        terms = int.from_bytes(shard[at + 36 : at + 40], "little")
        behind = at + _BLOCK * (1 + terms * (2 if flags & _HAS_VERIFICATION else 1))
        if flags & _HAS_METADATA:
            yield _hexadecimal(shard[behind : behind + 32]), _hexadecimal(shard[at : at + 32])
            behind += _BLOCK
        at = behind


def _hexadecimal(number: bytes) -> str:
    """A hash as xet writes it: four numbers of eight bytes, each the last byte first."""
    return "".join(number[i : i + 8][::-1].hex() for i in range(0, 32, 8))
