"""A paper's table of methods on task sets, in Markdown, LaTeX, HTML and CSV."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from math import comb
from operator import attrgetter
from statistics import mode
from typing import Any

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from analysis_sql.interval_kinds import about_test_set
from analysis_sql.intervals.intervals import ABOVE
from analysis_sql.multiple_comparisons import FEW_TASKS
from benchmark_spec.errors import FSLBenchWarning, SpecError, listing, many
from benchmark_spec.protocol import EPISODES, About
from fslbench_data.release.release import AnyRelease, load_release
from fslbench_data.render import table as plain
from fslbench_data.render.interval_text import (
    AT_MOST,
    GROUPED,
    MARKS,
    STOPPED,
    TRANSDUCTIVE,
    TRANSDUCTIVE_NOTE,
    by_queries_text,
    family_in,
    new_runs_text,
    one_model_text,
    percent,
    plus_minus,
    runs_word,
    sentences,
    span,
)
from fslbench_data.render.latex import (
    MOST_LINES,
    PAGE,
    SIMILAR,
    Width,
    check_label,
    in_parts,
    in_points,
    latex,
    table_width,
)
from fslbench_data.render.summary_text import LONG
from fslbench_data.render.table import Column, Table, right
from fslbench_data.render.templating import html
from fslbench_data.scoring.own_release import OWN_TASKS
from fslbench_data.scoring.paper import PaperCell, PaperContent, PaperRow, paper_content
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import report_on
from fslbench_data.scoring.selection import Names, Selection, Sources, select
from fslbench_data.scoring.summary import Mark
from fslbench_data.scoring.task_set_report import own_methods
from fslbench_data.submission.frames import AsFrame
from fslbench_data.tasks import names_of

POINTS: dict[str, float] = {"column": 229.5, "page": PAGE}
"""Widths in LaTeX's article with two columns; other classes have about as much or more."""

LEAST_WIDTH = 100
"""Points that a table is wide, at least."""

NARROW = 300
"""Points up to which a table stands in a column instead of across the page."""

NOT_SIGNIFICANT = MARKS[Mark.NOT_SIGNIFICANT]
FIRST_TASKS, UNBOUND, CONSTANT = "§", "¶", "‖"

MOST_NUMBERS = 3
"""Numbers of tasks in the notes besides the usual one, at most."""

NOTES: dict[str, str] = {
    TRANSDUCTIVE: TRANSDUCTIVE_NOTE,
    STOPPED: f"{STOPPED} run under a rule to stop when conclusive: ordinary intervals do not hold, "
    "and it is not among the pairs.",
    FIRST_TASKS: f"{FIRST_TASKS} only the first tasks are answered: no verdict, and not among the "
    "pairs.",
    CONSTANT: f"{CONSTANT} the same on every task, so that there is no half-width.",
    UNBOUND: f"{UNBOUND} unbound: these results do not say which tasks they were made on.",
}
"""What the marks mean, in the order of captions."""


