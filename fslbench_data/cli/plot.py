"""``fslbench plot``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fslbench_data.cli.options import (
    FILE,
    check_free,
    dataset_option,
    level_option,
    log_options,
    methods_option,
    output_to,
    release_option,
    selection_of,
    sources_of,
    task_set_option,
    unbound_option,
)
from fslbench_data.render.figures.kinds import KINDS


@click.command(short_help="Draw a figure for a paper: PDF, SVG or PNG.")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("files", type=FILE, nargs=-1, metavar="[FILE]...")
@release_option
@dataset_option
@task_set_option
@methods_option
@click.option(
    "--sweep",
    "sweeps",
    type=FILE,
    multiple=True,
    help="For `queries`: what `fslbench-build query-size --format json` wrote; may be repeated.",
)
@level_option
@unbound_option
@log_options
@click.option(
    "--columns",
    type=click.Choice(["1", "2"]),
    default="2",
    show_default=True,
    help="As wide as one column of a paper (3.25 inches) or as two (6.75).",
)
@output_to(about="File: .pdf, .svg or .png.", required=True)
def plot(
    kind: str,
    files: tuple[Path, ...],
    release: str | None,
    sweeps: tuple[Path, ...],
    columns: str,
    pool: dict[str, Any],
    path: Path,
    **chosen: Any,
) -> None:
    """Draw a figure of the methods in FILEs and of the reference methods.

    \b
    forest      paired differences with their intervals
    accuracies  mean accuracies, and who is not told from the highest
    scatter     two methods, task by task: --method A --method B
    queries     interval width against the number of queries: --sweep
    ladder      accuracy and worst-class accuracy on attribute-biased tasks
    worst       one against the other on the last step
    conclusive  comparisons that each kind of claim calls conclusive

    `forest` compares the methods of FILEs with all others, or one --method with all others, or
    those of several --method with each other. `worst` shows all methods and names those of
    --method.
    Every figure says its level, its intervals and its number of tasks.
    """  # noqa: D301 - click reads the backspace
    from fslbench_data.release.release import load_release
    from fslbench_data.render.console import steps
    from fslbench_data.render.figures.files import check_figure_path, write_figure
    from fslbench_data.render.figures.plot import figure_of

    check_figure_path(path)
    check_free(path, *files, *sweeps)
    sources = sources_of(files, pool)
    with steps("drawing") as step:
        step("reading and comparing")
        opened = None if kind == "queries" else load_release(release)
        figure = figure_of(kind, sources, opened, selection_of(**chosen), sweeps)
        step("the figure")
        write_figure(figure, path, int(columns))
    click.echo(f"wrote {path}", err=True)
