"""The table of a paper from results: methods on task sets, in Markdown, LaTeX, HTML and CSV."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from benchmark_spec.errors import FSLBenchWarning, SpecError
from benchmark_spec.protocol import About
from fslbench_data.release.release import Release, load_release
from fslbench_data.render import table as plain
from fslbench_data.render.latex import (
    MOST_LINES,
    PAGE,
    SIMILAR,
    check_label,
    in_parts,
    latex,
    table_width,
)
from fslbench_data.render.paper_text import (
    NOT_SIGNIFICANT,
    caption_of,
    cell_marks,
    cell_text,
    cite_text,
    label_of,
    title_of,
)
from fslbench_data.render.summary_text import LONG
from fslbench_data.render.table import Column, Table, right
from fslbench_data.render.templating import html
from fslbench_data.scoring.paper import PaperCell, PaperContent, paper_content
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import report_on
from fslbench_data.scoring.selection import Names, Selection, Sources, select
from fslbench_data.submission.frames import AsFrame
from fslbench_data.tasks import names_of

Width = Literal["column", "page"] | float
"""As wide as one column of a paper of two columns, or as the page, or so many points."""

POINTS: dict[str, float] = {"column": 229.5, "page": PAGE}
"""Of LaTeX's article in two columns; other classes give about as much or more."""

NARROW = 300
"""Points up to which a width is that of a column, and not of the page."""


def table(
    results: Report | Sources | None = None,
    release: Release | None = None,
    *,
    kind: About = "new images",
    methods: Names = (),
    against: Names = (),
    datasets: Names = (),
    task_sets: Names = (),
    suites: Names = (),
    level: float = 0.95,
    allow_unbound: bool = False,
    all_references: bool = False,
    means: bool = False,
    transpose: bool = False,
    columns: int | None = None,
    width: Width = "page",
    label: str = "",
) -> PaperTable:
    """Make a table for a paper: methods on data sets and shots, each mean with its half-width.

    Parameters
    ----------
    results
        A report, which then sets the level and data of the table; or what
        :func:`fslbench_data.score` takes.
    kind
        What half-widths are about; ``closed`` is the field's habit, only about tasks of the very
        same images.
    methods
        The rows, of the results or of the release's reference methods; by default those of the
        results, and the references that they are first compared with.
    against
        Show differences from these methods instead of accuracies: of `methods`, or of all in the
        results.
    datasets, task_sets, suites
        Only these. Without `task_sets` and `suites` there is one task set a data set, ways and
        shots: pooled, else closed, else open.
    all_references
        Show every reference method.
    means
        Show means over data sets too, each data set counting alike.
    transpose
        Let a row be a task set, and a column a method.
    columns
        How many columns of numbers are side by side, others below; by default as many as fit.
    width
        What they fit: ``column``, one of a paper of two columns, or ``page``.
    label
        Of the float in LaTeX, such as ``tab:results``.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the arguments or the results.
    """
    if isinstance(results, Report):
        if datasets or task_sets or release is not None or allow_unbound or level != 0.95:
            raise SpecError(
                "a report has its own release, level and task sets",
                fix="choose these where it is made, or give the results instead",
            )
    else:
        selection = Selection.of(
            datasets=datasets, task_sets=task_sets, level=level, allow_unbound=allow_unbound
        )
        opened = load_release() if release is None else release
        results = report_on(select(results, opened, selection))
    content = paper_content(
        results,
        kind,
        methods=names_of(methods),
        against=names_of(against),
        suites=names_of(suites),
        every=bool(task_sets or suites),
        all_references=all_references,
        means=means,
    )
    return PaperTable(content, transpose, columns, width, label)


def _points(width: Width) -> float:
    return POINTS.get(width, 0.0) if isinstance(width, str) else float(width)


