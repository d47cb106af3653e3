"""A table for a paper as lines for machines, one a cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fslbench_data.render.table import Column, Table
from fslbench_data.scoring.paper import PaperCell, PaperColumn, PaperContent, PaperRow


@dataclass(frozen=True)
class _Line:
    """A cell with where it stands."""

    column: PaperColumn
    row: PaperRow
    cell: PaperCell
    transductive: bool


def line_table(content: PaperContent) -> Table:
    """Return a line a cell, numbers unrounded, in percentage points."""
    return Table("", _CSV, list(_lines(content)))


def _lines(content: PaperContent) -> Iterator[_Line]:
    for column in content.columns:
        for row, cell in zip(content.rows, column.cells, strict=True):
            if cell is not None:
                names = {row.method, row.versus}
                yield _Line(column, row, cell, bool(names & content.transductive))


_CSV = (
    Column("dataset", lambda line: line.column.scored.dataset),
    Column("task_set", lambda line: line.column.scored.task_set),
    Column("method", lambda line: line.row.method),
    Column("versus", lambda line: line.row.versus),
    Column("T", lambda line: line.cell.interval.tasks),
    Column("mean", lambda line: line.cell.interval.mean),
    Column("halfwidth", lambda line: line.cell.interval.halfwidth),
    Column("interval", lambda line: line.cell.interval.kind),
    Column("level", lambda line: line.cell.interval.level),
    Column("highest", lambda line: None if line.row.versus else line.cell.strong),
    Column("not_told_apart", lambda line: line.cell.not_told_apart),
    Column("pairs", lambda line: None if line.row.versus else line.column.pairs),
    Column("verdict", lambda line: line.cell.verdict),
    Column("transductive", lambda line: line.transductive),
    Column("stopped", lambda line: line.cell.stopped),
    Column("first_tasks", lambda line: line.cell.first_tasks),
    Column("unbound", lambda line: line.cell.unbound),
)
