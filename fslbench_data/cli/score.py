"""The commands ``fslbench score``, ``compare``, ``interval`` and ``reported``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click

import fslbench_data as fb
from benchmark_spec.errors import FSLBenchWarning, listing
from fslbench_data.cli import options, report_output


@options.command(short_help="Compare methods with each other and with the references.")
@click.argument("files", type=options.FILE, nargs=-1, metavar="[FILE]...")
@options.release_option
@click.option(
    "--against",
    multiple=True,
    metavar="M",
    help="Compare only with this method, of a FILE or of the release; may be repeated. NCC is the "
    "one on the features of FILE's methods.",
)
@options.methods_option
@options.sets_options
@options.level_option
@options.unbound_option
@click.option(
    "--all-references",
    is_flag=True,
    help="Compare with every reference method, not only those on the same features or the most "
    "accurate.",
)
@options.details_option
@options.signature_option
@click.option(
    "--means",
    is_flag=True,
    help="Means over data sets of the same ways and shots, and their differences, with intervals.",
)
@click.option(
    "--harmonic-means",
    is_flag=True,
    help="The same for harmonic means, as of base and new classes.",
)
@click.option(
    "--counts",
    is_flag=True,
    help="How many comparisons each kind of interval calls significant: a line per task set.",
)
@options.bias_option
@options.log_options
@options.design_options
@options.output_options()
def score(
    files: tuple[Path, ...],
    release: str | None,
    all_references: bool,
    details: bool,
    whole_signature: bool,
    means: bool,
    harmonic_means: bool,
    counts: bool,
    bias: bool,
    pool: dict[str, Any],
    design: dict[str, Any],
    to: options.Output,
    **chosen: Any,
) -> None:
    """Compare the methods in FILEs with each other and with the reference methods.

    A FILE holds per-task counts (Parquet, CSV or JSON Lines), or a log of your own tasks.  First
    come the counts of significant differences for new images and for new classes, then one table
    with a row per data set and shot.  A method is compared with the reference methods on its own
    features, or else with the three most accurate ones.  JSON and CSV hold every comparison.
    Without FILE, the reference methods are compared with each other.  Task sets made with
    attributes of images are read with --bias.

    One FILE with the predicted class of every test image (columns method, image, class, predicted,
    draw) holds results with all classes at once, as CLIP adapters and linear probes are evaluated.

    FILEs of accuracies alone, one per task (.npy, .txt, or CSV of one column), say little of new
    images and new classes: bounds, with --dataset or --classes, and --ways, --shots and --queries.
    Several, a method each, are compared task by task.
    """
    from fslbench_data.render.console import steps
    from fslbench_data.scoring.score import pooled_instead, score_selected
    from fslbench_data.scoring.selection import Selection
    from fslbench_data.submission.reading import is_accuracies

    views = {
        "--bias": bias,
        "--means": means,
        "--harmonic-means": harmonic_means,
        "--counts": counts,
        "--details": details,
    }
    if len(chosen_views := [name for name, given in views.items() if given]) > 1:
        raise click.UsageError(f"{chosen_views[0]} does not go with {chosen_views[1]}")
    only_accuracies = bool(files) and all(map(is_accuracies, files))
    if chosen["methods"] and (bias or only_accuracies):
        raise click.UsageError(f"--method does not go with {'--bias' if bias else files[0]}")
    if only_accuracies:
        used = {"datasets", "level", *(f"of_{name}" for name in design)}
        options.refuse_other_options(used, "accuracies alone")
        dataset = next(iter(chosen["datasets"]), None)
        printed = fb.reported(files, dataset=dataset, level=chosen["level"], **design)
        report_output.write_reported(printed, to)
        return
    if option := next((name for name, value in design.items() if value is not None), ""):
        raise click.UsageError(f"--{option} is of accuracies alone, one per task")
    sources = options.sources_of(files, pool)
    opened, selection = fb.load_release(release), Selection.of(**chosen)
    if bias:
        from fslbench_data.scoring.bias import bias as measured

        report_output.write_bias(measured(sources, opened, selection), to)
        return
    with steps("scoring") as step:
        report = score_selected(sources, opened, selection, progress=step)
    if means or harmonic_means:
        report_output.write_means(report, to, harmonic=harmonic_means)
    elif counts:
        report_output.write_counts(report, to)
    else:
        report_output.write_report(
            report,
            to,
            details=details,
            all_references=all_references,
            whole_signature=whole_signature,
        )
        is_summary = report.log is None and not chosen["task_sets"] and not details
        if is_summary and to.form == "table" and (pooled := pooled_instead(report, opened)):
            more = f" and {len(pooled) - 1} more" if len(pooled) > 1 else ""
            options.say(
                f"tip: evaluate the pooled sets ({pooled[0]}{more}): they use more of the images, "
                "so that intervals for new images are narrower"
            )


@options.command(short_help="Compare two methods; --fail-if-worse is for CI.")
@click.argument("names", nargs=-1, required=True, metavar="A [B]...")
@options.release_option
@options.sets_options
@options.level_option
@options.unbound_option
@options.log_options
@click.option(
    "--fail-if-worse", is_flag=True, help="Exit with 1 if A is worse than B on any task set."
)
@options.details_option
@options.signature_option
@options.bias_option
@options.output_options()
def compare(
    names: tuple[str, ...],
    release: str | None,
    fail_if_worse: bool,
    details: bool,
    whole_signature: bool,
    bias: bool,
    pool: dict[str, Any],
    to: options.Output,
    **chosen: Any,
) -> None:
    """Compare two methods, A with B, such as two versions of your own.

    They are named by files of results, FILE::METHOD for one of a file's methods, names of reference
    methods, or a log of one's own tasks. NCC is the reference method of that name on the features
    of the other. The exit code is 0, and with --fail-if-worse 1 if the verdict for new images is
    "worse" on any data set, shot and way (of its sets the pooled one, else the closed one, else
    the open ones), each judged by itself: not corrected for several.
    """
    from fslbench_data.scoring.bias import bias as measured
    from fslbench_data.scoring.own_release import OwnLog
    from fslbench_data.scoring.score import answered_by_one, find_two, score_selected
    from fslbench_data.scoring.selection import Selection
    from fslbench_data.scoring.task_set_report import primary_comparisons

    opened = fb.load_release(release)
    both, selection = find_two(names, opened, Selection.of(**chosen), **pool)
    if bias:
        if fail_if_worse:
            raise click.UsageError("--bias does not go with --fail-if-worse")
        report_output.write_bias(measured(both, opened, selection), to)
        return
    report = score_selected(both, opened, selection, only_compared=True)
    report_output.write_report(report, to, details=details, whole_signature=whole_signature)
    if not isinstance(both, OwnLog) and (left_out := answered_by_one(both, selection, opened)):
        options.say(f"left out, answered by one of the two only: {listing(left_out)}")
    if not fail_if_worse:
        return
    primary = primary_comparisons(report.comparisons)
    worse, unknown = (
        [f"{c.dataset}/{c.task_set}" for c in primary if c.verdict == verdict] for verdict in "-?"
    )
    if worse:
        note = " (each judged by itself, uncorrected)" if len(primary) > 1 else ""
        options.say(f"{report.comparisons[0].method} is worse on {', '.join(worse)}{note}")
        raise SystemExit(1)
    if unknown:
        options.say(f"nothing can be said on {listing(unknown, 4)}, so --fail-if-worse did not")


@options.command(
    short_help="Confidence intervals for a log of your own random tasks.",
    first=("trained", "inductive", "class_sizes", "groups"),
)
@click.argument("log", type=options.FILE)
@options.log_options
@options.level_option
@options.details_option
@options.output_options()
def interval(
    log: Path,
    pool: dict[str, Any],
    level: float,
    details: bool,
    to: options.Output,
) -> None:
    """Compute confidence intervals of the means in LOG: for new images, and for new classes.

    LOG holds random tasks drawn anywhere, without a release, one row per method and task: method,
    task, class_ids, support_ids and query_ids (class by class), and n_correct with n_query or
    accuracy; of several training runs, run. Parquet, CSV (lists as JSON) or JSON Lines. Methods
    that answered the same tasks are compared pairwise. docs/own_tasks.md shows the few lines that
    write such a log. `fslbench score LOG` is the same; table, plot, report, compare, sql and
    validate take such a log, too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FSLBenchWarning)  # the report shows them
        own = fb.open_log(log, **pool)
    report = fb.score(own, level=level)
    report_output.write_report(report, to, details=details)


