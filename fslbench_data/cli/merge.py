"""``fslbench merge``."""

from __future__ import annotations

from pathlib import Path

import click

from fslbench_data.cli.options import FILE, check_submission, output_to


@click.command(short_help="Join files of results into one.")
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@output_to(about="Submission to write (.parquet).", required=True)
def merge(files: tuple[Path, ...], path: Path) -> None:
    """Join FILEs of results into one, with everything that they say of themselves.

    They hold different methods, one method on different task sets, or different runs of one; a file
    of any kind may stand beside others. What answers the same twice, or says different things of a
    method, is refused. Rows are in the order of FILEs.
    """
    from fslbench_data.submission.merging import merge as join

    check_submission(path, *files)
    merged = join(files)
    merged.write(path)
    methods = len(merged.table.column("method").unique())
    click.echo(f"wrote {path}: {merged.table.num_rows:,} rows, methods: {methods}", err=True)
