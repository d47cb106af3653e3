"""What the server sends back: contents, JSON, errors in the Hub's form, ranges of files."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Answer:
    """One response, before any fault changes it."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    stop_after: int | None = None  # bytes of the body after which the connection is closed
    abrupt: bool = False  # closed by a reset, not in order


class HubError(Exception):
    """A refusal in the Hub's form: status, `X-Error-Code`, `X-Error-Message`, `{"error": ...}`."""

    def __init__(
        self, status: int, message: str, code: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.headers = status, message, code, headers or {}

    def answer(self) -> Answer:
        answer = as_json({"error": self.message}, self.status)
        answer.headers |= {**self.headers, "X-Error-Message": self.message}
        if self.code:
            answer.headers["X-Error-Code"] = self.code
        return answer


def as_json(data: Any, status: int = 200) -> Answer:
    kind = {"Content-Type": "application/json; charset=utf-8"}
    return Answer(status, kind, json.dumps(data).encode())


def as_page(html: str) -> Answer:
    return Answer(200, {"Content-Type": "text/html; charset=utf-8"}, html.encode())


def as_file(content: bytes, headers: dict[str, str], wanted: str | None) -> Answer:
    """A file, or the range of it that a `Range` header asks for: 200 or 206."""
    headers = {"Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"} | headers
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted or "")
    if match is None:
        return Answer(200, headers, content)
    start, size = int(match[1]), len(content)
    end = min(size, int(match[2]) + 1) if match[2] else size
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    return Answer(206, headers, content[start:end])
