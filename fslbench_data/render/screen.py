"""Consoles: the terminal, or a page of fixed width where there is none."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

PAGE_WIDTH = 120
PAGE_HEIGHT = 50


def console() -> Console:
    """Standard output: as wide and high as the terminal, or a page if it is none."""
    screen = Console(highlight=False, markup=False, emoji=False)
    return (
        screen
        if screen.is_terminal
        else Console(
            highlight=False, markup=False, emoji=False, width=PAGE_WIDTH, height=PAGE_HEIGHT
        )
    )


def page() -> Console:
    """A console that keeps its text, for a file."""
    return Console(
        file=io.StringIO(),
        record=True,
        highlight=False,
        markup=False,
        emoji=False,
        width=PAGE_WIDTH,
        height=PAGE_HEIGHT,
    )


@contextmanager
def steps(title: str) -> Iterator[Callable[[str], None]]:
    """Show on standard error what a long job is at; silent where that is no terminal."""
    screen = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with screen.status(title) as status:
        yield lambda step: status.update(f"{title}: {step}")
