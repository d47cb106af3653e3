"""Gaussian classes: the open, the closed and the class-aware interval against new classes.

A class is a centre drawn from N(0, τ²I) in 8 dimensions, its images are N(centre, I), and the
methods are the nearest class centroid on all 8 dimensions and on the first 6.  A simulated data
set has C new classes of N new images; its tasks are an open set, whose images are never reused
and so are drawn for each task anew.  Class sequences come from the package's own sampler, a fixed
number of them, each for many data sets.  The truth is the mean over tasks of nothing but new
classes.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from benchmark_spec.protocol import Protocol
from fslbench_data.sampling.draw import DrawnTasks, draw_closed, draw_open
from studies.common import Array, head, marked, row, spread_out
from studies.coverage.judged import Judged, Summary, closed, judge, together

SIZES = ((7, 120), (15, 100), (30, 60), (43, 900), (200, 60), (659, 20))
PROTOCOLS = (Protocol(5, 1, 1), Protocol(5, 5, 5), Protocol(5, 10, 7))
WAY, DIMENSIONS, FEWER = 5, 8, 6
SEQUENCES = 50
TRUTH_TASKS = 2_000_000
CLOSED_TASKS, CLOSED_SETS = 600, 20
_TASKS_AT_ONCE = 4096


@dataclass(frozen=True)
class Cell:
    """Classes and images of a kind of data set, the protocol, τ and the truths (2,)."""

    classes: int
    images: int
    protocol: Protocol
    spread: float
    truth: tuple[float, float]
    seed: int
    sets: int


@dataclass(frozen=True)
class Found:
    """Of a class sequence: T; NCC and the difference, judged; closed errors and half-widths."""

    tasks: int
    method: Judged
    difference: Judged
    closed: tuple[tuple[Array, Array], tuple[Array, Array]]


def correct(support: Array, query: Array) -> tuple[Array, Array]:
    """Count correct answers of each task on 8 and on 6 dimensions, (tasks,) each.

    Parameters
    ----------
    support : float32 (D, K, tasks)
        Centroids.
    query : float32 (D, K, Q, tasks)
    """
    scores = np.zeros((WAY, *query.shape[1:]), np.float32)
    found = []
    for d in range(DIMENSIONS):
        centroid = support[d][:, None, None, :]
        scores += (query[d] - np.float32(0.5) * centroid) * centroid
        if d + 1 in (FEWER, DIMENSIONS):
            own = scores[np.arange(WAY), np.arange(WAY)]
            found.append((own == scores.max(axis=0)).sum(axis=(0, 1)))
    return found[1], found[0]


def _normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)


def answers(rng: np.random.Generator, centres: Array, protocol: Protocol) -> tuple[Array, Array]:
    """Count correct answers (tasks,) on new images of classes with these centres (D, K, tasks)."""
    shape = centres.shape
    support = centres + _normal(rng, *shape) / np.float32(np.sqrt(protocol.shot))
    query = centres[:, :, None] + _normal(rng, *shape[:2], protocol.query, shape[2])
    return correct(support, query)


def data_sets(
    rng: np.random.Generator, ids: Array, sets: int, classes: int, protocol: Protocol, spread: float
) -> tuple[Array, Array]:
    """Count correct answers (sets, T) of both methods on data sets of new classes."""
    tasks = len(ids)
    step = max(1, _TASKS_AT_ONCE // tasks)
    parts = []
    for start in range(0, sets, step):
        some = min(step, sets - start)
        centres = spread * _normal(rng, DIMENSIONS, some, classes)
        taken = np.moveaxis(centres[:, :, ids], -1, 1).reshape(DIMENSIONS, WAY, -1)
        both = answers(rng, np.ascontiguousarray(taken, np.float32), protocol)
        parts.append([x.reshape(some, tasks) for x in both])
    first, second = zip(*parts, strict=True)
    return np.concatenate(first), np.concatenate(second)


@lru_cache(maxsize=100)
def truth(shot: int, spread: float, seed: int, tasks: int = TRUTH_TASKS) -> tuple[float, float]:
    """Return accuracies over new classes, from fresh tasks with 5 queries a class."""
    rng = np.random.default_rng([seed, 1, shot])
    protocol = Protocol(WAY, shot, 5)
    both = np.zeros(2)
    for _ in range(tasks // _TASKS_AT_ONCE + 1):
        centres = np.float32(spread) * _normal(rng, DIMENSIONS, WAY, _TASKS_AT_ONCE)
        both += [x.mean() for x in answers(rng, centres, protocol)]
    first, second = (both / (tasks // _TASKS_AT_ONCE + 1) / protocol.n_query).tolist()
    return first, second


def spread_for(shot: int, accuracy: float, seed: int) -> float:
    """Return the τ, to three digits, at which NCC on all dimensions has an accuracy."""
    low, high = 0.1, 20.0
    while high - low > 1e-3 * low:
        middle = (low + high) / 2
        below = truth(shot, middle, seed, 100_000)[0] < accuracy
        low, high = (middle, high) if below else (low, middle)
    return float(f"{high:.3g}")


def run(cell: Cell, sequence: int, with_closed: bool = True) -> Found:
    """Return one class sequence of a cell, with its share of the data sets."""
    protocol, sizes = cell.protocol, [cell.images] * cell.classes
    name = f"{cell.classes} classes of {cell.images}"
    ids = draw_open(sizes, protocol, dataset=name, seed=cell.seed + sequence).class_ids
    rng = np.random.default_rng(
        [cell.seed, 2, cell.classes, protocol.shot, sequence, int(1000 * cell.spread)]
    )
    share = cell.sets // SEQUENCES
    eight, six = data_sets(rng, ids, share, cell.classes, protocol, cell.spread)
    design = ClassDesign.of(ids)
    unit, gap = protocol.n_query, cell.truth[0] - cell.truth[1]
    return Found(
        len(ids),
        judge(design, eight, unit, cell.truth[0]),
        judge(design, eight - six, unit, gap),
        _closed(rng, cell, sequence) if with_closed else _NOTHING,
    )


_NOTHING = ((np.zeros(0), np.zeros(0)), (np.zeros(0), np.zeros(0)))


def _closed(
    rng: np.random.Generator, cell: Cell, sequence: int
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return closed sets of 600 tasks on some data sets, whose images are reused."""
    protocol, sizes = cell.protocol, [cell.images] * cell.classes
    drawn: DrawnTasks = draw_closed(
        sizes, protocol, dataset="closed", seed=cell.seed + sequence, tasks=CLOSED_TASKS
    )
    ids = drawn.class_ids[..., None]
    eight, six = [], []
    for _ in range(min(CLOSED_SETS, cell.sets // SEQUENCES)):
        centres = np.float32(cell.spread) * _normal(rng, DIMENSIONS, cell.classes, 1)
        images = centres + _normal(rng, DIMENSIONS, cell.classes, cell.images)
        support = images[:, ids, drawn.support].mean(axis=-1)
        query = images[:, ids, drawn.query]
        found = correct(support.transpose(0, 2, 1), query.transpose(0, 2, 3, 1))
        eight.append(found[0])
        six.append(found[1])
    one, other, unit = np.array(eight), np.array(six), protocol.n_query
    return (
        closed(one, unit, cell.truth[0]),
        closed(one - other, unit, cell.truth[0] - cell.truth[1]),
    )


def gathered(parts: list[Found]) -> tuple[Judged, Judged, float, float]:
    """Return all sequences of a cell, both judged, and closed intervals' coverage in per cent."""
    coverage = []
    for which in (0, 1):
        errors, widths = (np.concatenate([p.closed[which][i] for p in parts]) for i in (0, 1))
        coverage.append(100 * float((np.abs(errors) <= widths).mean()) if errors.size else np.nan)
    return (
        together(p.method for p in parts),
        together(p.difference for p in parts),
        coverage[0],
        coverage[1],
    )


WIDEST = {7: 2.6, 15: 1.65, 30: 1.3}
"""Limits of the mean half-width, by the number of classes, and otherwise:"""
WIDE = 1.1


def part(options: argparse.Namespace, accuracy: float | None = None) -> int:
    """Print how intervals hold for Gaussian classes, at a given τ or at the τ of an accuracy."""
    cells = []
    for protocol in PROTOCOLS:
        spread = options.spread
        if accuracy is not None:
            spread = spread_for(protocol.shot, accuracy, options.seed)
        for classes, images in SIZES:
            true = truth(protocol.shot, spread, options.seed)
            cells.append(Cell(classes, images, protocol, spread, true, options.seed, options.sets))
    cells.sort(key=lambda c: SIZES.index((c.classes, c.images)))
    jobs = [(cell, s) for cell in cells for s in range(SEQUENCES)]
    results = spread_out(partial(_gaussian_job, accuracy is None), jobs, options.processes)
    least = 93.0 if accuracy is None else 90.0
    extra = ["closed"] if accuracy is None else ["no interval"]
    print(
        head("C, N", "S, Q", "T", "of", "truth", "true sd", "open", *extra, "class-aware", "width")
    )
    missed = 0
    for i, cell in enumerate(cells):
        parts = results[i * SEQUENCES : (i + 1) * SEQUENCES]
        method, difference, *closed = gathered(parts)
        truths = (cell.truth[0], cell.truth[0] - cell.truth[1])
        for what, judged, expected, of_closed in zip(
            ("NCC", "difference"), (method, difference), truths, closed, strict=True
        ):
            s = Summary.of(judged)
            limit = WIDEST.get(cell.classes, WIDE) if accuracy is None else np.inf
            missed += s.aware < least or s.width > limit
            print(
                row(
                    f"{cell.classes}, {cell.images}",
                    f"{cell.protocol.shot}, {cell.protocol.query}",
                    round(np.mean([p.tasks for p in parts])),
                    what,
                    f"{100 * expected:.2f}",
                    f"{s.deviation:.2f}",
                    s.open,
                    of_closed if accuracy is None else s.none,
                    marked(s.aware, s.aware < least),
                    marked(s.width, s.width > limit, 2),
                )
            )
    return missed


def _gaussian_job(with_closed: bool, job: tuple[Cell, int]) -> Found:
    return run(*job, with_closed)
