"""A paper's figures, and their files: PDF and SVG with text as text, PNG."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from benchmark_spec.errors import (
    FSLBenchWarning,
    OutputError,
    SpecError,
    UnknownNameError,
    listing,
)
from benchmark_spec.extras import require
from fslbench_data.files import whole_file, write_whole
from fslbench_data.release.release import AnyRelease, load_release
from fslbench_data.render.figures import KINDS, OF_LADDERS, rows
from fslbench_data.render.figures.charts import WIDTHS, Figure, drawn
from fslbench_data.render.fonts import font_faces, renderer
from fslbench_data.render.latex import Width, in_points, tex
from fslbench_data.scoring.bias import bias_on
from fslbench_data.scoring.score import no_results, report_on, sets_of
from fslbench_data.scoring.selection import Names, Selected, Selection, Sources, select
from fslbench_data.scoring.task_set_report import TaskSetReport

LEAST_WIDTH = 150
"""Points that a figure is wide, at least."""

PAGE, FITTING_ROWS = 640, 30
"""Points of a page's height, and rows that fit on a page in any figure."""

ENDINGS = (".pdf", ".png", ".svg")

_DOTS = 300
"""Dots per inch of a PNG."""

_HYPHEN_AS_MINUS = r"(?<!\S)-(?=\d)"


class Drawing(Struct, frozen=True):
    """A figure for a paper; a notebook shows it.

    Attributes
    ----------
    figure
        Its title, its caption with level, intervals and tasks, and its data as rows.
    width
        ``column``, one of a paper of two columns (3.25 inches), ``page`` (6.75), or points.
    title
        The text above the figure; by default none, since papers have captions.
    """

    figure: Figure
    width: Width = "page"
    title: str = ""

    def __repr__(self) -> str:
        about = f"{self.figure.chart}: {self.figure.title}, {len(self.figure.rows)} rows"
        return f"<Drawing {about[:200]}; .write(path)>"

    @property
    def svg(self) -> str:
        """The figure as SVG, with text as text."""
        return _svg(self._spec())

    @property
    def caption(self) -> str:
        """The level, kinds of interval, and numbers of tasks."""
        return f"{self.figure.title}. {re.sub(_HYPHEN_AS_MINUS, '−', self.figure.caption)}"

    def _spec(self) -> dict[str, Any]:
        return drawn(self.figure, in_points(self.width, WIDTHS, LEAST_WIDTH), self.title)

    def _repr_svg_(self) -> str:
        return self.svg

    def write(self, path: str | Path) -> None:
        """Write a PDF, an SVG or a PNG (300 dots an inch), by the ending of its name.

        The caption is written next to ``NAME.pdf``, as ``NAME.caption.txt`` and for LaTeX as
        ``NAME.caption.tex``, unless a pipe is written to.  Warns if it is taller than a page.

        Raises
        ------
        OutputError
            If the name has another ending, or the file cannot be written.
        """
        path = Path(path)
        check_figure_path(path)  # before anything is drawn
        spec = self._spec()
        write_chart(spec, path)
        height_by_rows = isinstance(spec.get("height"), dict)
        may_be_tall = height_by_rows and len(self.figure.rows) > FITTING_ROWS
        found = re.search(r'<svg[^>]* height="([\d.]+)', _svg(spec)) if may_be_tall else None
        if found and (height := float(found[1])) > PAGE:
            message = f"the figure is {height:.0f} points tall, a page has about {PAGE}"
            fix = "choose fewer with --method, --dataset or --task-set"
            warnings.warn(FSLBenchWarning(f"{message}\n  fix: {fix}"), stacklevel=2)
        if path.exists() and not path.is_file():
            return  # a pipe, which has no folder
        for ending, text in ((".txt", self.caption), (".tex", tex(self.caption))):
            write_whole(path.with_suffix(f".caption{ending}"), f"{text}\n")


