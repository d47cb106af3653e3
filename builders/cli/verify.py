"""``fslbench-build verify``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.pass_context
def verify(ctx: click.Context, folder: Path) -> None:
    """Check a release: nothing in it is believed that can be computed again.

    Compares every file and table with the manifest, draws every task set again from its
    provenance, and looks for images used twice, images on both sides of a task, classes that are
    not distinct and ids beyond their class.  Ends with exit code 1 if anything is wrong.
    """
    from builders.verify import verify as check
    from fslbench_data.render.screen import steps

    with steps(f"verifying {folder}") as progress:
        found = check(folder, progress)
    manifest = found.manifest
    for problem in found.problems:
        click.echo(f"{problem.path}: {problem.what}")
    tasks = sum(table.kind == "tasks" for table in manifest.tables)
    click.echo(
        f"{manifest.name}@{manifest.version} {manifest.digest[:12]}: "
        f"{len(manifest.tables)} tables, {found.drawn_again} of {tasks} task sets drawn again "
        f"with equal digests, {len(found.problems) or 'no'} "
        f"problem{'s' if len(found.problems) != 1 else ''}"
    )
    if found.problems:
        ctx.exit(1)
