"""``fslbench-build publish``, ``results-repo`` and ``webhook``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fslbench_data.cli.options import FILE


@click.command()
@click.argument("folder", type=FILE, metavar="DIR")
@click.option(
    "--repo-id",
    required=True,
    metavar="ORG/NAME",
    help="Data set repository of the Hub; made if there is none.",
)
@click.option("--private", is_flag=True, help="Make the repository a private one.")
@click.option(
    "--create-pr",
    is_flag=True,
    help="Only propose it in a pull request. Once that is merged, run again without this: it tags.",
)
def publish(folder: Path, repo_id: str, **settings: Any) -> None:
    """Publish a release on the Hugging Face Hub.

    Verifies it and its licences, uploads in one commit what the repository lacks, downloads every
    file again to compare it, and then sets the tag.  Image files are never uploaded, only tables
    of the release.  An interrupted one is resumed by the same command; a tag that exists is never
    moved.

    The token is that of the Hub's own login: hf auth login, or the variable HF_TOKEN.
    """
    from huggingface_hub.utils.tqdm import disable_progress_bars

    from benchmark_spec.errors import listing
    from builders.hub.publish import publish as run
    from fslbench_data.render.console import steps

    disable_progress_bars()  # of the Hub's client: the command has its own
    with steps(f"publishing {folder}") as progress:
        done = run(folder, repo_id, **settings, progress=progress)
    release = f"{done.manifest.name}@{done.manifest.version} {done.manifest.digest[:12]}"
    address = f"{done.repo_id}@{done.tag}"
    if done.changes is None:
        click.echo(f"{release}: already published as {address}, commit {done.commit}")
    else:
        click.echo(f"{release}: {done.changes}; {done.compared} downloaded again and equal")
    if done.left_out:
        click.echo(f"not of the release, and left out: {listing(done.left_out)}")
    if done.proposal is not None:
        click.echo(f"proposed in {done.proposal}")
        click.echo("once it is merged, run the same command without --create-pr")
    elif not done.tagged:
        click.echo("the main branch holds it: run the same command without --create-pr, which tags")
    elif done.changes is not None:
        click.echo(f"published as {address}, commit {done.commit}")


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
@click.option("--title", metavar="T", help="Title of the leaderboard.")
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
    from builders.hub.results_repo import UNKNOWN, start_results_repository, start_space

    if bool(releases) == (space is not None):
        raise click.UsageError("name a --release for a repository, or --space for its app")
    if space is not None:
        made = start_space(folder, space, title, install)
    else:
        made = start_results_repository(folder, releases, title, install)
    for path in made:
        click.echo(f"wrote {path}", err=True)
        if UNKNOWN in path.read_text(encoding="utf-8"):
            advice = "say there where FSLBench is to be installed from, in place of "
            click.echo(f"  {advice}{UNKNOWN.partition('//')[2]}; or use --install", err=True)


@click.command()
@click.option("--results", required=True, metavar="ORG/RESULTS", help="The results repository.")
@click.option("--host", default="0.0.0.0", show_default=True, help="Address to listen on.")  # noqa: S104
@click.option("--port", type=int, default=7860, show_default=True, help="Port to listen on.")
def webhook(results: str, host: str, port: int) -> None:
    """Run the app that checks every pull request on a results repository.

    It comments what the proposed submissions would show, or why they are refused, and its front
    page is the leaderboard, made again when a file is merged. Its address for
    the Hub's webhook settings is /webhooks/fslbench, its secret the variable WEBHOOK_SECRET, its
    account that of `hf auth login` or HF_TOKEN. Needs the extra `app`.
    """
    import logging
    import os

    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    os.environ.setdefault("HF_HUB_DISABLE_EXPERIMENTAL_WARNING", "1")  # of the server's class
    from builders.hub.webhook import make_app
    from fslbench_data.hub import HubAddress

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    logging.getLogger("builders").setLevel(logging.INFO)  # not of others: they log addresses
    launch = make_app(HubAddress.parse(results).repo_id)
    try:
        launch(server_name=host, server_port=port, share=False)
    except OSError as error:
        raise click.UsageError(
            f"port {port} of {host} is not free: name another with --port"
        ) from error
