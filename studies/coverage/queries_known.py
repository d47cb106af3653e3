"""New images where it is known which queries were right, beside whole tasks and the usual interval.

Two methods answer 600 tasks by nearest means, on eight dimensions and on six of them
(:mod:`studies.coverage.leave_one_out.lines` has what classes and images are drawn from). With
*three runs* each method is the mean of three, in each of which every image lies elsewhere. The
truth is the mean over fresh tasks of the same classes, whose images no other task has.

A line gives, for one method and for the difference, in per cent how often the usual interval, that
of whole tasks and that of known queries hold the truth, and their mean half-widths over 1.96 times
the true standard deviation.
"""

from __future__ import annotations

import argparse
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import LeaveOneOut, leave_one_out
from benchmark_spec.protocol import Protocol
from fslbench_data.sampling.draw import DrawnTasks, draw_closed, draw_pooled, first_image_ids
from studies.common import LEVEL, Array, Z, head, marked, row, spread_out
from studies.coverage import fashion
from studies.coverage.leave_one_out.lines import (
    DIMENSIONS,
    UNEQUAL,
    Classes,
    Line,
    World,
    right_queries,
    views,
)

LIMIT, MEAN_LIMIT, WIDEST = 92.5, 94.0, 1.15
TASKS = 600
CENTRES = 10
TRUE_TASKS, AT_ONCE = 40_000, 1_000
WRONG = 0.01
"""The share of images that are always answered wrongly, on lines that say so."""
RUNS, OF_RUN = 3, np.float32(0.5)
"""Runs of a line with several, and the standard deviation of an image's place between them."""


def _line(
    about: str,
    classes: int,
    images: int,
    protocol: str,
    world: World | None = None,
    groups: str = "",
) -> Line:
    sizes = (images,) * classes
    if about == "unequal":
        sizes = tuple(round(images * UNEQUAL[c % len(UNEQUAL)]) for c in range(classes))
    return Line(
        about, world or World(), sizes, Protocol.parse(protocol), ("images",), groups=groups
    )


LINES = (
    _line("", 20, 600, "5w1s15q"),
    _line("", 20, 600, "5w5s15q"),
    _line("", 50, 60, "5w1s15q"),
    _line("", 50, 60, "5w5s15q"),
    _line("", 15, 100, "5w5s5q"),
    _line("", 30, 25, "5w1s5q"),
    _line("", 160, 1300, "5w1s15q"),
    _line("", 20, 60, "10w1s10q"),
    _line("", 7, 120, "5w5s5q"),
    _line("", 43, 200, "5w10s7q"),
    _line("98 %", 20, 100, "5w5s15q", World(spread=2.1)),
    _line("unequal", 15, 100, "5w5s6q"),
    _line("bursts", 30, 60, "5w1s5q", World(burst=0.6), "pooled"),
    _line("hard images", 30, 60, "5w5s10q", World(hard_images=0.7)),
    _line("two lobes", 15, 100, "5w5s15q", World(lobes=2.0, spread=1.5)),
    _line("three runs", 20, 100, "5w1s15q"),
    _line("always wrong", 10, 30, "5w5s5q", World(spread=3.0)),
    _line("always wrong", 10, 60, "5w5s5q", World(spread=3.0)),
    _line("always wrong", 30, 60, "5w5s5q", World(spread=3.0)),
)


@dataclass(frozen=True)
class Found:
    """Of one data set: means (2,) of a method and the difference, and half-widths (3, 2)."""

    mean: Array
    half: Array


def _right(line: Line, rng: np.random.Generator, images: Array, *roles: Array) -> Array:
    """Count the runs in which queries are right (2, T, K·Q); `roles` are positions in images."""
    runs = RUNS if line.about == "three runs" else 1
    total: Array = np.zeros(0)
    for _ in range(runs):
        seen = images
        if runs > 1:
            moved = rng.standard_normal(images.shape, dtype=np.float32)
            seen = images + OF_RUN * moved
        shown, asked = ([v[role] for v in views(seen, 2)] for role in roles)
        found = right_queries(shown, asked).astype(np.uint8)
        if line.about == "always wrong":
            wrong = rng.random(images.shape[:-1]) < WRONG
            found[:, wrong[roles[1]].reshape(found.shape[1:])] = 0
        total = total + found if total.size else found
    return total


