"""What printed results show, as tables."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from benchmark_spec.errors import many
from fslbench_data.render.console import print_table
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.reported import OF_TASKS, Difference, Printed, Reported

if TYPE_CHECKING:
    from rich.console import Console

MOST_PAIRS = 20
"""Differences in the table, at most; more are counted."""


def values(found: Reported) -> Table:
    """Return every result with its half-widths, unrounded: for CSV."""
    widths = ("tasks", "images", "typical_images", "classes", "typical_classes")
    return Table(
        "",
        (
            Column("method", attrgetter("method")),
            *(Column(name, _of_design(name)) for name in OF_TASKS),
            Column("mean", attrgetter("mean")),
            *(Column(f"halfwidth_{name}", attrgetter(name)) for name in widths),
        ),
        found.results,
    )


def _of_design(name: str) -> Callable[[Printed], object]:
    return lambda one: getattr(one.design, name, None)


def tables(found: Reported) -> list[Table]:
    """Return the results, and the differences of those on the same data set and shots."""
    return [_results(found), *([_differences(found)] if found.differences else [])]


def print_found(found: Reported, console: Console) -> None:
    """Print a result on four lines, or the table of several, and what of it is significant."""
    if len(found.results) > 1:
        for number, table in enumerate(tables(found)):
            if number:
                console.print()
            print_table(table, console, whole=True)
        return
    (one,) = found.results
    about = one.design or f"{one.n_tasks:,} tasks"
    console.print(f"{one.mean:.2f} ± {one.tasks:.2f} ({100 * found.level:g} %): {about}")
    usual = "the usual one" if one.n_tasks is not None else _PRINTED_AS[found.spread]
    rows = [("other tasks of the same images", f"± {one.tasks:.2f}", usual)]
    for about, most, typical in (
        ("new images of these classes", one.images, one.typical_images),
        ("new classes", one.classes, one.typical_classes),
    ):
        at_most = "nothing: every task has all classes" if most is None else f"± {most:.2f} at most"
        typically = "" if typical is None else f"typically ± {typical:.2f}"
        rows.append((about, at_most, typically) if one.design else (about, "not known", ""))
    names = ("interval for", f"{100 * found.level:g} %", "")
    columns = [Column(name, itemgetter(i)) for i, name in enumerate(names)]
    console.print()
    print_table(Table("", tuple(columns), rows, _notes(one)), console)


_PRINTED_AS = {
    "ci": "as printed",
    "se": "from the printed standard error",
    "sd": "from the printed standard deviation",
}

_NOTE = (
    "At most: by Hoeffding's bound, whatever the method. Typically: the median of image "
    "collections inside the package, answered by nearest means."
)

_NO_DESIGN = (
    "How much wider they can be follows from --ways, --shots and --queries with --dataset, or with "
    "--classes and --images."
)
_NO_IDS = (
    "Accuracies do not say which images tasks share. Run the sampler again from its seed and log "
    "the ids of each task beside its accuracy (docs/own_tasks.md): then these intervals are "
    "estimated."
)


def _results(found: Reported) -> Table:
    results = found.results
    columns = (
        [Column("method", lambda one: one.method, missing="")]
        if any(r.method for r in results)
        else []
    )
    for name, title in (("dataset", "data set"), ("ways", "ways"), ("shots", "shots")):
        if len({getattr(one.design, name, None) for one in results}) > 1:
            columns.append(Column(title, attrgetter(f"design.{name}")))
    columns.append(right("accuracy", lambda one: f"{one.mean:.2f} ± {one.tasks:.2f}"))
    if any(one.design for one in results):
        columns += [
            _width("new images", "typical ±", "typical_images"),
            _width("new images", "at most ±", "images"),
            _width("new classes", "typical ±", "typical_classes"),
            _width("new classes", "at most ±", "classes"),
        ]
    level = f"{100 * found.level:g} %"
    kind = (
        ("printed result",) if results[0].n_tasks is None else ("mean accuracy", "mean accuracies")
    )
    sizes = dict.fromkeys(f"{one.design.drawn_from}." for one in results if one.design)
    notes = (*sizes, *_notes(results[0]))
    return Table(
        f"{many(len(results), *kind)} with {level} intervals", tuple(columns), results, notes
    )


def _notes(one: Printed) -> tuple[str, ...]:
    no_ids = () if one.n_tasks is None else (_NO_IDS,)
    return (_NOTE if one.design else _NO_DESIGN, *no_ids)


def _width(group: str, name: str, halfwidth: str) -> Column:
    def cell(one: object) -> str | None:
        width = attrgetter(halfwidth)(one)
        return None if width is None else f"{width:.2f}"

    return Column(name, cell, "right", missing="n/a", group=group)


def _differences(found: Reported) -> Table:
    pairs = sorted(found.differences, key=lambda pair: _set(pair))  # stable: as the results come
    number = {kind: sum(getattr(pair, kind) for pair in pairs) for kind in _KINDS}
    counts = ", ".join(f"{number[kind]} for {text}" for kind, text in _KINDS.items())
    title = f"{many(len(pairs), 'difference')} on the same data set, ways and shots"
    notes: tuple[str, ...] = (
        f"Significant: {counts}. Others may be, which only the answers to tasks would show.",
        "Differences above the sum of both ± at most; for other tasks only, above the root of the "
        "sum of squares of ±. Each stands alone, not corrected for their number.",
    )
    columns: tuple[Column, ...] = (
        Column("higher", lambda pair: _name(pair.first)),
        Column("lower", lambda pair: _name(pair.second)),
        right("difference", lambda pair: f"{pair.difference:z.2f}"),
    )
    if found.paired:
        title = (
            f"{many(len(pairs), 'difference')} task by task, with {100 * found.level:g} % intervals"
        )
        notes = (
            f"Significant: {counts}. Others may be, which only the images of each task would show.",
            "Accuracies are paired as they stand: they must be of the same tasks in the same "
            "order. Each difference stands alone, not corrected for their number.",
        )
        plus_minus = right(
            "difference", lambda pair: f"{pair.difference:z.2f} ± {pair.paired.tasks:.2f}"
        )
        widths = (
            _width(_KINDS[kind], "at most ±", f"paired.{kind}") for kind in ("images", "classes")
        )
        columns = (*columns[:2], plus_minus, *(widths if pairs[0].design else ()))
    else:
        columns = (Column("data set", _set, once=_set), *columns)
    if (more := len(pairs) - MOST_PAIRS) > 0:
        notes = (f"… and {many(more, 'more difference')}: --format json", *notes)
    significant = Column("significant for", _significant, missing="nothing")
    return Table(title, (*columns, significant), pairs[:MOST_PAIRS], notes)


_KINDS = {"tasks": "other tasks", "images": "new images", "classes": "new classes"}


def _set(pair: Difference) -> str:
    of = pair.design
    return f"{of.dataset} {of.ways}-way {of.shots}-shot".strip() if of else ""


def _name(one: Printed) -> str:
    return one.method or f"{one.mean:.2f} ± {one.tasks:.2f}"


def _significant(pair: Difference) -> str | None:
    """Name the widest that a difference is significant for: it is for those before it, too."""
    widest = next((kind for kind in reversed(_KINDS) if getattr(pair, kind)), None)
    return "other tasks only" if widest == "tasks" else _KINDS.get(widest or "")
