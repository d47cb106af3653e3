"""``fslbench interval``."""

from __future__ import annotations

from pathlib import Path

import click

from fslbench_data.cli.options import (
    FILE,
    check_output,
    level_option,
    no_training_option,
    output_option,
    report_format_option,
)


@click.command(short_help="Give honest intervals to your own random tasks, which reuse images.")
@click.argument("log", type=FILE)
@click.option(
    "--class-sizes",
    type=FILE,
    metavar="FILE",
    help="Images that may be drawn of each class: a CSV file with the columns class and n_images, "
    "or a JSON object. By default the images seen.",
)
@click.option(
    "--groups",
    type=FILE,
    metavar="FILE",
    help="Images that are not independent, such as shots of one scene: image and group.",
)
@click.option(
    "--superclasses",
    type=FILE,
    metavar="FILE",
    help="Classes of classes, for what new ones would change: class and superclass.",
)
@no_training_option("The methods train")
@level_option
@report_format_option
@output_option
def interval(
    log: Path,
    class_sizes: Path | None,
    groups: Path | None,
    superclasses: Path | None,
    trained: bool | None,
    level: float,
    output_format: str | None,
    path: Path | None,
) -> None:
    """Say what new images and new classes might change about the means in LOG.

    LOG holds random tasks drawn anywhere, without a release, one row a method and task: method,
    task, class_ids, support_ids and query_ids (class by class), and n_correct with n_query or
    accuracy; of several training runs, run. Parquet, CSV (lists as JSON) or JSON Lines. Methods
    that answered the same tasks are compared pairwise. docs/own_tasks.md shows the few lines that
    write such a log.
    """
    import warnings

    from benchmark_spec.errors import FSLBenchWarning
    from fslbench_data.cli.report_output import write
    from fslbench_data.render import own_tasks_text as text
    from fslbench_data.render.own_tasks_formats import own_csv, own_json
    from fslbench_data.scoring.own_tasks import interval as run

    sources = [file for file in (log, class_sizes, groups, superclasses) if file is not None]
    check_output(path, *sources)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FSLBenchWarning)  # which stand in the report
        report = run(
            log,
            class_sizes=class_sizes,
            groups=groups,
            superclasses=superclasses,
            trained=trained,
            level=level,
        )
    write(
        output_format,
        path,
        csv=lambda: own_csv(report),
        json=lambda: own_json(report),
        table=lambda console: text.print_own_tasks(report, console),
        paper=lambda: (
            text.tables(report),
            report.signature,
            [*text.notes(report), text.sentence(report)],
        ),
    )
