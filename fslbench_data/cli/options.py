"""Options and output that commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)

submission_argument: Callable[[Command], Command] = click.argument("file", type=FILE)

release_option: Callable[[Command], Command] = click.option(
    "--release",
    metavar="R",
    help="Folder of a release; by default the one inside the package.",
)

unbound_option: Callable[[Command], Command] = click.option(
    "--unbound",
    is_flag=True,
    help="Accept results that do not say by fingerprint which tasks they were made on.",
)


def output(text: str, path: Path | None) -> None:
    """Write text to a file that appears whole or not at all, or to standard output."""
    if path is None:
        click.echo(text, nl=False)
        return
    from fslbench_data.files import write_whole

    write_whole(path, text)
    click.echo(f"wrote {path}", err=True)
