"""Coverage where tasks differ in their numbers of classes, shots and queries.

Two methods answer 600 tasks by nearest means, on eight dimensions and on six of them; classes are
centres from N(0, I), and images lie about them (:mod:`studies.coverage.leave_one_out.lines`).
*images*: the classes stay, of CENTRES draws which data sets take in turn; *classes*: they are drawn
anew for every data set.  The truth is the mean over tasks drawn alike whose images, or classes, no
other task has.

5 to 10 ways
    Ways and queries evenly, shots of each class evenly from 1 to 10.
5 to 7 ways, 5 to 30 ways
    The same with 1 to 5 shots.
Meta-Dataset
    Its rule of ways, shots and queries (Triantafillou et al., ICLR 2020, section 3.2), of classes
    of 30 to 400 images.
all images
    Classes of 20 images: of half of the tasks 10 shots and 10 queries, which are all of them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.episodes import ABSENT, EpisodeDesign
from analysis_sql.leave_one_out.leave_one_out import leave_one_out
from studies.common import LEVEL, Array, Z, head, marked, row
from studies.coverage.leave_one_out.lines import World

LIMIT = 93.0
WIDEST = {"images": 1.3, "classes": 1.3}
SMALL_WIDEST = 2.1
"""For new classes where there are fewer than 30."""
TASKS, CENTRES = 600, 10
TRUE_TASKS = {"images": 10_000, "classes": 40_000}
WORLD = World()

Task = tuple[Array, list[Array], Array]
"""Classes (K,), the images of each within its class, support first, and shots of each (K,)."""


@dataclass(frozen=True)
class Line:
    """A kind of data set: class sizes, ways from and to, most shots; see the module."""

    name: str
    sizes: tuple[int, ...]
    ways: tuple[int, int] = (5, 10)
    shots: int = 10

    def shape(self, rng: np.random.Generator) -> tuple[Array, Array, int]:
        """Draw classes (K,), their shots (K,), and the queries of each."""
        sizes = np.array(self.sizes)
        if self.name == "Meta-Dataset":
            return meta_dataset(rng, sizes)
        way = int(rng.integers(self.ways[0], self.ways[1] + 1))
        classes = rng.permutation(sizes.size)[:way]
        if self.name == "all images" and rng.random() < 0.5:
            return classes, np.full(way, 10), 10
        return classes, rng.integers(1, self.shots + 1, way), int(rng.integers(5, 11))

    def task(self, rng: np.random.Generator) -> Task:
        """Draw a task."""
        classes, shots, query = self.shape(rng)
        images = [
            rng.permutation(self.sizes[c])[: shot + query]
            for c, shot in zip(classes.tolist(), shots.tolist(), strict=True)
        ]
        return classes, images, shots


def meta_dataset(rng: np.random.Generator, sizes: Array) -> tuple[Array, Array, int]:
    """Draw classes, shots and queries by the rule of Meta-Dataset's section 3.2."""
    way = int(rng.integers(5, min(50, sizes.size) + 1))
    classes = rng.permutation(sizes.size)[:way]
    own = sizes[classes]
    query = int(min(10, (own // 2).min()))
    beta = 1.0 - rng.random()
    support = int(min(500, np.ceil(beta * np.minimum(100, own - query)).sum()))
    share = np.exp(rng.uniform(np.log(0.5), np.log(2.0), way)) * own
    shots = np.floor(share / share.sum() * max(support - way, 0)).astype(int) + 1
    return classes, np.minimum(shots, own - query), query


def _right(seen: Array, sizes: Array, shots: Array) -> Array:
    """Tell which queries both methods get right (2, J), of images (n, D) class by class."""
    label = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(seen)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    is_support = place < shots[label]
    sums = np.add.reduceat(seen[is_support], np.cumsum(shots) - shots, dtype=np.float64)
    means, asked, answer = sums / shots[:, None], seen[~is_support], label[~is_support]
    found = [
        (2 * asked[:, :d] @ means[:, :d].T - np.square(means[:, :d]).sum(1)).argmax(1)
        for d in (8, 6)
    ]
    right: Array = np.array(found) == answer
    return right


def truth(line: Line, kind: str, rng: np.random.Generator) -> Array:
    """Compute both methods' means over tasks with images of their own, of these or new classes."""
    fixed = WORLD.classes(rng, len(line.sizes)) if kind == "images" else None
    total = np.zeros(2)
    for _ in range(TRUE_TASKS[kind]):
        classes, images, shots = line.task(rng)
        drawn = fixed or WORLD.classes(rng, len(classes))
        of = classes if fixed else np.arange(len(classes))
        sizes = np.array([len(own) for own in images])
        seen = WORLD.images(rng, drawn, np.repeat(of, sizes))
        total += _right(seen, sizes, shots).mean(axis=1)
    return total / TRUE_TASKS[kind]


def _data_set(line: Line, kind: str, rng: np.random.Generator, fixed: int) -> tuple[Array, Array]:
    """Draw a data set: means (2,) of a method and the difference, and half-widths (W, 2).

    The usual ones, those of whole tasks and, for new images, with which queries were right.
    """
    classes = WORLD.classes(
        np.random.default_rng([7, fixed]) if kind == "images" else rng, len(line.sizes)
    )
    owner = np.repeat(np.arange(len(line.sizes)), line.sizes)
    start = np.cumsum(line.sizes) - np.array(line.sizes)
    pool = WORLD.images(rng, classes, owner)
    tasks = [line.task(rng) for _ in range(TASKS)]
    way = max(len(task[0]) for task in tasks)
    most = max(len(own) for _, images, _ in tasks for own in images)
    ids, drawn = np.full((TASKS, way), ABSENT), np.full((TASKS, way, most), ABSENT)
    support, right = np.zeros((TASKS, way), int), np.zeros((2, TASKS, way * most), np.uint8)
    for b, (own, images, shots) in enumerate(tasks):
        ids[b, : own.size] = own
        placed = [start[c] + one for c, one in zip(own.tolist(), images, strict=True)]
        for k, one in enumerate(placed):
            drawn[b, k, : one.size] = one
        sizes = np.array([len(one) for one in placed])
        told = _right(pool[np.concatenate(placed)], sizes, shots)
        support[b, : own.size], right[:, b, : told.shape[1]] = shots, told
    number = (drawn >= 0).sum(axis=(1, 2)) - support.sum(axis=1)
    y = right.sum(axis=2) / number
    design = EpisodeDesign.of(ids, drawn, owner, shots=support)
    known = [RightQueries(told[:, : number.max()], 1) for told in right]
    every = [leave_one_out(design, y, LEVEL)]
    if kind == "images":
        every.append(leave_one_out(design, y, LEVEL, known))
    spreads = [getattr(found, kind) for found in every]
    if None in spreads:
        raise ValueError(f"there is no interval: {design.why}")
    apart = np.stack([y[0], y[0] - y[1]])
    usual = Z * apart.std(axis=1, ddof=1) / np.sqrt(TASKS)
    return every[0].mean[0], np.stack([usual, *(spread.halfwidth[0] for spread in spreads)])


LINES = (
    Line("5 to 10 ways", (100,) * 20),
    Line("5 to 7 ways", (120,) * 7, (5, 7), 5),
    Line("5 to 30 ways", (60,) * 43, (5, 30), 5),
    Line("Meta-Dataset", tuple(int(n) for n in np.geomspace(30, 400, 40))),
    Line("all images", (20,) * 30, (5, 15)),
)


def _some(line: Line, kind: str, seed: int, sets: int, turn: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([seed, turn, *line.name.encode(), *kind.encode()])
    made = [_data_set(line, kind, rng, turn) for _ in range(sets)]
    return tuple(map(np.array, zip(*made, strict=True)))  # type: ignore[return-value]


def _truth(line: Line, kind: str, turn: int) -> Array:
    # the classes of a turn are drawn first, as for its data sets
    return truth(line, kind, np.random.default_rng([7, turn]))


def _rows(
    line: Line, kind: str, found: list[tuple[Array, Array]], truths: list[Array]
) -> Iterator[tuple[str, int]]:
    errors = []
    for (means, _), (one, other) in zip(found, truths, strict=True):
        errors.append(means - np.array([one, one - other]))
    error, half = np.concatenate(errors), np.concatenate([widths for _, widths in found])
    for column, of in enumerate(("one", "difference")):
        holds = 100 * (np.abs(error[:, column])[:, None] <= half[:, :, column]).mean(axis=0)
        width = half[:, :, column].mean(axis=0) / (Z * np.sqrt((error[:, column] ** 2).mean()))
        widest = SMALL_WIDEST if kind == "classes" and len(line.sizes) < 30 else WIDEST[kind]
        size = f"{len(line.sizes)}, {round(sum(line.sizes) / len(line.sizes))}"
        cells, missed = [holds[0], f"{width[0]:.2f}"], 0
        for held, wide in zip(holds[1:], width[1:], strict=True):
            cells += [marked(held, held < LIMIT), marked(wide, wide > widest, 2)]
            missed += int(held < LIMIT) + int(wide > widest)
        yield row(line.name, size, kind, of, *cells, *[""] * (6 - len(cells))), missed


def part(options: argparse.Namespace) -> int:
    """Print the rows of each design and question; count those that miss a limit."""
    known = "queries known", "width"
    print(head("episodes", "C, N", "new", "of", "usual", "width", "whole tasks", "width", *known))
    missed, turns = 0, range(CENTRES)
    with ProcessPoolExecutor(options.processes) as pool:
        for line in LINES:
            for kind in ("images", "classes"):
                if not re.search(options.lines, f"{line.name} {kind}"):
                    continue
                if kind == "images":
                    truths = list(pool.map(partial(_truth, line, kind), turns))
                else:
                    truths = [_truth(line, kind, 0)] * CENTRES
                work = partial(_some, line, kind, options.seed, options.sets // CENTRES)
                for text, number in _rows(line, kind, list(pool.map(work, turns)), truths):
                    print(text, flush=True)
                    missed += number
    return missed
