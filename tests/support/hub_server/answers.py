"""What the server sends back, in the Hub's form, and the faults that tests put in between."""

import hashlib
import json
import re
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any, Literal


@dataclass
class Answer:
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


def as_file(content: bytes, headers: dict[str, str], wanted: str | None) -> Answer:
    headers = {"Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"} | headers
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted or "")
    if match is None:
        return Answer(200, headers, content)
    start, size = int(match[1]), len(content)
    end = min(size, int(match[2]) + 1) if match[2] else size
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    return Answer(206, headers, content[start:end])


Kind = Literal[
    "status",  # an error status instead of an answer, with Retry-After when given
    "reset",  # the connection is reset before any answer
    "html",  # 200 and a page of HTML, as captive portals answer
    "delay",  # the answer comes `seconds` late
    "wrong_etag",  # `etag`, or a made-up one, in ETag and X-Linked-Etag
    "wrong_length",  # contents a byte short, with headers that agree with it
    "tampered",  # the byte in the middle of the body is another
    "cut",  # the connection ends after `after` bytes of the body; by a reset if `abrupt`
    "truncated",  # like cut, the last `missing` bytes (half the body by default) never come
]
# of each of these groups one fault strikes a request
_INSTEAD = ("reset", "status", "html")
_ON_HEADERS = (("wrong_etag",), ("wrong_length",))
_ON_BODY = (("tampered",), ("cut", "truncated"))
_PAGE = b"<!doctype html><title>Log in</title><p>Please log in to use this network.</p>"


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and with which requests.

    Faults on contents pass over errors and, unless asked with HEAD, over redirects: they wait
    for the answer that carries the contents; those on a body pass over HEAD too. A download from
    `.../resolve/REV/PATH` that is redirected asks for `/cdn/.../resolve/REV/PATH` next, so that
    one expression matches both. Uploads go to `/upload/datasets/NAMESPACE/NAME/SHA256`. Of
    several faults that exclude each other the first strikes; the others wait for the next request.
    """

    match: str  # a regular expression searched in the unquoted path and query
    kind: Kind = "status"
    method: str | None = None  # only requests with this one
    times: int | None = 1  # how many requests are hit; None for all
    status: int = 500
    retry_after: int | None = None
    seconds: float = 0.5
    after: int = 0
    missing: int | None = None
    etag: str | None = None
    abrupt: bool = False


class Reset(Exception):
    """The connection is to be reset without an answer."""


class Faults:
    """The faults now in force; `hits` counts how often each one struck."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        self.active: list[Fault] = []
        self.hits: list[int] = []

    def add(self, *faults: Fault) -> None:
        with self._lock:
            self.active += faults
            self.hits += [0] * len(faults)

    def before(self, method: str, path: str) -> Answer | None:
        """Faults that need no answer: a delay, a reset, an error status, a page."""
        if late := self._strike(method, path, ("delay",)):
            time.sleep(late.seconds)
        fault = self._strike(method, path, _INSTEAD)
        if fault is None:
            return None
        if fault.kind == "reset":
            raise Reset
        if fault.kind == "html":
            return Answer(200, {"Content-Type": "text/html; charset=utf-8"}, _PAGE)
        answer = HubError(fault.status, "Something went wrong, by design").answer()
        if fault.retry_after is not None:
            answer.headers["Retry-After"] = str(fault.retry_after)
        return answer

    def after(self, method: str, path: str, answer: Answer) -> Answer:
        if answer.status >= 400 or (answer.status >= 300 and method != "HEAD"):
            return answer
        for kinds in _ON_HEADERS if method == "HEAD" else (*_ON_HEADERS, *_ON_BODY):
            if fault := self._strike(method, path, kinds):
                answer = _spoil(fault, answer)
        return answer

    def _strike(self, method: str, path: str, kinds: tuple[str, ...]) -> Fault | None:
        with self._lock:
            for i, fault in enumerate(self.active):
                fits = fault.kind in kinds and fault.method in (None, method)
                left = fault.times is None or self.hits[i] < fault.times
                if fits and left and re.search(fault.match, path):
                    self.hits[i] += 1
                    return fault
        return None


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


def _spoil(fault: Fault, answer: Answer) -> Answer:
    body, size = answer.body, len(answer.body)
    if fault.kind == "wrong_etag":
        headers = dict(answer.headers)
        for name in {"ETag", "X-Linked-Etag"} & headers.keys():
            old = headers[name].strip('"')
            made_up = hashlib.sha256(old.encode()).hexdigest()[: len(old)]
            headers[name] = f'"{fault.etag or made_up}"'
        return replace(answer, headers=headers)
    if fault.kind == "wrong_length":
        return answer if answer.status >= 300 else replace(answer, body=body[:-1])
    if fault.kind == "tampered":
        return replace(answer, body=flipped(body))
    kept = fault.after
    if fault.kind == "truncated":
        kept = size - (size - size // 2 if fault.missing is None else fault.missing)
    return replace(answer, stop_after=min(max(0, kept), size), abrupt=fault.abrupt)