def truth(line: Line, rng: np.random.Generator, classes: Classes) -> Array:
    """Compute both methods' means over tasks of images that no other task has."""
    p, group = line.protocol, None
    places = np.arange(AT_ONCE * p.way * p.per_class).reshape(AT_ONCE, p.way, p.per_class)
    if line.groups:
        group = places.reshape(-1)
    right = np.zeros(2)
    for _ in range(TRUE_TASKS // AT_ONCE):
        order = rng.random((AT_ONCE, line.classes)).argpartition(p.way - 1, axis=1)[:, : p.way]
        which = np.repeat(order.reshape(-1), p.per_class)
        images = line.world.images(rng, classes, which, group)
        found = _right(line, rng, images, places[..., : p.shot], places[..., p.shot :])
        right += found.mean(axis=2).sum(axis=1) / (RUNS if line.about == "three runs" else 1)
    return np.asarray(right / TRUE_TASKS)


def draw(line: Line, seed: int) -> DrawnTasks:
    """Draw the tasks of a data set; of bursts one image of each of S+Q different ones."""
    if line.groups:
        groups, name = line.group_of_image, line.name
        return draw_pooled(
            line.sizes, line.protocol, dataset=name, seed=seed, tasks=TASKS, groups=groups
        )[0]
    return draw_closed(line.sizes, line.protocol, dataset=line.name, seed=seed, tasks=TASKS)


def data_set(line: Line, rng: np.random.Generator, classes: Classes) -> Found:
    """Draw a data set of some classes, its tasks and their intervals."""
    drawn, p = draw(line, int(rng.integers(1 << 31))), line.protocol
    start = first_image_ids(line.sizes)[drawn.class_ids][..., None]
    ids = np.concatenate([drawn.support, drawn.query], axis=2) + start
    images = np.zeros((line.class_of_image.size, DIMENSIONS), np.float32)
    used = np.unique(ids) if line.group_of_image is None else np.arange(len(images))
    groups = line.group_of_image
    images[used] = line.world.images(rng, classes, line.class_of_image[used], groups)
    right = _right(line, rng, images, ids[..., : p.shot], ids[..., p.shot :])
    runs = RUNS if line.about == "three runs" else 1
    y = right.mean(axis=2) / runs
    design = TaskDesign.of(drawn.class_ids, ids, line.class_of_image, groups, shots=p.shot)
    known = leave_one_out(design, y, LEVEL, [RightQueries(own, runs) for own in right])
    whole = leave_one_out(design, y, LEVEL)
    apart = np.stack([y[0], y[0] - y[1]])
    usual = Z * apart.std(axis=1, ddof=1) / np.sqrt(TASKS)
    return Found(known.mean[0], np.stack([usual, *(_images(each) for each in (whole, known))]))


def _images(found: LeaveOneOut) -> Array:
    if found.images is None:
        raise ValueError("there is no interval for new images")
    return np.asarray(found.images.halfwidth[0])


def some(line: Line, seed: int, sets: int, turn: int) -> tuple[Array, Array]:
    """Draw data sets of one draw of classes: errors (sets, 2) and half-widths (sets, 3, 2)."""
    rng = np.random.default_rng([seed, turn, *line.name.encode()])
    classes = line.world.classes(rng, line.classes)
    one, other = truth(line, rng, classes)
    made = [data_set(line, rng, classes) for _ in range(sets)]
    errors = np.array([m.mean for m in made]) - np.array([one, one - other])
    return errors, np.array([m.half for m in made])


def part(options: argparse.Namespace) -> int:
    """Print the rows of each design; count limits missed."""
    print(head("C, N", "K, S, Q", "", "of", "usual", "width", "whole tasks", "width",
               "queries known", "width"))  # fmt: skip
    turns = range(min(CENTRES, options.sets))
    every, missed = [], 0
    with ProcessPoolExecutor(options.processes) as pool:
        for line in LINES:
            if not re.search(options.lines, line.name):
                continue
            work = partial(some, line, options.seed, options.sets // len(turns))
            errors, half = map(np.concatenate, zip(*pool.map(work, turns), strict=True))
            for column, of in enumerate(("one", "difference")):
                error, widths = errors[:, column], half[:, :, column]
                holds = 100 * (np.abs(error)[:, None] <= widths).mean(axis=0)
                width = widths.mean(axis=0) / (Z * np.sqrt((error**2).mean()))
                low, wide = holds[2] < LIMIT, width[2] > WIDEST
                usual, whole, known = (f"{w:.2f}" for w in width)
                cells = [holds[0], usual, holds[1], whole, marked(holds[2], low)]
                cells.append(f"{known}{' MISSED' if wide else ''}")
                p = line.protocol
                print(
                    row(line.size, f"{p.way}, {p.shot}, {p.query}", line.about, of, *cells),
                    flush=True,
                )
                every.append(holds[2])
                missed += low + wide
    mean = float(np.mean(every))
    print(f"\nMean of the last coverage: {marked(mean, mean < MEAN_LIMIT)} %")
    return missed + (mean < MEAN_LIMIT)


REAL_PROTOCOLS = (Protocol(5, 1, 15), Protocol(5, 5, 15))
REAL_IMAGES, REAL_TRUTH, COMPONENTS = 100, 100_000, 50
METHODS = ("nearest mean", "cosine", "nearest image", "ridge")


def _answers(support: Array, query: Array) -> Array:
    """Return which queries four methods get right (4, T, K·Q), of features (T, K, S or Q, D)."""
    tasks, way, shot, _ = support.shape
    label, asked = np.repeat(np.arange(way), query.shape[2]), query.reshape(tasks, -1, COMPONENTS)
    shown = support.reshape(tasks, way * shot, COMPONENTS)

    def unit(x: Array) -> Array:
        return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))

    def nearest(x: Array, y: Array) -> Array:
        return np.asarray((2 * x @ y.swapaxes(1, 2) - np.square(y).sum(-1)[:, None]).argmax(2))

    mean = support.mean(axis=2)
    gram = shown @ shown.swapaxes(1, 2)
    size = way * shot
    ridge = gram + np.trace(gram, axis1=1, axis2=2)[:, None, None] / size * np.eye(size)
    target = np.repeat(np.eye(way), shot, axis=0)
    scores = asked @ shown.swapaxes(1, 2) @ np.linalg.solve(ridge, np.tile(target, (tasks, 1, 1)))
    answered = (
        nearest(asked, mean),
        nearest(unit(asked), unit(unit(support).mean(axis=2))),
        nearest(asked, shown) // shot,
        scores.argmax(axis=2),
    )
    return np.array([one == label for one in answered])


