"""``fslbench leaderboard``, ``review`` and ``submit``: a results repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import fslbench_data as fb
from fslbench_data.cli import options

if TYPE_CHECKING:
    from rich.console import Console

    from fslbench_data.leaderboard.leaderboard import Leaderboard

MOST_ROWS = 20
"""Methods of a task set that the table shows without ``--all``."""
_MOST_NAMED = 10
"""Left-out files of a kind that are listed with their reasons."""


_releases_option: Callable[[options.Command], options.Command] = click.option(
    "--release",
    "names",
    multiple=True,
    metavar="R",
    help="A release in place of those of leaderboard.toml; may be repeated, newest first.",
)


def _results_option(about: str) -> Callable[[options.Command], options.Command]:
    return click.option("--results", "where", required=True, metavar="DIR|ORG/RESULTS", help=about)


@options.command(short_help="Rank all submissions of a results repository.")
@_results_option("The results repository: a folder, or on the Hub.")
@_releases_option
@options.sets_options
@options.level_option
@click.option(
    "--all", "all_methods", is_flag=True, help=f"More than {MOST_ROWS} methods a task set."
)
@click.option("--check", is_flag=True, help="Exit with 1 if a submission is refused.")
@options.output_options({**options.ENDINGS, ".html": "html"}, "; html is a page")
def leaderboard(
    where: str,
    names: tuple[str, ...],
    all_methods: bool,
    check: bool,
    to: options.Output,
    **chosen: Any,
) -> None:
    """Rank all submissions of a results repository, and say among which methods a best one is.

    Every submission is checked again, and scored on the release whose tasks it answers, together
    with that release's reference methods. Submissions that are refused are listed on standard
    error with the reason; they change nothing for the others, nor the exit code without --check.
    With -o page.html it is a page to look at, in one file.
    """
    from fslbench_data.leaderboard.leaderboard import leaderboard as run
    from fslbench_data.leaderboard.leaderboard import unfetched
    from fslbench_data.leaderboard.repository import open_results, read_board
    from fslbench_data.render.console import steps

    with steps("leaderboard") as step:
        files = open_results(where)
        settings = read_board(files)
        releases = tuple(map(fb.load_release, names or settings.releases))
        ranking = run(files, releases, title=settings.title, progress=step, **chosen)
    if to.form == "html":
        from fslbench_data.leaderboard.page import leaderboard_page
        from fslbench_data.leaderboard.repository import HubResults

        # the page does not show the path of a folder
        address = files.where if isinstance(files, HubResults) else "."
        options.output(leaderboard_page(ranking, address), to.path)
    else:
        _write(ranking, to, None if all_methods else MOST_ROWS)
    if ranking.left_out:
        options.say(ranking.left_out_text)
    elif not any(board.sets for board in ranking.boards):
        options.say("no ranked method answers any of the task sets (--dataset, --task-set)")
    total = len(ranking.rejected) + sum(len(board.submissions) for board in ranking.boards)
    if text := unfetched(ranking.rejected, total):
        options.say(text)
    for what, reasons in ranking.files_left_out.items():
        for name, reason in reasons[:_MOST_NAMED]:
            options.say(f"{what} {name}: {reason}")
        if len(reasons) > _MOST_NAMED:
            options.say(f"… and {len(reasons) - _MOST_NAMED} more {what}")
    if check and ranking.rejected:
        raise SystemExit(1)


def _write(ranking: Leaderboard, to: options.Output, most: int | None) -> None:
    """Write a leaderboard in a format, or as tables."""
    from fslbench_data.leaderboard import tables
    from fslbench_data.render.interval_text import sentences
    from fslbench_data.render.table import Table
    from fslbench_data.render.templating import neutral_table

    def paper() -> tuple[list[Table], str, list[str]]:
        set_tables = [table for table, _ in tables.leaderboard_tables(ranking)]
        if to.form == "markdown":
            set_tables = [neutral_table(table) for table in set_tables]
        notes = [*tables.legend(ranking.boards), *sentences(ranking.left_out_text)]
        return set_tables, ranking.signature, notes

    to.write(
        csv=lambda: tables.leaderboard_csv(ranking),
        json=lambda: tables.leaderboard_json(ranking),
        table=lambda console: _print(ranking, console, most),
        paper=paper,
    )


def _print(ranking: Leaderboard, console: Console, most: int | None) -> None:
    """Print the title, and the first rows of every table."""
    from fslbench_data.leaderboard.tables import leaderboard_tables, legend
    from fslbench_data.render.console import print_table, say

    if ranking.title:
        say(console, ranking.title, "bold")
    for table, n_left_out in leaderboard_tables(ranking, most):
        console.print()
        print_table(table, console, whole=True)
        if n_left_out:
            note = f"… {n_left_out} more methods left out: --all, or --format csv or json, has them"
            say(console, note, "yellow")
    for note in legend(ranking.boards):
        say(console, f"\n{note}", "dim")
    for board in ranking.boards:
        say(console, f"{board.signature.short}|{board.of_submissions}", "dim")


@options.command(short_help="Check FILEs for a results repository; for pull requests.")
@click.argument("paths", nargs=-1, required=True, type=options.FILE, metavar="FILE...")
@_results_option("The results repository as it stands: a folder, or on the Hub.")
@_releases_option
@options.level_option
@options.output_option
def review(
    paths: tuple[Path, ...],
    where: str,
    names: tuple[str, ...],
    level: float,
    path: Path | None,
) -> None:
    """Check FILEs as a results repository would, and say in Markdown where they would stand.

    A FILE below a folder `submissions` must have its right name, the SHA-256 of its content.
    Exit code 1 if any FILE is refused; the comment says why. Made for pull requests: FILEs are
    not trusted, and their texts are escaped in the comment.
    """
    from benchmark_spec.naming import one_line
    from fslbench_data.leaderboard.repository import LooseFiles, open_results
    from fslbench_data.leaderboard.review import review as run
    from fslbench_data.leaderboard.review import review_text
    from fslbench_data.render.console import steps

    options.check_output(path, {".md": "markdown"})
    proposed = LooseFiles(paths)
    for name, file in proposed.paths.items():
        if name.rpartition("/")[2] != file.name:
            options.say(f"{one_line(str(file))} would be {name}")
    with steps("reviewing"):
        reviewed = run(
            proposed,
            list(proposed.paths),
            open_results(where),
            tuple(map(fb.load_release, names)) if names else None,
            level=level,
        )
    options.output(review_text(reviewed), path)
    if reviewed.rejected:
        raise SystemExit(1)


@options.command(short_help="Propose FILE to a results repository on the Hub.")
@click.argument("file", type=options.FILE)
@click.option("--to", required=True, metavar="ORG/RESULTS", help="The results repository.")
def submit(file: Path, to: str) -> None:
    """Check FILE against the releases of a results repository, and open a pull request there.

    Its name in the repository is the SHA-256 of its content. Doing it again opens no second pull
    request. The account is that of `hf auth login`.
    """
    from fslbench_data.leaderboard.review import prepare, propose
    from fslbench_data.sandbox.client import read_untrusted

    parquet = file.suffix.lower() == ".parquet" and file.is_file()
    submission = read_untrusted(file) if parquet else fb.Submission.read(file)
    proposal = prepare(submission, to)
    options.say(f"{file}: {', '.join(proposal.results.methods)}, valid for {proposal.release}")
    if proposal.accepted:
        click.echo(f"{to} has these results already, as {proposal.path}")
    else:
        click.echo(propose(proposal))
