"""The table of an answer, whole or as much of it as has room."""

from __future__ import annotations

from fslbench_data.render.answer_fit import Fitted
from fslbench_data.render.answer_grid import fitted_grid, grid_table
from fslbench_data.render.answer_rows import fitted_rows, rows_table
from fslbench_data.render.table import Table
from fslbench_data.scoring.answer import Answer


def answer_table(answer: Answer) -> Table:
    """Return the whole table."""
    return rows_table(answer) if answer.rows else grid_table(answer)


def fitted_table(answer: Answer, width: int, rows: int) -> Fitted:
    """Return the table of an answer that is at most so many characters wide, and rows long."""
    return fitted_rows(answer, width, rows) if answer.rows else fitted_grid(answer, width, rows)
