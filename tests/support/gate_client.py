"""A client of the gate before the webhook's app, which counts what is read; no server is needed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from builders.hub.gate import Gate

EVENTS = "/webhooks/fslbench"
SECRET = "a long random text"


class Client:
    """Sends requests to a gate; `read` counts the bytes of bodies that it took."""

    def __init__(self) -> None:
        self.read = 0
        self.passed: list[bytes] = []

    def send(
        self,
        path: str = EVENTS,
        body: bytes | Iterable[bytes] = b"{}",
        *,
        secret: str | None = SECRET,
        method: str = "POST",
        headers: Iterable[tuple[bytes, bytes]] = (),
    ) -> int:
        """Send one; gives the status of the answer, 200 of the app's own."""
        parts = iter([body] if isinstance(body, bytes) else body)
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            part = next(parts, None)
            if part is None:
                return {"type": "http.request", "body": b"", "more_body": False}
            self.read += len(part)
            return {"type": "http.request", "body": part, "more_body": True}

        async def send(message: Any) -> None:
            sent.append(message)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            whole, more = b"", True
            while more and scope["method"] == "POST":
                message = await receive()
                whole, more = whole + message["body"], message["more_body"]
            self.passed.append(whole)
            await send({"type": "http.response.start", "status": 200, "headers": []})

        own = [(b"x-webhook-secret", secret.encode())] if secret is not None else []
        scope = {"type": "http", "method": method, "path": path, "headers": [*own, *headers]}
        asyncio.run(Gate(app, (EVENTS,), SECRET)(scope, receive, send))
        status: int = sent[0]["status"]
        if status != 200:
            assert json.loads(sent[1]["body"])["error"]
            assert (b"connection", b"close") in sent[0]["headers"]
        return status
