"""``fslbench-build results-repo``."""

from __future__ import annotations

from pathlib import Path

import click

from fslbench_data.cli.options import FILE


@click.command("results-repo")
@click.argument("folder", type=FILE, metavar="DIR")
@click.option(
    "--release",
    "releases",
    multiple=True,
    required=True,
    metavar="R",
    help="ORG/NAME@vX.Y.Z or `embedded`, which is opened; may be repeated, newest first.",
)
@click.option("--title", metavar="T", help="Of the leaderboard.")
def results_repo(folder: Path, releases: tuple[str, ...], title: str | None) -> None:
    """Start a results repository in DIR: settings, a README, and a workflow for pull requests.

    Put DIR under git, or upload it to a data set repository of the Hub; submissions then come as
    pull requests.  Nothing is written over.
    """
    from builders.hub.results_repo import DEFAULT_TITLE, start_results_repository

    for path in start_results_repository(folder, releases, title or DEFAULT_TITLE):
        click.echo(f"wrote {path}", err=True)
