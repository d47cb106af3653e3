"""From files of results to the report page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmark_spec.errors import SpecError
from fslbench_data.release.release import Release
from fslbench_data.render.figures.rows import queries
from fslbench_data.render.page.content import MOST_CHOSEN, page_content
from fslbench_data.render.page.html import check_folder, write_page
from fslbench_data.scoring.bias import bias_on
from fslbench_data.scoring.selection import gather, methods_of, on_ladders


def make_page(
    files: Sequence[Path],
    release: Release,
    folder: Path,
    *,
    datasets: Sequence[str] = (),
    task_sets: Sequence[str] = (),
    methods: Sequence[str] = (),
    sweeps: Sequence[Path] = (),
    level: float = 0.95,
    allow_unbound: bool = False,
    arguments: str = "",
) -> Path:
    """Make the page of some files of results beside the reference methods; gives its path.

    Parameters
    ----------
    files
        Submissions; without any the reference methods are shown.
    folder
        Where ``index.html`` is written.
    datasets, task_sets, level, allow_unbound
        As :func:`fslbench_data.score` takes them.
    methods
        Whose pairs and tasks the page holds; see
        :func:`fslbench_data.render.page.content.page_content`.
    sweeps
        Files of sweeps of the number of queries.
    arguments
        Files and release as the command line names them.

    Raises
    ------
    SpecError
        If more methods are chosen than a page holds.
    FSLBenchError
        As :func:`fslbench_data.score` does.
    """
    if len(methods) > MOST_CHOSEN:
        raise SpecError(f"{len(methods)} methods are chosen", expected=f"at most {MOST_CHOSEN}")
    check_folder(folder)
    entrants = gather(
        files, release, datasets=datasets, task_sets=task_sets, allow_unbound=allow_unbound
    )
    methods = methods_of(entrants, methods)
    ladders = None
    if entrants.left_out or any(info.name.attributes for info in entrants.infos):
        ladders = bias_on(on_ladders(entrants, release), release, level)
    content = page_content(
        entrants,
        release,
        level=level,
        methods=methods,
        ladders=ladders,
        queries=queries(sweeps) if sweeps else None,
        arguments=arguments,
    )
    return write_page(content, folder)
