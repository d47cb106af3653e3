"""Real images as a population: data sets, tasks and truths drawn from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from benchmark_spec.protocol import Protocol
from fslbench_data.sampling.draw import DrawnTasks, draw_open
from studies.common import Array
from studies.coverage.judged import Judged, judge

WAY = 5
SEQUENCES = 50
TRUTH_TASKS, TRUTH_PARTS = 1_000_000, 50
_TASKS_AT_ONCE = 1000

Truths = dict[int, tuple[float, float]]


@dataclass(frozen=True)
class RealCell:
    """A kind of data set: C classes of N images, and the protocol of its tasks."""

    classes: int
    images: int
    protocol: Protocol


@dataclass(frozen=True, eq=False)
class Population:
    """Images of many classes as two kinds of features, each of unit length.

    Attributes
    ----------
    fine, coarse : float32 (C, N, D)
        The features of the first method, and of the one it is compared with.
    """

    name: str
    fine: Array
    coarse: Array

    @classmethod
    def of(cls, name: str, pictures: Array, block: int) -> Population:
        """Return a population of square pictures (C, N, side, side); `coarse` are block means."""
        c, n, side, _ = pictures.shape
        small = side // block
        coarse = pictures.reshape(c, n, small, block, small, block).mean(axis=(3, 5))
        return cls(name, _unit(pictures.reshape(c, n, -1)), _unit(coarse.reshape(c, n, -1)))

    def describe(self) -> str:
        """Return what it is, in a line."""
        classes, images, dimensions = self.fine.shape
        return (
            f"{self.name}: {classes} classes of {images} images; NCC on {dimensions} pixels, "
            f"and its difference to NCC on {self.coarse.shape[2]}"
        )

    def correct(self, classes: Array, support: Array, query: Array) -> tuple[Array, Array]:
        """Count correct answers (T,) on both features.

        Parameters
        ----------
        classes : int (T, K)
            Of the population.
        support, query : int (T, K, S), (T, K, Q)
            Positions of the images in their classes.
        """
        first, second = (_ncc(x, classes, support, query) for x in (self.fine, self.coarse))
        return first, second

    def fresh(self, rng: np.random.Generator, classes: Array, shot: int) -> tuple[Array, Array]:
        """Count correct answers on new tasks of these classes (T, K), with one query a class."""
        images = _distinct(rng, (*classes.shape, shot + 1), self.fine.shape[1])
        return self.correct(classes, images[..., :shot], images[..., shot:])

    def truth(self, seed: int, job: tuple[int, int]) -> Array:
        """Return both accuracies over new classes, (2,), from some fresh tasks at a shot."""
        shot, part = job
        rng = np.random.default_rng([seed, 4, shot, part])
        both = np.zeros(2)
        rounds = TRUTH_TASKS // (TRUTH_PARTS * _TASKS_AT_ONCE)
        for _ in range(rounds):
            classes = _distinct(rng, (_TASKS_AT_ONCE, WAY), len(self.fine))
            both += [x.sum() for x in self.fresh(rng, classes, shot)]
        return both / (rounds * _TASKS_AT_ONCE * WAY)


def data_set(
    rng: np.random.Generator, population: Population, drawn: DrawnTasks, images: int, classes: Array
) -> tuple[Array, Array]:
    """Count correct answers (T,) of both methods on a data set of some classes of a population.

    Each class gets `images` of its images, new ones for each data set.
    """
    chosen = rng.random((classes.size, population.fine.shape[1])).argsort(axis=1)[:, :images]
    ids = drawn.class_ids[..., None]
    return population.correct(
        classes[drawn.class_ids], chosen[ids, drawn.support], chosen[ids, drawn.query]
    )


def run(
    population: Population, truths: Truths, seed: int, job: tuple[RealCell, int, int]
) -> tuple[int, Judged, Judged]:
    """Return a class sequence and its share of data sets: T; NCC and the difference, judged."""
    cell, sequence, sets = job
    protocol = cell.protocol
    sizes = [cell.images] * cell.classes
    drawn = draw_open(sizes, protocol, dataset=population.name, seed=seed + sequence)
    rng = np.random.default_rng([seed, 5, cell.classes, cell.images, protocol.shot, sequence])
    answers = []
    for _ in range(sets // SEQUENCES):
        classes = rng.permutation(len(population.fine))[: cell.classes]
        answers.append(data_set(rng, population, drawn, cell.images, classes))
    fine, coarse = np.array(answers).transpose(1, 0, 2)
    design, unit = ClassDesign.of(drawn.class_ids), protocol.n_query
    one, other = truths[protocol.shot]
    return (
        len(drawn),
        judge(design, fine, unit, one),
        judge(design, fine - coarse, unit, one - other),
    )


def _ncc(x: Array, classes: Array, support: Array, query: Array) -> Array:
    """Return the nearest class centroid by cosine: correct answers of each task (T,)."""
    way = classes.shape[1]
    centroid = _unit(x[classes[..., None], support].mean(axis=2))  # (T, K, D)
    asked = x[classes[..., None], query]  # (T, K, Q, D)
    flat = asked.reshape(len(asked), -1, asked.shape[-1])
    answer = (flat @ centroid.transpose(0, 2, 1)).argmax(axis=2).reshape(query.shape)
    return np.asarray((answer == np.arange(way)[:, None]).sum(axis=(1, 2)))


def _unit(x: Array) -> Array:
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return (x / np.where(length > 0, length, 1)).astype(np.float32)


def _distinct(rng: np.random.Generator, shape: tuple[int, ...], bound: int) -> Array:
    """Draw integers below `bound`, different along the last axis, each choice equally likely."""
    found = np.empty(shape, np.int64)
    for i in range(shape[-1]):
        value = rng.integers(0, bound - i, shape[:-1])
        for taken in np.moveaxis(np.sort(found[..., :i], axis=-1), -1, 0):
            value += value >= taken
        found[..., i] = value
    return found