@options.command(short_help="Say what a printed 91.72 ± 0.55 shows.")
@click.argument("results", metavar="RESULT...", nargs=-1, required=True)
@click.option(
    "--dataset",
    metavar="D",
    help="Gives --classes and --images of its test split: miniImageNet, tieredImageNet, CUB, "
    "CIFAR-FS, FC100, EuroSAT, ISIC, ChestX, or one of Meta-Dataset or inside the package.",
)
@click.option("--classes", type=int, metavar="C", help="Classes that tasks are drawn from.")
@click.option("--images", type=int, metavar="N", help="Images of the class that has the fewest.")
@click.option("--ways", type=int, metavar="K", help="Classes of a task.")
@click.option("--shots", type=int, metavar="S", help="Support images of a class.")
@click.option("--queries", type=int, metavar="Q", help="Query images of a class.")
@click.option("--tasks", type=int, metavar="T", help="Tasks that the mean is over.")
@click.option(
    "--spread",
    type=click.Choice(["ci", "se", "sd"]),
    default="ci",
    show_default=True,
    help="What stands behind ±: a confidence interval at --level, a standard error or a standard "
    "deviation.",
)
@options.level_option
@options.output_options()
def reported(results: tuple[str, ...], to: options.Output, **about: Any) -> None:
    """Say what printed results show for new images and new classes.

    RESULT is "91.72 ± 0.55" or "91.72 +- 0.55", or several of them, to be compared; or a CSV file
    with a column `result`, perhaps `method`, and columns named as the options below, each for all
    rows where it is an option; or a file of accuracies, one per task.  No answers and no images are
    needed: how much wider an interval for new images or new classes can be follows from the sizes
    of the data set.
    """
    printed = fb.reported(results[0] if len(results) == 1 else list(results), **about)
    report_output.write_reported(printed, to)
