"""Faults that tests put between the server and its clients."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from dataclasses import dataclass, replace
from typing import Literal

from hub_server.answers import Answer, HubError, as_page

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
_PAGE = "<!doctype html><title>Log in</title><p>Please log in to use this network.</p>"


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and with which requests.

    Faults on contents pass over errors and, unless asked with HEAD, over redirects: they wait
    for the answer that carries the contents; those on a body pass over HEAD too. A download from
    `.../resolve/REV/PATH` that is redirected asks for `/cdn/.../resolve/REV/PATH` next, so that
    one expression matches both. Uploads go to `/upload/datasets/NAMESPACE/NAME/SHA256`. Of
    several faults that exclude each other the first strikes; the others wait for the next request.

    Parameters
    ----------
    match
        A regular expression searched in the unquoted path and query.
    method
        Only requests with this method.
    times
        How many requests are hit; None for all.
    """

    match: str
    kind: Kind = "status"
    method: str | None = None
    times: int | None = 1
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
            return as_page(_PAGE)
        answer = HubError(fault.status, "Something went wrong, by design").answer()
        if fault.retry_after is not None:
            answer.headers["Retry-After"] = str(fault.retry_after)
        return answer

    def after(self, method: str, path: str, answer: Answer) -> Answer:
        """The answer as the faults on contents leave it."""
        if answer.status >= 400 or (answer.status >= 300 and method != "HEAD"):
            return answer
        for kinds in _ON_HEADERS if method == "HEAD" else (*_ON_HEADERS, *_ON_BODY):
            if fault := self._strike(method, path, kinds):
                answer = _spoil(fault, answer)
        return answer

    def _strike(self, method: str, path: str, kinds: tuple[str, ...]) -> Fault | None:
        """The first fault of these kinds that hits this request, if any; it is counted."""
        with self._lock:
            for i, fault in enumerate(self.active):
                if fault.kind not in kinds or fault.method not in (None, method):
                    continue
                if not re.search(fault.match, path):
                    continue
                if fault.times is None or self.hits[i] < fault.times:
                    self.hits[i] += 1
                    return fault
        return None


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
        middle = size // 2
        flipped = bytes([body[middle] ^ 0xFF])
        return replace(answer, body=body[:middle] + flipped + body[middle + 1 :])
    kept = fault.after
    if fault.kind == "truncated":
        kept = size - (size - size // 2 if fault.missing is None else fault.missing)
    return replace(answer, stop_after=min(max(0, kept), size), abrupt=fault.abrupt)
