"""What the intervals should hold: expected accuracies, from fresh images, and fresh classes.

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

from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import gammaln

from studies.coverage.leave_one_out import real
from studies.coverage.leave_one_out.lines import Kind, Line
from studies.coverage.leave_one_out.worlds import Classes, answers, views

TASKS = 40_000
"""Fresh tasks at least behind a truth."""

_SCORES_AT_ONCE = 2_000_000
_TASKS_AT_ONCE = 2000
_QUERIES = 5

Array = np.ndarray[Any, Any]


def class_draw(line: Line, seed: int, draw: int) -> Classes:
    """Draw the classes that stay the same while images are drawn anew, for a draw 0, 1, ..."""
    rng = np.random.default_rng([seed, 1, draw, *line.name.encode()])
    return line.world.classes(rng, line.classes, line.superclass_of_class)


def truth(line: Line, kind: Kind, seed: int, draw: int, raw: Path) -> Array:
    """Expected accuracies of the line's methods (M,), given a draw of classes or over classes."""
    if line.population:
        return real.truth(line, seed, raw)
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
    """Mean accuracies over fresh tasks, each of images, and perhaps classes, of its own."""
    drawn = line.draw(f"fresh {line.name}", seed, TASKS)
    support, query = line.ids(drawn)
    ids = np.concatenate([support, query], axis=2)
    total = np.zeros(line.methods)
    for start in range(0, TASKS, _TASKS_AT_ONCE):
        now = slice(start, start + _TASKS_AT_ONCE)
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
    """Number the groups that each task's images are of: the same group in two tasks is two."""
    if line.group_of_image is None:
        return None
    group = line.group_of_image[ids]
    first = (group[..., :, None] == group[..., None, :]).argmax(axis=-1)
    start = np.arange(group[..., 0].size).reshape(group.shape[:-1])[..., None] * group.shape[-1]
    return np.asarray(start + first)
