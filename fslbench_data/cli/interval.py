"""``fslbench interval``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fslbench_data.cli.options import (
    FILE,
    check_output,
    command,
    details_option,
    level_option,
    log_in,
    log_options,
    output,
    output_option,
    report_format_option,
)


@command(short_help="Confidence intervals for a log of your own random tasks.")
@click.argument("log", type=FILE)
@log_options
@level_option
@details_option
@report_format_option
@output_option
def interval(
    log: Path,
    pool: dict[str, Any],
    level: float,
    details: bool,
    output_format: str | None,
    path: Path | None,
) -> None:
    """Give confidence intervals for new images and new classes to the means in LOG.

    LOG holds random tasks drawn anywhere, without a release, one row a method and task: method,
    task, class_ids, support_ids and query_ids (class by class), and n_correct with n_query or
    accuracy; of several training runs, run. Parquet, CSV (lists as JSON) or JSON Lines. Methods
    that answered the same tasks are compared pairwise. docs/own_tasks.md shows the few lines that
    write such a log. `fslbench score LOG` does the same, and table, plot, report, compare, sql and
    validate take such a log, too.
    """
    from fslbench_data.cli.report_output import format_of, write_report
    from fslbench_data.render.log_text import log_csv, log_json
    from fslbench_data.scoring.score import score

    check_output(path, log, *(file for file in pool.values() if isinstance(file, Path)))
    own = log_in(log, pool)
    report, form = score(own, level=level), format_of(output_format, path)
    if form == "csv":
        output(log_csv(report), path)
    elif form == "json":
        output(log_json(report, own.release.facts), path)
    else:
        write_report(report, output_format, path, details=details)
