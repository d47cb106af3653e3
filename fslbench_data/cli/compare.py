"""``fslbench compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from benchmark_spec.errors import listing
from fslbench_data.cli.options import (
    bias_option,
    check_output,
    dataset_option,
    details_option,
    level_option,
    log_options,
    output_option,
    release_option,
    report_format_option,
    selection_of,
    signature_option,
    task_set_option,
    unbound_option,
)


@click.command(short_help="Compare two methods, in CI say.")
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
    """Compare two methods, A with B: for a change of one's own method, say, in CI.

    They are named by submission files, FILE::METHOD for one of a file's methods, and names of
    reference methods, which together hold two, or by a log of one's own tasks; A is the one named
    first. NCC is the reference
    method of that name on the features of the other. Exit code 0; 1 with
    --fail-if-worse if the verdict for new images is "worse" on any data set, shot and way, each
    judged by its pooled set, or else its closed one, or else its open ones; 2 if something is wrong
    with the input.
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
        click.echo(f"left out, answered by one of the two only: {listing(left_out)}", err=True)
    leading = primary_comparisons(report.comparisons)
    worse = [f"{c.dataset}/{c.task_set}" for c in leading if c.verdict == "-"]
    if fail_if_worse and worse:
        click.echo(f"{report.comparisons[0].method} is worse on {', '.join(worse)}", err=True)
        raise SystemExit(1)
