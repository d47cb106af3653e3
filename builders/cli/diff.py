"""``fslbench-build diff``."""

from __future__ import annotations

from pathlib import Path

import click

from fslbench_data.cli.options import FILE


@click.command()
@click.argument("old", type=FILE, metavar="A")
@click.argument("new", type=FILE, metavar="B")
@click.pass_context
def diff(ctx: click.Context, old: Path, new: Path) -> None:
    """Say what differs from release A to release B, and which version number that raises.

    A release is a folder, or ORG/NAME@v1.0.0 on the Hub; `embedded` names the one that comes with
    the package.  Ends with exit code 1 if the
    version of B says less than has changed.
    """
    from builders.release.diff import diff as compare
    from fslbench_data.release.release import load_release

    a, b = (load_release(None if str(path) == "embedded" else str(path)) for path in (old, new))
    difference = compare(a, b)
    for change in difference.changes:
        click.echo(f"{change.level:5}  {change.where}: {change.what}")
    if difference.needed is None:
        click.echo(f"{a} and {b} say the same")  # whatever their versions
        return
    number = len(difference.changes)
    rises = f"raises the {difference.raised} number" if difference.raised else "is not above it"
    click.echo(
        f"{number} change{'s' if number > 1 else ''}: {difference.needed} at "
        f"most; {b} after {a} {rises}, which is {'enough' if difference.enough else 'too little'}"
    )
    if not difference.enough:
        ctx.exit(1)
