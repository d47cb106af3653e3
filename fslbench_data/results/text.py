"""Strangers' texts in messages: one printable line, not long."""

from __future__ import annotations

LONGEST = 300


def one_line(text: str, most: int = LONGEST) -> str:
    """The text on one line of at most `most` characters, what cannot be printed as ``?``.

    Line breaks, escapes of terminals, marks that turn the direction of writing and bytes that are
    no text are among what cannot be printed.
    """
    cut = text[: most + 1]
    shown = "".join(c if c.isprintable() else " " if c in "\n\r\t" else "?" for c in cut)
    return shown if len(text) <= most else f"{shown[: most - 1]}…"
