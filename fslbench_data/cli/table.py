"""``fslbench table``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fslbench_data.cli.options import (
    FILE,
    check_output,
    command,
    dataset_option,
    draw,
    level_option,
    log_options,
    methods_option,
    output,
    output_option,
    release_option,
    say,
    sources_of,
    task_set_option,
    unbound_option,
)

if TYPE_CHECKING:
    from rich.console import Console


def _width(given: str) -> str | float:
    if given in ("column", "page"):
        return given
    try:
        return float(given)
    except ValueError:
        raise click.BadParameter("column, page, or a number of points") from None


@command(short_help="Make the table of a paper: LaTeX, Markdown, HTML or CSV.")
@click.argument("files", type=FILE, nargs=-1, metavar="[FILE]...")
@release_option
@click.option(
    "--kind",
    type=click.Choice(["new images", "new classes", "new superclasses", "closed"]),
    default="new images",
    show_default=True,
    help="What half-widths are about; closed: only tasks of the very same images.",
)
@methods_option
@click.option(
    "--against",
    multiple=True,
    metavar="M",
    help="Show differences from this method instead of accuracies; may be repeated. NCC is the one "
    "on the features of FILE's methods.",
)
@click.option("--all-references", is_flag=True, help="Show every reference method.")
@click.option("--means", is_flag=True, help="Show means over data sets too.")
@dataset_option
@task_set_option
@click.option(
    "--suite",
    "suites",
    multiple=True,
    metavar="S",
    help="Only task sets of this suite, such as open or pooled; may be repeated.",
)
@level_option
@unbound_option
@log_options
@click.option(
    "--transpose", is_flag=True, help="A row for each task set, a column for each method."
)
@click.option(
    "--columns",
    type=click.IntRange(1),
    help="Columns of numbers beside each other, others below; by default as many as fit.",
)
@click.option(
    "--width",
    metavar="column|page|POINTS",
    default="page",
    show_default=True,
    callback=lambda _context, _option, given: _width(given),
    help="Fit one column of a paper of two columns, the page, or so many points.",
)
@click.option(
    "--label", default="", metavar="L", help="Label of the float in LaTeX, such as tab:results."
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "markdown", "latex", "html", "csv"]),
    help="By default the one that the ending of --output names, else table.",
)
@output_option
def table(
    files: tuple[Path, ...],
    release: str | None,
    unbound: bool,
    pool: dict[str, Any],
    output_format: str | None,
    path: Path | None,
    **chosen: Any,
) -> None:
    """Make the table of a paper from the methods in FILEs and reference methods.

    Methods stand against data sets and shots, each mean with its half-width. The highest mean is
    bold, and methods that do not differ significantly from it are marked. The caption says what
    readers must know. Of each data set, ways and shots the pooled task set is shown, else the
    closed, else the open one. Without FILE, the reference methods are shown.
    """
    from benchmark_spec.errors import listing
    from fslbench_data.cli.report_output import ENDINGS, format_of
    from fslbench_data.release.release import load_release
    from fslbench_data.render.paper import table as made

    check_output(path, *files)
    paper = made(sources_of(files, pool), load_release(release), allow_unbound=unbound, **chosen)

    def on(console: Console) -> None:
        from fslbench_data.render.console import print_table
        from fslbench_data.render.table import marks_apart

        for block in paper.tables():
            print_table(marks_apart(block), console, whole=True)
        for note in paper.notes:
            note = note.replace("Bold:", "*:")
            console.print(note, style="dim", highlight=False, markup=False)

    form = format_of(output_format, path, {**ENDINGS, ".html": "html"})
    if form in ("markdown", "latex", "html", "csv"):
        output(getattr(paper, form)(), path)
    else:
        draw(on, path)
    if paper.content.left_out:
        names = listing(paper.content.left_out, 3)
        say(f"not shown: {names}; --task-set and --suite choose")
