"""``fslbench leaderboard``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fslbench_data.cli.options import (
    check_output,
    dataset_option,
    draw,
    level_option,
    output,
    output_option,
    report_format_option,
    task_set_option,
)

if TYPE_CHECKING:
    from rich.console import Console

    from fslbench_data.leaderboard.leaderboard import Leaderboard

MOST_ROWS = 20
"""Methods of a task set that the table shows."""
_MOST_NAMED = 10
"""Files that are named with the reason why they are left out."""


releases_option = click.option(
    "--release",
    "names",
    multiple=True,
    metavar="R",
    help="A release in place of those of leaderboard.toml; may be repeated, newest first.",
)


@click.command(short_help="Rank all submissions of a results repository.")
@click.option(
    "--results",
    "where",
    required=True,
    metavar="DIR|ORG/RESULTS",
    help="The results repository: a folder, or on the Hub.",
)
@releases_option
@dataset_option
@task_set_option
@level_option
@click.option("--all", "every", is_flag=True, help=f"More than {MOST_ROWS} methods a task set.")
@click.option("--check", is_flag=True, help="Exit with 1 if a submission is refused.")
@report_format_option
@output_option
def leaderboard(
    where: str,
    names: tuple[str, ...],
    datasets: tuple[str, ...],
    task_sets: tuple[str, ...],
    level: float,
    every: bool,
    check: bool,
    form: str | None,
    path: Path | None,
) -> None:
    """Rank all submissions of a results repository, and say among which methods a best one is.

    Every submission is checked again, and scored on the release whose tasks it answers, together
    with that release's reference methods. Submissions that are refused are listed on standard
    error with the reason; they change nothing for the others, nor the exit code without --check.
    """
    from fslbench_data.leaderboard.folder_files import unfetched
    from fslbench_data.leaderboard.leaderboard import leaderboard as run
    from fslbench_data.leaderboard.opening import open_releases, open_results
    from fslbench_data.leaderboard.repository import read_board
    from fslbench_data.render.console import steps

    check_output(path)
    with steps("leaderboard") as step:
        files = open_results(where)
        settings = read_board(files)
        ranking = run(
            files,
            open_releases(names or settings.releases),
            title=settings.title,
            datasets=datasets,
            task_sets=task_sets,
            level=level,
            progress=step,
        )
    _write(ranking, form, path, None if every else MOST_ROWS)
    if pointers := sum(one.is_pointer for one in ranking.rejected):
        total = len(ranking.rejected) + sum(len(board.submissions) for board in ranking.boards)
        click.echo(unfetched(pointers, total), err=True)
    for what, reasons in (
        ("refused", [(one.name, one.reason) for one in ranking.rejected]),
        ("ignored", [(one.name, one.reason) for one in ranking.ignored]),
    ):
        for name, reason in reasons[:_MOST_NAMED]:
            click.echo(f"{what} {name}: {reason}", err=True)
        if len(reasons) > _MOST_NAMED:
            click.echo(f"… and {len(reasons) - _MOST_NAMED} more {what}", err=True)
    if check and ranking.rejected:
        raise SystemExit(1)


def _write(ranking: Leaderboard, form: str | None, path: Path | None, most: int | None) -> None:
    """Write a leaderboard in the format that is asked for, or that `path` names, or as tables."""
    from fslbench_data.cli.report_output import BY_ENDING
    from fslbench_data.leaderboard.export import leaderboard_csv, leaderboard_json
    from fslbench_data.leaderboard.tables import leaderboard_grids, leaderboard_legend
    from fslbench_data.render.escaping import neutral_grid
    from fslbench_data.render.grid import latex, markdown

    form = form or BY_ENDING.get("" if path is None else path.suffix.lower(), "table")
    if form in ("csv", "json"):
        output((leaderboard_csv if form == "csv" else leaderboard_json)(ranking), path)
    elif form in ("markdown", "latex"):
        write = markdown if form == "markdown" else latex
        grids = leaderboard_grids(ranking)
        if form == "markdown":
            grids = [neutral_grid(grid) for grid in grids]
        output(write(grids, ranking.signature, leaderboard_legend(ranking)), path)
    else:
        draw(lambda console: _print(ranking, console, most), path)


def _print(leaderboard: Leaderboard, console: Console, most: int | None) -> None:
    """The signature, the title, and the first rows of every table."""
    from rich.text import Text

    from fslbench_data.leaderboard.tables import leaderboard_legend, set_grid
    from fslbench_data.render.console import print_grid

    console.print(Text(leaderboard.signature, style="dim"), soft_wrap=True)
    if leaderboard.title:
        console.print(Text(f"\n{leaderboard.title}", style="bold"))
    for board in leaderboard.boards:
        before = f"{board.release}: " if len(leaderboard.boards) > 1 else ""
        for standing in board.sets:
            rows = list(standing.rows(most))
            console.print()
            print_grid(set_grid(standing, rows, before), console, most=len(rows))
            if left := len(standing) - len(rows):
                note = f"… {left} more methods left out: --all, or --format csv or json, has them"
                console.print(Text(note, style="yellow"))
    for note in leaderboard_legend(leaderboard):
        console.print(Text(f"\n{note}", style="dim"))
