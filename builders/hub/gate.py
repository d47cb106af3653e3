"""The gate before the app: it refuses requests without the secret unread, and large ones."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any

from benchmark_spec.declared import parsed_json

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MOST_BYTES = 2**20
"""Of a request's body; an event of the Hub has some kilobytes."""

SECONDS = 30.0
"""Within which a body must have arrived."""

_READING = ("GET", "HEAD", "OPTIONS")
_OF_PAGE = re.compile(
    r"(/gradio_api)?/((queue/join|cancel|reset)|(run|api|call)/([\w-]+|v2/[\w-]+))/?"
)
"""What gradio's own pages post; uploads and recordings are not among it."""


class Gate:
    """Lets requests through to an ASGI app.

    An event, posted to one of the paths `events`, must have the secret in the header ``X-Webhook-
    Secret``, which is compared before the body is read, and be JSON with finite numbers.  Any
    other request with a body must be one that the page makes.
    """

    def __init__(
        self, app: Callable[..., Awaitable[None]], events: Collection[str], secret: str
    ) -> None:
        self._app, self._events, self._secret = app, events, secret.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a refused request, and pass the others to the app."""
        if scope["type"] != "http" or scope["method"] in _READING:
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
            body = await _read(scope, receive)
            if scope["path"] in self._events:
                parsed_json(body)  # refuses numbers that cannot be repeated: NaN, 1e400
        except ValueError as error:
            refused = _RefusedError(400, f"the body is not JSON: {str(error)[:200]}")
            await refused.respond(send)
            return
        except _RefusedError as refused:
            await refused.respond(send)
            return
        await self._app(scope, _again(body, receive), send)

    def _check(self, scope: Scope) -> None:
        """Refuse unneeded requests, and events without the secret."""
        if scope["path"] in self._events:
            given = _header(scope, b"x-webhook-secret")
            if given is None:
                raise _RefusedError(401, "x-webhook-secret header not set.")
            if not hmac.compare_digest(given, self._secret):
                raise _RefusedError(403, "Invalid webhook secret.")
        elif not _OF_PAGE.fullmatch(scope["path"]):
            raise _RefusedError(404, "there is nothing to send to here")


class _RefusedError(Exception):
    """A refused request, with its response."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self._status, self._body = status, json.dumps({"error": what}).encode()

    async def respond(self, send: Send) -> None:
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(self._body)).encode()),
            (b"connection", b"close"),  # what is still to come is not read
        ]
        await send({"type": "http.response.start", "status": self._status, "headers": headers})
        await send({"type": "http.response.body", "body": self._body})


def _header(scope: Scope, name: bytes) -> bytes | None:
    values = [value for key, value in scope["headers"] if key.lower() == name]
    return values[0] if len(values) == 1 else None


async def _read(scope: Scope, receive: Receive) -> bytes:
    """Read a body, as far as it may go."""
    large = _RefusedError(413, f"more than {MOST_BYTES} bytes")
    length = _header(scope, b"content-length") or b"0"
    if not length.isdigit() or len(length) > 18 or int(length) > MOST_BYTES:
        raise large
    body, more = b"", True
    try:
        async with asyncio.timeout(SECONDS):
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    raise _RefusedError(400, "the body broke off")
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > MOST_BYTES:
                    raise large
    except TimeoutError:
        raise _RefusedError(408, f"the body took more than {SECONDS:g} seconds") from None
    return body


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a receiver of a body that has been read, and of what follows."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def given() -> Message:
        return left.pop() if left else await receive()

    return given