def table(
    results: Report | Sources | None = None,
    release: AnyRelease = None,
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
        The rows: methods of the results or reference methods; by default those of the results, and
        the references that these are first compared with.
    against
        Show differences from these methods instead of accuracies: those of `methods`, by default
        of all methods of the results.
    datasets, task_sets, suites
        Show only these.  Without `task_sets` and `suites` each data set has one task set for its
        ways and shots: pooled, else closed, else open.
    all_references
        Show every reference method.
    means
        Show means over data sets too, each data set counting alike.
    width
        The width to fit: ``column``, one of a paper of two columns, ``page``, or points.
    label
        The label of the float in LaTeX, such as ``tab:results``.

    Raises
    ------
    FSLBenchError
        One of its subclasses if something is wrong with the arguments or the results.
    """
    if isinstance(results, Report):
        if datasets or task_sets or release is not None or allow_unbound or level != 0.95:
            raise SpecError(
                "a report has its own release, level and task sets",
                fix="choose these where it is made, or give the results instead",
            )
    else:
        selection = Selection.of((), datasets, task_sets, level, allow_unbound=allow_unbound)
        opened = load_release(release)
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
    return PaperTable(content, width, label)


class PaperTable(AsFrame, Struct, frozen=True, dict=True):
    """A table for a paper, in several formats; ``str`` gives Markdown.

    Attributes
    ----------
    content
        The numbers.
    width
        The width that they have to fit: a column of a paper, or the page.
    label
        The label of the float in LaTeX, by default made of the title.
    """

    content: PaperContent
    width: Width = "page"
    label: str = ""

    def __post_init__(self) -> None:
        in_points(self.width, POINTS, LEAST_WIDTH)
        check_label(self.label)

    @property
    def points(self) -> float:
        """The width in points."""
        return in_points(self.width, POINTS, LEAST_WIDTH)

    def markdown(self) -> str:
        """Write the table as Markdown."""
        return plain.markdown(self.tables(), str(self.content.signature), self.notes)

    def latex(self) -> str:
        r"""Write the table as LaTeX with ``\usepackage{booktabs}``; how to cite is a comment.

        A table as wide as the page is a ``table*``, which is a ``table`` in a paper of one column.
        Warns if the table is wider than `width`.
        """
        first, *more = self.tables()
        wide, room = table_width([first, *more]), self.points
        narrow = room <= NARROW
        if wide > room:
            what, fix = ("column", "--width page, or ") if narrow else ("page", "")
            message = f"the table is about {wide:.0f} points wide, a {what} has {room:.0f}\n  fix: "
            message += f"{fix}shorter names of methods"
            warnings.warn(FSLBenchWarning(message), stacklevel=2)
        notes = (note.replace(f"{NOT_SIGNIFICANT}:", f"{SIMILAR}:") for note in self._caption)
        tables = [replace(first, notes=tuple(notes)), *more]
        signature, cite = str(self.content.signature), _cite_text(self.content, tex=True)
        return latex(tables, signature, (cite,), page=not narrow, label=self.label)

    def html(self) -> str:
        """Write the table as elements of HTML that need no style sheet."""
        return html(self.tables(), str(self.content.signature), self.notes)

    def csv(self) -> str:
        """Write a line per cell, numbers unrounded, in percentage points."""
        lines = _lines(self.content)
        return plain.csv_of_rows(lines[0], map(dict.values, lines), str(self.content.signature))

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
        """The notes below the table: what its marks mean, and a sentence to cite."""
        return (*self._caption, _cite_text(self.content))

    @cached_property
    def _names(self) -> dict[str, str]:
        """Displayed names by method, without features that all names with a slash have in common.

        A narrow table leaves any features out, others only long ones.
        """
        names = self.content.methods
        prefixes = {name.rpartition("/")[0] for name in names} - {""}
        features = prefixes.pop() if len(prefixes) == 1 else ""
        least = 1 if self.points <= NARROW else LONG + 1
        short = {name: name.removeprefix(f"{features}/") for name in names}
        ambiguous = len({*short.values()}) < len(names)
        return {name: name for name in names} if ambiguous or len(features) < least else short

    @cached_property
    def _caption(self) -> tuple[str, ...]:
        return tuple(_sentences(self.content, self._names))

    def tables(self) -> list[Table]:
        """Return the table in blocks of as many columns as LaTeX sets side by side."""
        content = self.content
        names = [_label(content, row, self._names) for row in content.rows]
        common, common_versus = content.sides
        of_methods = common_versus or not content.rows[0].versus
        heading = "method" if of_methods else "versus" if common else "difference"
        head = Column(heading, names.__getitem__)
        numbers = [_column(c.heading, c.cells, c.dataset) for c in content.columns]
        own = {name for column in content.sets for name in own_methods(column.of)}
        shaded = [row.method in own for row in content.rows].__getitem__
        caption = sum(map(len, self._caption))  # takes more lines in a column, 5.4 points a letter
        lost_lines = caption * 5.4 * (1 / self.points - 1 / PAGE)
        rows = range(len(names))
        table = Table(_title(content, self._names), (head, *numbers), rows, shaded=shaded)
        lines = MOST_LINES - max(0.0, lost_lines)
        return in_parts(table, 1, self.points, lines)


def _column(name: str, cells: Sequence[PaperCell | None], group: str) -> Column:
    """Return a column of cells; rows of its table are the positions of cells."""

    def of_cell(read: Callable[[PaperCell], Any], missing: Any) -> Callable[[int], Any]:
        return lambda row: missing if (cell := cells[row]) is None else read(cell)

    strong, marks = of_cell(attrgetter("strong"), missing=False), of_cell(_cell_marks, "")
    column = right(name, of_cell(_cell_text, None), missing="–")
    return replace(column, group=group, strong=strong, marks=marks)


def _lines(content: PaperContent) -> list[dict[str, Any]]:
    """Return a line per cell, numbers unrounded, in percentage points."""
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


def _cell_text(cell: PaperCell) -> str:
    """Return the mean and half-width; without the latter where a mark says why."""
    if cell.verdict == "=":
        return "identical"
    signed = cell.verdict is not None
    if cell.stopped or (cell.interval.constant and not cell.interval.halfwidth):
        return f"{cell.interval.mean:{'+' if signed else ''}z.2f}"
    return plus_minus(cell.interval, signed=signed)


def _cell_marks(cell: PaperCell) -> str:
    """Return the marks of a cell."""
    interval = cell.interval
    no_width = interval.constant and not interval.halfwidth
    constant = no_width and not cell.stopped and cell.verdict != "="
    marks = {
        NOT_SIGNIFICANT: cell.not_significant,
        CONSTANT: constant,
        STOPPED: cell.stopped,
        FIRST_TASKS: cell.first_tasks and not cell.stopped,
        UNBOUND: cell.unbound,
    }
    return "".join(mark for mark, is_set in marks.items() if is_set)


def _label(content: PaperContent, row: PaperRow, names: Mapping[str, str]) -> str:
    """Return a row's label: its method, or of a difference the methods in which rows differ."""
    marked = [
        f"{names[name]} {TRANSDUCTIVE}" if name in content.transductive else names[name]
        for name in row.names
    ]
    common, common_versus = content.sides
    if common_versus:
        return marked[0]
    return marked[-1] if common else " − ".join(marked)


def _title(content: PaperContent, names: Mapping[str, str]) -> str:
    """Say what the numbers are, with the level and kinds of interval."""
    families = dict.fromkeys(family_in(column.scored, column.kind) for column in content.columns)
    level = percent(content.signature.level)
    intervals = f"{level} intervals for {_about(content)} ({listing([*families])})"
    if not content.rows[0].versus:
        return f"Accuracy: mean ± half-width of {intervals}, in percent"
    first, second = (names.get(name, "each method") for name in content.sides)
    sides = "two methods, the first minus the second"
    if first != second:
        sides = f"{first} minus {second}"
    return f"Differences: {sides}, mean ± half-width of paired {intervals}, in points"


def _sentences(content: PaperContent, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the sentences below the title; the last names the release."""
    all_cells = [cell for column in content.columns for cell in column.cells]
    cells = [cell for cell in all_cells if cell is not None]
    marks = {*"".join(map(_cell_marks, cells)), *([TRANSDUCTIVE] if content.transductive else [])}
    yield _tasks_text(content)
    yield _strong_text(content, cells)
    yield from (text for mark, text in NOTES.items() if mark in marks)
    if answered := [cell.interval.tasks for cell in cells if cell.stopped or cell.first_tasks]:
        yield f"Where not all tasks are answered, T = {span(answered)}."
    if over := [column.over for column in content.columns if column.over]:
        yield f"mean: over {span(over)} data sets, each counting alike; ± for these data sets."
        if not content.rows[0].versus:
            how = "fslbench score --means has the differences"
            yield f"The highest mean over data sets is bold; others are not tested: {how}."
    runs = [
        score.runs for score, column in content.scores if score.runs > 1 and column.kind != "closed"
    ]
    yield from sentences(new_runs_text(runs, runs_word(score for score, _ in content.scores)))
    sets = content.sets
    if grouped := dict.fromkeys(
        c.dataset for c in sets if c.of.units.groups and c.kind != "closed"
    ):
        yield f"{listing([*grouped], 4)}: {GROUPED}."
    if within := dict.fromkeys(
        c.dataset
        for c in sets
        if c.of.units.superclasses and c.kind == c.of.kind_about("new classes")
    ):
        yield f"{listing([*within], 4)}: new classes are of the same superclasses."
    if bounded := [c.scored for c in sets if c.kind in c.of.units.bounded]:
        yield f"{AT_MOST} on {listing(bounded, 4)}."
    if few := [c.scored for c in sets if c.kind == "open" and c.of.has_exact_test]:
        yield (
            f"Fewer than {FEW_TASKS} tasks on {listing(few, 4)}: fslbench score --details has an "
            "exact test."
        )
    if None in all_cells:
        yield "–: not answered."
    single = dict.fromkeys(score.method for score, _ in content.scores if score.of_one_model)
    yield from sentences(one_model_text([*single], 4))
    yield from _queries_text(content)
    if any(
        cell.verdict is None and cell.interval.kind == "open" and ABOVE < cell.interval.mean < 100.0
        for cell in cells
    ):
        yield f"Above {ABOVE:g} %, ± covers too little: fslbench score has bounds."
    if shortened := {name: short for name, short in names.items() if short != name}:
        name, short = next(iter(shortened.items()))
        only_some = len(shortened) < len(names)
        before = f" (before {listing([*shortened.values()])})" if only_some else ""
        yield f"Left out of names: {name.removesuffix(short)}{before}."
    yield f"FSLBench {content.signature.package_version}, {_release(content)}."


def _queries_text(content: PaperContent) -> list[str]:
    """Say which methods have intervals for new images that use which queries were right.

    Those on sets of all classes at once always do; if there are no others, nothing is said.
    """
    scores = [(score, column) for score, column in content.scores if column.kind == "images"]
    by_tasks = {
        score.method
        for score, column in scores
        if not (score.by_queries or column.scored.name.whole)
    }
    names = dict.fromkeys(score.method for score, _ in scores if score.method not in by_tasks)
    n_methods = len(content.methods)
    others = "; ± of others takes tasks as a whole" if len(names) < n_methods else ""
    if names and any(score.by_queries for score, _ in scores):
        return sentences(by_queries_text([*names], n_methods, 4) + others)
    return []


def _tasks_text(content: PaperContent) -> str:
    """Say which task sets these are, how many tasks most have, and which have another number."""
    sets = [column.scored for column in content.sets]
    names = [*dict.fromkeys(scored.task_set for scored in sets)]
    ways = {scored.protocol.way for scored in sets}
    up_to = "up to " if any(scored.name.suite == EPISODES.name for scored in sets) else ""
    of_task = [f"{up_to}{ways.pop()} ways"] if len(ways) == 1 else []
    queries = {scored.protocol.query for scored in sets}
    if len(queries) == 1 and not (up_to or _is_whole(content)):
        of_task.append(f"{many(queries.pop(), 'query', 'queries')} a class")
    n_tasks = [scored.n_tasks for scored in sets]
    usual = mode(n_tasks)
    others = []
    for column in content.sets:
        if column.scored.n_tasks != usual:
            shots = column.heading.removesuffix("-shot")
            where = many(int(shots), "shot") if shots.isdecimal() else column.heading
            others.append(f"{column.scored.n_tasks} on {column.scored.dataset}, {where}")
    unit = ("draw" if _is_whole(content) else "task") + ("s" if max(n_tasks) > 1 else "")
    numbers = f"T = {usual} {unit}" + (f" ({'; '.join(others)})" if others else "")
    if len(others) > MOST_NUMBERS:
        numbers = f"T = {span(n_tasks)} {unit}"
    which = f"Task set{'s' if len(names) > 1 else ''} {listing(names)}"
    if content.signature.release == OWN_TASKS:
        which = "Own tasks"
    return f"{'; '.join([which, *([', '.join(of_task)] if of_task else []), numbers])}."


def _strong_text(content: PaperContent, cells: Sequence[PaperCell]) -> str:
    if content.rows[0].versus:
        return (
            "Bold: significant (0 lies outside the interval of the difference); not corrected for "
            f"{many(len(cells), 'comparison')}."
        )
    pairs = [column.pairs for column in content.columns if column.pairs]
    if not pairs:
        return "Nothing is compared here."
    holm = "" if max(pairs) == 1 else f"; Holm, {span(pairs)} pairs a task set"
    if max(pairs) > comb(len(content.rows), 2):
        holm += ", with all references"
    return (
        f"Bold: the highest mean on a task set. {NOT_SIGNIFICANT}: no significant difference from "
        f"it for {_about(content)} (paired by {'draw and image' if _is_whole(content) else 'task'}"
        f"{holm}); no mark: significantly lower."
    )


def _cite_text(content: PaperContent, *, tex: bool = False) -> str:
    """Return a sentence to cite in a paper's text, and where its BibTeX is."""
    cite = r"~\cite{{{}}}".format if tex else " [{}]".format
    package, paper = f"FSLBench{cite('fslbench')}", f"Lafargue et al.{cite('lafargue2024oops')}"
    text = f"Intervals are those of {package}"
    if content.signature.release != OWN_TASKS:
        text = f"The tasks are those of {package}, {_release(content)}; methods are compared "
        text += "task by task"
    return f"To cite: {text}, after {paper}. BibTeX: fslbench cite FILE"


def _about(content: PaperContent) -> str:
    if content.about == "closed":
        return "new tasks of the very same images"
    if content.about != "new images" or not _is_whole(content):
        return content.about
    sets = [column.scored for column in content.sets]
    shots = max(scored.protocol.shot for scored in sets)
    return about_test_set(max(scored.n_tasks for scored in sets), shots)


def _is_whole(content: PaperContent) -> bool:
    """Return whether all tasks have all classes, so that they are draws of the support."""
    return all(column.scored.name.whole for column in content.sets)


def _release(content: PaperContent) -> str:
    if content.signature.release == OWN_TASKS:
        digests = [*dict.fromkeys(each.fingerprint[:12] for each in content.signature.sets)]
        return f"own tasks ({'digests' if len(digests) > 1 else 'digest'} {listing(digests, 4)})"
    name, _, version = content.signature.release.partition("@")
    return f"release {name} {version} (digest {content.signature.release_digest[:12]})"
