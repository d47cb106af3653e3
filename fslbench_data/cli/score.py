"""The commands ``fslbench score``, ``compare``, ``interval`` and ``reported``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import fslbench_data as fb
from benchmark_spec.errors import FSLBenchWarning, listing, many
from fslbench_data.cli import options

if TYPE_CHECKING:
    from rich.console import Console

    from fslbench_data.render.table import Table
    from fslbench_data.scoring.bias import BiasReport
    from fslbench_data.scoring.report import Report
    from fslbench_data.scoring.reported import Reported


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
        write_reported(printed, to)
        return
    if option := next((name for name, value in design.items() if value is not None), ""):
        raise _not_of(option, files)
    sources = options.sources_of(files, pool)
    opened, selection = fb.load_release(release), Selection.of(**chosen)
    if bias:
        from fslbench_data.scoring.bias import bias as measured

        write_bias(measured(sources, opened, selection), to, all_references=all_references)
        return
    with steps("scoring") as step:
        report = score_selected(sources, opened, selection, progress=step)
    if means or harmonic_means:
        write_means(report, to, harmonic=harmonic_means)
    elif counts:
        write_counts(report, to)
    else:
        write_report(
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


def _not_of(option: str, files: Sequence[Path]) -> click.UsageError:
    """Return the error of an option for accuracies alone, which some file does not hold."""
    from fslbench_data.submission.reading import check_file, columns_of, is_accuracies, is_log

    what = f"--{option} is of accuracies alone, one per task"
    other = next((file for file in files if not is_accuracies(file)), None)
    if other is None:
        return click.UsageError(what)
    check_file(other, [other.suffix.lower()])
    what += f", in a file of one column, .npy or .txt, which {other} is not"
    if "result" in (names := columns_of(other)):
        what += f"; it holds printed results: fslbench reported {other}"
    elif "accuracy" in names and not is_log(other):
        what += "; leave only its column accuracy"
    return click.UsageError(what)


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
    from fslbench_data.scoring.compare import answered_by_one, find_two
    from fslbench_data.scoring.own_release import OwnLog
    from fslbench_data.scoring.score import score_selected
    from fslbench_data.scoring.selection import Selection
    from fslbench_data.scoring.task_set_report import primary_comparisons

    opened = fb.load_release(release)
    both, selection = find_two(names, opened, Selection.of(**chosen), **pool)
    if bias:
        if fail_if_worse:
            raise click.UsageError("--bias does not go with --fail-if-worse")
        write_bias(measured(both, opened, selection), to)
        return
    report = score_selected(both, opened, selection, only_compared=True)
    write_report(report, to, details=details, whole_signature=whole_signature)
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
    write_report(report, to, details=details)


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
    write_reported(printed, to)


def write_report(
    report: Report,
    to: options.Output,
    *,
    details: bool = False,
    all_references: bool = False,
    whole_signature: bool = False,
) -> None:
    """Write a report: its summary, or with `details` a block for each task set.

    CSV and JSON hold everything in either case.
    """
    from fslbench_data.render.report_formats import json_pieces, render_csv

    table: Callable[[Console], object] | None = None
    paper: Callable[[], tuple[Sequence[Table], str, Sequence[str]]] | None = None
    if details:
        from fslbench_data.render.details_text import details_paper, print_details

        table, paper = partial(print_details, report), partial(details_paper, report)
    elif report.log is not None:
        from fslbench_data.render.log_text import log_paper, print_log

        table = partial(print_log, report, report.log)
        paper = partial(log_paper, report, report.log, to.form)
    elif to.form not in options.FOR_MACHINES:
        from fslbench_data.render.console import steps
        from fslbench_data.render.summary_text import print_summary, summary_paper
        from fslbench_data.scoring.summary import summarize

        with steps("comparing methods"):
            summary = summarize(report, all_references=all_references)
        table = partial(print_summary, summary, whole_signature=whole_signature)
        paper = partial(summary_paper, summary)
    to.write(
        csv=lambda: render_csv(report),
        json=lambda: json_pieces(report),
        table=table,
        paper=paper,
    )
    if details or report.log is None:
        for log in report.logs.values():
            for warning in log.warnings:
                options.say(f"Warning: {log.source}: {warning}")
    if details or to.form in options.FOR_MACHINES:
        _say_left_out(report)


def write_reported(reported: Reported, to: options.Output) -> None:
    """Write what printed results or bare accuracies show; warnings go to standard error."""
    from fslbench_data.render import reported_text
    from fslbench_data.render.console import print_tables
    from fslbench_data.render.table import csv_text, json_text

    for result in reported.results:
        if result.warning:
            method = f"{result.method}: " if result.method else ""
            options.say(f"Warning: {method}{result.warning}")
    to.write(
        csv=lambda: csv_text(reported_text.values(reported)),
        json=lambda: json_text(reported.to_dict()),
        table=lambda console: print_tables(reported_text.shown(reported), console),
        paper=lambda: (reported_text.tables(reported), "", ()),
    )


def _say_left_out(report: Report) -> None:
    """Print on standard error how many task sets only ``--bias`` reads."""
    if report.left_out:
        options.say(
            f"left out: {many(len(report.left_out), 'task set')} made with attributes of images; "
            "--bias reads them, --task-set names some"
        )


def write_bias(report: BiasReport, to: options.Output, *, all_references: bool = False) -> None:
    """Write the bias levels of attribute-biased tasks."""
    from fslbench_data.render.bias_tables import bias_csv, bias_json, bias_notes, bias_tables
    from fslbench_data.render.console import print_tables

    signature, notes = report.signature, bias_notes(report)
    tables = partial(bias_tables, report, all_references=all_references)
    to.write(
        csv=lambda: bias_csv(report),
        json=lambda: bias_json(report),
        table=lambda console: print_tables(tables(), console, (*notes, signature.short)),
        paper=lambda: (tables(), str(signature), notes),
    )


def write_counts(report: Report, to: options.Output) -> None:
    """Write how many comparisons are significant, one line per task set."""
    from fslbench_data.render.console import print_tables
    from fslbench_data.render.counts_table import counts_table, counts_tables
    from fslbench_data.render.table import csv_text, json_text, objects

    signature = str(report.signature)

    def json() -> str:
        table = counts_table(report)
        content = {"title": table.title, "rows": objects(table), "notes": table.notes}
        return json_text({"signature": signature, **content})

    to.write(
        csv=lambda: csv_text(counts_table(report), signature),
        json=json,
        table=lambda console: print_tables(counts_tables(report), console, whole=False),
        paper=lambda: (counts_tables(report), signature, ()),
    )
    _say_left_out(report)


def write_means(report: Report, to: options.Output, *, harmonic: bool) -> None:
    """Write means over data sets, and their differences."""
    from fslbench_data.render.console import print_tables
    from fslbench_data.render.dataset_mean_tables import dataset_mean_tables
    from fslbench_data.render.table import csv_of_rows, json_text
    from fslbench_data.scoring.dataset_means import DATASET_MEANS, dataset_mean_table
    from fslbench_data.scoring.task_set_report import own_methods

    signature = str(report.signature)
    means = report.harmonic_means if harmonic else report.dataset_means

    shown = {row.method for row in means}
    left_out = dict.fromkeys(
        name for task_set in report.averaged for name in own_methods(task_set) if name not in shown
    )

    def rows() -> list[dict[str, Any]]:  # as SQL has them
        return dataset_mean_table(means).to_pylist()  # type: ignore[no-any-return]

    def tables() -> list[Table]:
        return dataset_mean_tables(means, [*left_out], harmonic=harmonic)

    to.write(
        csv=lambda: csv_of_rows(DATASET_MEANS.names, map(dict.values, rows()), signature),
        json=lambda: json_text({"signature": signature, "means": rows()}),
        table=lambda console: print_tables(tables(), console),
        paper=lambda: (tables(), signature, ()),
    )
