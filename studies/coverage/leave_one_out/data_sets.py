"""One data set: its images, methods' answers, how wide intervals are and what they should hold.

For methods 0 to 2 all tasks that some fresh images allow are counted at once: a query of class c is
answered rightly in a task if none of the other K-1 classes is nearer, and of all choices of these
classes that is C(C-1-b, K-1)/C(C-1, K-1), where b of the C-1 others are nearer.  A *round* gives
every class fresh support and query images; there are as many rounds as :data:`TASKS` tasks without
a common image would take.

What depends on the queries of a task (the transductive method) or on who is drawn together (bursts
in closed sets) is the mean over :data:`TASKS` fresh tasks; for the transductive method the mean
difference to method 0, on the same tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType

import numpy as np
from msgspec.structs import replace
from scipy.special import gammaln

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.leave_one_out.design import LEAST_APPEARANCES, LEFT_OUT, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Influences, LeaveOneOut
from fslbench_data.sampling.draw import DrawnTasks
from studies.common import Array
from studies.coverage import fashion, hangul
from studies.coverage.judged import judge
from studies.coverage.leave_one_out.lines import (
    CLASS_DRAWS,
    Classes,
    Kind,
    Line,
    answers,
    views,
)
from studies.coverage.real import Population

REAL_TASKS = 400_000
"""Fresh tasks behind a truth."""


@cache
def population(name: str, raw: Path) -> Population:
    """Make the population of a name from packages in `raw`, fetched unless they are there."""
    return hangul.population(raw) if name == "hangul" else fashion.population(raw)


def real_truth(line: Line, seed: int, raw: Path) -> Array:
    """Return expected accuracies (2,) over classes of the population, and images."""
    images_of = population(line.population, raw)
    rng = np.random.default_rng([seed, 6, *line.name.encode()])
    way, shot, total = line.protocol.way, line.protocol.shot, np.zeros(2)
    for _ in range(REAL_TASKS // _TASKS_AT_ONCE):
        places = rng.random((_TASKS_AT_ONCE, len(images_of.fine))).argpartition(way, axis=1)
        total += [x.sum() for x in images_of.fresh(rng, places[:, :way], shot)]
    return np.asarray(total / (REAL_TASKS * way))


def pool(rng: np.random.Generator, line: Line, raw: Path) -> tuple[Array, Array]:
    """Draw a data set: its classes (C,) in the population, and images (C, N) in their classes."""
    many, images = population(line.population, raw).fine.shape[:2]
    classes = rng.permutation(many)[: line.classes]
    size = line.sizes[0]
    chosen = rng.random((line.classes, images)).argpartition(size - 1, axis=1)[:, :size]
    return classes, rng.permuted(chosen, axis=1)


def real_answers(line: Line, classes: Array, chosen: Array, raw: Path, drawn: DrawnTasks) -> Array:
    """Return accuracies (2, B) of both methods on tasks of a data set."""
    parts = []
    for start in range(0, len(drawn), _TASKS_AT_ONCE):
        now = slice(start, start + _TASKS_AT_ONCE)
        ids = drawn.class_ids[now]
        parts.append(
            population(line.population, raw).correct(
                classes[ids],
                chosen[ids[..., None], drawn.support[now]],
                chosen[ids[..., None], drawn.query[now]],
            )
        )
    return np.concatenate(parts, axis=1) / line.protocol.n_query


TASKS = 40_000
"""Fresh tasks at least behind a truth."""

_SCORES_AT_ONCE = 2_000_000
_FRESH_AT_ONCE = 2000
_QUERIES = 5


def class_draw(line: Line, seed: int, draw: int) -> Classes:
    """Draw the classes that stay the same while images are drawn anew, for a draw 0, 1, ..."""
    rng = np.random.default_rng([seed, 1, draw, *line.name.encode()])
    return line.world.classes(rng, line.classes, line.superclass_of_class)


def truth(line: Line, kind: Kind, seed: int, draw: int, raw: Path) -> Array:
    """Return the methods' expected accuracies (M,), given a draw of classes or over classes."""
    if line.population:
        return real_truth(line, seed, raw)
    rng = np.random.default_rng([seed, 2, draw, len(kind), *line.name.encode()])
    fixed = class_draw(line, seed, draw) if kind == "images" else None
    if line.groups == "closed":
        return _fresh(rng, line, fixed, seed + draw)
    inductive = min(line.methods, 3)
    found = _rounds(rng, line, fixed, inductive)
    if line.methods > 3:
        both = _fresh(rng, line, fixed, seed + draw)
        found = np.append(found, found[0] + both[3] - both[0])
    return found


