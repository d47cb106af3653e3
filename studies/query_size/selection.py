"""What choosing Q on the very images costs: ``python -m studies.query_size.selection``.

Data sets are drawn from a known population: classes are Gaussian clouds around means of their own,
two methods are the nearest class mean on all dimensions and on half of them.  Q* is chosen as a
release chooses it, by the first method; then the frozen open set of seed 0 is drawn of the same
images, at Q*, at the Q* of other images of the same population, and at the paper's Q.  The truth is
of fresh images of the same classes, tasks being of the classes that the frozen set has.  Printed
are how often the open interval holds it, for the first method and for the difference, its width
(and what it is where Q is chosen on other images), with Monte Carlo errors.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.counts import Moments
from analysis_sql.intervals.intervals import halfwidths
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, Protocol
from builders.query_size.draws import Draws
from builders.query_size.evidence import QueryEvidence
from builders.query_size.sweep import QuerySets, sweep
from builders.release.queries import SWEPT
from fslbench_data.tasks import TaskSet

Floats = NDArray[np.float64]

CLASSES, DIMENSIONS, SPREAD, FRESH = 15, 16, 0.55, 60
SIZES = tuple(60 + 10 * (c % 7) for c in range(CLASSES))


@dataclass(frozen=True)
class Population:
    """Class means (C, D); images lie around them with unit variance."""

    means: Floats

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Population:
        """Draw the classes."""
        return cls(SPREAD * rng.normal(size=(CLASSES, DIMENSIONS)))

    def images(self, rng: np.random.Generator) -> Floats:
        """Draw a data set's images in class order, (N, D)."""
        labels = np.repeat(np.arange(CLASSES), SIZES)
        return self.means[labels] + rng.normal(size=(len(labels), DIMENSIONS))

    def task_means(self, tasks: TaskSet, shot: int, rng: np.random.Generator) -> Floats:
        """Return mean accuracies (2,) of both methods on fresh images of each task's classes."""
        means = self.means[tasks.class_ids]  # (T, K, D)
        labels = np.repeat(np.arange(means.shape[1]), 8)
        right = np.zeros(2)
        for _ in range(FRESH):
            support = means[:, :, None] + rng.normal(size=(*means.shape[:2], shot, DIMENSIONS))
            query = means[:, labels] + rng.normal(size=(len(means), len(labels), DIMENSIONS))
            right += _right(support, query, labels).mean(axis=(1, 2))
        return right / FRESH


def _right(support: Floats, query: Floats, labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which queries (2, T, M) both methods get right: (T, K, S, D), (T, M, D), (T, M)."""
    answers = []
    for dimensions in (slice(None), slice(None, DIMENSIONS // 2)):
        centre = _unit(_unit(support[..., dimensions]).mean(axis=2))
        similarity = np.einsum("tmd,tkd->tmk", _unit(query[..., dimensions]), centre)
        answers.append(similarity.argmax(axis=-1) == labels)
    return np.array(answers)


def _unit(values: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(values, axis=-1, keepdims=True)
    return values / lengths


def counts_of(images: Floats, tasks: TaskSet) -> NDArray[np.int64]:
    """Count correct queries of each task by both methods, (2, T)."""
    right = _right(images[tasks.support], images[tasks.query], tasks.query_label.astype(np.int64))
    counts: NDArray[np.int64] = right.sum(axis=-1)
    return counts


def sets_of(images: Floats, protocol: Protocol) -> QuerySets:
    """Give the images to a sweep, as features of the nearest class mean."""
    draws = Draws("made", "open", protocol.way, protocol.shot, SIZES)
    return QuerySets(draws, "NCC", images.astype(np.float32), "made/NCC", "")


def chosen(images: Floats, protocol: Protocol) -> int:
    """Choose Q as a release does."""
    sets = sets_of(images, protocol)
    swept = [query for query in SWEPT if sets.draws.tasks(query, 0) > 1]
    return QueryEvidence.of(sweep(sets, swept), sets.draws).query


def measured(
    population: Population, images: Floats, query: int, shot: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Tell whether intervals hold (2,), and half-widths (2,): of a method, of the difference."""
    tasks = Draws("made", "open", 5, shot, SIZES).draw(query, 0)
    counts, n_query = counts_of(images, tasks), 5 * query
    truth = population.task_means(tasks, shot, rng)
    holds, widths = [], []
    for x, true in ((counts[0], truth[0]), (counts[0] - counts[1], truth[0] - truth[1])):
        width = float(halfwidths(Moments.of(x, n_query), "open", 0.95))
        holds.append(abs(100 * x.mean() / n_query - 100 * true) <= width)
        widths.append(width)
    return np.array(holds, float), np.array(widths)


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=300)
    asked = parser.parse_args(arguments)
    print("| S | Q | mean Q | method holds | difference holds | method ± | difference ± |")
    print("|---:|---|---:|---:|---:|---:|---:|")
    for paper in PUBLISHED_PROTOCOLS:
        rows: dict[str, list[Floats]] = {"Q\\* of these": [], "Q\\* of others": [], "paper": []}
        for number in range(asked.sets):
            rng = np.random.default_rng([paper.shot, number])
            population = Population.draw(rng)
            images, others = population.images(rng), population.images(rng)
            queries = (chosen(images, paper), chosen(others, paper), paper.query)
            for name, query in zip(rows, queries, strict=True):
                holds, widths = measured(population, images, query, paper.shot, rng)
                rows[name].append(np.array([query, *holds, *widths]))
        for name, of_rule in rows.items():
            values = np.array(of_rule)
            mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
            cells = [f"{100 * mean[i]:.1f} ({100 * error[i]:.1f}) %" for i in (1, 2)]
            cells += [f"{mean[i]:.2f} ({error[i]:.2f})" for i in (3, 4)]
            print(f"| {paper.shot} | {name} | {mean[0]:.1f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
