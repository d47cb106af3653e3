"""``fslbench reported``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fslbench_data.cli.options import (
    check_output,
    command,
    level_option,
    output_option,
    report_format_option,
)


@command(short_help="Say what a printed 91.72 ± 0.55 shows.")
@click.argument("results", metavar="RESULT...", nargs=-1, required=True)
@click.option(
    "--dataset",
    metavar="D",
    help="Gives --classes and --images of its test split: miniImageNet, tieredImageNet, CUB, "
    "CIFAR-FS, FC100, EuroSAT, ISIC, ChestX, or one of Meta-Dataset.",
)
@click.option("--classes", type=int, metavar="C", help="Classes that tasks are drawn from.")
@click.option("--images", type=int, metavar="N", help="Images of the class that has the fewest.")
@click.option("--ways", type=int, metavar="K", help="Classes of a task.")
@click.option("--shots", type=int, metavar="S", help="Support images of a class.")
@click.option("--queries", type=int, metavar="Q", help="Query images of a class.")
@click.option("--tasks", type=int, metavar="T", help="Tasks that the mean is over.")
@click.option(
    "--spread",
    type=click.Choice(["ci", "se", "sd"]),
    default="ci",
    show_default=True,
    help="What stands behind ±: a confidence interval, a standard error or a standard deviation.",
)
@level_option
@report_format_option
@output_option
def reported(
    results: tuple[str, ...], output_format: str | None, path: Path | None, **about: Any
) -> None:
    """Say what printed results show for new images and new classes.

    RESULT is "91.72 ± 0.55" or "91.72 +- 0.55", or several of them, to be compared; or a CSV file
    with a column `result`, perhaps `method`, and columns named as the options below, each for all
    rows where it is an option; or a file of accuracies, one a task.  No answers and no images are
    needed: how much wider an interval for new images or new classes can be follows from the sizes
    of the data set.
    """
    from fslbench_data.cli.report_output import write_reported
    from fslbench_data.scoring.reported import reported as read

    check_output(path)
    found = read(results[0] if len(results) == 1 else list(results), **about)
    write_reported(found, output_format, path)
