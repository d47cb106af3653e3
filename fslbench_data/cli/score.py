"""``fslbench score``."""

from __future__ import annotations

from pathlib import Path

import click

from fslbench_data.cli.options import (
    FILE,
    check_output,
    output,
    release_option,
    submission_argument,
    unbound_option,
)


@click.command()
@submission_argument
@release_option
@click.option(
    "--against",
    multiple=True,
    metavar="M",
    help="Compare only with this method, of FILE or of the release; may be repeated.",
)
@click.option("--dataset", "datasets", multiple=True, metavar="D", help="Only this data set.")
@click.option("--task-set", "task_sets", multiple=True, metavar="S", help="Only this task set.")
@click.option(
    "--level", type=float, default=0.95, show_default=True, help="Confidence level of intervals."
)
@unbound_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    help="By default the one that the ending of --output names, else table.",
)
@click.option("-o", "--output", "path", type=FILE, help="Write to this file.")
def score(
    file: Path,
    release: str | None,
    against: tuple[str, ...],
    datasets: tuple[str, ...],
    task_sets: tuple[str, ...],
    level: float,
    unbound: bool,
    form: str | None,
    path: Path | None,
) -> None:
    """Compare the methods in FILE with each other and with the reference methods.

    FILE holds per-task counts (Parquet, CSV or JSON Lines).  Every comparison is paired by task;
    beside it stands what comparing the two methods' separate intervals would conclude, on these
    tasks and on tasks that reuse images.
    """
    from fslbench_data.release import load_release
    from fslbench_data.scoring import score as run
    from fslbench_data.submission.reading import read_submission

    check_output(path, file)
    report = run(
        read_submission(file),
        load_release(release),
        against=against,
        datasets=datasets,
        task_sets=task_sets,
        level=level,
        allow_unbound=unbound,
    )
    form = form or ("" if path is None else path.suffix[1:].lower())
    if form == "csv":
        from fslbench_data.render.csv_format import render_csv

        output(render_csv(report), path)
    elif form == "json":
        from fslbench_data.render.json_format import render_json

        output(render_json(report), path)
    else:
        from fslbench_data.render.screen import page, screen
        from fslbench_data.render.table_format import print_table

        if path is None:
            with screen() as console:
                print_table(report, console)
        else:
            with page() as (console, text):
                print_table(report, console)
            output(text(), path)
