"""The server: reads requests, finds what answers them, breaks connections where a fault says so.

Its state, its sockets and users, and what tests ask of it directly.
"""

import json
import os
import re
import shutil
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, Self
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from hub_server.answers import Answer, Faults, HubError, Reset, flipped
from hub_server.repos import GITATTRIBUTES, Clock, Commit, Contents, Repo, is_lfs

_UNLOGGED = ("/api/agent-harnesses",)  # the client asks about itself
_PARTS = {
    "kind": r"(?P<kind>models|datasets|spaces)",
    "prefix": r"(?:(?P<kind>datasets|spaces)/)?",
    "repo": r"(?P<repo>[^/]+/[^/]+?)",
    "num": r"(?P<num>\d+)",
    "rest": r"(?P<path>.*)",
}


@dataclass(frozen=True)
class User:
    """A user, with what the token in hand allows."""

    name: str  # also of their own namespace
    write: tuple[str, ...] = ()  # namespaces they may write to
    read: tuple[str, ...] = ()  # whose private repositories they may read
    read_only: bool = False  # a token of the role `read`: writes nothing, opens no discussion

    def may_write(self, namespace: str) -> bool:
        return not self.read_only and namespace in {self.name, *self.write}

    def may_read(self, namespace: str) -> bool:
        return namespace in {self.name, *self.write, *self.read}


@dataclass
class Request:
    method: str
    path: str  # unquoted, without the query
    range: str | None = None


@dataclass
class Call:
    """One request, as the functions that answer it see it."""

    hub: "HubServer"
    user: User | None
    query: dict[str, list[str]]
    headers: Any
    body: bytes

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body or b"{}")
        return found

    def flag(self, name: str) -> bool:
        return self.query.get(name, ["0"])[-1].lower() in ("1", "true")


Endpoint = Callable[..., Answer]
_ROUTES: list[tuple[str, re.Pattern[str], Endpoint]] = []


def route(methods: str, pattern: str) -> Callable[[Endpoint], Endpoint]:
    """Register an answer to requests; `{kind}`, `{repo}`, `{rev}`... become its arguments.

    A `{repo}` is looked up, and reading it must be allowed; a function that writes checks more.
    """

    def part(match: re.Match[str]) -> str:
        return _PARTS.get(match[1], rf"(?P<{match[1]}>[^/]+)")

    compiled = re.compile(re.sub(r"\{(\w+)\}", part, pattern))

    def register(endpoint: Endpoint) -> Endpoint:
        _ROUTES.extend((method, compiled, endpoint) for method in methods.split())
        return endpoint

    return register


def _dispatch(call: Call, method: str, path: str) -> Answer:
    for known, pattern, endpoint in _ROUTES:
        if known == method and (match := pattern.fullmatch(path)):
            found: dict[str, Any] = {k: v and unquote(v) for k, v in match.groupdict().items()}
            if "repo" in found:
                kind = (found.pop("kind", None) or "models").removesuffix("s")
                found["repo"] = call.hub.readable(kind, found["repo"], call.user)
            return endpoint(call, **found)
    raise HubError(404, "Sorry, we can't find the page you are looking for.")


class HubHttpServer(ThreadingHTTPServer):
    """A listening socket of a HubServer: the API's, or that of the storage behind it."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, hub: "HubServer", bound: socket.socket) -> None:
        super().__init__(bound.getsockname(), Handler, bind_and_activate=False)
        self.hub = hub
        self.socket.close()
        self.socket = bound
        self.server_activate()

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that went away are part of the game; all else is a mistake of ours."""
        if not isinstance(sys.exception(), OSError):
            self.hub.crashes.append(traceback.format_exc())

    def shutdown_request(self, request: socket.socket) -> None:  # type: ignore[override]
        linger = request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)
        if struct.unpack("ii", linger)[0]:
            request.close()  # no orderly end: a reset
        else:
            super().shutdown_request(request)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    server: HubHttpServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Requests are logged in `hub.requests`."""

    def _serve(self) -> None:
        hub, parts = self.server.hub, urlsplit(self.path)
        if parts.path not in _UNLOGGED:
            wanted = self.headers.get("Range")
            hub.requests.append(Request(self.command, unquote(parts.path), wanted))
        size, whole = int(self.headers.get("Content-Length") or 0), unquote(self.path)
        try:
            body = self.rfile.read(size)
            answer = hub.faults.before(self.command, whole)
            if answer is None and len(body) == size:
                answer = self._answer(parts.path, parse_qs(parts.query), body)
                answer = hub.faults.after(self.command, whole, answer)
            if answer is not None:  # else the client went away before all of the body came
                self._send(answer)
        except Reset:
            self._abort()
        except OSError:
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve

    def _answer(self, path: str, query: dict[str, list[str]], body: bytes) -> Answer:
        hub = self.server.hub
        try:
            with hub.lock:
                user = hub.user_of(self.headers.get("Authorization"))
                return _dispatch(Call(hub, user, query, self.headers, body), self.command, path)
        except HubError as error:
            return error.answer()
        except Exception:
            hub.crashes.append(traceback.format_exc())
            return HubError(500, "The test server itself failed; see hub.crashes").answer()

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(answer.body[: answer.stop_after])
        self.wfile.flush()
        if answer.stop_after is not None:
            self.close_connection = True
            if answer.abrupt:
                self._abort()

    def _abort(self) -> None:
        """End the connection with a reset, as a router does that forgot it."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


