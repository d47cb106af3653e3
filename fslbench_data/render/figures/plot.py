"""From results to a figure of a paper: what ``fslbench plot`` draws, and ``plot()`` in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmark_spec.errors import SpecError, UnknownNameError, listing
from benchmark_spec.extras import require
from fslbench_data.release.release import Release, load_release
from fslbench_data.render.figures import rows
from fslbench_data.render.figures.claims import conclusive
from fslbench_data.render.figures.files import (
    check_figure_path,
    svg_of,
    write_figure,
)
from fslbench_data.render.figures.kinds import KINDS, OF_LADDERS
from fslbench_data.render.figures.ladder_rows import ladder, worst
from fslbench_data.render.figures.rows import Figure
from fslbench_data.render.figures.sweep_rows import queries
from fslbench_data.scoring.bias import BiasReport, bias_on
from fslbench_data.scoring.score import no_results, report_on, sets_of
from fslbench_data.scoring.selection import Answers, Names, Selected, Selection, select
from fslbench_data.scoring.task_set_report import TaskSetReport


@dataclass(frozen=True, repr=False)
class Drawing:
    """A figure for a paper; a notebook shows it.

    Attributes
    ----------
    figure
        Its title, its caption, which says level, intervals and tasks, and what it shows as rows.
    columns
        As wide as one column of a paper (3.25 inches) or as two (6.75).
    """

    figure: Figure
    columns: int = 2

    def __repr__(self) -> str:
        about = f"{self.figure.chart}: {self.figure.title}, {len(self.figure.rows)} rows"
        return f"<Drawing {about[:200]}; .write(path)>"

    @property
    def svg(self) -> str:
        """The figure as SVG, texts as texts."""
        return svg_of(self.figure, self.columns)

    def _repr_svg_(self) -> str:
        return self.svg

    def write(self, path: str | Path) -> None:
        """Write a PDF, an SVG or a PNG (300 dots an inch), by the ending of its name.

        Raises
        ------
        OutputError
            If the name has another ending, or the file cannot be written.
        """
        write_figure(self.figure, Path(path), self.columns)


def plot(
    kind: str,
    results: Answers = (),
    release: Release | None = None,
    *,
    methods: Names = (),
    datasets: Names = (),
    task_sets: Names = (),
    level: float = 0.95,
    allow_unbound: bool = False,
    sweeps: Sequence[str | Path] = (),
    columns: int = 2,
    path: str | Path | None = None,
) -> Drawing:
    """Draw a figure of the methods in some results and of the reference methods.

    Parameters
    ----------
    kind
        ``forest``: paired differences with their intervals, of the results' methods with all
        others, of one of `methods` with all others, or of several with each other;
        ``accuracies``: means, and who is not told from the highest; ``scatter``: two methods, task
        by task; ``conclusive``: comparisons that each kind of claim calls conclusive;
        ``ladder``, ``worst``: accuracy and worst-class accuracy on attribute-biased tasks, where
        ``worst`` shows all methods and names those of `methods`;
        ``queries``: interval width against the number of queries.
    results, release
        One or several submissions, files or frames; None of them shows the reference methods.
        The release whose tasks they answer, by default the one inside the package.
    methods, datasets, task_sets
        Only these; one name or several.
    level, allow_unbound
        As of :func:`fslbench_data.score`.
    sweeps
        For ``queries``: files that ``fslbench-build query-size --format json`` wrote.
    columns
        As wide as one column of a paper (3.25 inches) or as two (6.75).
    path
        A file to write too: .pdf, .svg or .png.

    Returns
    -------
    Drawing
        Which a notebook shows, and which can be written.

    Raises
    ------
    SpecError
        If a figure shows one task set, ladder or pair of methods, and there are more.
    MissingPackageError
        Without the extra ``report``.
    FSLBenchError
        As :func:`fslbench_data.score` does.
    """
    require("vl_convert", "report")
    if columns not in (1, 2):
        raise SpecError(f"a figure is {columns} columns wide", expected="1 or 2")
    if path is not None:
        check_figure_path(Path(path))
    selection = Selection.of(
        methods=methods,
        datasets=datasets,
        task_sets=task_sets,
        level=level,
        allow_unbound=allow_unbound,
    )
    drawing = Drawing(figure_of(kind, results, release, selection, sweeps), columns)
    if path is not None:
        drawing.write(path)
    return drawing


def figure_of(
    kind: str,
    results: Answers,
    release: Release | None,
    selection: Selection,
    sweeps: Sequence[str | Path] = (),
) -> Figure:
    """Return what a figure shows; as :func:`plot`, which describes the parameters."""
    if kind not in KINDS:
        raise UnknownNameError("figure", kind, KINDS)
    if kind == "queries":
        return queries([Path(sweep) for sweep in sweeps])
    opened = load_release() if release is None else release
    selected = select(results, opened, selection, by_class=kind in OF_LADDERS)
    methods = selected.selection.methods
    if kind in OF_LADDERS:
        return _of_ladder(kind, bias_on(selected), methods)
    if kind == "forest" and len(methods) == 1:
        return rows.forest(_of_one(selected, *methods))
    return _of_sets(kind, sets_of(selected), methods)


def _of_one(selected: Selected, method: str) -> list[TaskSetReport]:
    """Compare a method with every other one, on each task set."""
    sets = []
    for each in report_on(selected).sets:
        if method in each.methods:
            others = [name for name in each.methods if name != method]
            every = each.only([method, *others])
            sets.append(replace(every, asked=every.asked[:1]))
    if not sets:
        raise no_results([method], selected)
    return sets


def _of_ladder(kind: str, report: BiasReport, methods: tuple[str, ...]) -> Figure:
    names = [f"{ladder.dataset}/{ladder.name}" for ladder in report.ladders]
    if len(names) > 1:
        raise SpecError(
            f"{len(names)} ladders are answered, a figure shows one: {listing(names)}",
            fix="choose with --dataset and --task-set (in Python datasets and task_sets), such as "
            "ladder_titles-5w5s5q, which stands for all steps",
        )
    draw = ladder if kind == "ladder" else worst
    return draw(report.ladders[0], report.signature.level, methods)


def _of_sets(kind: str, sets: list[TaskSetReport], methods: tuple[str, ...]) -> Figure:
    if kind == "conclusive":
        return conclusive(sets)
    if kind == "forest":
        return rows.forest(sets)
    if len(sets) > 1:
        raise SpecError(
            f"{len(sets)} task sets are answered, such a figure shows one: "
            f"{listing([report.scored for report in sets])}",
            fix="choose with --dataset and --task-set (in Python datasets and task_sets)",
        )
    if kind == "accuracies":
        return rows.accuracies(sets[0])
    if len(methods) != 2:
        raise SpecError(
            f"{len(methods)} methods are chosen, scatter shows two",
            fix="choose with --method A --method B (in Python methods)",
        )
    return rows.scatter(sets[0], *methods)
