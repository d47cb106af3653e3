"""The webhook."""

from __future__ import annotations

from typing import Any

from gate_client import SECRET, Client

from builders.hub.gate import MOST_BYTES
from reliability import Section, World

SECTION = Section(__doc__)
attempt = SECTION.attempt


def _answered(body: Any, **sent: Any) -> str:
    """Send a request to the gate; the answer, and how much of its body was read."""
    client = Client()
    status = client.send(body=body, **sent)
    return f"{status}, {client.read:,} bytes read; {len(client.passed)} passed on to the app"


@attempt("an event of 300 MB without the secret")
def _(world: World) -> str:
    return _answered((b" " * 2**16 for _ in range(4578)), secret=None)


@attempt("the same with another secret")
def _(world: World) -> str:
    return _answered((b" " * 2**16 for _ in range(4578)), secret="another")


@attempt("the same with the secret, which says that it has 300,000,000 bytes")
def _(world: World) -> str:
    length = [(b"content-length", b"300000000")]
    return _answered((b" " * 2**16 for _ in range(4578)), headers=length)


@attempt("the same with the secret, which does not say how much is to come")
def _(world: World) -> str:
    client = Client()
    status = client.send(body=(b" " * 2**16 for _ in range(4578)))
    little = client.read <= MOST_BYTES + 2**16
    return f"{status} {'as soon as 1 MiB has come' if little else f'after {client.read:,} bytes'}"


@attempt("events whose number is `NaN`, `1e400` or of 5,000 digits")
def _(world: World) -> str:
    client = Client()
    bodies = (b'{"num": NaN}', b'{"num": 1e400}', b'{"num": ' + b"9" * 5000 + b"}")
    answers = ", ".join(str(client.send(body=body)) for body in bodies)
    return f"{answers}; {len(client.passed)} passed on to the app"


@attempt("files posted to gradio's `/gradio_api/upload`, with the secret")
def _(world: World) -> str:
    return _answered((b"x" * 2**16 for _ in range(16)), path="/gradio_api/upload", secret=SECRET)
