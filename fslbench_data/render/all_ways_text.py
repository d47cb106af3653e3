"""What results with all classes at once show, as tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Any

from analysis_sql.intervals.all_ways import Spread
from fslbench_data.render.console import print_screen
from fslbench_data.render.interval_text import width_text
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.all_ways import POINTS, AllWays, Answered, Compared

if TYPE_CHECKING:
    from rich.console import Console


def tables(found: AllWays, form: str = "table") -> list[Table]:
    """Return methods, and their paired differences where there are some.

    Those of LaTeX fit a column of a paper; neither they nor Markdown's name options.
    """
    drawn = any(one.draws > 1 for one in found.results)
    about = f"{100 * found.level:g} % intervals for new test images{' and draws' * drawn}"
    about += ", and for new classes" * found.of_new_classes
    several = len({one.shots for one in found.results}) > 1
    shots = [Column("shots", lambda one: one.shots)] if several else []
    both = [(one.images, one.classes) for one in found.results]
    both += [(one.images, one.classes) for one in found.differences]
    same = all(_interval(images) == _interval(classes) for images, classes in both)
    narrow = form == "latex"
    methods = Table(
        f"All classes: {found.test_images:,} test images, {found.test_classes} classes at once; "
        f"{about}",
        (
            Column("method", lambda one: one.method),
            *shots,
            right("draws", lambda one: one.draws if one.support else "none"),
            right("accuracy", lambda one: _interval(one.images)),
            *([right(f"± {_CLASSES}", _of_classes)] if found.of_new_classes else []),
            *([right("from draws", _share)] if drawn and not narrow else []),
            *([] if same or narrow else [right(_MEAN, lambda one: _interval(one.classes))]),
        ),
        found.results,
        (f"{_SAME if same else _ALIKE}{_FROM if drawn and not narrow else ''}",),
    )
    below = found.notes if found.of_new_classes else (*found.notes, _NEW)
    if drawn:
        many = _MANY if form != "table" else f"{_MANY}{_GIVE}"
        below = (_POOL.format(found.pool) if found.pool else f"{many}.", *below)
    if not found.differences:
        return [replace(methods, notes=(*methods.notes, *below))]
    called = "classes" if narrow else _CLASSES
    new_classes = [
        right(f"± {called}", _of_classes),
        Column(called, lambda one: one.verdict_of_classes(found.level)),
    ]
    pairs = Table(
        f"Paired differences, all classes: {about}",
        (
            Column("method", lambda one: one.method),
            Column("versus", lambda one: one.versus),
            *shots,
            right("difference", lambda one: _interval(one.images, signed=True)),
            Column(
                "images" if narrow and found.of_new_classes else "verdict",
                lambda one: one.verdict(found.level),
            ),
            *(new_classes if found.of_new_classes else []),
            *([] if same or narrow else [right(_MEAN, _signed_mean)]),
        ),
        found.differences,
        below,
    )
    return [methods, pairs]


_MEAN = "mean over classes"
_CLASSES = "new classes"
_ALIKE = "Accuracy: all test images alike, as papers print it. Percentage points."
_SAME = "Accuracy, which is the mean over classes here, too. Percentage points."
_FROM = " From draws: draws' share of the variance."
_NEW = "Nothing is said about new classes: that needs a column `second`, the second-best class."
_POOL = "Draws of the support take their images from {} of a class."
_MANY = "Draws of the support are taken to be from many images"
_GIVE = "; if a class has N to train on, --pool N (pool=N) makes ± wider"


def _signed_mean(one: Compared) -> str:
    return _interval(one.classes, signed=True)


def _interval(one: Spread, *, signed: bool = False) -> str:
    mean = f"{100 * one.mean:+.2f}" if signed else f"{100 * one.mean:.2f}"
    return f"{mean} ± {'?' if isnan(one.halfwidth) else width_text(100 * one.halfwidth)}"


def _of_classes(one: Answered | Compared) -> str:
    width = one.images.new_classes
    return "n/a" if isnan(width) else width_text(100 * width)


def _share(one: Answered) -> str:
    if one.draws == 1:
        return "one draw" if one.support else ""
    return "n/a" if isnan(one.images.draws) else f"{100 * min(one.images.draws, 1.0):.0f} %"


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
        for name in ("mean", "halfwidth", "p", "new_classes", "p_new_classes")
    ]
    return Table("", tuple(columns), (*found.results, *found.differences))


def _value(kind: str, name: str) -> Callable[[Any], float]:
    scale = 100.0 if name in POINTS else 1.0
    return lambda one: scale * getattr(getattr(one, kind), name)


def print_found(found: AllWays, console: Console) -> None:
    """Print the tables on one screen."""
    print_screen(tables(found), console, heading=len(_MEAN))
