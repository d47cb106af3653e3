"""``fslbench validate``."""

from __future__ import annotations

from pathlib import Path

import click

from fslbench_data.cli.options import release_option, submission_argument, unbound_option


@click.command(short_help="Check that FILE can be scored.")
@submission_argument
@release_option
@unbound_option
def validate(file: Path, release: str | None, unbound: bool) -> None:
    """Check that FILE can be scored, and say what it answers.

    Exit code 0 if every rule is met; otherwise the first broken rule is explained, with its
    rows and how to mend them, and the exit code is 2.
    """
    from fslbench_data.release import load_release
    from fslbench_data.submission.checks import validate as check
    from fslbench_data.submission.reading import read_submission

    opened = load_release(release)
    found = check(read_submission(file), opened, allow_unbound=unbound)
    columns = found.submission.table.column_names
    extra = [name for name in ("predictions", "class_correct") if name in columns]
    for group in found.groups:
        part = "" if group.tasks == group.info.n_tasks else f" of {group.info.n_tasks}"
        click.echo(
            f"{group.method} on {group.info}: {group.tasks}{part} tasks, "
            f"{'bound to ' + group.info.fingerprint[:12] if group.bound else 'unbound'}"
        )
    checked = f", {' and '.join(extra)} checked" if extra else ""
    click.echo(f"{file} is a valid submission to {opened}{checked}", err=True)
