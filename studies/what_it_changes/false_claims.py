"""False and found differences: ``python -m studies.what_it_changes.false_claims``.

Simulated data sets of 30 classes of 60 images and six methods that see features of their own, as
:mod:`studies.coverage.leave_one_out.holm` draws them.  On the same images are drawn tasks that
reuse them, 600 and as many as a `pooled` set has, and tasks that share none, until too few images
are left; 5 ways, 5 shots, 5 queries.  Two kinds of data sets: the methods are equal on any images
of these classes, and images are drawn anew; or a method may be better on these classes, none is on
all classes, and classes are drawn anew.

false
    Of the 15 comparisons of equal methods those of which something is claimed, in per cent.
found
    Of the 5 comparisons of one method those that say it is better, after it was given on top of its
    accuracy in every task three true standard errors of a difference: the standard deviation, over
    other data sets, of the difference of two equal methods on the most tasks.

Each verdict stands alone, at 95 %.  Errors are those of independent data sets, one standard error.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.comparisons import BETTER, WORSE, pair_arrays
from analysis_sql.interval_kinds import ADDITIONAL_KINDS, Designs
from analysis_sql.intervals.counts import Counts
from analysis_sql.leave_one_out.leave_one_out import FirstTasks
from benchmark_spec.protocol import IntervalKind
from fslbench_data.sampling.draw import DrawnTasks
from studies.common import LEVEL, Array, head, row
from studies.coverage.leave_one_out.data_sets import task_design
from studies.coverage.leave_one_out.holm import (
    LINE,
    PROCESSES,
    TIMES,
    Process,
    each_method,
    error_of_difference,
)

REUSING = {
    "error bars": "two closed error bars",
    "closed": "the closed interval of the difference",
    "images": "images left out",
    "classes": "classes left out",
}
DISJOINT = ("open", "class-aware")
PILOT, OTHERS = 200, 2_000_000
"""Data sets that show the true standard error, and the number of the first."""

FINE = 1000
"""Parts of a query: a method's head start is a whole number of them."""


@dataclass(frozen=True)
class Answered:
    """Tasks of a data set, and six methods' counts of right queries on them.

    Attributes
    ----------
    class_ids, images, correct
        (T, K), (T, K, S+Q) and (M, T).
    """

    class_ids: Array
    images: Array
    correct: Array

    @classmethod
    def of(cls, seen: list[Array], drawn: DrawnTasks) -> Answered:
        """Answer tasks by what each method sees."""
        ids = LINE.ids(drawn)
        correct = np.rint(LINE.protocol.n_query * each_method(seen, *ids)).astype(np.int64)
        return cls(drawn.class_ids, np.concatenate(ids, axis=2), correct)

    def first(self, tasks: int) -> Answered:
        """Take the first tasks."""
        return Answered(self.class_ids[:tasks], self.images[:tasks], self.correct[:, :tasks])

    def counts(self, ahead: float) -> Counts:
        """Give the first method a head start, a share of all queries."""
        unit = FINE * LINE.protocol.n_query
        correct = FINE * self.correct
        correct[0] += round(ahead * unit)
        return Counts(correct, np.full(len(correct), correct.shape[1]), unit)


def data_set(process: Process, seed: int, number: int) -> tuple[Answered, Answered]:
    """Draw a data set's images, and answer tasks that reuse them and tasks that share none."""
    seen, key = process.views(seed, number), process.key(seed)
    reusing, disjoint = LINE.draw(key, number, LINE.most), LINE.draw_open(key, number)
    return Answered.of(seen, reusing), Answered.of(seen, disjoint)


def signs(counts: Counts, carried: IntervalKind, designs: Designs) -> dict[str, Array]:
    """Say of all pairs by kind of interval whether the first is better, 1, worse, -1, or 0."""
    asked = np.triu(np.ones((len(counts), len(counts)), bool), 1)
    pairs = pair_arrays(counts, asked, carried, LEVEL)
    codes = {carried: pairs.verdict, "error bars": pairs.direct}
    for kind, design in designs.items():
        of_kind = ADDITIONAL_KINDS[kind].how.pairs(design, counts, LEVEL)
        every = np.arange(len(counts))
        codes[kind] = np.stack([of_kind.columns(i, every).verdict for i in range(len(counts))])
    return {
        kind: np.where(asked, (code == BETTER).astype(int) - (code == WORSE), 0)
        for kind, code in codes.items()
    }


def claims(reusing: Answered, disjoint: Answered, ahead: float) -> dict[str, Array]:
    """Give :func:`signs` by what claims and, where images recur, the number of tasks."""
    aware = ClassDesign.of(disjoint.class_ids)
    opened = signs(disjoint.counts(ahead), "open", {"class-aware": aware})
    every = {kind: opened[kind] for kind in DISJOINT}
    for tasks in LINE.counts:
        some = reusing.first(tasks)
        design = FirstTasks(task_design(LINE, some.class_ids, some.images))
        found = signs(some.counts(ahead), "closed", {"images": design, "classes": design})
        every |= {f"{name}, {tasks:,} tasks": found[kind] for kind, name in REUSING.items()}
    return every


def shares(signs_of: Mapping[str, Array], *, equal: bool) -> list[float]:
    """Return the per cent of comparisons with a claim: false ones, or that the first is better."""
    if equal:
        upper = np.triu_indices(len(next(iter(signs_of.values()))), 1)
        return [100 * float((of_kind[upper] != 0).mean()) for of_kind in signs_of.values()]
    return [100 * float((of_kind[0, 1:] == 1).mean()) for of_kind in signs_of.values()]


def measured(process: Process, data_sets: int, seed: int) -> tuple[float, Array, list[str]]:
    """Return the true standard error, the shares of data sets (sets, 2, kinds), and the kinds."""
    pilot = (data_set(process, seed, OTHERS + number)[0] for number in range(PILOT))
    means = np.array([reusing.correct.mean(axis=1) for reusing in pilot])
    error = error_of_difference(means / LINE.protocol.n_query)
    found = []
    for number in range(data_sets):
        answered = data_set(process, seed, number)
        made = claims(*answered, 0.0)
        better = claims(*answered, TIMES * error)
        found.append([shares(made, equal=True), shares(better, equal=False)])
    return error, np.array(found), list(made)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    columns = []
    for process in PROCESSES[:2]:
        error, found, kinds = measured(process, options.sets, options.seed)
        print(f"new {process.question}: true standard error {100 * error:.2f} points")
        spread = found.std(axis=0, ddof=1) / np.sqrt(len(found))
        columns += list(zip(found.mean(axis=0), spread, strict=True))
    names = [f"{part}, new {p.question}" for p in PROCESSES[:2] for part in ("false", "found")]
    print(head("interval", *names))
    for at, kind in enumerate(kinds):
        print(row(kind, *(f"{share[at]:.1f} ± {error[at]:.1f}" for share, error in columns)))
    print(f"\n{options.sets} data sets of each kind, seed {options.seed}")


if __name__ == "__main__":
    main()
