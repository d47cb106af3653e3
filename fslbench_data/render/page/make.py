"""From files of results to the report page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmark_spec.errors import SpecError
from fslbench_data.release.release import Release
from fslbench_data.render.figures.sweep_rows import queries
from fslbench_data.render.page.content import MOST_CHOSEN, page_content
from fslbench_data.render.page.html import check_folder, write_page
from fslbench_data.scoring.bias import bias_on
from fslbench_data.scoring.selection import Selection, select


def make_page(
    files: Sequence[Path],
    release: Release,
    folder: Path,
    selection: Selection,
    *,
    sweeps: Sequence[Path] = (),
    arguments: str = "",
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
    arguments
        Files and release as the command line names them.

    Raises
    ------
    SpecError
        If more methods are chosen than a page holds.
    FSLBenchError
        As :func:`fslbench_data.score` does.
    """
    if len(selection.methods) > MOST_CHOSEN:
        chosen = f"{len(selection.methods)} methods are chosen"
        raise SpecError(chosen, expected=f"at most {MOST_CHOSEN}")
    check_folder(folder)
    selected = select(files, release, selection)
    ladders = None
    if selected.left_out or any(info.name.attributes for info in selected.infos):
        ladders = bias_on(selected.on_ladders())
    content = page_content(
        selected,
        ladders=ladders,
        queries=queries(sweeps) if sweeps else None,
        arguments=arguments,
    )
    return write_page(content, folder)
