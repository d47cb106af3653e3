"""HTTP/1.1: reads requests, writes answers, breaks connections where a fault says so."""

from __future__ import annotations

import socket
import struct
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

from hub_server.answers import Answer, HubError
from hub_server.faults import Reset
from hub_server.objects import CHUNK
from hub_server.routing import Call, dispatch

if TYPE_CHECKING:
    from hub_server.server import HubServer

_UNLOGGED = ("/api/agent-harnesses",)  # the client asks about itself


@dataclass
class Request:
    """One line of the request log."""

    method: str
    path: str  # unquoted, without the query
    status: int | None = None  # None: reset without an answer
    range: str | None = None


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
        if request.fileno() in (-1, None):
            return
        linger = request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)
        if struct.unpack("ii", linger)[0]:
            request.close()  # no orderly end: a reset
        else:
            super().shutdown_request(request)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "HubServer"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    server: HubHttpServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Requests are logged in `hub.requests`."""

    def _serve(self) -> None:
        hub, parts = self.server.hub, urlsplit(self.path)
        self._left = int(self.headers.get("Content-Length") or 0)
        self._line = Request(self.command, unquote(parts.path), range=self.headers.get("Range"))
        if parts.path not in _UNLOGGED:
            hub.requests.append(self._line)
        call = Call(hub, self.command, parts.path, parse_qs(parts.query), self.headers, self._body)
        wanted = unquote(self.path)
        try:
            answer = hub.faults.before(self.command, wanted)
            if answer is None:
                answer = hub.faults.after(self.command, wanted, self._answer(call))
            for _ in self._body():
                pass  # what nobody has read, so that the connection can go on
            self._send(answer)
        except Reset:
            self._abort()
        except OSError:
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve

    def _answer(self, call: Call) -> Answer:
        try:
            if call.path.startswith(("/cdn/", "/upload/")):
                return dispatch(call)  # storage: many at a time
            call_body = call.body()
            call.chunks = lambda: iter([call_body])
            with self.server.hub.lock:
                return dispatch(call)
        except OSError:
            raise
        except Exception:
            self.server.hub.crashes.append(traceback.format_exc())
            return HubError(500, "The test server itself failed; see hub.crashes").answer()

    def _send(self, answer: Answer) -> None:
        self._line.status = answer.status
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            for chunk in answer.chunks():
                self.wfile.write(chunk)
        self.wfile.flush()
        if answer.stop_after is not None and self.command != "HEAD":
            self.close_connection = True
            if answer.abrupt:
                self._abort()

    def _abort(self) -> None:
        """End the connection with a reset, as a router does that forgot it."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _body(self) -> Iterator[bytes]:
        """The body of the request, piece by piece; nothing when it is read already."""
        while self._left > 0:
            data = self.rfile.read(min(CHUNK, self._left))
            self._left = self._left - len(data) if data else 0
            yield data
