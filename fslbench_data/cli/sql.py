"""``fslbench sql``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import fslbench_data as fb
from fslbench_data.cli import options

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console


@options.command(short_help="Ask anything in SQL.")
@click.argument("query", required=False)
@click.option(
    "--submission",
    "submissions",
    type=options.FILE,
    multiple=True,
    metavar="FILE",
    help="Add the results in this file; may be repeated.",
)
@options.release_option
@options.unbound_option
@options.log_options
@click.option("--list", "list_views", is_flag=True, help="Show the views and their columns.")
@click.option("--show", metavar="NAME", help="Show the SQL of one of the package's queries.")
@click.option("--seconds", type=float, default=60.0, show_default=True, help="Time limit.")
@click.option("--memory", default="1GB", show_default=True, help="Memory limit.")
@options.output_options({**options.ENDINGS, ".parquet": "parquet"})
def sql(
    query: str | None,
    submissions: tuple[Path, ...],
    release: str | None,
    allow_unbound: bool,
    pool: dict[str, Any],
    list_views: bool,
    show: str | None,
    seconds: float,
    memory: str,
    to: options.Output,
) -> None:
    """Ask anything in SQL: QUERY is one SELECT over tasks, classes and results.

    \b
    fslbench sql "SELECT method, mean FROM accuracies WHERE task_set = 'open-5w5s5q'"

    Views hold the release and the submissions given; --list shows them. DuckDB answers in a
    process of its own, closed to files, network and extensions, which ends when its time is up.
    """  # noqa: D301
    from fslbench_data.sandbox.client import QueryProcess
    from fslbench_data.scoring.sql import described, only_named, tables

    if show is not None:
        from analysis_sql.engine import query_text

        click.echo(query_text(show), nl=False)
        return
    if query is None and not list_views:
        raise click.UsageError("give a QUERY, or --list to see what there is to ask")
    opened, read = fb.load_release(release), options.sources_of(submissions, pool)
    if query is None or list_views:
        with fb.connect(opened, read, allow_unbound=allow_unbound) as connection:
            views = [f"{name}: {about}\n  {names}" for name, about, names in described(connection)]
        click.echo("\n\n".join(views))
        return
    with QueryProcess(seconds=seconds, memory=memory) as process:
        all_tables = tables(opened, read, allow_unbound=allow_unbound)
        start = time.monotonic()
        needed = only_named(all_tables, query, seconds=seconds, memory=memory)
        spent = time.monotonic() - start
        process.load(needed)
        table = process.run(query, spent=spent)
    _write(table, to)


def _write(table: pa.Table, to: options.Output) -> None:
    from benchmark_spec.errors import OutputError
    from fslbench_data.render.console import print_table, screenful
    from fslbench_data.render.query_result import csv_result, json_pieces, table_of

    if to.form == "parquet":
        from pyarrow import ArrowNotImplementedError

        from fslbench_data.release.tables import write_parquet

        if to.path is None:
            raise OutputError("Parquet is not for the terminal", fix="name a file with -o")
        try:
            write_parquet(table, to.path)
        except ArrowNotImplementedError as error:  # null arrays, in old versions
            raise OutputError(
                f"this version of Arrow cannot write the result as Parquet: {error}",
                fix="cast arrays to lists, such as a::INTEGER[], or write CSV or JSON",
            ) from None
        options.say(f"wrote {to.path}")
        return

    def print_on(console: Console) -> None:
        rows = screenful(console)
        first = table_of(table.slice(0, rows))
        print_table(first, console, left=max(0, table.num_rows - rows))

    to.write(
        csv=lambda: csv_result(table),
        json=lambda: json_pieces(table),
        table=print_on,
        paper=lambda: ([table_of(table)], "", ()),
    )
