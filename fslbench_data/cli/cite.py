"""``fslbench cite``."""

from __future__ import annotations

from pathlib import Path

import click

from fslbench_data.cli.options import release_option

RESULTS = (".parquet", ".csv", ".jsonl")
"""Endings of files of results."""


@click.command(short_help="Print BibTeX of a release, or of what results used of it.")
@click.argument("what", nargs=-1, metavar="[FILE]...")
@release_option
def cite(what: tuple[str, ...], release: str | None) -> None:
    """Print BibTeX of what the results in FILEs used: data sets, features and papers.

    Without FILE it is all of a release: of --release, or of one that stands in FILE's place.
    """
    from fslbench_data.release.release import load_release
    from fslbench_data.render.bibtex import bibtex, bibtex_of
    from fslbench_data.scoring.own_release import is_log
    from fslbench_data.submission.merging import merge

    if len(what) == 1 and not (Path(what[0]).is_file() or what[0].lower().endswith(RESULTS)):
        if release is not None:
            raise click.UsageError(f"{what[0]} is no file of results")
        release, what = what[0], ()
    if len(what) == 1 and is_log(what[0]):
        text = bibtex()
    else:
        opened = load_release(release)
        text = bibtex_of(merge([Path(file) for file in what]), opened) if what else bibtex(opened)
    click.echo(text, nl=False)
