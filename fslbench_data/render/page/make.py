"""From results to the report page: ``fslbench report``, and ``report_page()`` in Python."""

from __future__ import annotations

import gzip
import json
import shlex
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

from benchmark_spec.errors import OutputError, SpecError
from fslbench_data.files import whole_file
from fslbench_data.release.release import Release, load_release
from fslbench_data.render.figures.rows import queries
from fslbench_data.render.page import INDEX
from fslbench_data.render.page.content import MOST_CHOSEN, Values, figure_values, page_content
from fslbench_data.render.page.pictures import Images
from fslbench_data.render.templating import template
from fslbench_data.scoring.bias import LadderReport, bias_on
from fslbench_data.scoring.selection import Answers, Names, Selection, select


@dataclass(frozen=True, repr=False)
class Page:
    """The report page, one file of HTML; a notebook shows it in a frame of its own."""

    text: str

    def __repr__(self) -> str:
        return f"<Page of {len(self.text) / 1e6:.1f} MB; .write(folder)>"

    def _repr_html_(self) -> str:
        return (
            '<iframe title="fslbench report" sandbox="allow-scripts" width="100%" height="800" '
            f'srcdoc="{escape(self.text)}"></iframe>'
        )

    def write(self, folder: str | Path) -> Path:
        """Write ``index.html`` into a folder, which is made if it is not there; gives its path.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        path = _made(Path(folder)) / INDEX
        with whole_file(path) as temporary:
            temporary.write_text(self.text, encoding="utf-8")
        return path


def _made(folder: Path) -> Path:
    """Make the folder if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder} cannot be a folder: {error.strerror}", fix="name another folder"
        ) from None
    return folder


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
        _made(Path(path))
    selection = Selection.of(
        methods=methods,
        datasets=datasets,
        task_sets=task_sets,
        level=level,
        allow_unbound=allow_unbound,
    )
    several = results if isinstance(results, list | tuple) else [results]
    arguments = [str(one) if isinstance(one, str | Path) else "FILE" for one in several]
    if release is not None:
        arguments += ["--release", release.hub or release.files.where]
    arguments += ["--unbound"] if allow_unbound else []
    page = page_of(
        results,
        load_release() if release is None else release,
        selection,
        sweeps=sweeps,
        images=images if images is None or images is True else Path(images),
        arguments=shlex.join(arguments),
    )
    if path is not None:
        page.write(path)
    return page


def make_page(
    files: Answers, release: Release, folder: Path, selection: Selection, **how: Any
) -> Path:
    """Write the page of some files of results, as :func:`page_of` makes it; gives its path."""
    _made(folder)
    return page_of(files, release, selection, **how).write(folder)


def page_of(
    results: Answers,
    release: Release,
    selection: Selection,
    *,
    sweeps: Sequence[str | Path] = (),
    images: Images = None,
    arguments: str = "",
    progress: Callable[[str], object] = lambda _: None,
) -> Page:
    """Make the page of some results beside the reference methods, which without any are shown.

    `arguments` are files and release as the command line names them, and `progress` is called with
    what is done next.
    """
    if len(selection.methods) > MOST_CHOSEN:
        chosen = f"{len(selection.methods)} methods are chosen"
        raise SpecError(chosen, expected=f"at most {MOST_CHOSEN}")
    progress("reading and checking")
    selected = select(results, release, selection)
    ladders: tuple[LadderReport, ...] = ()
    if selected.left_out or any(info.name.attributes for info in selected.infos):
        progress("task sets made with attributes")
        ladders = bias_on(selected.on_ladders()).ladders
    of_sweeps = None
    if sweeps:  # a figure which no choice on the page changes
        files = [part for sweep in sweeps for part in ("--sweep", str(sweep))]
        command = shlex.join(["fslbench", "plot", "queries", *files, "-o", "queries.pdf"])
        of_sweeps = figure_values(queries([Path(sweep) for sweep in sweeps]), command)
    content = page_content(
        selected,
        ladders=ladders,
        queries=of_sweeps,
        images=images,
        arguments=arguments,
        progress=progress,
    )
    return Page(html(content))


def html(content: Values) -> str:
    """The page's text: answers and pictures as elements, all else packed for the page's script."""
    held = {key: content[key] for key in content if key not in ("answers", "pictures")}
    text = json.dumps(held, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    packed = b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode("ascii")
    return template("render/page/templates/page.html.j2").render(**content, packed=packed)
