"""``fslbench cite``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchmark_spec.version import __version__

if TYPE_CHECKING:
    from fslbench_data.release.release import Release


@click.command(short_help="Print BibTeX of a release, its data and papers.")
@click.argument("release", required=False, metavar="[R]")
def cite(release: str | None) -> None:
    """Print BibTeX of a release, its data sets and the papers behind it."""
    from fslbench_data.release.release import load_release

    click.echo(bibtex(load_release(release)), nl=False)


def bibtex(release: Release) -> str:
    """BibTeX of a release, its data sets and the papers whose methods are used."""
    from benchmark_spec.catalogue.papers import PAPERS

    manifest = release.manifest
    own = f"""@misc{{fslbench,
  title = {{{{FSLBench}} {__version__}, release {manifest.name} {manifest.version}}},
  author = {{{{The FSLBench authors}}}},
  year = {{2026}},
  note = {{release digest {manifest.digest[:12]}}}
}}"""
    datasets = dict.fromkeys(dataset.citation for dataset in manifest.datasets)
    return "\n\n".join([own, *PAPERS, *datasets]) + "\n"
