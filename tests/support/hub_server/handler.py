"""HTTP/1.1: reads requests, finds what answers them, breaks connections where a fault says so."""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from hub_server.answers import Answer, HubError
from hub_server.faults import Reset

if TYPE_CHECKING:
    from hub_server.server import HubServer, User

_UNLOGGED = ("/api/agent-harnesses",)  # the client asks about itself
_PARTS = {
    "kind": r"(?P<kind>models|datasets|spaces)",
    "prefix": r"(?:(?P<kind>datasets|spaces)/)?",
    "repo": r"(?P<repo>[^/]+/[^/]+?)",
    "num": r"(?P<num>\d+)",
    "rest": r"(?P<path>.*)",
}


@dataclass
class Request:
    method: str
    path: str  # unquoted, without the query
    range: str | None = None


@dataclass
class Call:
    """One request, as the functions that answer it see it."""

    hub: HubServer
    user: User | None
    query: dict[str, list[str]]
    headers: Any
    body: bytes

    def json(self) -> dict[str, Any]:
        data = json.loads(self.body or b"{}")
        return data if isinstance(data, dict) else {}

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

    def __init__(self, hub: HubServer, bound: socket.socket) -> None:
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