def _rounds(rng: np.random.Generator, line: Line, fixed: Classes | None, methods: int) -> Array:
    classes, shot, way = line.classes, line.protocol.shot, line.protocol.way
    rounds = TASKS * way // classes
    at_once = max(1, _SCORES_AT_ONCE // (classes * classes * _QUERIES))
    right = _all_tasks(classes, way)
    own = np.repeat(np.arange(classes), _QUERIES)
    total, done = np.zeros(methods), 0
    while done < rounds:
        some = min(at_once, rounds - done)
        drawn = fixed or _several(rng, line, some)
        which = np.arange(classes) if fixed else np.arange(some * classes).reshape(some, classes)
        which = np.broadcast_to(which[..., None], (some, classes, shot + _QUERIES))
        images = line.world.images(rng, drawn, which)
        for j, view in enumerate(views(images, methods)):
            mean = view[:, :, :shot].mean(axis=2)
            asked = view[:, :, shot:].reshape(some, classes * _QUERIES, -1)
            score = asked @ mean.transpose(0, 2, 1)
            score -= np.square(mean).sum(axis=2)[:, None, :] / np.float32(2)
            mine = score[:, np.arange(own.size), own]
            nearer = np.count_nonzero(score > mine[..., None], axis=2)
            total[j] += right[nearer].sum()
        done += some
    return np.asarray(total / (rounds * own.size))


def _several(rng: np.random.Generator, line: Line, many: int) -> Classes:
    """Draw the classes of several data sets, one after another."""
    drawn = [line.world.classes(rng, line.classes, line.superclass_of_class) for _ in range(many)]
    return Classes(
        np.concatenate([d.centres for d in drawn]),
        np.concatenate([d.scale for d in drawn]),
        np.concatenate([d.lobes for d in drawn]),
    )


def _all_tasks(classes: int, way: int) -> Array:
    """Compute C(C-1-b, K-1)/C(C-1, K-1) for b = 0..C-1."""
    others = np.arange(classes - 1, -1, -1).astype(float)
    some = others >= way - 1
    left = np.where(some, others, way - 1.0)
    logs = gammaln(left + 1) - gammaln(left - way + 2)
    return np.where(some, np.exp(logs - gammaln(classes) + gammaln(classes - way + 1)), 0.0)


def _fresh(rng: np.random.Generator, line: Line, fixed: Classes | None, seed: int) -> Array:
    """Return mean accuracies over fresh tasks, each of images, and perhaps classes, of its own."""
    drawn = line.draw(f"fresh {line.name}", seed, TASKS)
    support, query = line.ids(drawn)
    ids = np.concatenate([support, query], axis=2)
    total = np.zeros(line.methods)
    for start in range(0, TASKS, _FRESH_AT_ONCE):
        now = slice(start, start + _FRESH_AT_ONCE)
        ids_of_classes = drawn.class_ids[now]
        classes = fixed or line.world.classes(rng, ids_of_classes.size)
        which: Array = ids_of_classes
        if fixed is None:
            which = np.arange(ids_of_classes.size).reshape(ids_of_classes.shape)
        which = np.broadcast_to(which[..., None], ids[now].shape)
        images = line.world.images(rng, classes, which, _met(line, ids[now]))
        seen = views(images, line.methods)
        shot = line.protocol.shot
        total += answers([v[:, :, :shot] for v in seen], [v[:, :, shot:] for v in seen]).sum(axis=1)
    return np.asarray(total / TASKS)


def _met(line: Line, ids: Array) -> Array | None:
    """Give numbers to the groups of each task's images: the same in two tasks is two."""
    if line.group_of_image is None:
        return None
    group = line.group_of_image[ids]
    first = (group[..., :, None] == group[..., None, :]).argmax(axis=-1)
    start = np.arange(group[..., 0].size).reshape(group.shape[:-1])[..., None] * group.shape[-1]
    return np.asarray(start + first)


PEER_EVERY = 10
"""Of so many data sets one is given an open set too."""

_TASKS_AT_ONCE = 500


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
        respond = partial(real_answers, line, *pool(rng, line, raw), raw)
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
    """Return accuracies (M, B) of each method on tasks of image ids, by its features (N, D)."""
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
    """Return means (of,) and half-widths (3, levels, of) of what a line judges."""
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
    """Return the half-widths (2, of) of the open and the class-aware interval of an open set."""
    unit = drawn.protocol.n_query
    counts = np.rint(y * unit).astype(np.int64)
    rows = [counts[0], *(counts[0] - counts[j] for j in (1, 2) if j < len(counts)), *counts[3:]]
    found = judge(ClassDesign.of(drawn.class_ids), np.array(rows), unit, 0.0)
    return np.stack([found.open, found.aware]) / 100
