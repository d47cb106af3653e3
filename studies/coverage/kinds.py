"""Classes that are no sample of independent, much alike ones: rare kinds, and superclasses.

Effects are simulated on the class sequences of open sets, 5-way 5-shot with 5 queries, and the
class-aware interval is asked for the mean over all classes, sampled or not.

Rare: a share of all classes takes 20 points off the accuracy of a task, as one does that is never
recognised among five; the others differ by 1 point.  Superclasses: classes come in groups of equal
size that are themselves a sample, and a share of the variance of their effects, of 3 points, is
common to a group.  Beyond its classes a task has a normal error of 3 or of 6 points.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import mixtures_of, relative_halfwidths
from benchmark_spec.protocol import Protocol
from fslbench_data.sampling.draw import draw_open
from studies.common import LEVEL, Array, head, row, spread_out

PROTOCOL = Protocol(5, 5, 5)
SEQUENCES = 10
SIZES = ((10, 120), (20, 60), (43, 60), (43, 900), (100, 60))
ERRORS = (3.0, 6.0)
RARE, LOSS, ORDINARY = (0.02, 0.05, 0.1), 20.0, 1.0
GROUPED = ((20, 60, 4), (20, 60, 10), (40, 60, 8), (100, 60, 10), (100, 60, 20))
COMMON, SPREAD = (0.5, 0.9), 3.0

Draw = Callable[[np.random.Generator, int], Array]


@dataclass(frozen=True)
class Kind:
    """A population of classes: what it is, its sampler of effects (sets, C), and their mean."""

    words: str
    classes: int
    images: int
    draw: Draw
    mean: float


@dataclass(frozen=True)
class Held:
    """Per cent of intervals that hold the mean, that lie above it, and that lie below it."""

    tasks: float
    holds: float
    above: float
    below: float


def rare_kinds() -> list[Kind]:
    """Return populations with a rare kind of classes."""
    return [
        Kind(f"{share:.0%}".replace("%", " %"), c, n, partial(_rare, share, c), -share * LOSS)
        for c, n in SIZES
        for share in RARE
    ]


def superclass_kinds() -> list[Kind]:
    """Return populations whose classes come in superclasses."""
    return [
        Kind(
            f"{groups} superclasses, {common:.0%}".replace("%", " %"),
            c,
            n,
            partial(_grouped, groups, common, c),
            0.0,
        )
        for c, n, groups in GROUPED
        for common in COMMON
    ]


def run(seed: int, sets: int, job: tuple[Kind, float]) -> Held:
    """Judge the intervals of `sets` data sets of one kind whose tasks have such an error."""
    kind, error = job
    truth = PROTOCOL.way * kind.mean
    share = sets // SEQUENCES
    tasks, low, high = 0, [], []
    for sequence in range(SEQUENCES):
        name = f"{kind.classes} classes of {kind.images}"
        sizes = [kind.images] * kind.classes
        drawn = draw_open(sizes, PROTOCOL, dataset=name, seed=seed + sequence)
        design = ClassDesign.of(drawn.class_ids)
        key = [ord(letter) for letter in kind.words]
        rng = np.random.default_rng([seed, 6, kind.classes, kind.images, sequence, *key])
        y = error * rng.standard_normal((share, design.tasks))
        effects = kind.draw(rng, share)
        for slot in design.members.T:
            y += effects[:, slot]
        mean = y.mean(axis=1)
        norm2 = np.square(y - mean[:, None]).sum(axis=1)
        h = relative_halfwidths(mixtures_of(design, design.coordinates(y), norm2), LEVEL) * np.sqrt(
            norm2
        )
        tasks += design.tasks
        low.append(mean - h > truth)
        high.append(mean + h < truth)
    above, below = (100 * float(np.mean(part)) for part in (low, high))
    return Held(tasks / SEQUENCES, 100 - above - below, above, below)


def _rare(share: float, classes: int, rng: np.random.Generator, sets: int) -> Array:
    ordinary = ORDINARY * rng.standard_normal((sets, classes))
    return np.asarray(ordinary - LOSS * (rng.random((sets, classes)) < share))


def _grouped(
    groups: int, common: float, classes: int, rng: np.random.Generator, sets: int
) -> Array:
    of_group = np.repeat(rng.standard_normal((sets, groups)), classes // groups, axis=1)
    own = rng.standard_normal((sets, classes))
    return np.asarray(SPREAD * (np.sqrt(common) * of_group + np.sqrt(1 - common) * own))


def part(make: Callable[[], list[Kind]], options: argparse.Namespace) -> int:
    """Print how the class-aware interval holds for populations, for which no limit is set."""
    populations = make()
    jobs = [(kind, error) for kind in populations for error in ERRORS]
    results = spread_out(partial(run, options.seed, options.sets), jobs, options.processes)
    columns = [f"{what}, {e:g}" for e in ERRORS for what in ("holds", "above", "below")]
    print(head("C, N", "T", "of", *columns))
    many = len(ERRORS)
    for i, kind in enumerate(populations):
        held = results[i * many : (i + 1) * many]
        cells = [x for h in held for x in (h.holds, h.above, h.below)]
        size = f"{kind.classes}, {kind.images}"
        print(row(size, round(held[0].tasks), kind.words, *cells))
    return 0
