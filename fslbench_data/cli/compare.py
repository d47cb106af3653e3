"""``fslbench compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmark_spec.errors import listing
from fslbench_data.cli.options import (
    bias_option,
    check_output,
    command,
    dataset_option,
    details_option,
    level_option,
    log_options,
    output_option,
    release_option,
    report_format_option,
    say,
    selection_of,
    signature_option,
    task_set_option,
    unbound_option,
)


@command(short_help="Compare two methods; --fail-if-worse is for CI.")
@click.argument("names", nargs=-1, required=True, metavar="A [B]...")
@release_option
@dataset_option
@task_set_option
@level_option
@unbound_option
@log_options
@click.option(
    "--fail-if-worse", is_flag=True, help="Exit with 1 if A is worse than B on any task set."
)
@details_option
@signature_option
@bias_option
@report_format_option
@output_option
def compare(
    names: tuple[str, ...],
    release: str | None,
    fail_if_worse: bool,
    details: bool,
    whole_signature: bool,
    bias: bool,
    pool: dict[str, Any],
    output_format: str | None,
    path: Path | None,
    **chosen: Any,
) -> None:
    """Compare two methods, A with B, such as two versions of your own.

    They are named by files of results, FILE::METHOD for one of a file's methods, names of reference
    methods, or a log of one's own tasks. NCC is the reference method of that name on the features
    of the other. The exit code is 0, and with --fail-if-worse 1 if the verdict for new images is
    "worse" on any data set, shot and way (of its sets the pooled one, else the closed one, else
    the open ones).
    """
    from fslbench_data.cli.report_output import write_bias, write_report
    from fslbench_data.release.release import load_release
    from fslbench_data.scoring.bias import bias as measured
    from fslbench_data.scoring.compare import answered_by_one, find_two
    from fslbench_data.scoring.own_release import OwnLog
    from fslbench_data.scoring.score import score_selected
    from fslbench_data.scoring.summary import primary_comparisons

    check_output(path, *(Path(name.partition("::")[0]) for name in names))
    opened = load_release(release)
    both, selection = find_two(names, opened, selection_of(**chosen), **pool)
    if bias:
        if fail_if_worse:
            raise click.UsageError("--bias does not go with --fail-if-worse")
        write_bias(measured(both, opened, selection), output_format, path)
        return
    report = score_selected(both, opened, selection, only_compared=True)
    write_report(report, output_format, path, details=details, whole_signature=whole_signature)
    if not isinstance(both, OwnLog) and (left_out := answered_by_one(both)):
        say(f"left out, answered by one of the two only: {listing(left_out)}")
    leading = primary_comparisons(report.comparisons)
    worse = [f"{c.dataset}/{c.task_set}" for c in leading if c.verdict == "-"]
    if fail_if_worse and worse:
        say(f"{report.comparisons[0].method} is worse on {', '.join(worse)}")
        raise SystemExit(1)
