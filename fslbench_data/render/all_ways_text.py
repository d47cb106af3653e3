"""What results with all classes at once show, as tables."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import TYPE_CHECKING, Any

from analysis_sql.intervals.all_ways import Spread
from fslbench_data.render.console import print_table
from fslbench_data.render.interval_text import width_text
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.all_ways import AllWays

if TYPE_CHECKING:
    from rich.console import Console


def tables(found: AllWays) -> list[Table]:
    """Return methods, and their paired differences where there are several."""
    level = f"{100 * found.level:g} %"
    several = len({one.shots for one in found.results}) > 1
    shots = [Column("shots", lambda one: one.shots)] if several else []
    methods = Table(
        f"{found.test_images:,} test images, {found.test_classes} classes at once: {level} "
        "intervals for new test images and draws",
        (
            Column("method", lambda one: one.method),
            *shots,
            right("draws", lambda one: one.draws),
            right("accuracy", lambda one: _interval(one.images)),
            right("of the variance by draws", lambda one: _share(one.images)),
            right("mean over classes", lambda one: _interval(one.classes)),
        ),
        found.results,
        (_NOTE, _POOL.format(found.pool) if found.pool else _MANY),
    )
    if not found.differences:
        return [methods]
    pairs = Table(
        "",
        (
            Column("method", lambda one: one.method),
            Column("versus", lambda one: one.versus),
            *shots,
            right("difference", lambda one: _interval(one.images, signed=True)),
            Column("", lambda one: one.verdict(found.level)),
            right("mean over classes", lambda one: _interval(one.classes, signed=True)),
        ),
        found.differences,
    )
    return [methods, pairs]


_NOTE = (
    "Accuracy: all test images alike, as papers print it. Percentage points. Of one draw, ± is for "
    "new test images alone, with this support. New classes want the scores of all classes, and "
    "nothing is said of them."
)


_POOL = "Draws of the support take their images from {} of a class."
_MANY = (
    "Draws of the support are taken to be from many images; if a class has N to train on, --pool N "
    "(pool=N) makes ± wider."
)


def _interval(one: Spread, *, signed: bool = False) -> str:
    mean = f"{100 * one.mean:+.2f}" if signed else f"{100 * one.mean:.2f}"
    return f"{mean} ± {'?' if isnan(one.halfwidth) else width_text(100 * one.halfwidth)}"


def _share(one: Spread) -> str:
    return "one draw" if isnan(one.draws) else f"{100 * min(one.draws, 1.0):.0f} %"


def values(found: AllWays) -> Table:
    """Return methods and pairs unrounded, in percentage points: for CSV."""
    columns = [
        Column("method", lambda one: one.method),
        Column("versus", lambda one: getattr(one, "versus", "")),
        Column("shots", lambda one: one.shots),
        Column("draws", lambda one: getattr(one, "draws", None)),
    ]
    columns += [
        Column(f"{kind}_{name}", _value(kind, name))
        for kind in ("images", "classes")
        for name in ("mean", "halfwidth", "p")
    ]
    return Table("", tuple(columns), (*found.results, *found.differences))


def _value(kind: str, name: str) -> Callable[[Any], float]:
    scale = 1.0 if name == "p" else 100.0
    return lambda one: scale * getattr(getattr(one, kind), name)


def print_found(found: AllWays, console: Console) -> None:
    """Print the tables."""
    for number, table in enumerate(tables(found)):
        if number:
            console.print()
        print_table(table, console, whole=True)
