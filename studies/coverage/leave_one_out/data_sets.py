"""One data set: its images, the methods' answers, and how wide intervals about them are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.leave_one_out.design import LEAST_APPEARANCES, LEFT_OUT, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Influences, LeaveOneOut
from fslbench_data.tasks.drawn import DrawnTasks
from studies.coverage.leave_one_out import real
from studies.coverage.leave_one_out.lines import CLASS_DRAWS, Kind, Line
from studies.coverage.leave_one_out.truths import class_draw
from studies.coverage.leave_one_out.worlds import answers, views
from studies.coverage.measure import judge

PEER_EVERY = 10
"""Of so many data sets one is given an open set too."""

_TASKS_AT_ONCE = 500

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Found:
    """Of one data set; accuracies and half-widths are fractions.

    Attributes
    ----------
    mean : (B's, of)
        For 600 tasks and for more, of one method, of the difference, and so on.
    half : (B's, 3, levels, of)
        Half-widths for new images, classes, superclasses; NaN where there is none.
    peer : (2, of)
        Of the open and of the class-aware interval of an open set on the same images; NaN where
        they were not asked for.
    """

    mean: Array
    half: Array
    peer: Array


def data_set(line: Line, kind: Kind, seed: int, number: int, raw: Path) -> Found:
    """Draw the data set of a number, and its intervals."""
    rng = np.random.default_rng([seed, 3, number, len(kind), *line.name.encode()])
    respond: Callable[[DrawnTasks], Array]
    if line.population:
        respond = partial(real.answers, line, *real.pool(rng, line, raw), raw)
    else:
        respond = _simulated(rng, line, kind, seed, number)
    key = f"{line.name} {kind} {seed}"
    drawn = line.draw(key, number, line.most)
    y, ids = respond(drawn), np.concatenate(line.ids(drawn), axis=2)
    mean, half = [], []
    for tasks in line.counts:
        design = task_design(line, drawn.class_ids[:tasks], ids[:tasks])
        means, widths = intervals(design, y[:, :tasks], line.levels)
        mean.append(means)
        half.append(widths)
    peer = np.full((2, line.methods), np.nan)
    if (number // CLASS_DRAWS + number) % PEER_EVERY == 0:
        opened = line.draw_open(f"open {key}", number)
        peer = _peer(opened, respond(opened))
    return Found(np.array(mean), np.array(half), peer)


def _simulated(
    rng: np.random.Generator, line: Line, kind: Kind, seed: int, number: int
) -> Callable[[DrawnTasks], Array]:
    """Draw images, and give what answers tasks of them."""
    if kind == "images":
        classes = class_draw(line, seed, number % CLASS_DRAWS)
    else:
        classes = line.world.classes(rng, line.classes, line.superclass_of_class)
    images = line.world.images(rng, classes, line.class_of_image, line.group_of_image)
    seen = views(images, line.methods)
    return lambda drawn: answer(seen, *line.ids(drawn))


def answer(seen: list[Array], support: Array, query: Array) -> Array:
    """Accuracies (M, B) of each method on tasks of image ids, by its features (N, D)."""
    parts = []
    for start in range(0, len(support), _TASKS_AT_ONCE):
        now = slice(start, start + _TASKS_AT_ONCE)
        shown, asked = support[now], query[now]
        parts.append(answers([v[shown] for v in seen], [v[asked] for v in seen]))
    return np.concatenate(parts, axis=1)


def task_design(line: Line, class_ids: Array, images: Array) -> TaskDesign:
    """Make the design, also where images appear less often than an interval is offered for."""
    made = TaskDesign.of(
        class_ids, images, line.class_of_image, line.group_of_image, line.superclass_of_class
    )
    tasks = made.membership
    seldom = tasks.tasks_of_unit.mean() < LEAST_APPEARANCES
    again = np.bincount(tasks.class_of_unit, tasks.tasks_of_unit >= 2, tasks.class_names.size)
    if made.bounded and seldom and again.min() >= 1 and tasks.tasks_of_class.min() >= 3:
        return replace(made, bounded=MappingProxyType({}))
    return made


def intervals(design: TaskDesign, y: Array, levels: tuple[float, ...]) -> tuple[Array, Array]:
    """Means (of,) and half-widths (3, levels, of) of what a line judges."""
    influences, every = Influences(design, y), np.arange(len(y))
    half = np.full((3, len(levels), len(y)), np.nan)
    result: LeaveOneOut | None = None
    for at, level in enumerate(levels):
        result = influences.block(every, every, level)
        for row, left_out in enumerate(LEFT_OUT):
            spread = getattr(result, left_out)
            if spread is not None:
                half[row, at] = judged(spread.halfwidth)
    if result is None:
        raise ValueError("no level")
    return judged(result.mean), half


def judged(table: Array) -> Array:
    """Take from (M, M) what is judged: method 0, 0 less 1, 0 less 2, method 3 itself."""
    places = [(0, 0), (0, 1), (0, 2), (3, 3)][: len(table)]
    return np.array([table[place] for place in places])


def _peer(drawn: DrawnTasks, y: Array) -> Array:
    """Half-widths (2, of) of the open and the class-aware interval of an open set."""
    unit = drawn.protocol.n_query
    counts = np.rint(y * unit).astype(np.int64)
    rows = [counts[0], *(counts[0] - counts[j] for j in (1, 2) if j < len(counts)), *counts[3:]]
    found = judge(ClassDesign.of(drawn.class_ids), np.array(rows), unit, 0.0)
    return np.stack([found.open, found.aware]) / 100
