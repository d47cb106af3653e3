"""``fslbench score``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fslbench_data.cli.options import (
    FILE,
    bias_option,
    check_output,
    command,
    dataset_option,
    design_options,
    details_option,
    level_option,
    log_options,
    output_option,
    release_option,
    report_format_option,
    selection_of,
    signature_option,
    sources_of,
    task_set_option,
    unbound_option,
)


@command(short_help="Compare methods with each other and with the references.")
@click.argument("files", type=FILE, nargs=-1, metavar="[FILE]...")
@release_option
@click.option(
    "--against",
    multiple=True,
    metavar="M",
    help="Compare only with this method, of a FILE or of the release; may be repeated. NCC is the "
    "one on the features of FILE's methods.",
)
@dataset_option
@task_set_option
@level_option
@unbound_option
@click.option(
    "--all-references",
    is_flag=True,
    help="Compare with every reference method, not only those on the same features or the most "
    "accurate.",
)
@details_option
@signature_option
@click.option(
    "--means",
    is_flag=True,
    help="Means over data sets of the same ways and shots, and their differences, with intervals.",
)
@click.option(
    "--harmonic-means", is_flag=True, help="The same of harmonic means, as of base and new classes."
)
@click.option(
    "--counts",
    is_flag=True,
    help="How many comparisons each kind of interval calls significant: a line a task set.",
)
@click.option("--summary", is_flag=True, hidden=True, help="The former name of --counts.")
@bias_option
@log_options
@design_options
@report_format_option
@output_option
def score(
    files: tuple[Path, ...],
    release: str | None,
    all_references: bool,
    details: bool,
    whole_signature: bool,
    means: bool,
    harmonic_means: bool,
    counts: bool,
    summary: bool,
    bias: bool,
    pool: dict[str, Any],
    design: dict[str, Any],
    output_format: str | None,
    path: Path | None,
    **chosen: Any,
) -> None:
    """Compare the methods in FILEs with each other and with the reference methods.

    A FILE holds per-task counts (Parquet, CSV or JSON Lines), or a log of your own tasks.  First
    come the counts of significant differences for new images and for new classes, then one table
    with a row a data set and shot.  A method is compared with the reference methods on its own
    features, or else with the three most accurate ones.  JSON and CSV hold every comparison.
    Without FILE, the reference methods are compared with each other.  Task sets made with
    attributes of images are read with --bias.

    One FILE with the predicted class of every test image (columns method, image, class, predicted,
    draw) holds results with all classes at once, as CLIP adapters and linear probes are evaluated.

    One FILE of accuracies alone, one a task (.npy, .txt, or CSV of one column), says little of new
    images and new classes: bounds, with --dataset or --classes, and --ways, --shots and --queries.
    """
    from fslbench_data.cli.report_output import (
        format_of,
        say_left_out,
        say_narrower,
        write_all_ways,
        write_bias,
        write_counts,
        write_means,
        write_report,
        write_reported,
    )
    from fslbench_data.release.release import load_release
    from fslbench_data.render.console import steps
    from fslbench_data.scoring.score import score_selected
    from fslbench_data.submission.contents import is_accuracies, is_all_ways

    views = {
        "--bias": bias,
        "--means": means,
        "--harmonic-means": harmonic_means,
        "--counts": counts or summary,
        "--details": details,
    }
    if len(chosen_views := [name for name, asked in views.items() if asked]) > 1:
        raise click.UsageError(f"{chosen_views[0]} does not go with {chosen_views[1]}")
    check_output(path, *files)
    if len(files) == 1 and is_accuracies(files[0]):
        from fslbench_data.scoring.reported import reported

        dataset = next(iter(chosen["datasets"]), None)
        found = reported(files[0], dataset=dataset, level=chosen["level"], **design)
        write_reported(found, output_format, path)
        return
    if len(files) == 1 and is_all_ways(files[0]):
        from fslbench_data.scoring.all_ways import all_ways

        write_all_ways(all_ways(files[0], level=chosen["level"]), output_format, path)
        return
    if asked := next((name for name, value in design.items() if value is not None), ""):
        raise click.UsageError(f"--{asked} is of accuracies alone, one a task")
    sources = sources_of(files, pool)
    opened, selection = load_release(release), selection_of(**chosen)
    if bias:
        from fslbench_data.scoring.bias import bias as measured

        write_bias(measured(sources, opened, selection), output_format, path)
        return
    with steps("scoring") as step:
        report = score_selected(sources, opened, selection, progress=step)
    if means or harmonic_means:
        write_means(report, output_format, path, harmonic=harmonic_means)
    elif counts or summary:
        write_counts(report, output_format, path)
        say_left_out(report)
    else:
        write_report(
            report,
            output_format,
            path,
            details=details,
            all_references=all_references,
            whole_signature=whole_signature,
        )
        ended = report.log is not None or chosen["task_sets"] or details
        if not ended and format_of(output_format, path) == "table":
            say_narrower(report, opened)
