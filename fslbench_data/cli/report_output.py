"""A report in the format that is asked for, to a file or standard output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fslbench_data.cli.options import draw, output
from fslbench_data.scoring.report import Report

if TYPE_CHECKING:
    from rich.console import Console

    from fslbench_data.scoring.bias import BiasReport

BY_ENDING = {".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex"}


def write_report(report: Report, form: str | None, path: Path | None) -> None:
    """Write a report; without a format the ending of `path` names one, else it is a table."""
    form = form or BY_ENDING.get("" if path is None else path.suffix.lower(), "table")
    if form == "csv":
        from fslbench_data.render.csv_format import render_csv

        output(render_csv(report), path)
    elif form == "json":
        from fslbench_data.render.json_format import render_json

        output(render_json(report), path)
    elif form in ("markdown", "latex"):
        from fslbench_data.render.grid import latex, markdown
        from fslbench_data.render.report_grids import legend, report_grids

        write = markdown if form == "markdown" else latex
        output(write(report_grids(report), str(report.signature), legend(report)), path)
    else:
        from fslbench_data.render.table_format import print_table

        draw(lambda console: print_table(report, console), path)


def say_left_out(report: Report) -> None:
    """Say on standard error which task sets are read with ``--bias`` only."""
    if report.left_out:
        click.echo(
            f"left out: {len(report.left_out)} task sets made with attributes of images; "
            "--bias reads them, --task-set names some",
            err=True,
        )


def write_bias(report: BiasReport, form: str | None, path: Path | None) -> None:
    """Write the ladders of attribute-biased tasks."""
    from fslbench_data.render.bias_formats import bias_csv, bias_json
    from fslbench_data.render.bias_grids import NOTES, bias_grids
    from fslbench_data.render.grid import latex, markdown

    form = form or BY_ENDING.get("" if path is None else path.suffix.lower(), "table")
    if form in ("csv", "json"):
        output((bias_csv if form == "csv" else bias_json)(report), path)
    elif form in ("markdown", "latex"):
        write = markdown if form == "markdown" else latex
        output(write(bias_grids(report), str(report.signature), NOTES), path)
    else:
        from fslbench_data.render.console import print_grid

        def show(console: Console) -> None:
            console.print(str(report.signature), soft_wrap=True, highlight=False, markup=False)
            for grid in bias_grids(report):
                console.print()
                print_grid(grid, console, most=len(grid.rows))
            for note in NOTES:
                console.print(f"\n{note}", highlight=False, markup=False)

        draw(show, path)


def write_summary(report: Report, form: str | None, path: Path | None) -> None:
    """Write how many comparisons are conclusive, one line a task set."""
    from fslbench_data.render.grid import csv_text, json_text, latex, markdown
    from fslbench_data.render.report_grids import conclusive_grid

    form = form or BY_ENDING.get("" if path is None else path.suffix.lower(), "table")
    grid, signature = conclusive_grid(report), str(report.signature)
    if form in ("csv", "json"):
        output((csv_text if form == "csv" else json_text)(grid, signature), path)
    elif form in ("markdown", "latex"):
        output((markdown if form == "markdown" else latex)([grid], signature), path)
    else:
        from fslbench_data.render.console import print_grid

        draw(lambda console: print_grid(grid, console), path)
