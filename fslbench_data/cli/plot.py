"""``fslbench plot``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fslbench_data.cli.options import (
    FILE,
    check_free,
    dataset_option,
    level_option,
    output_to,
    release_option,
    selection_of,
    task_set_option,
    unbound_option,
)

if TYPE_CHECKING:
    from fslbench_data.render.figures.rows import Figure
    from fslbench_data.scoring.bias import BiasReport
    from fslbench_data.scoring.task_set_report import TaskSetReport

KINDS = ("forest", "accuracies", "scatter", "queries", "ladder", "worst", "conclusive")


@click.command(short_help="Draw a figure for a paper: PDF, SVG or PNG.")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("files", type=FILE, nargs=-1, metavar="[FILE]...")
@release_option
@dataset_option
@task_set_option
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="M",
    help="Only this method, of FILE or of the release; may be repeated.",
)
@click.option(
    "--sweep",
    "sweeps",
    type=FILE,
    multiple=True,
    help="For `queries`: what `fslbench-build query-size --format json` wrote; may be repeated.",
)
@level_option
@unbound_option
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
    conclusive  comparisons that each kind of interval calls conclusive

    `forest` compares the methods of FILEs with all others, or those of --method with each other.
    Every figure says its level, its intervals and its number of tasks.
    """  # noqa: D301 - click reads the backspace
    from fslbench_data.release.release import load_release
    from fslbench_data.render.figures.files import check_figure_path, write_figure
    from fslbench_data.render.figures.sweep_rows import queries
    from fslbench_data.scoring.bias import bias_on
    from fslbench_data.scoring.score import sets_of
    from fslbench_data.scoring.selection import select

    check_figure_path(path)
    check_free(path, *files, *sweeps)
    if kind == "queries":
        write_figure(queries(sweeps), path, int(columns))
        return
    by_class, opened = kind in ("ladder", "worst"), load_release(release)
    selected = select(files, opened, selection_of(**chosen), by_class=by_class)
    methods = selected.selection.methods
    if by_class:
        figure = _of_ladder(kind, bias_on(selected), methods)
    else:
        figure = _of_sets(kind, sets_of(selected), methods)
    write_figure(figure, path, int(columns))


def _of_ladder(kind: str, report: BiasReport, methods: tuple[str, ...]) -> Figure:
    from benchmark_spec.errors import listing
    from fslbench_data.render.figures.ladder_rows import ladder, worst

    names = [f"{ladder.dataset}/{ladder.name}" for ladder in report.ladders]
    if len(names) > 1:
        raise click.UsageError(
            f"{len(names)} ladders are answered, a figure shows one: {listing(names)}; choose with "
            "--dataset and --task-set, such as ladder_titles-5w5s5q"
        )
    draw = ladder if kind == "ladder" else worst
    return draw(report.ladders[0], report.signature.level, methods)


def _of_sets(kind: str, sets: list[TaskSetReport], methods: tuple[str, ...]) -> Figure:
    from benchmark_spec.errors import listing
    from fslbench_data.render.figures import rows

    if kind == "conclusive":
        return rows.conclusive(sets)
    if kind == "forest":
        return rows.forest(sets)
    if len(sets) > 1:
        raise click.UsageError(
            f"{len(sets)} task sets are answered, such a figure shows one: "
            f"{listing([report.scored for report in sets])}; choose with --dataset and --task-set"
        )
    if kind == "accuracies":
        return rows.accuracies(sets[0])
    if len(methods) != 2:
        raise click.UsageError("scatter shows two methods: --method A --method B")
    return rows.scatter(sets[0], *methods)
