"""The benchmark of coverage in a short form: it goes on where it stopped, and intervals hold.

Three lines of ``python -m studies.coverage leave-one-out``, 160 data sets each.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from studies.coverage.leave_one_out.__main__ import main as command

LINES = ("15,100 5w10s7q", "43,200 5w5s5q", "40,40 5w5s5q superclasses 8 of 40")

Floats = NDArray[np.float64]


def table(folder: Path, lines: tuple[str, ...], some: int, more: int) -> list[list[str]]:
    """Run some data sets of lines, then more, and give the cells of the table that is printed.

    What was written of the first is kept as it is.
    """
    asked = [word for line in lines for word in ("--lines", line)]
    assert command(["run", str(folder), "--data-sets", str(some), *asked]) == 0
    before = {path.name: path.read_text() for path in folder.iterdir()}
    assert command(["run", str(folder), "--data-sets", str(more), *asked]) == 0
    for name, text in before.items():
        assert (folder / name).read_text().startswith(text), name
    printed = io.StringIO()
    with redirect_stdout(printed):
        missed = command(["table", str(folder), *asked])
    said = printed.getvalue()
    assert missed == 0, said
    return [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in said.splitlines()
        if row.startswith("|") and row[2].isdigit()
    ]


def numbers(rows: list[list[str]]) -> tuple[Floats, Floats]:
    """Read the coverage, in percent, and the relative width of each row."""
    coverage, width = (np.array([float(row[at].split()[0]) for row in rows]) for at in (10, 11))
    return coverage, width


def main() -> None:
    """Print the coverage and width of each row.

    A row of 160 has a standard error of 1.7 points, so that all are no less than 93 % apart from
    chance; intervals that forgot the noise of tasks, or were of the wrong kind, fall short.
    """
    with TemporaryDirectory() as folder:
        rows = table(Path(folder), LINES, 40, 160)
    assert len(rows) == 2 * (2 * 2 * 2 + 2)  # images and classes of two lines; superclasses
    assert {row[7] for row in rows} == {"160"}
    coverage, width = numbers(rows)
    for row in rows:
        print(" | ".join(row))
    print(f"coverage {coverage.min():.1f} to {coverage.max():.1f}, mean {coverage.mean():.1f}")
    print(f"relative width {width.min():.2f} to {width.max():.2f}")
    assert coverage.min() > 87
    assert 93 < coverage.mean() < 99
    assert width.min() > 0.85
    assert width.max() < 1.6
