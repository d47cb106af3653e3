"""``fslbench plot``, ``table`` and ``report``: what a paper shows, and a page to look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

import fslbench_data as fb
from benchmark_spec.errors import listing
from fslbench_data.cli import options
from fslbench_data.render.figures import KINDS

if TYPE_CHECKING:
    from rich.console import Console


def _sweep_option(what: str) -> Callable[[options.Command], options.Command]:
    about = f"{what} `fslbench-build query-size --format json` wrote; may be repeated."
    return click.option("--sweep", "sweeps", type=options.FILE, multiple=True, help=about)


def _width(_context: click.Context, _option: click.Parameter, given: str) -> str | float:
    if given in ("column", "page"):
        return given
    try:
        return float(given)
    except ValueError:
        raise click.BadParameter("column, page, or a number of points") from None


_width_option: Callable[[options.Command], options.Command] = click.option(
    "--width",
    metavar="column|page|POINTS",
    default="page",
    show_default=True,
    callback=_width,
    help="Fit one column of a paper of two columns, the page, or so many points.",
)


@options.command(short_help="Draw a figure for a paper: PDF, SVG or PNG.")
@click.argument("kind", type=click.Choice(KINDS), metavar="KIND")
@click.argument("files", type=options.FILE, nargs=-1, metavar="[FILE]...")
@options.release_option
@options.sets_options
@options.methods_option
@_sweep_option("For `queries`: what")
@options.level_option
@options.unbound_option
@options.log_options
@_width_option
@click.option("--title", default="", help="A title above the figure; by default none.")
@options.output_to(about="File: .pdf, .svg or .png.", required=True)
def plot(
    kind: str,
    files: tuple[Path, ...],
    release: str | None,
    pool: dict[str, Any],
    path: Path,
    **given: Any,
) -> None:
    """Draw a figure of the methods in FILEs and of the reference methods.

    \b
    forest      paired differences with their intervals
    accuracies  mean accuracies, and which are ns from the highest
    means       means over data sets of the same ways and shots
    scatter     two methods, task by task: --method A --method B
    queries     interval width against the number of queries: --sweep
    ladder      accuracy and worst-class accuracy on attribute-biased tasks
    worst       one against the other on the last step
    conclusive  comparisons that each kind of interval calls significant

    `forest` compares the methods of FILEs with all others, or one --method with all others, or
    those of several --method with each other; on several task sets, the best method of FILEs with
    those that `score` shows. `worst` shows all methods and names those of --method.
    The caption, with level, intervals and numbers of tasks, is written to files beside the figure.
    """  # noqa: D301 - click reads the backspace
    from fslbench_data.render.console import steps
    from fslbench_data.render.figures.plot import check_figure_path

    if given["sweeps"] and kind != "queries":
        raise click.UsageError(f"--sweep is of the figure queries, and does nothing for {kind}")
    if files and kind == "queries":
        raise click.UsageError(
            f"the figure queries shows what --sweep names, nothing of {files[0]}"
        )
    check_figure_path(path)
    options.check_free(path)
    sources = options.sources_of(files, pool)
    with steps("drawing"):
        fb.plot(kind, sources, fb.load_release(release), path=path, **given)
    options.say(
        f"wrote {path}, and its caption in {path.with_suffix('.caption.txt').name} and .tex"
    )


@options.command(short_help="Make a page to look at: verdicts, plots, ladders, numbers.")
@click.argument("files", type=options.FILE, nargs=-1, metavar="[FILE]...")
@options.release_option
@options.sets_options
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="M",
    help="The page holds pairs and tasks of these methods; by default of at most 50: those of "
    "FILEs, then the reference methods with the highest means.",
)
@_sweep_option("What")
@options.level_option
@options.unbound_option
@options.log_options
@options.images_option(
    "Show hard tasks in pictures, of the images in this folder, as for `fslbench evaluate`; "
    "without one, of those that the release holds: a release in a folder does so anyway."
)
@options.output_to("folder", "Folder of the page, index.html.", required=True)
def report(
    files: tuple[Path, ...],
    release: str | None,
    sweeps: tuple[Path, ...],
    images: Path | Literal[True] | None,
    pool: dict[str, Any],
    folder: Path,
    **chosen: Any,
) -> None:
    """Make a page that shows what the results in FILEs allow to conclude.

    The page is one file that needs no server and asks nothing of the network: open it from disk,
    send it to a reviewer, or publish it.  Without FILE it shows the reference methods.
    """
    from fslbench_data.render.console import steps
    from fslbench_data.render.page import INDEX
    from fslbench_data.render.page.make import page_of
    from fslbench_data.scoring.selection import Selection

    path = folder / INDEX
    options.check_free(path)
    with steps("making the page") as step:
        page_of(
            options.sources_of(files, pool),
            fb.load_release(release),
            Selection.of(**chosen),
            folder,
            sweeps=sweeps,
            images=images,
            arguments=[*map(str, files), *(["--release", release] if release else [])],
            progress=step,
        )
    options.say(f"wrote {path}: {path.stat().st_size / 1e6:.1f} MB, open it in a browser")


@options.command(short_help="Make the table of a paper: LaTeX, Markdown, HTML or CSV.")
@click.argument("files", type=options.FILE, nargs=-1, metavar="[FILE]...")
@options.release_option
@click.option(
    "--kind",
    type=click.Choice(["new images", "new classes", "new superclasses", "closed"]),
    default="new images",
    show_default=True,
    help="What half-widths are about; closed: only tasks of the very same images.",
)
@options.methods_option
@click.option(
    "--against",
    multiple=True,
    metavar="M",
    help="Show differences from this method instead of accuracies; may be repeated. NCC is the one "
    "on the features of FILE's methods.",
)
@click.option("--all-references", is_flag=True, help="Show every reference method.")
@click.option("--means", is_flag=True, help="Show means over data sets too.")
@options.sets_options
@click.option(
    "--suite",
    "suites",
    multiple=True,
    metavar="S",
    help="Only task sets of this suite, such as open or pooled; may be repeated.",
)
@options.level_option
@options.unbound_option
@options.log_options
@_width_option
@click.option(
    "--label", default="", metavar="L", help="Label of the float in LaTeX, such as tab:results."
)
@options.output_options({".md": "markdown", ".tex": "latex", ".html": "html", ".csv": "csv"})
def table(
    files: tuple[Path, ...],
    release: str | None,
    pool: dict[str, Any],
    to: options.Output,
    **chosen: Any,
) -> None:
    """Make the table of a paper from the methods in FILEs and reference methods.

    Methods stand against data sets and shots, each mean with its half-width. The highest mean is
    bold, and methods that do not differ significantly from it are marked. The caption says what
    readers must know. Of each data set, ways and shots the pooled task set is shown, else the
    closed, else the open one. Without FILE, the reference methods are shown.
    """
    paper = fb.table(options.sources_of(files, pool), fb.load_release(release), **chosen)

    def print_on(console: Console) -> None:
        from fslbench_data.render.console import print_table, say
        from fslbench_data.render.table import with_mark_columns

        for block in paper.tables():
            print_table(with_mark_columns(block), console, whole=True)
        for note in paper.notes:
            say(console, note.replace("Bold:", "*:"), "dim")

    if to.form == "table":
        options.draw(print_on, to.path)
    else:
        options.output(getattr(paper, to.form)(), to.path)
    if paper.content.left_out:
        names = listing(paper.content.left_out, 3)
        options.say(f"not shown: {names}; --task-set and --suite choose")
