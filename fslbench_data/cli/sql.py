"""``fslbench sql``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fslbench_data.cli.options import (
    FILE,
    draw,
    output,
    output_option,
    release_option,
    unbound_option,
)

if TYPE_CHECKING:
    import pyarrow as pa


@click.command(short_help="Ask anything in SQL.")
@click.argument("query", required=False)
@click.option(
    "--submission",
    "submissions",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Add the results in this file; may be repeated.",
)
@release_option
@unbound_option
@click.option("--list", "list_views", is_flag=True, help="Show the views and their columns.")
@click.option("--show", metavar="NAME", help="Show the SQL of one of the package's queries.")
@click.option("--seconds", type=float, default=60.0, show_default=True, help="Time limit.")
@click.option("--memory", default="1GB", show_default=True, help="Memory limit.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "parquet", "markdown", "latex"]),
    help="By default the one that the ending of --output names, else table.",
)
@output_option
def sql(
    query: str | None,
    submissions: tuple[Path, ...],
    release: str | None,
    unbound: bool,
    list_views: bool,
    show: str | None,
    seconds: float,
    memory: str,
    form: str | None,
    path: Path | None,
) -> None:
    """Ask anything in SQL: QUERY is one SELECT over tasks, classes and results.

    \b
    fslbench sql "SELECT method, mean FROM accuracies WHERE task_set = 'open-5w5s5q'"

    Views hold the release and the submissions given; --list shows them. DuckDB answers, closed
    to files, network and extensions.
    """  # noqa: D301
    from analysis_sql.engine import query_text, run_query
    from fslbench_data.release import load_release
    from fslbench_data.sql import connect, described

    if show is not None:
        click.echo(query_text(show), nl=False)
        return
    if query is None and not list_views:
        raise click.UsageError("give a QUERY, or --list to see what there is to ask")
    with connect(
        load_release(release), list(submissions), allow_unbound=unbound, memory=memory
    ) as connection:
        if list_views:
            click.echo("\n\n".join(f"{n}: {t}\n  {c}" for n, t, c in described(connection)))
            return
        table = run_query(connection, query or "", seconds=seconds)
    _write(table, form, path)


def _write(table: pa.Table, form: str | None, path: Path | None) -> None:
    from benchmark_spec.errors import OutputError

    endings = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".md": "markdown"}
    endings[".tex"] = "latex"
    form = form or endings.get("" if path is None else path.suffix.lower(), "table")
    if form == "parquet":
        import pyarrow.parquet as pq

        from fslbench_data.files import whole_file

        if path is None:
            raise OutputError("Parquet is not for the terminal", fix="name a file with -o")
        with whole_file(path) as temporary:
            pq.write_table(table, temporary)
        click.echo(f"wrote {path}", err=True)
    elif form == "json":
        import json

        text = json.dumps(table.to_pylist(), indent=1, ensure_ascii=False, default=str)
        output(text + "\n", path)
    elif form == "csv":
        output(_csv(table), path)
    else:
        from fslbench_data.render.grid import latex, markdown
        from fslbench_data.render.grids import table_grid
        from fslbench_data.render.screen import print_grid

        grid = table_grid(table)
        if form == "table":
            draw(lambda console: print_grid(grid, console), path)
        else:
            output((markdown if form == "markdown" else latex)([grid], ""), path)


def _csv(table: pa.Table) -> str:
    """CSV with a list as a JSON array, as submissions have them."""
    import csv
    import io
    import json

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in table.to_pylist():
        writer.writerow(json.dumps(v) if isinstance(v, list) else v for v in row.values())
    return out.getvalue()
