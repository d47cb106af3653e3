"""The gate before the app, which refuses large requests, and unread those without the secret."""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from benchmark_spec.declared import parsed_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 2**20
"""The most bytes of a request's body; an event of the Hub has some kilobytes."""

SECONDS = 30.0
"""The most seconds in which a body must arrive."""

_READING = ("GET", "HEAD", "OPTIONS")
_OF_PAGE = re.compile(
    r"(/gradio_api)?/((queue/join|cancel|reset)|(run|api|call)/([\w-]+|v2/[\w-]+))/?"
)
"""The paths to which gradio's pages post, without uploads and recordings."""


class Gate:
    """Lets requests through to an ASGI app.

    An event, posted to one of the paths `events`, must have the secret in the header ``X-Webhook-
    Secret``, which is compared before the body is read, and be JSON with finite numbers.  Any
    other request with a body must be one that the page makes.
    """

    def __init__(self, app: ASGIApp, events: Collection[str], secret: str) -> None:
        self._app, self._events, self._secret = app, events, secret.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refused request, and pass others to the app."""
        from starlette.exceptions import HTTPException
        from starlette.requests import Request
        from starlette.responses import JSONResponse

        if scope["type"] != "http" or scope["method"] in _READING:
            await self._app(scope, receive, send)
            return
        try:
            body = await self._checked_body(Request(scope, receive))
        except HTTPException as refused:
            error, close = {"error": refused.detail}, {"connection": "close"}  # the rest is unread
            await JSONResponse(error, refused.status_code, close)(scope, receive, send)
            return
        unread = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again() -> Message:
            return unread.pop() if unread else await receive()

        await self._app(scope, receive_again, send)

    async def _checked_body(self, request: Request) -> bytes:
        """Read a body up to the limit; HTTPException for a refused request."""
        from starlette.exceptions import HTTPException
        from starlette.requests import ClientDisconnect

        path: str = request.scope["path"]
        if path in self._events:
            given = request.headers.getlist("x-webhook-secret")
            if len(given) != 1:
                raise HTTPException(401, "x-webhook-secret header not set.")
            if not hmac.compare_digest(given[0].encode("latin-1"), self._secret):
                raise HTTPException(403, "Invalid webhook secret.")
        elif not _OF_PAGE.fullmatch(path):
            raise HTTPException(404, "there is nothing to send to here")
        too_large = HTTPException(413, f"more than {MOST_BYTES} bytes")
        length = request.headers.get("content-length", "0")
        if not re.fullmatch("[0-9]{1,18}", length) or int(length) > MOST_BYTES:
            raise too_large
        body = b""
        try:
            async with asyncio.timeout(SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise too_large
            if path in self._events:
                parsed_json(body)  # refuses numbers that cannot be repeated: NaN, 1e400
        except ClientDisconnect:
            raise HTTPException(400, "the body broke off") from None
        except TimeoutError:
            raise HTTPException(408, f"the body took more than {SECONDS:g} seconds") from None
        except ValueError as error:
            raise HTTPException(400, f"the body is not JSON: {str(error)[:200]}") from None
        return body
