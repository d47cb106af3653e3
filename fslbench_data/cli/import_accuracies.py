"""``fslbench import-accuracies``."""

from __future__ import annotations

from pathlib import Path

import click

from fslbench_data.cli.options import FILE, check_submission, output_to, release_option


@click.command("import-accuracies", short_help="Make a submission of a list of accuracies.")
@click.argument("file", type=FILE)
@click.option(
    "--task-set",
    required=True,
    metavar="S",
    help="Task set, as DATASET/TASK_SET; or TASK_SET with --dataset.",
)
@click.option("--dataset", metavar="D", help="Data set of the task set.")
@click.option("--method", required=True, metavar="M", help="Name of the method.")
@click.option("--percent/--fraction", default=None, help="By default: percent if any is above 1.")
@output_to(about="Submission to write (.parquet).", required=True)
@release_option
def import_accuracies(
    file: Path,
    task_set: str,
    dataset: str | None,
    method: str,
    percent: bool | None,
    path: Path,
    release: str | None,
) -> None:
    """Turn a list of accuracies, one a task in order, into a submission.

    FILE is a .npy file, a CSV file or a text file of numbers. The submission does not say which
    tasks it was made on: scoring it needs --unbound, and fslbench validate --unbound says whether
    the accuracies themselves tell that these are the tasks.
    """
    from benchmark_spec.errors import SpecError
    from fslbench_data.release.release import load_release
    from fslbench_data.submission.accuracies import read_accuracies
    from fslbench_data.submission.model import Submission
    from fslbench_data.validation.names import check_not_taken

    check_submission(path, file)
    opened = load_release(release)
    if dataset is None:
        dataset, slash, task_set = task_set.partition("/")
        if not slash:
            raise SpecError(
                f"--task-set {dataset} does not say of which data set",
                expected="DATASET/TASK_SET, such as cub/published-5w5s5q, or --dataset besides",
            )
    info = opened.task_set_info(dataset, task_set)
    check_not_taken(method, opened.methods)
    values = read_accuracies(file)
    submission = Submission.from_accuracies(values, info, method, percent=percent, where=str(file))
    submission.write(path)
    click.echo(
        f"wrote {path}: {info.n_tasks} tasks of {info}, unbound (score it with --unbound)", err=True
    )
