"""Write results in the requested format, to a file or standard output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmark_spec.errors import many
from fslbench_data.cli.options import FOR_MACHINES, Output, say

if TYPE_CHECKING:
    from rich.console import Console

    from fslbench_data.render.table import Table
    from fslbench_data.scoring.bias import BiasReport
    from fslbench_data.scoring.report import Report
    from fslbench_data.scoring.reported import Reported


def write_report(
    report: Report,
    to: Output,
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
    elif to.form not in FOR_MACHINES:
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
                say(f"Warning: {log.source}: {warning}")
    if details or to.form in FOR_MACHINES:
        _say_left_out(report)


def write_reported(reported: Reported, to: Output) -> None:
    """Write what printed results or bare accuracies show; warnings go to standard error."""
    from fslbench_data.render import reported_text
    from fslbench_data.render.console import print_tables
    from fslbench_data.render.table import csv_text, json_text

    for result in reported.results:
        if result.warning:
            method = f"{result.method}: " if result.method else ""
            say(f"Warning: {method}{result.warning}")
    to.write(
        csv=lambda: csv_text(reported_text.values(reported)),
        json=lambda: json_text(reported.to_dict()),
        table=lambda console: print_tables(reported_text.shown(reported), console),
        paper=lambda: (reported_text.tables(reported), "", ()),
    )


def _say_left_out(report: Report) -> None:
    """Print on standard error how many task sets only ``--bias`` reads."""
    if report.left_out:
        say(
            f"left out: {many(len(report.left_out), 'task set')} made with attributes of images; "
            "--bias reads them, --task-set names some"
        )


def write_bias(report: BiasReport, to: Output) -> None:
    """Write the bias levels of attribute-biased tasks."""
    from fslbench_data.render.bias_tables import bias_csv, bias_json, bias_notes, bias_tables
    from fslbench_data.render.console import print_tables

    signature, notes = report.signature, bias_notes(report)
    to.write(
        csv=lambda: bias_csv(report),
        json=lambda: bias_json(report),
        table=lambda console: print_tables(bias_tables(report), console, (*notes, signature.short)),
        paper=lambda: (bias_tables(report), str(signature), notes),
    )


def write_counts(report: Report, to: Output) -> None:
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


def write_means(report: Report, to: Output, *, harmonic: bool) -> None:
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
