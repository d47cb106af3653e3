"""Results as papers print them, with what their intervals leave out, as tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter

from msgspec.structs import replace

from benchmark_spec.errors import many
from fslbench_data.render.console import page, print_tables
from fslbench_data.render.interval_text import fixed, percent
from fslbench_data.render.table import Column, Table, of_tuples, right
from fslbench_data.scoring.reported import OF_TASKS, Difference, Printed, Reported

MOST_PAIRS = 20
"""Differences in the table, at most; more are counted."""


def reported_text(found: Reported) -> str:
    """Write results as the terminal shows them."""
    with page() as (console, text):
        print_tables(shown(found), console)
    return text()


def values(found: Reported) -> Table:
    """Return every result with unrounded half-widths, for CSV."""
    widths = ("tasks", "images", "typical_images", "classes", "typical_classes")
    columns = (
        Column("method", attrgetter("method")),
        *(Column(name, _of_design(name)) for name in OF_TASKS[:-1]),
        Column("tasks", lambda result: result.n_tasks or result.design.tasks),
        Column("mean", attrgetter("mean")),
        *(Column(f"halfwidth_{name}", attrgetter(name)) for name in widths),
    )
    return Table("", columns, found.results)


def _of_design(name: str) -> Callable[[Printed], object]:
    return lambda result: getattr(result.design, name, None)


def tables(found: Reported) -> list[Table]:
    """Return the results, and their differences on the same data set and shots."""
    return [_results(found), *([_differences(found)] if found.differences else [])]


def shown(found: Reported) -> list[Table]:
    """Return a single result on four lines, or the tables of several, for the terminal."""
    if len(found.results) > 1:
        return tables(found)
    (result,) = found.results
    level, about = percent(found.level), result.design or f"{result.n_tasks:,} tasks"
    title = f"{_accuracy(result)} ({level}): {about}\n"
    usual = "the usual one" if result.n_tasks is not None else _PRINTED_AS[found.spread]
    rows = [("other tasks of the same images", f"± {result.tasks:.2f}", usual)]
    for estimand, most, typical in (
        ("new images of these classes", result.images, result.typical_images),
        ("new classes", result.classes, result.typical_classes),
    ):
        if most is not None and typical is not None:
            rows.append((estimand, f"± {most:.2f} at most", f"typically ± {typical:.2f}"))
        else:
            none = "nothing: every task has all classes" if result.design else "not known"
            rows.append((estimand, none, ""))
    return [Table(title, of_tuples("interval for", level, ""), rows, _notes(result))]


_PRINTED_AS = {
    "ci": "as printed",
    "se": "from the printed standard error",
    "sd": "from the printed standard deviation",
}

_NOTE = (
    "At most: by Hoeffding's bound of the variance, whatever the method, as it was trained; rare "
    "classes of which none were drawn escape it. Typically: the median of image collections "
    "inside the package, answered by nearest means."
)

_NO_DESIGN = (
    "How much wider those for new images and new classes can be follows from --ways, --shots and "
    "--queries with --dataset, or with --classes and --images."
)
_NO_IDS = (
    "Accuracies do not say which images tasks share. Run the sampler again from its seed and log "
    "the ids of each task beside its accuracy (docs/own_tasks.md): then these intervals are "
    "estimated."
)


def _notes(result: Printed) -> tuple[str, ...]:
    no_ids = () if result.n_tasks is None else (_NO_IDS,)
    return (_NOTE if result.design else _NO_DESIGN, *no_ids)


def _results(found: Reported) -> Table:
    results = found.results
    columns = [Column("method", attrgetter("method"))] if any(r.method for r in results) else []
    for name, title in (("dataset", "data set"), ("ways", "ways"), ("shots", "shots")):
        if len({*map(_of_design(name), results)}) > 1:
            columns.append(Column(title, _of_design(name)))
    columns.append(right("accuracy", _accuracy))
    if results[0].design:
        for new in ("images", "classes"):
            columns.append(_width(f"new {new}", "typical ±", attrgetter(f"typical_{new}")))
            columns.append(_width(f"new {new}", "at most ±", attrgetter(new)))
    printed = results[0].n_tasks is None
    kind = ("printed result",) if printed else ("mean accuracy", "mean accuracies")
    title = f"{many(len(results), *kind)} with {percent(found.level)} intervals"
    title += "" if results[0].design else " for other tasks of the same images"
    sizes = dict.fromkeys(f"{r.design.drawn_from}." for r in results if r.design)
    return Table(title, tuple(columns), results, (*sizes, *_notes(results[0])))


def _width(group: str, name: str, halfwidth: Callable[..., float | None]) -> Column:
    column = right(name, lambda row: fixed(halfwidth(row), missing="n/a"))
    return replace(column, group=group)


def _differences(found: Reported) -> Table:
    pairs = sorted(found.differences, key=_task_set)  # stable: as the results come
    counts = ", ".join(
        f"{sum(pair.significant[kind] for pair in pairs)} for {text}"
        for kind, text in _KINDS.items()
    )
    columns = [
        Column("higher", lambda pair: pair.first.method or _accuracy(pair.first)),
        Column("lower", lambda pair: pair.second.method or _accuracy(pair.second)),
        right("difference", _difference),
    ]
    title, which = "on the same data set, ways and shots", "the answers to tasks"
    note = (
        "Differences above the sum of both ± at most; for other tasks only, above the root of "
        "the sum of squares of ±. Each stands alone, not corrected for their number."
    )
    if not pairs[0].halfwidths:
        columns.insert(0, Column("data set", _task_set, once=_task_set))
    else:
        title = f"task by task, with {percent(found.level)} intervals"
        which = "the images of each task"
        note = (
            "Accuracies are paired as they stand: they must be of the same tasks in the same "
            "order. Each difference stands alone, not corrected for their number."
        )
        for new in ("images", "classes") if pairs[0].first.design else ():
            width = partial(lambda new, pair: pair.halfwidths[new], new)
            columns.append(_width(f"new {new}", "at most ±", width))
    columns.append(Column("significant for", _significant, missing="nothing"))
    title = f"{many(len(pairs), 'difference')} {title}"
    notes = [f"Significant: {counts}. Others may be, which only {which} would show.", note]
    if (more := len(pairs) - MOST_PAIRS) > 0:
        notes.insert(0, f"… and {many(more, 'more difference')}: --format json")
    return Table(title, tuple(columns), pairs[:MOST_PAIRS], tuple(notes))


_KINDS = {"tasks": "other tasks", "images": "new images", "classes": "new classes"}


def _task_set(pair: Difference) -> str:
    return pair.first.design.task_set if pair.first.design else ""


def _accuracy(result: Printed) -> str:
    return f"{result.mean:.2f} ± {result.tasks:.2f}"


def _difference(pair: Difference) -> str:
    if pair.halfwidths and pair.halfwidths["tasks"] is None:
        return f"{fixed(pair.difference)} on every task"
    width = f" ± {fixed(pair.halfwidths['tasks'])}" if pair.halfwidths else ""
    return f"{fixed(pair.difference)}{width}"


def _significant(pair: Difference) -> str | None:
    """Name the widest estimand that a difference is significant for; it is for all before it."""
    widest = next((kind for kind in reversed(_KINDS) if pair.significant[kind]), None)
    return "other tasks only" if widest == "tasks" else _KINDS.get(widest or "")
