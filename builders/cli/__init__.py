"""The command ``fslbench-build``, for maintainers."""

from __future__ import annotations

import click

from benchmark_spec.version import __version__
from builders.cli import hub, images, query_size, release, train
from fslbench_data.cli import ErrorGroup


@click.group(cls=ErrorGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="fslbench", prog_name="fslbench-build")
def main() -> None:
    """Make releases and reference results.

    Needs the extra `builders`: pip install '.[builders]'.
    """


for _module in (images, release, hub, train, query_size):
    for _command in vars(_module).values():
        if isinstance(_command, click.Command):
            main.add_command(_command)
