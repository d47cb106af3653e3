"""From results to the report page: ``fslbench report``, and ``report_page()`` in Python."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from benchmark_spec.errors import SpecError
from fslbench_data.release.release import Release, load_release
from fslbench_data.render.figures.sweep_rows import queries
from fslbench_data.render.page.content import MOST_CHOSEN, Values, figure_values, page_content
from fslbench_data.render.page.html import Page, check_folder, html
from fslbench_data.render.page.pictures import Images
from fslbench_data.scoring.bias import LadderReport, bias_on
from fslbench_data.scoring.selection import Answers, Names, Selection, select


def report_page(
    results: Answers = (),
    path: str | Path | None = None,
    release: Release | None = None,
    *,
    methods: Names = (),
    datasets: Names = (),
    task_sets: Names = (),
    level: float = 0.95,
    allow_unbound: bool = False,
    sweeps: Sequence[str | Path] = (),
    images: str | Path | Literal[True] | None = None,
) -> Page:
    """Make a page that shows what results allow to conclude; a notebook shows it.

    The page is one file that needs no server and asks nothing of the network.

    Parameters
    ----------
    results, release
        One or several submissions, files or frames; none of them shows the reference methods.  The
        release whose tasks they answer, by default the one inside the package.
    path
        A folder to write ``index.html`` into, too.
    methods
        The page holds pairs and tasks of these; by default of at most 50: those of the results,
        then the reference methods with the highest means.
    datasets, task_sets, level, allow_unbound
        As of :func:`fslbench_data.score`.
    sweeps
        Files that ``fslbench-build query-size --format json`` wrote.
    images
        The folder of a data set's images, as of :func:`fslbench_data.evaluate`, to show its
        hardest tasks in pictures; True for those that the release holds, which a release in a
        folder shows unasked.  The page holds them as thumbnails.

    Raises
    ------
    SpecError
        If more methods are chosen than a page holds.
    SourceError
        If an image of the folder is missing, or one cannot be read.
    MissingPackageError
        With pictures, without Pillow.
    FSLBenchError
        As :func:`fslbench_data.score` does.
    """
    if path is not None:
        check_folder(Path(path))
    selection = Selection.of(
        methods=methods,
        datasets=datasets,
        task_sets=task_sets,
        level=level,
        allow_unbound=allow_unbound,
    )
    arguments = _as_typed(results)
    if release is not None:
        arguments += ["--release", release.hub or release.files.where]
    arguments += ["--unbound"] if allow_unbound else []
    opened = load_release() if release is None else release
    folder = images if images is None or images is True else Path(images)
    page = _page(results, opened, selection, sweeps, folder, shlex.join(arguments))
    if path is not None:
        page.write(path)
    return page


def _as_typed(results: Answers) -> list[str]:
    """Name results as one would to the command line; what is in no file as FILE."""
    several = results if isinstance(results, list | tuple) else [results]
    return [str(one) if isinstance(one, str | Path) else "FILE" for one in several]


def make_page(
    files: Answers,
    release: Release,
    folder: Path,
    selection: Selection,
    *,
    sweeps: Sequence[Path] = (),
    images: Images = None,
    arguments: str = "",
    progress: Callable[[str], object] = lambda _: None,
) -> Path:
    """Make the page of some files of results beside the reference methods; gives its path.

    Parameters
    ----------
    files
        Submissions; without any the reference methods are shown.
    folder
        Where ``index.html`` is written.
    selection
        Its methods are those whose pairs and tasks the page holds; see
        :func:`fslbench_data.render.page.content.page_content`.
    sweeps
        Files of sweeps of the number of queries.
    images
        The folder of a data set's images, True for those that the release holds; None: if they are
        on disk.
    arguments
        Files and release as the command line names them.
    progress
        Called with what is done next.

    Raises
    ------
    SpecError
        If more methods are chosen than a page holds.
    FSLBenchError
        As :func:`fslbench_data.score` does.
    """
    check_folder(folder)
    return _page(files, release, selection, sweeps, images, arguments, progress).write(folder)


def _page(
    results: Answers,
    release: Release,
    selection: Selection,
    sweeps: Sequence[str | Path],
    images: Images,
    arguments: str,
    progress: Callable[[str], object] = lambda _: None,
) -> Page:
    if len(selection.methods) > MOST_CHOSEN:
        chosen = f"{len(selection.methods)} methods are chosen"
        raise SpecError(chosen, expected=f"at most {MOST_CHOSEN}")
    progress("reading and checking")
    selected = select(results, release, selection)
    ladders: tuple[LadderReport, ...] = ()
    if selected.left_out or any(info.name.attributes for info in selected.infos):
        progress("task sets made with attributes")
        ladders = bias_on(selected.on_ladders()).ladders
    content = page_content(
        selected,
        ladders=ladders,
        queries=_of_sweeps(sweeps) if sweeps else None,
        images=images,
        arguments=arguments,
        progress=progress,
    )
    return Page(html(content))


def _of_sweeps(sweeps: Sequence[str | Path]) -> Values:
    """The figure of sweeps of the number of queries, which no choice on the page changes."""
    files = [part for sweep in sweeps for part in ("--sweep", str(sweep))]
    command = shlex.join(["fslbench", "plot", "queries", *files, "-o", "queries.pdf"])
    return figure_values(queries([Path(sweep) for sweep in sweeps]), command)
