"""The command ``fslbench-build``, for maintainers: one file a command."""

from __future__ import annotations

import click

from benchmark_spec.version import __version__
from builders.cli.embedded import embedded
from builders.cli.fetch import fetch
from builders.cli.import_published import import_published
from fslbench_data.cli import ErrorGroup


@click.group(cls=ErrorGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="fslbench", prog_name="fslbench-build")
def main() -> None:
    """Make releases and reference results.

    Needs the extra `builders`: pip install "fslbench[builders]".
    """


main.add_command(embedded)
main.add_command(fetch)
main.add_command(import_published)
