"""``fslbench leaderboard``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fslbench_data.cli.options import (
    check_output,
    dataset_option,
    level_option,
    output,
    output_option,
    task_set_option,
)

if TYPE_CHECKING:
    from rich.console import Console

    from fslbench_data.leaderboard.leaderboard import Leaderboard
    from fslbench_data.leaderboard.repository import ResultsFiles

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
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "csv", "json", "markdown", "latex", "html"]),
    help="By default the one that the ending of --output names, else table; html is a page.",
)
@click.option(
    "--push-space",
    "space",
    metavar="ORG/NAME",
    help="Publish the page as a static Space of the Hub; with -o page.html.",
)
@output_option
def leaderboard(
    where: str,
    names: tuple[str, ...],
    datasets: tuple[str, ...],
    task_sets: tuple[str, ...],
    level: float,
    every: bool,
    check: bool,
    output_format: str | None,
    space: str | None,
    path: Path | None,
) -> None:
    """Rank all submissions of a results repository, and say among which methods a best one is.

    Every submission is checked again, and scored on the release whose tasks it answers, together
    with that release's reference methods. Submissions that are refused are listed on standard
    error with the reason; they change nothing for the others, nor the exit code without --check.
    With -o page.html it is a page to look at, in one file.
    """
    from fslbench_data.cli.report_output import ENDINGS, format_of
    from fslbench_data.leaderboard.folder_files import unfetched
    from fslbench_data.leaderboard.leaderboard import leaderboard as run
    from fslbench_data.leaderboard.opening import open_releases, open_results
    from fslbench_data.leaderboard.repository import read_board
    from fslbench_data.render.console import steps

    check_output(path)
    form = format_of(output_format, path, {**ENDINGS, ".html": "html"})
    if space is not None and (form != "html" or path is None):
        raise click.UsageError("--push-space publishes the page: give -o page.html, too")
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
    if form == "html":
        _write_page(ranking, files, path, space)
    else:
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


def _write_page(
    ranking: Leaderboard, files: ResultsFiles, path: Path | None, space: str | None
) -> None:
    """Write a leaderboard as a page, and publish it; a folder's path is no one else's business."""
    from fslbench_data.leaderboard.hub_files import HubResults
    from fslbench_data.leaderboard.page.html import leaderboard_page

    where = files.where if isinstance(files, HubResults) else "."
    output(leaderboard_page(ranking, where), path)
    if space is not None and path is not None:
        from fslbench_data.render.page.space import push_space

        click.echo(push_space(path, space, "leaderboard"))


def _write(ranking: Leaderboard, form: str, path: Path | None, most: int | None) -> None:
    """Write a leaderboard in a format, or as tables."""
    from fslbench_data.cli.report_output import write
    from fslbench_data.leaderboard.export import leaderboard_csv, leaderboard_json
    from fslbench_data.leaderboard.tables import leaderboard_legend, leaderboard_tables
    from fslbench_data.render.escaping import neutral_table
    from fslbench_data.render.table import Table

    def paper() -> tuple[list[Table], str, list[str]]:
        tables = [table for table, _ in leaderboard_tables(ranking)]
        if form == "markdown":
            tables = [neutral_table(table) for table in tables]
        return tables, ranking.signature, leaderboard_legend(ranking)

    write(
        form,
        path,
        csv=lambda: leaderboard_csv(ranking),
        json=lambda: leaderboard_json(ranking),
        table=lambda console: _print(ranking, console, most),
        paper=paper,
    )


def _print(ranking: Leaderboard, console: Console, most: int | None) -> None:
    """Print the signature, the title, and the first rows of every table."""
    from rich.text import Text

    from fslbench_data.leaderboard.tables import leaderboard_legend, leaderboard_tables
    from fslbench_data.render.console import print_table

    console.print(Text(ranking.signature, style="dim"), soft_wrap=True)
    if ranking.title:
        console.print(Text(f"\n{ranking.title}", style="bold"))
    for table, left in leaderboard_tables(ranking, most):
        console.print()
        print_table(table, console, whole=True)
        if left:
            note = f"… {left} more methods left out: --all, or --format csv or json, has them"
            console.print(Text(note, style="yellow"))
    for note in leaderboard_legend(ranking):
        console.print(Text(f"\n{note}", style="dim"))
