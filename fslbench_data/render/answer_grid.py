"""The table of several methods' answer: each beside the others on every task set that leads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from fslbench_data.render.answer_fit import (
    Fitted,
    most_columns,
    set_columns,
    widest,
    width_of,
    widths_of,
)
from fslbench_data.render.interval_text import labels, plus_minus
from fslbench_data.render.short_names import shortened
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.answer import Answer
from fslbench_data.scoring.headlines import Headline
from fslbench_data.scoring.standings import Mark, Standing, Standings

NAME = 40
"""Characters of a method's name that begins a row, at most."""
MARKS = {
    Mark.HIGHEST: "*",
    Mark.NOT_APART: "~",
    Mark.NEW_IMAGES: "°",
    Mark.APART: "",
    Mark.UNJUDGED: "?",
}
REFERENCE = " (ref.)"


Cell = Callable[[Standing, Headline], str]


def _cell(standing: Standing, headline: Headline) -> str:
    interval = standing.score.intervals[headline.images]
    return f"{plus_minus(interval)}{MARKS[standing.mark]}"


def _short_cell(standing: Standing, headline: Headline) -> str:
    interval = standing.score.intervals[headline.images]
    text = f"{interval.mean:.1f}"
    if interval.halfwidth is not None and not interval.constant:
        width = interval.halfwidth
        text += f"±{width:.1f}" if width >= 0.05 else f"±{width:.1g}"
    return f"{text}{MARKS[standing.mark]}"


def _text(cell: Cell, among: Standings, name: str) -> str | None:
    """A method's cell on a task set; None where it answers nothing."""
    standing = among.by_method.get(name)
    return None if standing is None else cell(standing, among.headline)


def _methods(answer: Answer) -> dict[str, str]:
    """What methods are called in a table, those of the submission first."""
    label = labels(answer.scores)
    references = {score.method for score in answer.scores if score.is_reference}
    return {
        **{name: label[name] for name in answer.methods},
        **{
            name: label[name] + (REFERENCE if name in references else "")
            for name in answer.references
        },
    }


def _grid(
    answer: Answer, columns: Sequence[Standings], methods: dict[str, str], cell: Cell
) -> Table:
    """A row a method, a column a task set."""

    def of(name: str, among: Standings) -> str | None:
        return _text(cell, among, name)

    setting = set_columns([column.headline for column in answer.columns])
    sets = [right(_setting(setting, among.headline), partial(of, among=among)) for among in columns]
    return Table("", (Column("method", lambda name: methods[name]), *sets), [*methods])


def _setting(setting: Sequence[Column], headline: Headline) -> str:
    """The heading of a task set, such as ``digits 5-shot`` or ``digits 10-way 1-shot``."""
    dataset, *sizes = (str(column.cell(headline)) for column in setting)
    names = [column.name for column in setting[1:]]
    units = {"ways": "-way", "shots": "-shot", "queries": "-query"}
    return " ".join([dataset, *(f"{n}{units[name]}" for n, name in zip(sizes, names, strict=True))])


def _transposed(
    answer: Answer, columns: Sequence[Standings], methods: dict[str, str], cell: Cell
) -> Table:
    """A row a task set, a column a method."""

    def of(among: Standings, name: str) -> str | None:
        return _text(cell, among, name)

    setting = [
        replace(column, cell=_of_headline(column.cell))
        for column in set_columns([column.headline for column in answer.columns])
    ]
    setting[0] = replace(setting[0], once=lambda among: among.headline.scored.dataset)
    each = [right(label, partial(of, name=name)) for name, label in methods.items()]
    return Table("", (*setting, *each), columns)


def _of_headline(cell: Callable[[Headline], object]) -> Callable[[Standings], object]:
    return lambda among: cell(among.headline)


def grid_table(answer: Answer) -> Table:
    """Return the whole table: a row a method, a column a task set."""
    return _grid(answer, answer.columns, _methods(answer), _cell)


def fitted_grid(answer: Answer, width: int, rows: int) -> Fitted:
    """Methods below each other if all task sets have room beside, else what shows the most."""
    methods = _methods(answer)
    most = {name: shortened(label, NAME) for name, label in _some(methods, answer, rows).items()}
    left = len(methods) - len(most)
    for cell in (_cell, _short_cell):
        whole = _grid(answer, answer.columns, most, cell)
        if width_of(whole) <= width:
            return Fitted(whole, left, 0, "methods")
    down = _down(answer, most, width)
    sets = answer.columns[:rows]
    across = _across(answer, sets, methods, width)
    if down * len(most) >= across * len(sets):
        table = _grid(answer, answer.columns[:down], most, _short_cell)
        return Fitted(table, left, len(answer.columns) - down, "methods", "task sets")
    table = _transposed(answer, sets, _some(methods, answer, across), _short_cell)
    rest = len(answer.columns) - len(sets), len(methods) - across
    return Fitted(table, *rest, "task sets", "methods")


def _some(methods: dict[str, str], answer: Answer, most: int) -> dict[str, str]:
    """Some methods, of the submission's those that are best; references are kept where they may."""
    own = max(most - len(answer.references), most - most // 3)
    names = [*answer.methods[:own], *answer.references][:most]
    return {name: methods[name] for name in names}


def _down(answer: Answer, methods: dict[str, str], width: int) -> int:
    """How many task sets have room beside each other: at least one."""
    sets = answer.columns[: most_columns(width)]
    first, *widths = widths_of(_grid(answer, sets, methods, _short_cell))
    return widest([[first, *widths[:number]] for number in range(len(sets) + 1)], width)


def _across(answer: Answer, sets: Sequence[Standings], methods: dict[str, str], width: int) -> int:
    """How many methods have room beside each other: at least one.

    Of a thousand methods only those are measured that may have room, and each once.
    """
    some = [
        _some(methods, answer, number)
        for number in range(min(len(methods), most_columns(width)) + 1)
    ]
    every = {name: label for names in some for name, label in names.items()}
    widths = widths_of(_transposed(answer, sets, every, _short_cell))
    setting, own = widths[: -len(every)], widths[-len(every) :]
    of = dict(zip(every, own, strict=True))
    return widest([[*setting, *(of[name] for name in names)] for names in some], width)
