"""The API of files at a revision: lists, properties, history, contents."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from hub_server.access import check_contents
from hub_server.answers import Answer, HubError, as_file, as_json
from hub_server.api_xet import announced
from hub_server.repos import Commit, Repo
from hub_server.routing import Call, route


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
    commit, fields = repo.at(rev), parse_qs(call.body().decode())
    expand = fields.get("expand", ["false"])[-1].lower() == "true"
    folders = {str(f) for p in commit.tree for f in PurePosixPath(p).parents} - {"."}
    asked = [path.strip("/") for path in fields.get("paths", [])]
    known = [path for path in asked if path in commit.tree or path in folders]
    return as_json([_entry(call, repo, commit, path, expand) for path in known])


def _entry(call: Call, repo: Repo, commit: Commit, path: str, expand: bool) -> dict[str, Any]:
    """A file or a folder as lists describe it."""
    blob = commit.tree.get(path)
    entry: dict[str, Any]
    if blob is None:
        inside = sorted((p, b.oid) for p, b in commit.tree.items() if p.startswith(f"{path}/"))
        oid = hashlib.sha1(repr(inside).encode()).hexdigest()
        entry = {"type": "directory", "oid": oid, "size": 0, "path": path}
    else:
        entry = {"type": "file", "oid": blob.oid, "size": blob.size, "path": path}
        if blob.sha256:
            lfs = {"oid": blob.sha256, "size": blob.size, "pointerSize": blob.pointer_size}
            entry["lfs"] = lfs
            if file_hash := announced(call, repo, commit.oid, blob).get("X-Xet-Hash"):
                entry["xetHash"] = file_hash
    if expand:
        last = repo.last_change(commit.oid, path)
        entry["lastCommit"] = {"id": last.oid, "title": last.title, "date": last.date}
        if blob is not None:
            scan = {"avScan": None, "pickleImportScan": None}
            entry["securityFileStatus"] = {"status": "safe", **scan}
    return entry


@route("GET", "/api/{kind}/{repo}/commits/{rev}")
def commits(call: Call, repo: Repo, rev: str) -> Answer:
    found = [
        {
            "id": c.oid,
            "title": c.title,
            "message": c.message,
            "authors": [{"user": c.author}],
            "date": c.date,
        }
        for c in repo.history(repo.at(rev).oid)
    ]
    return as_json(found)


@route("GET HEAD", "/{prefix}{repo}/resolve/{rev}/{rest}")
def resolve(call: Call, repo: Repo, rev: str, path: str) -> Answer:
    """A regular file itself; for an LFS file the way to its contents."""
    check_contents(repo, call.user)
    commit, blob = repo.blob(rev, path)
    headers = {
        "X-Repo-Commit": commit.oid,
        "ETag": f'"{blob.oid}"',
        "Content-Disposition": f"inline; filename*=UTF-8''{quote(path.split('/')[-1])}",
    }
    if blob.sha256 is None:
        return as_file(call.hub.store.content(blob), headers, call.headers.get("Range"))
    headers |= {
        "X-Linked-Etag": f'"{blob.sha256}"',
        "X-Linked-Size": str(blob.size),
        "Accept-Ranges": "bytes",
        "Content-Type": "text/plain; charset=utf-8",
    }
    where = f"/cdn/{repo.url_path}/resolve/{commit.oid}/{quote(path)}"
    headers |= announced(call, repo, commit.oid, blob)
    headers["Location"] = f"{call.hub.cdn}{where}?{sign(call, blob.sha256)}"
    return Answer(302, headers, f"Found. Redirecting to {headers['Location']}".encode())


def sign(call: Call, sha256: str) -> str:
    """The query of an address that needs no token."""
    expires = "1893456000"
    mark = hmac.new(call.hub.secret, f"{sha256} {expires}".encode(), hashlib.sha256).hexdigest()
    return urlencode({"object": sha256, "Expires": expires, "Signature": mark[:40]})


def signed(call: Call) -> str:
    """The SHA-256 that a signed address is about."""
    sha256 = call.query.get("object", [""])[-1]
    wanted = sign(call, sha256).split("Signature=")[1]
    if call.query.get("Signature", [""])[-1] != wanted:
        raise HubError(403, "Access denied: the signature does not match")
    return sha256


@route("GET HEAD", "/cdn/{rest}")
def cdn(call: Call, path: str) -> Answer:
    """Contents of an LFS file; whoever has the address may read."""
    sha256 = signed(call)
    if not call.hub.store.has(sha256):
        raise HubError(404, "Not found")
    content = call.hub.store.content(call.hub.store.lfs_blob(sha256))
    return as_file(content, {"ETag": f'"{sha256}"'}, call.headers.get("Range"))
