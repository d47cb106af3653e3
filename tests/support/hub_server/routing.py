"""From a request to the function that answers it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from hub_server.access import User, check_read
from hub_server.answers import Answer, HubError

if TYPE_CHECKING:
    from hub_server.server import HubServer

_PARTS = {
    "kind": r"(?P<kind>models|datasets|spaces)",
    "prefix": r"(?:(?P<kind>datasets|spaces)/)?",
    "repo": r"(?P<repo>[^/]+/[^/]+?)",
    "num": r"(?P<num>\d+)",
    "rest": r"(?P<path>.*)",
}


@dataclass
class Call:
    """One request, as the functions that answer it see it."""

    hub: HubServer
    method: str
    path: str
    query: dict[str, list[str]]
    headers: Any
    chunks: Callable[[], Iterator[bytes]]  # the body, once
    user: User | None = None

    def body(self) -> bytes:
        return b"".join(self.chunks())

    def json(self) -> dict[str, Any]:
        data = json.loads(self.body() or b"{}")
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


def dispatch(call: Call) -> Answer:
    """The answer to a request; refusals become answers too."""
    try:
        call.user = call.hub.accounts.of(call.headers.get("Authorization"))
        for method, pattern, endpoint in _ROUTES:
            if method == call.method and (match := pattern.fullmatch(call.path)):
                return endpoint(call, **_arguments(call, match))
    except HubError as error:
        return error.answer()
    return HubError(404, "Sorry, we can't find the page you are looking for.").answer()


def _arguments(call: Call, match: re.Match[str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: None if value is None else unquote(value) for name, value in match.groupdict().items()
    }
    if "repo" in found:
        kind = (found.pop("kind", None) or "models").removesuffix("s")
        found["repo"] = check_read(call.hub.repos.get((kind, found["repo"])), call.user)
    if "num" in found:
        found["num"] = int(found["num"])
    return found
