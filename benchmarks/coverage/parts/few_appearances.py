"""Few appearances: intervals of data sets that tasks hardly show, and bounds alone.

Two methods see images in eight dimensions: centres of classes and images are in part the same for
both and in part their own, and both answer by the nearest class mean, so that they are equal:
*images*, on any classes (centres are the same); *classes*, over all classes.  A line gives the mean
appearances of an image, in per cent how often the interval of the difference, and that by the
bound alone, hold 0, and their mean half-widths over 1.96 times the true standard deviation.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from analysis_sql.leave_one_out.design import LeftOut, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Influences
from benchmarks.coverage.measure import LEVEL, Z, head, marked, row

DIMENSIONS, OF_IMAGES, OF_CLASSES = 8, 0.5, 0.3
LIMIT, LIMIT_OF_BOUNDS = 93.0, 93.0

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Line:
    """Class sizes, ways, shots, queries and number of tasks; `question` says who is equal."""

    name: str
    sizes: tuple[int, ...]
    shot: int
    query: int
    tasks: int
    question: LeftOut
    way: int = 5

    def judged(self, rng: np.random.Generator) -> tuple[float, float, float]:
        """Draw a data set: the difference, and the half-widths of interval and bound, points."""
        start = np.cumsum(self.sizes) - np.array(self.sizes)
        owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        classes = np.argsort(rng.random((self.tasks, len(self.sizes))), axis=1)[:, : self.way]
        each = self.shot + self.query
        drawn = np.array(
            [[start[c] + rng.choice(self.sizes[c], each, replace=False) for c in task]
             for task in classes]
        )  # fmt: skip
        used, places = np.unique(drawn, return_inverse=True)
        places = places.reshape(drawn.shape)
        share = OF_CLASSES if self.question == "classes" else 0.0
        centres = _in_part_own(rng, len(self.sizes), share)
        images = centres[:, owner[used]] + _in_part_own(rng, used.size, OF_IMAGES)
        right = np.repeat(np.arange(self.way), self.query)
        y = np.empty((2, self.tasks))
        for method, seen in enumerate(images):
            means = seen[places[:, :, : self.shot]].mean(axis=2)
            asked = seen[places[:, :, self.shot :]].reshape(self.tasks, -1, DIMENSIONS)
            near = (means**2).sum(-1)[:, None] - 2 * asked @ means.swapaxes(1, 2)
            y[method] = (near.argmin(axis=2) == right).mean(axis=1)
        design = TaskDesign.of(classes, drawn, owner)
        apart = 100 * (y[0] - y[1])
        found = getattr(Influences(design, apart[None] / 100).own(LEVEL), self.question)
        noise = apart.var(ddof=1) / self.tasks
        of_images = Z * np.sqrt(noise * design.bound("images"))
        bound = Z * np.sqrt(noise * design.bound(self.question))
        return float(apart.mean()), 100 * float(found.halfwidth[0, 0]), max(bound, of_images)


def _in_part_own(rng: np.random.Generator, count: int, share: float) -> Array:
    common = rng.standard_normal((count, DIMENSIONS))
    own = rng.standard_normal((2, count, DIMENSIONS))
    return np.asarray(np.sqrt(1 - share) * common + np.sqrt(share) * own)


QUESTIONS: tuple[LeftOut, ...] = ("images", "classes")
TIERED, EUROSAT = (1300,) * 160, (2700,) * 10
CROPS = tuple(int(size) for size in np.geomspace(150, 5500, 38))
LINES = [
    make(question=question)
    for make in (
        partial(Line, "tieredImageNet-like", TIERED, 1, 15, 600),
        partial(Line, "tieredImageNet-like", TIERED, 5, 15, 600),
        partial(Line, "CropDisease-like", CROPS, 1, 15, 600),
        partial(Line, "EuroSAT-like", EUROSAT, 1, 15, 600),
        partial(Line, "20 tasks", (100,) * 20, 1, 15, 20),
    )
    for question in QUESTIONS
]


def part(options: argparse.Namespace) -> int:
    """Print a line for each design and question; count those below the limits."""
    print(head("data set", "shots", "tasks", "appearances", "new", "holds", "width",
               "bound holds", "width"))  # fmt: skip
    missed = 0
    for number, line in enumerate(LINES):
        rng = np.random.default_rng([options.seed, number])
        made = np.array([line.judged(rng) for _ in range(options.sets)])
        size, deviation = np.abs(made[:, 0]), made[:, 0].std()
        holds, bound = (100 * float((size <= made[:, i]).mean()) for i in (1, 2))
        widths = [f"{made[:, i].mean() / (Z * deviation):.2f}" for i in (1, 2)]
        seen = line.tasks * line.way * (line.shot + line.query) / sum(line.sizes)
        missed += (holds < LIMIT) + (bound < LIMIT_OF_BOUNDS)
        print(row(line.name, line.shot, line.tasks, f"{seen:.2f}", line.question,
                  marked(holds, holds < LIMIT), widths[0],
                  marked(bound, bound < LIMIT_OF_BOUNDS), widths[1]), flush=True)  # fmt: skip
    return missed
