"""The gate before the app: what is read of a request, and when; no server is needed for it."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from builders.hub import gate
from builders.hub.gate import MOST_BYTES, Gate

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

        own = [(b"X-Webhook-Secret", secret.encode())] if secret is not None else []
        scope = {"type": "http", "method": method, "path": path, "headers": [*own, *headers]}
        asyncio.run(Gate(app, (EVENTS,), SECRET)(scope, receive, send))
        status: int = sent[0]["status"]
        if status != 200:
            assert json.loads(sent[1]["body"])["error"]
            assert (b"connection", b"close") in sent[0]["headers"]
        return status


@pytest.mark.parametrize(("secret", "status"), [(None, 401), ("another", 403), ("é", 403)])
def test_nothing_is_read_of_who_lacks_the_secret(secret: str | None, status: int) -> None:
    client = Client()
    assert client.send(body=[b"x" * 1000] * 1000, secret=secret) == status
    assert client.read == 0
    assert not client.passed


def test_two_secrets_are_none() -> None:
    client = Client()
    assert client.send(headers=[(b"x-webhook-secret", SECRET.encode())]) == 401


@pytest.mark.parametrize("path", [EVENTS, "/gradio_api/queue/join"])
def test_no_more_is_read_than_may_come(path: str) -> None:
    """Whether or not the request says how much it is."""
    client = Client()
    assert client.send(path, [b" " * 2**16] * 10_000) == 413
    assert client.read <= MOST_BYTES + 2**16
    client = Client()
    for length in (str(MOST_BYTES + 1).encode(), b"9" * 5000, b"-1", b"x"):
        assert client.send(path, [b"x"], headers=[(b"Content-Length", length)]) == 413
    assert client.read == 0


@pytest.mark.parametrize(
    "path",
    ["/upload", "/gradio_api/upload", "/gradio_api/upload/", "/gradio_api/process_recording",
     "/gradio_api/stream/x", "/gradio_api/component_server", "/login", "/", "/webhooks/other",
     "/gradio_api/run/../upload", "/gradio_api/queue/join\n"],
)  # fmt: skip
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_uploads_are_off(path: str, method: str) -> None:
    client = Client()
    assert client.send(path, [b"x" * 1000] * 1000, method=method) == 404
    assert client.read == 0


@pytest.mark.parametrize("path", ["/queue/join", "/gradio_api/run/framed", "/gradio_api/call/v2/x"])
def test_what_the_page_asks_for_goes_through(path: str) -> None:
    client = Client()
    assert client.send(path, [b'{"fn', b'_index": 0}'], secret=None) == 200
    assert client.send("/gradio_api/upload_progress", method="GET", secret=None) == 200
    assert client.passed == [b'{"fn_index": 0}', b""]


BODIES = {
    "NaN": b'{"num": NaN}',
    "minus infinity": b"[-Infinity]",
    "1e400": b'{"num": 1e400}',
    "a number of thousands of digits": b"9" * 5000,
    "nested": b"[" * 100_000,
    "half a character": b'"\\ud800"',
    "not JSON": b"x=1",
    "not UTF-8": b'"\xff"',
    "nothing": b"",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_bodies_that_are_no_event(body: bytes) -> None:
    client = Client()
    assert client.send(body=body) == 400
    assert not client.passed


def test_an_event_goes_through_as_it_came() -> None:
    client = Client()
    body = b'{"num": 1.50, "text": "\xc3\xa9\\n"}'
    assert client.send(body=[body[:10], body[10:]]) == 200
    assert client.passed == [body]


def test_a_body_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "SECONDS", 0.01)
    said: list[Any] = []

    async def never() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        said.append(message)

    async def app(*_: Any) -> None:
        pytest.fail("it was let through")

    headers = [(b"x-webhook-secret", SECRET.encode())]
    scope = {"type": "http", "method": "POST", "path": EVENTS, "headers": headers}
    asyncio.run(Gate(app, (EVENTS,), SECRET)(scope, never, send))
    assert said[0]["status"] == 408
