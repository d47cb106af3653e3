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
@click.argument("files", type=FILE, nargs=-1, metavar="[FILE]...")
@release_option
@click.option(
    "--against",
    multiple=True,
    metavar="M",
    help="Compare only with this method, of a FILE or of the release; may be repeated.",
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
    files: tuple[Path, ...],
    release: str | None,
    summary: bool,
    bias: bool,
    output_format: str | None,
    path: Path | None,
    **chosen: Any,
) -> None:
    """Compare the methods in FILEs with each other and with the reference methods.

    A FILE holds per-task counts (Parquet, CSV or JSON Lines).  Every comparison is paired by task;
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

    check_output(path, *files)
    if bias and summary:
        raise click.UsageError("--bias does not go with --summary")
    opened, selection = load_release(release), selection_of(**chosen)
    if bias:
        from fslbench_data.scoring.bias import bias as measured

        write_bias(measured(files, opened, selection), output_format, path)
        return
    report = score_selected(files, opened, selection)
    (write_summary if summary else write_report)(report, output_format, path)
    say_left_out(report)
