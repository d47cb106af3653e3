"""What the server sends back: contents, JSON, errors in the Hub's form, ranges of files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from hub_server.objects import CHUNK, FilePart


@dataclass
class Answer:
    """One response, before any fault changes it."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | FilePart = b""
    flip: int | None = None  # a byte of the body sent with all bits turned
    stop_after: int | None = None  # bytes of the body after which the connection is closed
    abrupt: bool = False  # closed by a reset, not in order

    def chunks(self) -> Iterator[bytes]:
        """The body as it goes over the wire."""
        position, limit = 0, len(self.body) if self.stop_after is None else self.stop_after
        for data in _chunks(self.body):
            chunk = data[: max(0, limit - position)]
            if self.flip is not None and position <= self.flip < position + len(chunk):
                at = self.flip - position
                chunk = chunk[:at] + bytes([chunk[at] ^ 0xFF]) + chunk[at + 1 :]
            position += len(data)
            if chunk:
                yield chunk


class HubError(Exception):
    """A refusal in the Hub's form: status, `X-Error-Code`, `X-Error-Message`, `{"error": ...}`."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code
        self.headers, self.more = headers or {}, more

    def answer(self) -> Answer:
        answer = as_json({"error": self.message, **self.more}, self.status, **self.headers)
        answer.headers["X-Error-Message"] = self.message.encode("ascii", "replace").decode()
        if self.code:
            answer.headers["X-Error-Code"] = self.code
        return answer


def as_json(data: Any, status: int = 200, **headers: str) -> Answer:
    kind = {"Content-Type": "application/json; charset=utf-8"}
    return Answer(status, kind | headers, json.dumps(data).encode())


def as_page(html: str) -> Answer:
    return Answer(200, {"Content-Type": "text/html; charset=utf-8"}, html.encode())


def as_file(content: bytes | FilePart, headers: dict[str, str], wanted: str | None) -> Answer:
    """A file, or of one on disk the range that a `Range` header asks for: 200 or 206."""
    headers = {"Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"} | headers
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", (wanted or "").strip())
    if match is None or isinstance(content, bytes):
        return Answer(200, headers, content)
    size, start = len(content), int(match[1])
    end = min(size, int(match[2]) + 1) if match[2] else size
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    part = replace(content, start=content.start + start, length=end - start)
    return Answer(206, headers, part)


def _chunks(body: bytes | FilePart) -> Iterator[bytes]:
    if isinstance(body, FilePart):
        yield from body.chunks()
    else:
        for start in range(0, len(body), CHUNK):
            yield body[start : start + CHUNK]
