"""``fslbench-build embedded``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="A new or empty folder.",
)
def embedded(folder: Path) -> None:
    """Make the release that comes inside the package (about a minute)."""
    from builders.embedded import build_embedded
    from fslbench_data.render.screen import steps

    with steps("making the embedded release") as progress:
        manifest = build_embedded(folder, progress)
    click.echo(f"{manifest.name}@{manifest.version} {manifest.digest}")
    click.echo(f"wrote {folder}", err=True)
