"""Strangers' texts in comments: shown as they are, but nothing in them works.

A comment on a pull request is Markdown, and what shows it turns ``@name`` into a message to
somebody, ``#1`` and addresses into links, and HTML into elements.  Markdown's own characters can be
escaped.  Mentions and links are found afterwards, in the text that is shown, so there they are
broken by a character of no width.
"""

from __future__ import annotations

import re
from dataclasses import replace

from benchmark_spec.naming import one_line
from fslbench_data.render.table import Column, Table

BREAK = "\u200b"
"""A space of no width: where it stands, no name, number or address goes on."""

_LINKED = re.compile(r"[@#$&!](?=\S)|:(?=[^\s:])|\bGH-(?=\d)|www(?=\.)", re.IGNORECASE)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~&$!])")


def neutral(text: str) -> str:
    """The text on one printable line, its mentions, references, links and emoji broken."""
    return _LINKED.sub(lambda match: match[0] + BREAK, one_line(text, most=1000))


def escaped(text: str) -> str:
    """The text as Markdown that shows it as it is, within a line or a cell of a table."""
    shown = _MARKDOWN.sub(r"\\\1", neutral(text))
    return re.sub(r"^(\d*)([-+=.])", r"\1\\\2", shown)  # no list, no heading


def neutral_table(table: Table) -> Table:
    """Return a table of strangers' texts; what writes it as Markdown does the escaping."""

    def column(of: Column) -> Column:
        return replace(of, cell=lambda row: neutral(of.text_of(of.cell(row))))

    columns, notes = tuple(map(column, table.columns)), tuple(map(neutral, table.notes))
    return replace(table, title=neutral(table.title), columns=columns, notes=notes)
