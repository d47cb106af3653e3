"""Show the progress of long work: a bar, or lines in a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from time import monotonic
from typing import Any, Protocol

_REDRAW_SECONDS = 0.25
"""Time between two pictures of a bar in a notebook."""


class Progress(Protocol):
    """Counts finished tasks, or other units."""

    def __call__(self, tasks: int, /, *, resumed: bool = False) -> None:
        """Add finished `tasks`; `resumed` ones were finished by an earlier run."""


@contextmanager
def progress_bar(total: int, *, show: bool, unit: str = "tasks") -> Iterator[Progress]:
    """Show the progress of `total` tasks on standard error or in a notebook's cell, if `show`.

    Where standard error is neither terminal nor notebook, write a line every 30 seconds.
    """
    if not show:
        yield lambda tasks, /, *, resumed=False: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    from fslbench_data.render.console import console, line_now_and_then

    stderr = console(stderr=True)
    if not (stderr.is_terminal or stderr.is_jupyter):
        yield counted(total, unit, line_now_and_then())
        return
    columns = (
        SpinnerColumn(),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(f"{unit}, {{task.fields[rate]}} {unit}/s,", markup=False),
        TimeRemainingColumn(),
        TextColumn("left", markup=False),
    )
    bar = Progress(*columns, console=stderr, disable=not stderr.is_terminal)
    task = bar.add_task(unit, total=total, rate="…")
    cell: Any = None
    if stderr.is_jupyter:  # rich itself would need ipywidgets
        cell = import_module("IPython.display").display(bar, display_id=True)
    last = monotonic()

    def advance(tasks: int, /, *, resumed: bool = False) -> None:
        nonlocal last
        speed = None if resumed else bar.tasks[0].speed
        rate = f"{speed:.1f}" if speed else bar.tasks[0].fields["rate"]
        bar.update(task, advance=tasks, rate=rate)
        if cell is not None and monotonic() - last >= _REDRAW_SECONDS:
            cell.update(bar)
            last = monotonic()

    with bar:
        try:
            yield advance
        finally:
            if cell is not None:
                cell.update(bar)


def counted(total: int, unit: str, write: Callable[[str], object]) -> Progress:
    """Write a line such as ``1,200 of 4,000 tasks, 8.4 tasks/s, 0:05:33 left`` at every step."""
    start = monotonic()
    done = new = 0

    def advance(tasks: int, /, *, resumed: bool = False) -> None:
        nonlocal done, new
        done += tasks
        new += 0 if resumed else tasks
        rate = new / max(monotonic() - start, 1e-9)
        left = ""
        if new:
            left = f", {rate:.1f} {unit}/s, {timedelta(seconds=round((total - done) / rate))} left"
        write(f"{done:,} of {total:,} {unit}{left}")

    return advance