Files = Mapping[str, bytes | None] | Path


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

    @contextmanager
    def offline(self) -> Iterator[None]:
        """As if HF_HUB_OFFLINE=1 had been set before the clients were imported."""
        names = ["huggingface_hub.constants.HF_HUB_OFFLINE"]
        if "datasets.config" in sys.modules:
            names += ["datasets.config.HF_HUB_OFFLINE", "datasets.config.HF_DATASETS_OFFLINE"]
        forget()
        with pytest.MonkeyPatch.context() as patch:
            for name in names:
                patch.setattr(name, True)
            yield
        forget()

    def token(self, user: str, **rights: Any) -> str:
        token = f"hf_{len(self._users):034}"
        self._users[token] = User(user, **rights)
        return token

    def user_of(self, header: str | None) -> User | None:
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
        self, repo_id: str, kind: str = "dataset", *, files: Files | None = None
    ) -> Repo:
        """A repository with its first commit, and a second one that holds `files` (or a folder)."""
        with self.lock:
            repo = Repo(kind, repo_id, self.clock)
            tree = {".gitattributes": self.contents.add_regular(GITATTRIBUTES)}
            repo.move("main", repo.commit(tree, (), "initial commit", repo.namespace).oid)
            self.repos[kind, repo_id] = repo
        if files:
            self.commit(repo_id, files, kind=kind)
        return repo

    def repo(self, repo_id: str, kind: str = "dataset") -> Repo:
        return self.repos[kind, repo_id]

    def commit(
        self, repo_id: str, files: Files, *, kind: str = "dataset", branch: str = "main"
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

    def files(self, repo_id: str, revision: str = "main") -> list[str]:
        return list(self.repo(repo_id).at(revision).tree)

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
        """Flip a byte of a file, under the same name and ETag."""
        etag = self.repo(repo_id).blob("main", path)[1].etag
        self.contents[etag] = flipped(self.contents[etag])

    def merge(self, repo_id: str, num: int) -> Commit:
        with self.lock:
            return self.repo(repo_id).merge(num, "somebody")

    def comments(self, repo_id: str, num: int) -> list[str]:
        return self.repo(repo_id).discussions[num].comments

    def seen(self, match: str = "", method: str | None = None) -> list[Request]:
        return [r for r in self.requests if re.search(match, r.path) and method in (None, r.method)]


# read by huggingface_hub when it is imported; the endpoint is set beside them
ENVIRONMENT = {
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "NO_PROXY": "127.0.0.1,localhost",
}


def point_at(hub: HubServer, home: Path, token: str, patch: pytest.MonkeyPatch) -> None:
    """Let clients in this process and in its children use a server, empty caches and a token."""
    import huggingface_hub.constants as constants

    if hub.endpoint != constants.ENDPOINT:
        raise RuntimeError("huggingface_hub was imported before HF_ENDPOINT was set")
    hub.client_env = {
        **ENVIRONMENT,
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(home),
        "HF_HUB_CACHE": str(home / "hub"),
        "HF_DATASETS_CACHE": str(home / "datasets"),
        "HF_TOKEN_PATH": str(home / "token"),
        "HF_TOKEN": token,
    }
    for name, value in hub.client_env.items():
        patch.setenv(name, value)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
        patch.delenv(name, raising=False)
    places: dict[str, Any] = {
        "HF_HOME": str(home),
        "HF_HUB_CACHE": str(home / "hub"),
        "HUGGINGFACE_HUB_CACHE": str(home / "hub"),
        "HF_ASSETS_CACHE": str(home / "assets"),
        "HF_XET_CACHE": str(home / "xet"),
        "HF_TOKEN_PATH": str(home / "token"),
        "HF_STORED_TOKENS_PATH": str(home / "stored_tokens"),
        "AGENT_HARNESSES_PATH": str(home / ".agent_harnesses.json"),
        "HF_HUB_OFFLINE": False,
    }
    for name, value in places.items():
        patch.setattr(constants, name, value, raising=False)
    places = {
        "HF_CACHE_HOME": str(home),
        "HF_DATASETS_CACHE": home / "datasets",
        "HF_MODULES_CACHE": home / "modules",
        "DOWNLOADED_DATASETS_PATH": home / "datasets/downloads",
        "EXTRACTED_DATASETS_PATH": home / "datasets/downloads/extracted",
        "HF_HUB_OFFLINE": False,
        "HF_DATASETS_OFFLINE": False,
    }
    if config := sys.modules.get("datasets.config"):
        for name, value in places.items():
            patch.setattr(config, name, value)
    forget()


def use_xet(hub: HubServer, patch: pytest.MonkeyPatch) -> None:
    """Let clients in this process and in its children use xet, and try what fails only once."""
    import huggingface_hub.constants as constants

    for name, value in (("HF_HUB_DISABLE_XET", "0"), ("HF_XET_CLIENT_RETRY_MAX_ATTEMPTS", "1")):
        hub.client_env[name] = value
        patch.setenv(name, value)
    patch.setattr(constants, "HF_HUB_DISABLE_XET", False)


def forget() -> None:
    """Drop what file systems in this process remember of repositories."""
    module = sys.modules.get("huggingface_hub.hf_file_system")
    if module is not None:
        module.HfFileSystem.clear_instance_cache()


def quicken(patch: pytest.MonkeyPatch) -> list[float]:
    """Let the clients wait a hundredth of a second at most; gives the waits they asked for."""
    from huggingface_hub import file_download
    from huggingface_hub.utils import _http

    asked: list[float] = []

    def sleep(seconds: float) -> None:
        asked.append(seconds)
        time.sleep(min(seconds, 0.01))

    quick = SimpleNamespace(**{**vars(time), "sleep": sleep})
    for module in (file_download, _http, sys.modules.get("datasets.utils.file_utils")):
        if module is not None:
            patch.setattr(module, "time", quick, raising=False)
    return asked