def plot(
    kind: str,
    results: Sources = (),
    release: AnyRelease = None,
    *,
    methods: Names = (),
    datasets: Names = (),
    task_sets: Names = (),
    level: float = 0.95,
    allow_unbound: bool = False,
    sweeps: Sequence[str | Path] = (),
    width: Width = "page",
    title: str = "",
    path: str | Path | None = None,
) -> Drawing:
    """Draw a figure of the methods in some results and of the reference methods.

    Parameters
    ----------
    kind
        ``forest``: paired differences with their intervals, of the results' methods with all
        others, of one of `methods` with all others, or of several with each other;
        ``accuracies``: means, and which do not differ significantly from the
        highest; ``means``: over data sets of the same ways and shots; ``scatter``: two methods,
        task by task; ``conclusive``: comparisons that each kind of interval calls significant;
        ``ladder``, ``worst``: accuracy and worst-class accuracy on attribute-biased tasks, where
        ``worst`` shows all methods and names those of `methods`;
        ``queries``: interval width against the number of queries.
    results, release
        One or several submissions, files or frames; None of them shows the reference methods.
        The release of their tasks, or what :func:`fslbench_data.load_release` opens; by default the
        one inside the package.
    methods, datasets, task_sets
        Only these; one name or several.
    level, allow_unbound
        As of :func:`fslbench_data.score`.
    sweeps
        For ``queries``: files that ``fslbench-build query-size --format json`` wrote.
    width
        ``column``, one of a paper of two columns (3.25 inches), ``page`` (6.75), or points.
    title
        A title above the figure; captions are files of their own.
    path
        A file to also write the figure to: .pdf, .svg or .png.

    Returns
    -------
    Drawing
        The figure, which a notebook shows, and which can be written.

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
    in_points(width, WIDTHS, LEAST_WIDTH)
    if path is not None:
        check_figure_path(Path(path))
    selection = Selection.of(methods, datasets, task_sets, level, allow_unbound=allow_unbound)
    figure = figure_of(kind, results, release, selection, sweeps)
    drawing = Drawing(figure, width, title)
    if path is not None:
        drawing.write(path)
    return drawing


def figure_of(
    kind: str,
    results: Sources,
    release: AnyRelease,
    selection: Selection,
    sweeps: Sequence[str | Path] = (),
) -> Figure:
    """Return the content of a figure; :func:`plot` describes the parameters."""
    if kind not in KINDS:
        raise UnknownNameError("figure", kind, KINDS)
    if kind == "queries":
        return rows.queries(sweeps)
    opened = load_release(release)
    selected = select(results, opened, selection, only_ladders=kind in OF_LADDERS)
    methods = selected.selection.methods
    if kind in OF_LADDERS:
        ladders = bias_on(selected).ladders
        if len(ladders) > 1:
            names = listing([f"{ladder.dataset}/{ladder.task_set}" for ladder in ladders])
            raise SpecError(
                f"{len(ladders)} sets of bias levels are answered, a figure shows one: {names}",
                fix=f"choose with --dataset and --task-set, such as --dataset {ladders[0].dataset} "
                f"--task-set {ladders[0].task_set} (in Python datasets and task_sets)",
            )
        draw = rows.ladder if kind == "ladder" else rows.worst
        return draw(ladders[0], selection.level, methods)
    if kind == "forest" and len(methods) == 1:
        return rows.forest(_against_others(selected, *methods))
    if kind == "means":
        return rows.means(report_on(selected))
    if kind == "forest" and not methods:
        return rows.forest_of(report_on(selected))
    sets = sets_of(selected)
    if kind in ("conclusive", "forest"):
        return rows.conclusive(sets) if kind == "conclusive" else rows.forest(sets)
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


def _against_others(selected: Selected, method: str) -> list[TaskSetReport]:
    """Compare a method with every other one, on each task set."""
    sets = []
    for task_set in report_on(selected).sets:
        if method in task_set.methods:
            others = [name for name in task_set.methods if name != method]
            ordered = task_set.only([method, *others])
            sets.append(replace(ordered, requested=ordered.requested[:1]))
    if not sets:
        raise no_results([method], selected)
    return sets


def check_figure_path(path: Path) -> None:
    """Raise an OutputError unless the ending of a file names a format."""
    if path.suffix.lower() not in ENDINGS:
        raise OutputError(
            f"{path} names no format of a figure", expected=f"a name ending in {', '.join(ENDINGS)}"
        )


def write_chart(spec: dict[str, Any], path: Path) -> None:
    """Write a chart, given as Vega-Lite, as PDF, PNG or SVG.

    Raises an OutputError if it cannot be written, and a MissingPackageError without the extra
    ``report``.
    """
    ending = path.suffix.lower()
    if ending == ".svg":
        content = _svg(spec).encode()
    elif ending == ".pdf":
        content = renderer().vegalite_to_pdf(spec)
    else:
        content = packed(renderer().vegalite_to_png(spec, ppi=_DOTS))
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


def _svg(spec: dict[str, Any]) -> str:
    """Draw an SVG that embeds its fonts."""
    svg = str(renderer().vegalite_to_svg(spec))
    return re.sub(r"(<svg[^>]*>)", rf"\1<style>{font_faces()}</style>", svg, count=1)


def packed(png: bytes) -> bytes:
    """Return the same picture in fewer bytes, with a palette if its colours allow it."""
    image = require("PIL.Image", "report").open(BytesIO(png))
    colours = image.getcolors(256)
    if colours and all(colour[3] == 255 for _, colour in colours):
        indexed = image.convert("RGB").quantize(len(colours), dither=0)
        if indexed.convert("RGBA").tobytes() == image.tobytes():
            image = indexed
    file = BytesIO()
    image.save(file, format="PNG", optimize=True, dpi=(_DOTS, _DOTS))
    return file.getvalue()
