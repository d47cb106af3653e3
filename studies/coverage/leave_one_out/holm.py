"""Six methods at once: false claims where they are equal, and what is found where one is better.

Methods see features of their own: the centres of classes and the places of images are in part the
same for all methods and in part drawn for each.  What is drawn for each decides for which question
they are equal:

images
    Only images differ between methods, so that all have one accuracy on any classes.
classes
    Classes differ too: a method may be better on these classes, and none is on all classes.
superclasses
    And superclasses do.

Claims are those of the package: Holm's adjustment of the p-values of all 15 pairs, at 95 %.  Then
one method is given three true standard errors of a difference, as :data:`PILOT` data sets show
them, on top of its accuracy in every task.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analysis_sql.comparisons import conclusive, holm
from analysis_sql.leave_one_out.design import LEFT_OUT
from analysis_sql.leave_one_out.leave_one_out import leave_one_out
from benchmark_spec.protocol import Protocol
from studies.common import LEVEL, Array, head, records, rounded, row, work_off
from studies.coverage.leave_one_out.data_sets import answer, task_design
from studies.coverage.leave_one_out.lines import CLASS_DRAWS, DIMENSIONS, MANY, Kind, Line, World
from studies.coverage.leave_one_out.runs import BLOCK

METHODS, TIMES = 6, 3.0
PILOT = 500
MOST_FALSE, LEAST_FOUND = 6.0, 80.0
LINE = Line("holm", World(), (60,) * 30, Protocol(5, 5, 5), superclasses=(3,) * 10)


@dataclass(frozen=True)
class Process:
    """The shares of variance that methods do not have in common."""

    question: Kind
    of_classes: float
    of_superclasses: float
    of_images: float = 0.5

    def centres(self, rng: np.random.Generator) -> Array:
        """Draw the centres of classes for each method (M, C, D)."""
        superclass = LINE.superclass_of_class
        if superclass is None:
            raise ValueError("the line has superclasses")
        every = (METHODS, LINE.classes, DIMENSIONS)
        of_group = rng.standard_normal((METHODS, len(LINE.superclasses), DIMENSIONS))
        common = 1 - self.of_classes - self.of_superclasses
        return np.asarray(
            np.sqrt(common) * rng.standard_normal(every[1:])
            + np.sqrt(self.of_classes) * rng.standard_normal(every)
            + np.sqrt(self.of_superclasses) * of_group[:, superclass],
            np.float32,
        )

    def views(self, seed: int, number: int) -> list[Array]:
        """Draw the images of a data set as each method sees them, M times (N, D)."""
        fixed = self.question == "images"
        key = [seed, len(self.question)]
        rng = np.random.default_rng([4, *key, number])
        of_classes = np.random.default_rng([5, *key, number % CLASS_DRAWS]) if fixed else rng
        owner = LINE.class_of_image
        images = np.sqrt(np.float32(1 - self.of_images)) * rng.standard_normal(
            (owner.size, DIMENSIONS), np.float32
        )
        own = rng.standard_normal((METHODS, owner.size, DIMENSIONS), np.float32)
        own *= np.sqrt(np.float32(self.of_images))
        return list(self.centres(of_classes)[:, owner] + images + own)

    def key(self, seed: int) -> str:
        """Name the draws of tasks."""
        return f"holm {self.question} {seed}"

    def answers(self, seed: int, number: int) -> tuple[Any, Array]:
        """Draw a data set: the design of its tasks, and accuracies (M, B)."""
        seen = self.views(seed, number)
        drawn = LINE.draw(self.key(seed), number, LINE.most)
        support, query = LINE.ids(drawn)
        design = task_design(LINE, drawn.class_ids, np.concatenate([support, query], axis=2))
        return design, each_method(seen, support, query)


def each_method(seen: list[Array], support: Array, query: Array) -> Array:
    """Return accuracies (M, B) of the nearest class mean on what each method sees."""
    return np.concatenate([answer([view], support, query) for view in seen])


PROCESSES = (
    Process("images", 0.0, 0.0),
    Process("classes", 0.3, 0.0),
    Process("superclasses", 0.1, 0.3),
)


@dataclass(frozen=True)
class Job:
    """Twenty data sets: "pilot", for the true standard error, or "sets"."""

    process: Process
    part: str
    number: int
    seed: int
    ahead: float = 0.0

    @property
    def file(self) -> str:
        """Where it is kept."""
        return f"holm.{self.process.question}.{self.seed}.jsonl"

    def run(self) -> dict[str, Any]:
        """Do the work."""
        start = time.process_time()
        first = self.number * BLOCK + (0 if self.part == "sets" else 1_000_000)
        every = [self._one(i) for i in range(first, first + BLOCK)]
        seconds = round(time.process_time() - start, 3)
        return {
            "part": self.part,
            "number": self.number,
            "ahead": self.ahead,
            "values": rounded(np.array(every)),
            "seconds": seconds,
        }

    def _one(self, number: int) -> Array:
        """Return means (M,) in a pilot; else of each question what :func:`claims` says (3, 4)."""
        design, y = self.process.answers(self.seed, number)
        if self.part == "pilot":
            return np.asarray(y.mean(axis=1))
        equal = leave_one_out(design, y, LEVEL)
        y[0] += self.ahead
        better = leave_one_out(design, y, LEVEL)
        return np.array([claims(equal, better, question) for question in LEFT_OUT])


def claims(equal: Any, better: Any, question: Kind) -> list[float]:
    """Say what is claimed for one question.

    Whether anything is where methods are equal; where the first one is better, what share of its
    five pairs, each by itself; after Holm's adjustment whether any of them; and whether any other
    pair.
    """
    upper = np.triu(np.ones((METHODS, METHODS), bool), 1)
    apart = [
        conclusive(holm(np.where(upper, getattr(each, question).p, np.nan)), LEVEL) & upper
        for each in (equal, better)
    ]
    alone = (getattr(better, question).p[0, 1:] <= 1 - LEVEL) & (better.mean[0, 1:] > 0)
    right = apart[1][0, 1:] & (better.mean[0, 1:] > 0)
    return [
        float(apart[0].any()),
        float(alone.mean()),
        float(right.any()),
        float(apart[1][1:].any()),
    ]


def run(folder: Path, seed: int, data_sets: int | None, processes: int) -> None:
    """Do what is left: pilots first, since they say how much better the one method is."""
    many = {"pilot": PILOT // BLOCK, "sets": -(-(data_sets or MANY) // BLOCK)}
    for part, blocks in many.items():
        todo = []
        for process in PROCESSES:
            have = _known(folder, process, part, seed)
            ahead = TIMES * standard_error(folder, process, seed) if part == "sets" else 0.0
            todo += [Job(process, part, i, seed, ahead) for i in range(blocks) if i not in have]
        work_off(folder, sorted(todo, key=lambda job: job.number), processes)


def _known(folder: Path, process: Process, part: str, seed: int) -> dict[int, dict[str, Any]]:
    path = folder / Job(process, part, 0, seed).file
    return {r["number"]: r for r in records(path) if r["part"] == part}


def standard_error(folder: Path, process: Process, seed: int) -> float:
    """Compute the true one of a difference of two methods, from the pilot: all pairs are alike."""
    known = _known(folder, process, "pilot", seed)
    return error_of_difference(np.concatenate([known[i]["values"] for i in sorted(known)]))


def error_of_difference(means: Array) -> float:
    """Compute the true one from means (sets, M): the methods are equal, and all pairs alike."""
    centred = means - means.mean(axis=1, keepdims=True)
    return float(np.sqrt(2 * np.square(centred).sum() / (len(means) * (METHODS - 1))))


def table(folder: Path, seed: int) -> tuple[str, int]:
    """Write the table, and count the limits that are missed."""
    asked = [f"false claims: {name}" for name in LEFT_OUT]
    found = ["each pair alone", "any after Holm", "false claims then"]
    lines = [head("equal for new", "sets", *asked, "true se", *found)]
    missed = 0
    for process in PROCESSES:
        known = _known(folder, process, "sets", seed)
        if not known:
            continue
        values = np.concatenate([np.array(known[i]["values"]) for i in sorted(known)])
        share, many = 100 * values.mean(axis=0), len(values)
        error = 100 * values.std(axis=0) / np.sqrt(many)
        which = LEFT_OUT.index(process.question)
        cells = []
        for i in range(len(LEFT_OUT)):
            over = i == which and share[i, 0] - 2 * error[i, 0] > MOST_FALSE
            missed += over
            cells.append(_cell(share[i, 0], error[i, 0], over))
        few = share[which, 2] + 2 * error[which, 2] < LEAST_FOUND
        missed += few
        lines.append(
            row(
                process.question,
                many,
                *cells,
                f"{100 * standard_error(folder, process, seed):.2f}",
                _cell(share[which, 1], error[which, 1], missed=False),
                _cell(share[which, 2], error[which, 2], few),
                _cell(share[which, 3], error[which, 3], missed=False),
            )
        )
    return "\n".join(lines), int(missed)


def _cell(share: float, error: float, missed: bool) -> str:
    return f"{share:.1f} ± {error:.1f}{' MISSED' if missed else ''}"


def print_table(options: argparse.Namespace) -> int:
    """Print the table with its command; 1 if a limit is missed."""
    text, missed = table(options.folder, options.seed)
    print(text, end="\n\n")
    print(
        f"`python -m studies.coverage leave-one-out holm FOLDER --seed {options.seed}`, then "
        f"`holm-table`: numpy {np.__version__}, limits missed: {missed}"
    )
    return int(missed > 0)
