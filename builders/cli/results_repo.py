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
    metavar="R",
    help="ORG/NAME@vX.Y.Z or `embedded`, which is opened; may be repeated, newest first.",
)
@click.option(
    "--space",
    metavar="ORG/RESULTS",
    help="In place of a repository, write the Space of the app that reviews this one.",
)
@click.option("--title", metavar="T", help="Of the leaderboard.")
@click.option(
    "--install",
    metavar="REQUIREMENT",
    help="What pip installs FSLBench by where the files are used, such as `fslbench @ git+https://…`.",
)
def results_repo(
    folder: Path,
    releases: tuple[str, ...],
    space: str | None,
    title: str | None,
    install: str | None,
) -> None:
    """Start a results repository in DIR: settings, a README, and a workflow for pull requests.

    Put DIR under git, or upload it to a data set repository of the Hub; submissions then come as
    pull requests.  With --space, DIR is to be uploaded to a Space.  Nothing is written over.
    """
    from builders.hub.results_repo import (
        DEFAULT_TITLE,
        UNKNOWN,
        Installation,
        start_results_repository,
        start_space,
    )

    if bool(releases) == (space is not None):
        raise click.UsageError("name a --release for a repository, or --space for its app")
    installation = Installation.of(install)
    if space is not None:
        made = start_space(folder, space, title or DEFAULT_TITLE, installation)
    else:
        made = start_results_repository(folder, releases, title or DEFAULT_TITLE, installation)
    for path in made:
        click.echo(f"wrote {path}", err=True)
        if UNKNOWN in path.read_text(encoding="utf-8"):
            said = "say there where FSLBench is to be installed from, in place of "
            click.echo(f"  {said}{UNKNOWN.partition('//')[2]}; or use --install", err=True)
