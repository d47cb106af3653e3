"""What sources do with damaged images: refuse or leave out, or number them like whole ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_damaged_kept = ContextVar("damaged_kept", default=False)


@contextmanager
def keeping_damaged() -> Iterator[None]:
    """Let sources number damaged images like whole ones; opening them is what fails then.

    For work that goes on where an image cannot be shown, with the ids of the whole data set.
    """
    token = _damaged_kept.set(True)
    try:
        yield
    finally:
        _damaged_kept.reset(token)


def keeps_damaged() -> bool:
    """Whether damaged images are to be numbered like whole ones."""
    return _damaged_kept.get()
