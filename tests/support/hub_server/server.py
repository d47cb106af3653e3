"""The server: its state, its sockets, and what tests ask of it directly."""

from __future__ import annotations

import os
import re
import secrets
import socket
import threading
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, Self

from hub_server import (
    api_commit,
    api_files,
    api_repos,
    api_xet,
    client,
    community,
)
from hub_server.access import Accounts, User
from hub_server.faults import Faults
from hub_server.handler import HubHttpServer, Request
from hub_server.objects import Blob, ObjectStore
from hub_server.repos import GITATTRIBUTES, Clock, Commit, Repo

APIS = (api_repos, api_files, api_commit, api_xet, community)
"""What registers the answers to requests."""


def bound_socket() -> socket.socket:
    """A port of this machine that is taken but does not answer yet."""
    found = socket.socket()
    found.bind(("127.0.0.1", 0))
    return found


class HubServer:
    """A Hub on this machine.

    Parameters
    ----------
    folder
        Where LFS objects are kept.
    bound
        A socket that is bound and does not listen yet, when the port must be known before.

    Attributes
    ----------
    endpoint, cdn
        Addresses of the API (`HF_ENDPOINT`), and of the storage that it redirects to.
    requests
        All requests, oldest first.
    faults
        What goes wrong; empty at first.
    crashes
        Tracebacks of the server's own mistakes; tests check that there are none.
    xet
        Whether it has xet: "off" as at first, "on", or "broken", where its storage refuses.
    client_env
        Variables that point a client at this server, its caches and its token.
    """

    def __init__(self, folder: Path, bound: socket.socket | None = None) -> None:
        self.lock = threading.RLock()
        self.accounts = Accounts()
        self.store = ObjectStore(folder)
        self.faults = Faults()
        self.secret = secrets.token_bytes(16)
        self._sockets = (bound or bound_socket(), bound_socket())
        self.endpoint, self.cdn = (f"http://127.0.0.1:{s.getsockname()[1]}" for s in self._sockets)
        self._servers: list[HubHttpServer] = []
        self.client_env: dict[str, str] = {}
        self.reset()

    def reset(self) -> None:
        """Forget everything: repositories, tokens, contents, faults, the log."""
        with self.lock:
            self.repos: dict[tuple[str, str], Repo] = {}
            self.requests: list[Request] = []
            self.crashes: list[str] = []
            self.clock = Clock()
            self.xet: Literal["off", "on", "broken"] = "off"
            self.accounts.clear()
            self.store.clear()
            self.faults.clear()

    def start(self) -> Self:
        for bound in self._sockets:
            server = HubHttpServer(self, bound)
            self._servers.append(server)
            run = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
            run.start()
        return self

    def stop(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()
        self._servers.clear()

    def env(self, **more: str) -> dict[str, str]:
        """The environment of a process that is to use this server."""
        return {**os.environ, **self.client_env, **more}

    @staticmethod
    def offline() -> AbstractContextManager[None]:
        """Meanwhile the clients in this process behave as with `HF_HUB_OFFLINE=1`."""
        return client.offline()

    def token(
        self,
        user: str,
        write: Iterable[str] = (),
        read: Iterable[str] = (),
        *,
        read_only: bool = False,
    ) -> str:
        """A new token; see `User` for what it allows."""
        return self.accounts.add(User(user, frozenset(write), frozenset(read), read_only))

    def create_repo(
        self,
        repo_id: str,
        kind: str = "dataset",
        *,
        private: bool = False,
        files: Mapping[str, bytes] | Path | None = None,
    ) -> Repo:
        """A repository with its first commit, and a second one that holds `files` (or a folder)."""
        with self.lock:
            repo = Repo(kind, repo_id, self.clock, private, False, self.clock.now())
            tree = {".gitattributes": self.store.add_regular(GITATTRIBUTES)}
            first = repo.commit(tree, (), "initial commit", "", repo.namespace)
            repo.move("main", first.oid)
            self.repos[kind, repo_id] = repo
        if files:
            self.commit(repo_id, files, kind=kind)
        return repo

    def repo(self, repo_id: str, kind: str = "dataset") -> Repo:
        return self.repos[kind, repo_id]

    def commit(
        self,
        repo_id: str,
        files: Mapping[str, bytes | None] | Path,
        *,
        kind: str = "dataset",
        branch: str = "main",
        title: str = "Change files",
        author: str = "somebody",
    ) -> Commit:
        """Put files (None: delete) or a whole folder onto a branch."""
        if isinstance(files, Path):
            found = sorted(p for p in files.rglob("*") if p.is_file())
            files = {p.relative_to(files).as_posix(): p.read_bytes() for p in found}
        with self.lock:
            repo = self.repo(repo_id, kind)
            parent = repo.at(branch)
            tree = {p: b for p, b in parent.tree.items() if p not in files}
            for path, data in files.items():
                if data is not None:
                    tree[path] = self._blob(repo, path, data)
            new = repo.commit(tree, (parent.oid,), title, "", author)
            repo.move(branch, new.oid)
            return new

    def _blob(self, repo: Repo, path: str, data: bytes) -> Blob:
        if not data or not api_commit.is_lfs(path, len(data), data[:512]):
            return self.store.add_regular(data)
        blob = self.store.add_lfs(data)
        repo.lfs.add(str(blob.sha256))
        return blob

    def files(self, repo_id: str, revision: str = "main", kind: str = "dataset") -> list[str]:
        return list(self.repo(repo_id, kind).at(revision).tree)

    def read(self, repo_id: str, path: str, revision: str = "main", kind: str = "dataset") -> bytes:
        return self.store.read(self.repo(repo_id, kind).blob(revision, path)[1])

    def sha(self, repo_id: str, revision: str = "main", kind: str = "dataset") -> str:
        return self.repo(repo_id, kind).at(revision).oid

    def tag(self, repo_id: str, tag: str, revision: str = "main", kind: str = "dataset") -> str:
        """Make a tag or move it, which no client can do in one step."""
        oid = self.sha(repo_id, revision, kind)
        self.repo(repo_id, kind).tags[tag] = oid
        return oid

    def tamper(self, repo_id: str, path: str) -> None:
        """Flip a byte of a file, under the same name and ETag."""
        self.store.tamper(self.repo(repo_id).blob("main", path)[1])

    def merge(self, repo_id: str, num: int) -> Commit:
        with self.lock:
            return community.merge(self.repo(repo_id), num, "somebody")

    def comments(self, repo_id: str, num: int) -> list[str]:
        """Comments of a pull request; the first is its description."""
        return self.repo(repo_id).discussions[num].comments

    def seen(self, match: str = "", method: str | None = None) -> list[Request]:
        """Requests whose path matches a regular expression, oldest first."""
        return [
            r
            for r in list(self.requests)
            if re.search(match, r.path) and method in (None, r.method)
        ]
