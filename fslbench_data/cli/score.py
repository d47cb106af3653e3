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
    selection_of,
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
    summary: bool,
    bias: bool,
    output_format: str | None,
    path: Path | None,
    **chosen: Any,
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
    from fslbench_data.scoring.score import score_selected
    from fslbench_data.submission.streaming import open_submission

    if file is not None:
        check_output(path, file)
    submission = open_submission(file) if file is not None else None
    if bias and summary:
        raise click.UsageError("--bias does not go with --summary")
    opened, selection = load_release(release), selection_of(**chosen)
    if bias:
        from fslbench_data.scoring.bias import bias as measured

        write_bias(measured(submission, opened, selection), output_format, path)
        return
    report = score_selected(submission, opened, selection)
    (write_summary if summary else write_report)(report, output_format, path)
    say_left_out(report)
