"""A progress bar with tasks (or images) per second and the time left, on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """Is told of answered tasks, or of whatever else is counted."""

    def __call__(self, tasks: int, /, *, resumed: bool = False) -> None:
        """`tasks` more are answered, or were so already in an earlier run."""


@contextmanager
def progress_bar(total: int, *, show: bool, unit: str = "tasks") -> Iterator[Progress]:
    """Show how far `total` tasks are; silent unless shown on a terminal."""
    if not show:
        yield _silent
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    from fslbench_data.render.console import console

    shown = console(stderr=True)
    columns = (
        SpinnerColumn(),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(f"{unit}, {{task.fields[rate]}} {unit}/s,", markup=False),
        TimeRemainingColumn(),
        TextColumn("left", markup=False),
    )
    with Progress(*columns, console=shown, disable=not shown.is_terminal) as bar:
        task = bar.add_task(unit, total=total, rate="…")

        def advance(tasks: int, /, *, resumed: bool = False) -> None:
            if resumed:
                bar.update(task, advance=tasks)
                return
            speed = bar.tasks[0].speed
            bar.update(task, advance=tasks, rate=f"{speed:.1f}" if speed else "…")

        yield advance


def _silent(tasks: int, /, *, resumed: bool = False) -> None:
    """Say nothing."""
