"""``fslbench_data.table``: the table of a paper from results."""

from __future__ import annotations

from benchmark_spec.errors import SpecError
from fslbench_data.release.release import Release, load_release
from fslbench_data.render.latex import check_label
from fslbench_data.render.paper_layout import Width, check_width
from fslbench_data.render.paper_table import PaperTable
from fslbench_data.scoring.paper import About, Asked, paper_content
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import report_on
from fslbench_data.scoring.selection import Answers, Names, Selection, select
from fslbench_data.tasks import names_of


def table(
    results: Report | Answers | None = None,
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
    transpose: bool = False,
    columns: int | None = None,
    width: Width = "page",
    label: str = "",
) -> PaperTable:
    """Make a table for a paper: methods on data sets and shots, each mean with its half-width.

    Parameters
    ----------
    results
        A report, whose level and data are then those of the table; or what
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
    transpose
        Let a row be a task set, and a column a method.
    columns
        How many columns of numbers stand beside each other, others below; by default as many as
        fit.
    width
        What they fit: ``column``, one of a paper of two columns, or ``page``.
    label
        Of the float in LaTeX, such as ``tab:results``.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the arguments or the results.
    """
    check_width(width)
    check_label(label)
    if columns is not None and columns < 1:
        raise SpecError(f"{columns} columns hold nothing", expected="at least 1")
    asked = Asked(
        about=kind,
        methods=names_of(methods),
        against=names_of(against),
        suites=names_of(suites),
        every=bool(task_sets or suites),
        all_references=all_references,
    )
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
    return PaperTable(paper_content(results, asked), transpose, columns, width, label)
