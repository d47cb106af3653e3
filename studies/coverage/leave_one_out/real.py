"""Real images as the population: Hangul glyphs for new classes, Fashion-MNIST for new images.

As in :mod:`studies.coverage.hangul` and :mod:`studies.coverage.fashion`, whose packages they
come from, with the nearest class mean on pixels and on means of four pixels as methods.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_spec.protocol import Protocol
from fslbench_data.tasks.drawn import DrawnTasks
from studies.coverage import fashion, hangul
from studies.coverage.leave_one_out.lines import VARIANT, Kind, Line
from studies.coverage.leave_one_out.worlds import World
from studies.coverage.real import Population

TASKS = 400_000
"""Fresh tasks behind a truth."""

_TASKS_AT_ONCE = 500

Array = np.ndarray[Any, Any]


def _line(name: str, kind: Kind, classes: int, images: int, shot: int, query: int) -> Line:
    return Line(
        name,
        World(),
        (images,) * classes,
        Protocol(5, shot, query),
        kinds=(kind,),
        population=name,
        data_sets=VARIANT,
    )


LINES = (
    *(_line("hangul", "classes", c, n, 5, 5) for c, n in ((7, 40), (15, 40), (43, 40), (200, 20))),
    _line("hangul", "classes", 43, 40, 1, 1),
    *(_line("fashion_mnist", "images", 10, 60, s, q) for s, q in ((1, 1), (5, 5), (10, 7))),
    _line("fashion_mnist", "images", 10, 40, 5, 5),
)


@cache
def population(name: str, raw: Path) -> Population:
    """Make the population of a name from packages in `raw`, fetched unless they are there."""
    return hangul.population(raw) if name == "hangul" else fashion.population(raw)


def truth(line: Line, seed: int, raw: Path) -> Array:
    """Expected accuracies (2,) over classes of the population, and images."""
    images_of = population(line.population, raw)
    rng = np.random.default_rng([seed, 6, *line.name.encode()])
    way, shot, total = line.protocol.way, line.protocol.shot, np.zeros(2)
    for _ in range(TASKS // _TASKS_AT_ONCE):
        places = rng.random((_TASKS_AT_ONCE, len(images_of.fine))).argpartition(way, axis=1)
        total += [x.sum() for x in images_of.fresh(rng, places[:, :way], shot)]
    return np.asarray(total / (TASKS * way))


def pool(rng: np.random.Generator, line: Line, raw: Path) -> tuple[Array, Array]:
    """Draw a data set: its classes (C,) in the population, and images (C, N) in their classes."""
    many, images = population(line.population, raw).fine.shape[:2]
    classes = rng.permutation(many)[: line.classes]
    size = line.sizes[0]
    chosen = rng.random((line.classes, images)).argpartition(size - 1, axis=1)[:, :size]
    return classes, rng.permuted(chosen, axis=1)


def answers(line: Line, classes: Array, chosen: Array, raw: Path, drawn: DrawnTasks) -> Array:
    """Accuracies (2, B) of both methods on tasks of a data set."""
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