def _components(raw: Path) -> Array:
    """Give the first principal components of the images of every class (C, 7000, D)."""
    pixels = fashion.population(raw).fine
    flat = pixels.reshape(-1, pixels.shape[2]).astype(np.float64)
    flat = flat - flat.mean(axis=0)
    _, axes = np.linalg.eigh(flat.T @ flat)
    return np.asarray((flat @ axes[:, -COMPONENTS:]).reshape(*pixels.shape[:2], -1))


def _real_truth(features: Array, p: Protocol, seed: int) -> Array:
    rng, total = np.random.default_rng([seed, p.shot]), np.zeros(len(METHODS))
    for _ in range(REAL_TRUTH // AT_ONCE):
        order = rng.random((AT_ONCE, len(features))).argpartition(p.way - 1, axis=1)[:, : p.way]
        images = rng.integers(features.shape[1], size=(AT_ONCE, p.way, p.per_class))
        seen = features[order[..., None], images]
        total += _answers(seen[:, :, : p.shot], seen[:, :, p.shot :]).mean(axis=(1, 2))
    return np.asarray(total / (REAL_TRUTH // AT_ONCE))


def _real_set(
    features: Array, truth: Array, p: Protocol, seed: int, turn: int
) -> tuple[Array, Array]:
    """Draw a pool: errors (4, 4) of methods and differences, and half-widths (3, 4, 4)."""
    rng = np.random.default_rng([seed, p.shot, turn])
    sizes = (REAL_IMAGES,) * len(features)
    chosen = rng.random(features.shape[:2]).argpartition(REAL_IMAGES, axis=1)[:, :REAL_IMAGES]
    drawn = draw_closed(sizes, p, dataset="fashion", seed=seed + turn, tasks=TASKS)
    ids = drawn.class_ids[..., None]
    right = np.concatenate(
        [
            _answers(
                features[ids[some], chosen[ids[some], drawn.support[some]]],
                features[ids[some], chosen[ids[some], drawn.query[some]]],
            )
            for some in np.split(np.arange(TASKS), 6)
        ],
        axis=1,
    )
    y = right.mean(axis=2)
    images = np.concatenate([drawn.support, drawn.query], axis=2) + REAL_IMAGES * ids
    owner = np.repeat(np.arange(len(features)), REAL_IMAGES)
    design = TaskDesign.of(drawn.class_ids, images, owner, shots=p.shot)
    told = [RightQueries(own.astype(np.uint8), 1) for own in right]
    known, whole = leave_one_out(design, y, LEVEL, told), leave_one_out(design, y, LEVEL)
    if known.images is None or whole.images is None:
        raise ValueError("there is no interval for new images")
    apart = y[:, None] - np.where(np.eye(len(y), dtype=bool)[..., None], 0.0, y)
    usual = Z * apart.std(axis=2, ddof=1) / np.sqrt(TASKS)
    expected = truth[:, None] - np.where(np.eye(len(y), dtype=bool), 0.0, truth)
    return known.mean - expected, np.stack([usual, whole.images.halfwidth, known.images.halfwidth])


def real_part(options: argparse.Namespace) -> int:
    """Print how intervals hold for new images of Fashion-MNIST; count limits missed."""
    print(head("S, Q", "of", "usual", "width", "whole tasks", "width", "queries known", "width"))
    features, every, missed = _components(options.raw), [], 0
    for p in REAL_PROTOCOLS:
        truth = _real_truth(features, p, options.seed)
        work = partial(_real_set, features, truth, p, options.seed)
        found = spread_out(work, list(range(options.sets)), options.processes)
        errors, half = map(np.array, zip(*found, strict=True))
        for j in range(len(METHODS)):
            for k in range(j, len(METHODS)):
                error, widths = errors[:, j, k], half[:, :, j, k]
                if not error.any():  # with one shot the nearest mean is the nearest image
                    continue
                holds = 100 * (np.abs(error)[:, None] <= widths).mean(axis=0)
                usual, whole, known = widths.mean(axis=0) / (Z * np.sqrt((error**2).mean()))
                of = METHODS[j] if j == k else f"{METHODS[j]} − {METHODS[k]}"
                low, wide = holds[2] < LIMIT, known > WIDEST
                cells = [holds[0], f"{usual:.2f}", holds[1], f"{whole:.2f}", marked(holds[2], low)]
                print(row(f"{p.shot}, {p.query}", of, *cells, marked(known, wide, 2)), flush=True)
                every.append(holds[2])
                missed += low + wide
    mean = float(np.mean(every))
    print(f"\nMean of the last coverage: {marked(mean, mean < MEAN_LIMIT)} %")
    return missed + (mean < MEAN_LIMIT)
