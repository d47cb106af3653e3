"""``fslbench info``."""

from __future__ import annotations

import click

import fslbench_data as fb
from benchmark_spec.errors import ReleaseNotFoundError, UnknownNameError
from fslbench_data.cli import options


@options.command(short_help="List the data sets and task sets of a release.")
@click.argument("named", required=False, metavar="[R]")
@options.release_option
@options.dataset_option
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json", "markdown", "latex"]),
    default="table",
    show_default=True,
)
def info(
    named: str | None, release: str | None, datasets: tuple[str, ...], output_format: str
) -> None:
    """List what a release holds: a line per data set, and with --dataset its task sets.

    R is a folder, or ORG/NAME@v1.0.0 on the Hugging Face Hub; by default the release inside the
    package.  It is the argument, or that of --release, as in other commands.
    """
    from fslbench_data.render.release_text import print_release, release_content, task_sets_table
    from fslbench_data.render.table import json_text

    if named and release:
        raise click.UsageError(f"two releases, {named} and {release}: name one")
    release = release or named
    try:
        opened = fb.load_release(release)
    except ReleaseNotFoundError as error:
        if release not in fb.load_release().datasets:
            raise
        raise error.with_advice(fix=f"fslbench info --dataset {release}") from None
    for name in datasets:
        if name not in opened.datasets:
            raise UnknownNameError("data set", name, opened.datasets, where=f"release {opened}")
    chosen = [name for name in opened.datasets if not datasets or name in datasets]
    options.Output(output_format).write(
        json=lambda: json_text(release_content(opened, chosen)),
        table=lambda console: print_release(opened, chosen, console, sets=bool(datasets)),
        paper=lambda: ([task_sets_table(opened, chosen)], "", ()),
    )
