"""The server: its state, its sockets, its users, and what tests ask of it directly."""

from __future__ import annotations

import os
import re
import shutil
import socket
import threading
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from hub_server import client
from hub_server.answers import HubError
from hub_server.faults import Faults
from hub_server.handler import HubHttpServer, Request
from hub_server.repos import GITATTRIBUTES, Clock, Commit, Contents, Repo, is_lfs


@dataclass(frozen=True)
class User:
    """A user, with what the token in hand allows."""

    name: str  # also of their own namespace
    write: frozenset[str] = frozenset()  # namespaces they may write to
    read: frozenset[str] = frozenset()  # whose private repositories they may read
    read_only: bool = False  # a token of the role `read`: writes nothing, opens no discussion

    def may_write(self, namespace: str) -> bool:
        return not self.read_only and namespace in {self.name, *self.write}

    def may_read(self, namespace: str) -> bool:
        return namespace in {self.name, *self.write, *self.read}


def bound_socket() -> socket.socket:
    """A port of this machine that is taken but does not answer yet."""
    found = socket.socket()
    found.bind(("127.0.0.1", 0))
    return found


class HubServer:
    """A Hub on this machine.

    `endpoint` is the address of the API (`HF_ENDPOINT`), `cdn` that of the storage that it
    redirects to.
    """

    def __init__(self, folder: Path, bound: socket.socket) -> None:
        from hub_server import api  # noqa: F401  # registers the answers to requests

        self.lock = threading.RLock()
        self.xet_folder = folder  # where xet keeps its objects
        self.faults = Faults()
        self._sockets = (bound, bound_socket())
        self.endpoint, self.cdn = (f"http://127.0.0.1:{s.getsockname()[1]}" for s in self._sockets)
        self._servers: list[HubHttpServer] = []
        self.client_env: dict[str, str] = {}  # points a client at this server, caches and a token
        self.reset()

    def reset(self) -> None:
        """Forget everything: repositories, tokens, contents, faults, the log."""
        with self.lock:
            self.repos: dict[tuple[str, str], Repo] = {}
            self.contents = Contents()
            self.requests: list[Request] = []  # oldest first
            self.crashes: list[str] = []  # the server's own mistakes; tests see that there are none
            self.clock = Clock()
            self.xet: Literal["off", "on", "broken"] = "off"
            self._users: dict[str, User] = {}
            self.faults.clear()
            shutil.rmtree(self.xet_folder, ignore_errors=True)

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

    def env(self, **more: str) -> dict[str, str]:
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
        token = f"hf_{len(self._users):034}"
        self._users[token] = User(user, frozenset(write), frozenset(read), read_only)
        return token

    def user_of(self, header: str | None) -> User | None:
        """The user of an `Authorization` header; None without one."""
        if not header:
            return None
        user = self._users.get(header.removeprefix("Bearer "))
        if user is None:
            raise HubError(401, "Invalid credentials in Authorization header")
        return user

    def readable(self, kind: str, repo_id: str, user: User | None) -> Repo:
        """The repository, unless it is missing or private to this user; the Hub hides which."""
        repo = self.repos.get((kind, repo_id))
        if repo is None or (repo.private and not (user and user.may_read(repo.namespace))):
            raise HubError(404, "Repository not found", "RepoNotFound")
        return repo

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
            repo = Repo(kind, repo_id, self.clock, private)
            tree = {".gitattributes": self.contents.add_regular(GITATTRIBUTES)}
            repo.move("main", repo.commit(tree, (), "initial commit", repo.namespace).oid)
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
                if data and is_lfs(path, len(data), data[:512]):
                    tree[path] = self.contents.add_lfs(data)
                    repo.lfs.add(tree[path].etag)
                elif data is not None:
                    tree[path] = self.contents.add_regular(data)
            new = repo.commit(tree, (parent.oid,), "Change files", "somebody")
            repo.move(branch, new.oid)
            return new

    def files(self, repo_id: str, revision: str = "main", kind: str = "dataset") -> list[str]:
        return list(self.repo(repo_id, kind).at(revision).tree)

    def read(self, repo_id: str, path: str, revision: str = "main") -> bytes:
        return self.contents[self.repo(repo_id).blob(revision, path)[1].etag]

    def sha(self, repo_id: str, revision: str = "main", kind: str = "dataset") -> str:
        return self.repo(repo_id, kind).at(revision).oid

    def tag(self, repo_id: str, tag: str, revision: str = "main") -> str:
        """Make a tag or move it, which no client can do in one step."""
        oid = self.sha(repo_id, revision)
        self.repo(repo_id).tags[tag] = oid
        return oid

    def tamper(self, repo_id: str, path: str) -> None:
        self.contents.tamper(self.repo(repo_id).blob("main", path)[1])

    def merge(self, repo_id: str, num: int) -> Commit:
        with self.lock:
            return self.repo(repo_id).merge(num, "somebody")

    def comments(self, repo_id: str, num: int) -> list[str]:
        return self.repo(repo_id).discussions[num].comments

    def seen(self, match: str = "", method: str | None = None) -> list[Request]:
        """Requests whose path matches a regular expression, oldest first."""
        return [r for r in self.requests if re.search(match, r.path) and method in (None, r.method)]
