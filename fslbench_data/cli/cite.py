"""``fslbench cite``."""

from __future__ import annotations

import click


@click.command(short_help="Print BibTeX of a release, its data and papers.")
@click.argument("release", required=False, metavar="[R]")
def cite(release: str | None) -> None:
    """Print BibTeX of a release, its data sets and the papers behind it."""
    from fslbench_data.citation import bibtex
    from fslbench_data.release import load_release

    click.echo(bibtex(load_release(release)), nl=False)
