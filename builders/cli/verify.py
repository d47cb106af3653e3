"""``fslbench-build verify``."""

from __future__ import annotations

from pathlib import Path

import click

from builders.cli.options import FOLDER
from fslbench_data.cli.options import FILE


@click.command()
@click.argument("folder", type=FILE, metavar="DIR")
@click.option(
    "--raw",
    type=FOLDER,
    help="Folder of the raw folders, as for `release`: every image is read and hashed again.",
)
@click.option(
    "--spec",
    type=FILE,
    metavar="SPEC.toml",
    help="With --raw: what the release was made from, if its sources take options.",
)
@click.pass_context
def verify(ctx: click.Context, folder: Path, raw: Path | None, spec: Path | None) -> None:
    """Check a release: nothing in it is believed that can be computed again.

    Compares every file and table with the manifest, draws every task set again from its
    provenance, and looks for images used twice, images on both sides of a task, classes that are
    not distinct and ids beyond their class.  With --raw it also looks for images that are not the
    released ones.  Ends with exit code 1 if anything is wrong.
    """
    from builders.release.spec_file import find_spec, read_spec
    from builders.release.verify import verify as check
    from fslbench_data.render.console import steps

    if spec is not None and raw is None:
        raise click.UsageError("--spec goes with --raw")
    specification = read_spec(find_spec(spec)) if spec is not None else None
    with steps(f"verifying {folder}") as progress:
        done = check(folder, progress, raw=raw, spec=specification)
    manifest = done.manifest
    for problem in done.problems:
        click.echo(f"{problem.path}: {problem.what}")
    images = f"{done.images_read:,} images read again, " if raw is not None else ""
    tasks = sum(table.kind == "tasks" for table in manifest.tables)
    click.echo(
        f"{manifest.name}@{manifest.version} {manifest.digest[:12]}: "
        f"{len(manifest.tables)} tables, {done.drawn_again} of {tasks} task sets drawn again "
        f"with equal digests, {images}{len(done.problems) or 'no'} "
        f"problem{'s' if len(done.problems) != 1 else ''}"
    )
    if done.problems:
        ctx.exit(1)
