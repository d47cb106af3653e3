"""``fslbench validate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fslbench_data.cli.options import (
    FILE,
    log_options,
    release_option,
    sources_of,
    unbound_option,
)


@click.command(short_help="Check that FILEs can be scored.")
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@release_option
@unbound_option
@log_options
@click.option(
    "--recognise", is_flag=True, help="Test whether the results are of these tasks, if bound too."
)
def validate(
    files: tuple[Path, ...],
    release: str | None,
    unbound: bool,
    recognise: bool,
    pool: dict[str, Any],
) -> None:
    """Check that FILEs can be scored, together if they are several, and say what they answer.

    Of results that do not say which tasks they were made on (--unbound), it is tested whether
    they know: whether the classes of the tasks explain them, and whether they correlate with the
    reference methods' results. Recognised: p at most 0.001.

    Exit code 0 if every rule is met, whether tasks are recognised or not; otherwise the first
    broken rule is explained, with its rows and how to mend them, and the exit code is 2.
    """
    from fslbench_data.release.release import load_release
    from fslbench_data.render.console import steps
    from fslbench_data.render.recognition_text import group_conclusions, together
    from fslbench_data.scoring.own_release import log_of
    from fslbench_data.scoring.recognition import recognise_tasks
    from fslbench_data.validation.validate import validate as check

    opened = load_release(release)
    own = log_of(sources_of(files, pool))
    validated = own.answers if own else check(files, opened, allow_unbound=unbound)
    columns = validated.submission.columns
    extra = [name for name in ("predictions", "class_correct") if name in columns]
    tested = [group for group in validated.groups if recognise or not group.bound]
    conclusions: dict[int, str] = {}
    summary: list[str] = []
    if tested:
        with steps("testing whose tasks these are") as step:
            recognised = recognise_tasks(validated, opened, groups=tested, progress=step)
        of_group = zip(tested, group_conclusions(recognised), strict=True)
        conclusions = {id(group): text for group, text in of_group}
        summary = list(together(recognised))
    for group in validated.groups:
        part = "" if group.tasks == group.info.n_tasks else f" of {group.info.n_tasks}"
        told = f"; {conclusions[id(group)]}" if id(group) in conclusions else ""
        click.echo(
            f"{group.method} on {group.info}: {group.tasks}{part} tasks, "
            f"{'bound to ' + group.info.fingerprint[:12] if group.bound else 'unbound'}{told}"
        )
    for line in summary:
        click.echo(line)
    checked = f", {' and '.join(extra)} checked" if extra else ""
    if own is not None:
        click.echo(f"{files[0]} is a valid log of one's own tasks", err=True)
        return
    are = "is a valid submission" if len(files) == 1 else "are together a valid submission"
    click.echo(f"{', '.join(map(str, files))} {are} to {opened}{checked}", err=True)
