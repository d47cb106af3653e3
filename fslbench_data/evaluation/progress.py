"""A progress bar with tasks (or images) per second and the time left: in a terminal or notebook."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_SECONDS = 0.25
"""Between two pictures of a bar in a notebook."""


class Progress(Protocol):
    """Is told of answered tasks, or of whatever else is counted."""

    def __call__(self, tasks: int, /, *, resumed: bool = False) -> None:
        """`tasks` more are answered, or were so already in an earlier run."""


@contextmanager
def progress_bar(total: int, *, show: bool, unit: str = "tasks") -> Iterator[Progress]:
    """Show how far `total` tasks are, on standard error or in a notebook's cell.

    Silent unless shown, and where standard error is neither terminal nor notebook.
    """
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
    if not (shown.is_terminal or shown.is_jupyter):
        yield _silent
        return
    columns = (
        SpinnerColumn(),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(f"{unit}, {{task.fields[rate]}} {unit}/s,", markup=False),
        TimeRemainingColumn(),
        TextColumn("left", markup=False),
    )
    bar = Progress(*columns, console=shown, disable=not shown.is_terminal)
    task = bar.add_task(unit, total=total, rate="…")

    def advance(tasks: int, /, *, resumed: bool = False) -> None:
        if resumed:
            bar.update(task, advance=tasks)
            return
        speed = bar.tasks[0].speed
        bar.update(task, advance=tasks, rate=f"{speed:.1f}" if speed else "…")

    if shown.is_jupyter:
        with _in_a_cell(bar, advance) as advance_there:
            yield advance_there
        return
    with bar:
        yield advance


@contextmanager
def _in_a_cell(bar: Bar, advance: Progress) -> Iterator[Progress]:
    """Show the bar in the output of a notebook's cell; rich's own way needs ipywidgets."""
    notebook: Any = import_module("IPython.display")
    cell = notebook.display(bar, display_id=True)
    last = monotonic()

    def advance_there(tasks: int, /, *, resumed: bool = False) -> None:
        nonlocal last
        advance(tasks, resumed=resumed)
        if monotonic() - last >= _SECONDS:
            cell.update(bar)
            last = monotonic()

    try:
        yield advance_there
    finally:
        cell.update(bar)


def _silent(tasks: int, /, *, resumed: bool = False) -> None:
    """Say nothing."""
