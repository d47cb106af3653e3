"""The command ``fslbench-build``, for maintainers: one file a command."""

from __future__ import annotations

import click

from benchmark_spec.version import __version__
from builders.cli.agreement import agreement
from builders.cli.attributes import attributes
from builders.cli.diff import diff
from builders.cli.doctor import doctor
from builders.cli.features import features
from builders.cli.fetch import fetch
from builders.cli.import_published import import_published
from builders.cli.init import init
from builders.cli.picture import picture
from builders.cli.publish import publish
from builders.cli.query_size import query_size
from builders.cli.release import release
from builders.cli.results_repo import results_repo
from builders.cli.source import source
from builders.cli.train import answer, train
from builders.cli.verify import verify
from builders.cli.webhook import webhook
from fslbench_data.cli import ErrorGroup


@click.group(cls=ErrorGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="fslbench", prog_name="fslbench-build")
def main() -> None:
    """Make releases and reference results.

    Needs the extra `builders`: pip install '.[builders]'.
    """


for command in (
    fetch,
    source,
    features,
    attributes,
    agreement,
    doctor,
    init,
    release,
    verify,
    diff,
    picture,
    publish,
    results_repo,
    webhook,
    query_size,
    import_published,
    train,
    answer,
):
    main.add_command(command)
