"""``fslbench-build publish``."""

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
@click.option("--tag", metavar="vX.Y.Z", help="The version of the release, with a v; so if absent.")
@click.option(
    "--register-benchmark",
    is_flag=True,
    help="Once it is tagged, add eval.yaml, which registers it as a benchmark of the Hub.",
)
def publish(folder: Path, repo_id: str, **settings: Any) -> None:
    """Publish a release on the Hugging Face Hub.

    Verifies it and its licences, uploads in one commit what the repository lacks, downloads every
    file again to compare it, and then sets the tag.  Image files are never uploaded, only tables
    of the release.  Interrupted, it goes on where it was when called again; a tag that exists is
    never moved.

    The token is that of the Hub's own login: hf auth login, or the variable HF_TOKEN.
    """
    from benchmark_spec.errors import listing
    from builders.hub.contents import BENCHMARK_FILE
    from builders.hub.publish import publish as run
    from fslbench_data.render.console import steps

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
        click.echo(
            f"proposed in {done.proposal.url}\n"
            "once it is merged, run the same command without --create-pr"
        )
    elif not done.tagged:
        click.echo("the main branch holds it: run the same command without --create-pr, which tags")
    elif done.changes is not None:
        click.echo(f"published as {address}, commit {done.commit}")
    if done.registration is not None:
        new = done.registration
        where = (
            f"commit {new.commit}" if new.proposal is None else f"proposed in {new.proposal.url}"
        )
        click.echo(f"{BENCHMARK_FILE} registers it as a benchmark of the Hub: {where}")
