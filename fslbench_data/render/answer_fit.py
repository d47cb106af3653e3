"""Which part of an answer's table has room, and the columns that its tables share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fslbench_data.render.console import table_size
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
