"""Which part of an answer's table has room, and the columns that its tables share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fslbench_data.render.console import GAP, table_size
from fslbench_data.render.short_names import folded
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.headlines import Headline

HEADING = 8
"""Characters of a line of a heading at least."""


@dataclass(frozen=True)
class Fitted:
    """A table that has room, and how many rows and columns of the whole one it is without.

    Attributes
    ----------
    rows_of, columns_of
        What these are.
    """

    table: Table
    rows: int = 0
    columns: int = 0
    rows_of: str = ""
    columns_of: str = ""


def set_columns(headlines: Sequence[Headline]) -> list[Column]:
    """Return the columns that name a task set that leads: no more than tell them apart."""
    protocols = {headline.name.protocol for headline in headlines}
    columns = [Column("data set", lambda headline: headline.scored.dataset)]
    if len({protocol.way for protocol in protocols}) > 1:
        columns.append(right("ways", lambda headline: headline.name.protocol.way))
    columns.append(right("shots", lambda headline: headline.name.protocol.shot))
    if len({(protocol.way, protocol.shot) for protocol in protocols}) < len(protocols):
        columns.append(right("queries", lambda headline: headline.name.protocol.query))
    return columns


def width_of(table: Table) -> int:
    """Return how many characters a table takes."""
    return table_size(table, HEADING, folded)[0]


def widths_of(table: Table) -> list[int]:
    """Return how many characters each column takes, which is the same beside whichever others."""
    return [width_of(replace(table, columns=(column,))) for column in table.columns]


def most_columns(width: int) -> int:
    """Return how many columns a line may have: each has a character at least."""
    return (width + GAP) // (1 + GAP)


def widest(columns: Sequence[Sequence[int]], width: int) -> int:
    """Return the last of several lists of columns, given by their widths, that has room; or 1."""
    room = [n for n, some in enumerate(columns) if sum(some) + GAP * (len(some) - 1) <= width]
    return max([1, *room])
