"""Few appearances: intervals of data sets that tasks hardly show, and bounds alone.

Two methods see images in eight dimensions: centres of classes and images are in part the same for
both and in part their own, and both answer by the nearest class mean, so that they are equal:
*images*, on any classes (centres are the same); *classes*, over all classes.  The truth of their
difference is 0.  That of one method is the mean over tasks of images that no other task has, and
of the same classes (for *images*, of CENTRES draws of centres, which data sets take in turn) or of
new ones (for *classes*).

A line gives the mean appearances of an image, in per cent how often the interval, and the one by
the bound alone, hold the truth, and their mean half-widths over 1.96 times the true standard
deviation.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import stdtrit

from analysis_sql.leave_one_out.design import LeftOut, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Influences
from benchmark_spec.protocol import Protocol
from fslbench_data.sampling.draw import draw_closed
from studies.common import LEVEL, Array, Z, head, marked, row
from studies.coverage.nearest_means import (
    DIMENSIONS,
    OF_CLASSES,
    OF_IMAGES,
    correct,
    in_part_own,
)

LIMIT = 93.0
CENTRES = 10
TRUE_TASKS, AT_ONCE = 40_000, 4_000


@dataclass(frozen=True)
class Line:
    """Class sizes, shots and number of tasks of 5 ways and 15 queries; `question`: who is equal."""

    name: str
    sizes: tuple[int, ...]
    shot: int
    tasks: int
    question: LeftOut

    @property
    def protocol(self) -> Protocol:
        """Ways, shots and queries."""
        return Protocol(5, self.shot, 15)

    @property
    def appearances(self) -> float:
        """Tasks that an image is in on average."""
        return self.tasks * self.protocol.way * self.protocol.per_class / sum(self.sizes)

    def centres(self, rng: np.random.Generator) -> Array:
        """Draw centres of classes (2, C, DIMENSIONS)."""
        of_classes = OF_CLASSES if self.question == "classes" else 0.0
        return in_part_own(rng, 2, len(self.sizes), of_classes)

    def truth(self, rng: np.random.Generator, centres: Array | None) -> float:
        """Compute a method's mean over new images of some classes, or of new ones, per cent."""
        way, each = self.protocol.way, self.protocol.per_class
        places = np.arange(AT_ONCE * way * each).reshape(AT_ONCE, way, each)
        right = 0
        for _ in range(TRUE_TASKS // AT_ONCE):
            if centres is None:
                of_tasks = rng.standard_normal((AT_ONCE, way, DIMENSIONS))
            else:
                order = rng.random((AT_ONCE, len(self.sizes)))
                of_tasks = centres[order.argpartition(way, axis=1)[:, :way]]
            seen = rng.standard_normal((AT_ONCE, way, each, DIMENSIONS)) + of_tasks[:, :, None]
            seen = seen.reshape(-1, DIMENSIONS)
            right += correct(seen, places[..., : self.shot], places[..., self.shot :]).sum()
        return 100 * float(right) / (TRUE_TASKS * way * self.protocol.query)

    def judged(self, rng: np.random.Generator, centres: Array) -> Array:
        """Draw a data set: means, half-widths and bounds (3, 2) of a method and the difference."""
        seed = int(rng.integers(1 << 31))
        drawn = draw_closed(self.sizes, self.protocol, dataset="few", seed=seed, tasks=self.tasks)
        start = np.cumsum(self.sizes) - np.array(self.sizes)
        images = np.concatenate([drawn.support, drawn.query], axis=2)
        images = images + start[drawn.class_ids][..., None]
        owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        used, places = np.unique(images, return_inverse=True)
        places = places.reshape(images.shape)
        seen = centres[:, owner[used]] + in_part_own(rng, 2, used.size, OF_IMAGES)
        roles = places[..., : self.shot], places[..., self.shot :]
        first, second = (correct(own, *roles) / roles[1][0].size for own in seen)
        y = np.stack([first, first - second])
        design = TaskDesign.of(drawn.class_ids, images, owner)
        found = getattr(Influences(design, y).own(LEVEL), self.question)
        noise = y.var(axis=1, ddof=1) / self.tasks
        factor = max(design.bound("images"), design.bound(self.question))
        bound = -stdtrit(self.tasks - 1, (1 - LEVEL) / 2) * np.sqrt(noise * factor)
        return 100 * np.stack([y.mean(axis=1), found.halfwidth[:, 0], bound])


QUESTIONS: tuple[LeftOut, ...] = ("images", "classes")
TIERED, EUROSAT = (1300,) * 160, (2700,) * 10
CROPS = tuple(int(size) for size in np.geomspace(150, 5500, 38))
LINES = [
    make(question=question)
    for make in (
        partial(Line, "tieredImageNet-like", TIERED, 1, 600),
        partial(Line, "tieredImageNet-like", TIERED, 5, 600),
        partial(Line, "CropDisease-like", CROPS, 1, 600),
        partial(Line, "EuroSAT-like", EUROSAT, 1, 600),
        partial(Line, "20 tasks", (100,) * 20, 1, 20),
        *(partial(Line, f"{tasks} tasks", (600,) * 20, 5, tasks) for tasks in (2, 3, 5, 10)),
    )
    for question in QUESTIONS
]


def some(line: Line, seed: int, sets: int, turn: int) -> Array:
    """Draw data sets, those of one draw of centres if it is about images: (sets, 3, 2).

    The means are less the truth.
    """
    rng = np.random.default_rng([seed, LINES.index(line), turn])
    fixed = line.centres(rng) if line.question == "images" else None
    truth = line.truth(rng, None if fixed is None else fixed[0])
    made = np.array(
        [line.judged(rng, line.centres(rng) if fixed is None else fixed) for _ in range(sets)]
    )
    made[:, 0, 0] -= truth
    return made


def rows(line: Line, made: Array) -> Iterator[tuple[str, int]]:
    """Yield the rows of a line, and how many of their limits are missed."""
    for column, of in enumerate(("one", "difference")):
        error, *widths = made[:, :, column].T
        deviation = error.std()
        cells: list[str] = []
        missed = 0
        for width in widths:
            holds = 100 * float((np.abs(error) <= width).mean())
            missed += holds < LIMIT
            cells += [marked(holds, holds < LIMIT), f"{width.mean() / (Z * deviation):.2f}"]
        about = line.name, line.shot, line.tasks, f"{line.appearances:.2f}", line.question, of
        yield row(*about, *cells), missed


def part(options: argparse.Namespace) -> int:
    """Print the rows of each design and question; count those below the limits."""
    print(head("data set", "shots", "tasks", "appearances", "new", "of", "holds", "width",
               "bound holds", "width"))  # fmt: skip
    total = 0
    turns = range(min(CENTRES, options.sets))
    with ProcessPoolExecutor(options.processes) as pool:
        for line in LINES:
            if re.search(options.lines, f"{line.name} {line.shot} {line.question}"):
                work = partial(some, line, options.seed, options.sets // len(turns))
                for text, missed in rows(line, np.concatenate(list(pool.map(work, turns)))):
                    print(text, flush=True)
                    total += missed
    return total
