"""``fslbench score``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fslbench_data.cli.options import (
    FILE,
    bias_option,
    check_output,
    dataset_option,
    level_option,
    output_option,
    release_option,
    report_format_option,
    task_set_option,
    unbound_option,
)


@click.command(short_help="Compare methods with each other and with the references.")
@click.argument("file", type=FILE, required=False)
@release_option
@click.option(
    "--against",
    multiple=True,
    metavar="M",
    help="Compare only with this method, of FILE or of the release; may be repeated.",
)
@dataset_option
@task_set_option
@level_option
@unbound_option
@click.option(
    "--summary",
    is_flag=True,
    help="One line a task set: how many comparisons each kind of interval calls conclusive.",
)
@bias_option
@report_format_option
@output_option
def score(
    file: Path | None,
    release: str | None,
    against: tuple[str, ...],
    datasets: tuple[str, ...],
    task_sets: tuple[str, ...],
    level: float,
    unbound: bool,
    summary: bool,
    bias: bool,
    form: str | None,
    path: Path | None,
) -> None:
    """Compare the methods in FILE with each other and with the reference methods.

    FILE holds per-task counts (Parquet, CSV or JSON Lines).  Every comparison is paired by task;
    beside it stands what comparing the two methods' separate intervals would conclude, on these
    tasks and on tasks that reuse images.  Without FILE, the reference methods are compared with
    each other.  Task sets made with attributes of images are read with --bias.
    """
    from fslbench_data.cli.report_output import (
        say_left_out,
        write_bias,
        write_report,
        write_summary,
    )
    from fslbench_data.release.release import load_release
    from fslbench_data.scoring.score import score as run
    from fslbench_data.submission.streaming import open_submission

    if file is not None:
        check_output(path, file)
    submission = open_submission(file) if file is not None else None
    chosen: dict[str, Any] = {"datasets": datasets, "task_sets": task_sets, "level": level}
    chosen["allow_unbound"] = unbound
    if bias:
        from fslbench_data.scoring.bias import bias as measured

        if summary:
            raise click.UsageError("--bias does not go with --summary")
        found = measured(submission, load_release(release), against=against, **chosen)
        write_bias(found, form, path)
        return
    report = run(submission, load_release(release), against=against, **chosen)
    (write_summary if summary else write_report)(report, form, path)
    say_left_out(report)
