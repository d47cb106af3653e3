"""How much of a table for a paper stands beside each other, and what it leaves out of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from benchmark_spec.errors import FSLBenchWarning, SpecError, listing
from fslbench_data.render.summary_text import LONG
from fslbench_data.render.table import Column
from fslbench_data.scoring.paper import PaperContent

Width = Literal["column", "page"]
"""As wide as one column of a paper of two columns, or as the page."""

CHARACTERS: dict[Width, int] = {"column": 56, "page": 115}
"""Of a line of text, two between columns."""

POINTS: dict[Width, float] = {"column": 229.5, "page": 469.0}
"""Of LaTeX's article in two columns; other classes give about as much or more."""


def check_width(width: str) -> None:
    """Refuse what is no width."""
    if width not in CHARACTERS:
        raise SpecError(f"no width {width!r}", expected=f"one of {listing([*CHARACTERS])}")


def characters(column: Column, rows: Iterable[Any]) -> int:
    """Count the characters of a column's widest text, and those between columns."""
    return 2 + max(map(len, [column.name, *(column.text_of(column.cell(row)) for row in rows)]))


def too_wide(points: float, width: Width, *, transposed: bool) -> FSLBenchWarning:
    """Say that a table does not fit, and what to do."""
    turned = "leave --transpose out" if transposed else "--transpose"
    ways = [*(["--width page"] if width == "column" else []), turned, "fewer --columns"]
    return FSLBenchWarning(
        f"the table is about {points:.0f} points wide, a {width} has {POINTS[width]:.0f}\n"
        f"  to mend: {', '.join(ways)}, or shorter names of methods"
    )


def blocks(groups: Sequence[Sequence[Column]], most: int) -> Iterator[list[Column]]:
    """Put groups of columns beside each other while they fit; only one that is too wide is parted.

    `most` is how many columns fit.
    """
    block: list[Column] = []
    for group in groups:
        for part in (group[i : i + most] for i in range(0, len(group), most)):
            if len(block) + len(part) > most:
                yield block
                block = []
            block = [*block, *part]
    yield block


def with_short_names(content: PaperContent, width: Width) -> tuple[PaperContent, str]:
    """Leave out what the names of methods begin with, if all that have a slash begin alike.

    In a narrow table whatever it is, else if it is long.

    Returns
    -------
    content, note
        The note says what is left out, of which names; empty if nothing is.
    """
    names = dict.fromkeys(name for row in content.rows for name in (row.method, row.versus) if name)
    prefixes = {name.rpartition("/")[0] for name in names} - {""}
    features = prefixes.pop() if len(prefixes) == 1 else ""
    least = 1 if width == "column" else LONG + 1
    short = {name: name.removeprefix(f"{features}/") for name in names}
    if len(features) < least or len({*short.values()}) < len(names):
        return content, ""
    of_these = [short[name] for name in names if short[name] != name]
    before = f" (before {listing(of_these)})" if len(of_these) < len(names) else ""
    rows = (
        replace(row, method=short[row.method], versus=short.get(row.versus, ""))
        for row in content.rows
    )
    transductive = frozenset(short[name] for name in content.transductive)
    shortened = replace(content, rows=tuple(rows), transductive=transductive)
    return shortened, f"Left out of names: {features}/{before}."