class PaperTable(AsFrame, Struct, frozen=True, dict=True):
    """A table for a paper, in several formats; ``str`` gives Markdown.

    Attributes
    ----------
    content
        The numbers.
    transposed
        Whether a row is a task set, and a column a method.
    most
        Columns of numbers side by side, by default as many as fit; others are below.
    width
        What they are to fit: a column of a paper, or the page.
    label
        Of the float in LaTeX, by default made of the title.
    """

    content: PaperContent
    transposed: bool = False
    most: int | None = None
    width: Width = "page"
    label: str = ""

    def __post_init__(self) -> None:
        if not 100 <= _points(self.width) <= 1000:
            expected = "column, page, or points from 100 to 1000"
            raise SpecError(f"no width {self.width!r}", expected=expected)
        check_label(self.label)
        if self.most is not None and self.most < 1:
            raise SpecError(f"{self.most} columns hold nothing", expected="at least 1")

    def markdown(self) -> str:
        """Write it as Markdown."""
        return plain.markdown(self.tables(), str(self.content.signature), self.notes)

    def latex(self) -> str:
        r"""Write it as LaTeX with ``\usepackage{booktabs}``; the sentence to cite is a comment.

        A table as wide as the page is a ``table*``, which is a ``table`` in a paper of one column.
        Warns if it is wider than it is to be.
        """
        first, *more = self.tables()
        wide = table_width([first, *more])
        room = _points(self.width)
        narrow = room <= NARROW
        if wide > room:
            turned = "leave --transpose out" if self.transposed else "--transpose"
            ways = [*(["--width page"] if narrow else []), turned]
            what = "column" if narrow else "page"
            message = (
                f"the table is about {wide:.0f} points wide, a {what} has "
                f"{room:.0f}\n  fix: {', '.join(ways)}, fewer --columns, or "
                "shorter names of methods"
            )
            warnings.warn(FSLBenchWarning(message), stacklevel=2)
        mark, sign = f"{NOT_SIGNIFICANT}:", f"{SIMILAR}:"
        notes = tuple(note.replace(mark, sign) for note in self._caption)
        tables = [replace(first, notes=notes), *more]
        cite = cite_text(self.content, tex=True)
        return latex(
            tables, str(self.content.signature), (cite,), page=not narrow, label=self.label
        )

    def html(self) -> str:
        """Write it as elements of HTML that need no style sheet."""
        return html(self.tables(), str(self.content.signature), self.notes)

    def csv(self) -> str:
        """Write a line a cell, numbers unrounded, in percentage points."""
        first, *more = _lines(self.content)
        rows = (line.values() for line in (first, *more))
        return plain.csv_of_rows(first, rows, str(self.content.signature))

    def to_arrow(self) -> pa.Table:
        """Return the content of :meth:`csv` as a table."""
        return pa.Table.from_pylist(_lines(self.content))

    def __str__(self) -> str:
        return self.markdown()

    def __repr__(self) -> str:
        rows, columns = len(self.content.rows), len(self.content.columns)
        return f"<PaperTable: {rows} rows on {columns} task sets>"

    def _repr_html_(self) -> str:
        return self.html()

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes below it: what its marks mean, and a sentence to cite."""
        return (*self._caption, cite_text(self.content))

    @cached_property
    def _names(self) -> dict[str, str]:
        """What methods are called: without the prefix that all with a slash have in common.

        In a narrow table any prefix is left out, else a long one.
        """
        names = self.content.methods
        prefixes = {name.rpartition("/")[0] for name in names} - {""}
        features = prefixes.pop() if len(prefixes) == 1 else ""
        least = 1 if _points(self.width) <= NARROW else LONG + 1
        short = {name: name.removeprefix(f"{features}/") for name in names}
        alike = len({*short.values()}) < len(names)
        return {name: name for name in names} if alike or len(features) < least else short

    @cached_property
    def _caption(self) -> tuple[str, ...]:
        return tuple(caption_of(self.content, self._names))

    def tables(self) -> list[Table]:
        """Return the table in blocks of as many columns as LaTeX sets side by side."""
        content, columns = self.content, self.content.columns
        rows, own = range(len(columns if self.transposed else content.rows)), None
        names = [label_of(content, row, self._names) for row in content.rows]
        datasets = [column.dataset for column in columns]
        if self.transposed:
            first = [i == 0 or datasets[i] != datasets[i - 1] for i in rows]
            heads = [
                Column("data set", lambda i: datasets[i] if first[i] else None),
                Column("tasks", lambda i: columns[i].heading),
            ]
            numbers = [
                _column(name, [column.cells[row] for column in columns])
                for row, name in enumerate(names)
            ]
        else:
            one, other = content.sides
            alike = other or not content.rows[0].versus
            what = "method" if alike else "versus" if one else "difference"
            heads = [Column(what, names.__getitem__)]
            numbers = [_column(c.heading, c.cells, c.dataset) for c in columns]
            own = [row.method in content.own for row in content.rows].__getitem__
        caption = sum(map(len, self._caption))  # takes more lines in a column, 5.4 points each
        lost = caption * 5.4 * (1 / _points(self.width) - 1 / PAGE)
        whole = Table(title_of(content, self._names), (*heads, *numbers), rows, shaded=own)
        lines = MOST_LINES - max(0.0, lost)
        return in_parts(whole, len(heads), _points(self.width), lines, self.most)


def _column(name: str, cells: Sequence[PaperCell | None], group: str = "") -> Column:
    """Return a column of cells, by the number of a row."""

    def of(what: Callable[[PaperCell], Any], missing: Any) -> Callable[[int], Any]:
        return lambda row: missing if (cell := cells[row]) is None else what(cell)

    text, strong, marks = of(cell_text, None), of(attrgetter("strong"), False), of(cell_marks, "")
    column = right(name, text, missing="–")
    return replace(column, group=group, strong=strong, marks=marks)


def _lines(content: PaperContent) -> list[dict[str, Any]]:
    """Return a line a cell, numbers unrounded, in percentage points."""
    return [
        {
            "dataset": column.dataset,
            "task_set": f"{column.over} data sets" if column.over else column.scored.task_set,
            "method": row.method,
            "versus": row.versus,
            "T": cell.interval.tasks,
            "mean": cell.interval.mean,
            "halfwidth": cell.interval.halfwidth,
            "interval": cell.interval.kind,
            "level": cell.interval.level,
            "highest": None if row.versus else cell.strong,
            "not_told_apart": cell.not_significant,
            "pairs": None if row.versus else column.pairs,
            "verdict": cell.verdict,
            "transductive": bool({*row.names} & content.transductive),
            "stopped": cell.stopped,
            "first_tasks": cell.first_tasks,
            "unbound": cell.unbound,
            "is_bound": not column.over and column.kind in column.of.units.bounded,
        }
        for column in content.columns
        for row, cell in zip(content.rows, column.cells, strict=True)
        if cell is not None
    ]
