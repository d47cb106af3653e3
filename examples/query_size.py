"""Which number of queries gives the narrowest interval: an example where the truth is known.

The synthetic case of Lafargue et al. (TMLR 2024): two classes, N(-1, 1) and N(1, 1), 500 images
(real numbers) of each, tasks of both classes drawn without replacement until the images run out,
and the nearest class mean as the method, at 1, 5 and 20 shots.

``python examples/query_size.py`` prints the tables of ``studies/query_size/model.md`` (20 seconds).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from analysis_sql.intervals.counts import Moments
from analysis_sql.intervals.intervals import halfwidths
from analysis_sql.planning.query_size import (
    PooledEstimate,
    QueryChoice,
    VarianceModel,
    best_query,
    choose,
    estimate_set,
    pool,
    width_factors,
)

SHOTS = (1, 5, 20)
PER_CLASS = 500
LEVEL = 0.95
QUERIES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50)


def exact(shot: int) -> VarianceModel:
    """Return α and w by Gauss-Hermite quadrature.

    The midpoint M ~ N(0, 1/(2S)) of the two support means and their difference D ~ N(2, 2/S) are
    independent.  Given M the class accuracies are Φ(1+M) and Φ(1-M), or one less these where D is
    negative, which has probability Φ(-sqrt(2S)).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    m = nodes * np.sqrt(1.0 / (2.0 * shot))
    first, second = ndtr(1.0 + m), ndtr(1.0 - m)
    swapped = ndtr(-np.sqrt(2.0 * shot))
    accuracy = (first + second) / 2.0
    mean = weights @ ((1.0 - swapped) * accuracy + swapped * (1.0 - accuracy))
    square = weights @ ((1.0 - swapped) * accuracy**2 + swapped * (1.0 - accuracy) ** 2)
    within = weights @ (first * (1.0 - first) + second * (1.0 - second)) / 2.0
    return VarianceModel(way=2, shot=shot, alpha=float(square - mean**2), w=float(within / 2.0))


def tasks_of(query: int, shot: int) -> int:
    """Return T: how many tasks 500 images of each class are enough for."""
    return PER_CLASS // (shot + query)


def task_counts(images: NDArray[np.float64], shot: int, query: int) -> NDArray[np.int64]:
    """Count correct queries of each class, int (T, 2), of tasks of images (2, N) in any order."""
    tasks = images.shape[1] // (shot + query)
    blocks = images[:, : tasks * (shot + query)].reshape(2, tasks, shot + query)
    low, high = blocks[:, :, :shot].mean(axis=2)
    midpoint, upward = ((low + high) / 2.0)[:, None], (high > low)[:, None]
    says_second = (blocks[:, :, shot:] > midpoint) == upward
    return np.stack([(~says_second[0]).sum(axis=1), says_second[1].sum(axis=1)], axis=1)


@dataclass(frozen=True)
class Simulation:
    """What new images, drawn again and again, gave at one S.

    Attributes
    ----------
    estimates
        One a seed, pooled over the task sets of all :data:`QUERIES` that its images make.
    widths
        Open half-widths in percentage points, one a seed, by Q.
    """

    estimates: tuple[PooledEstimate, ...]
    widths: dict[int, NDArray[np.float64]]


def simulate(shot: int, seeds: int) -> Simulation:
    """Draw new images `seeds` times, and task sets of every Q from each."""
    rng = np.random.default_rng(shot)
    widths: dict[int, list[float]] = {query: [] for query in QUERIES}
    estimates = []
    for _ in range(seeds):
        images = rng.standard_normal((2, PER_CLASS)) + np.array([[-1.0], [1.0]])
        sets = []
        for query in QUERIES:
            counts = task_counts(rng.permuted(images, axis=1), shot, query)
            moments = Moments.of(counts.sum(axis=1), 2 * query)
            widths[query].append(float(halfwidths(moments, "open", LEVEL)))
            if query > 1:
                sets.append(estimate_set(counts, query))
        estimates.append(pool([sets], shot))
    return Simulation(tuple(estimates), {query: np.array(w) for query, w in widths.items()})


def all_tasks(shot: int) -> dict[int, int]:
    """Return T of every Q with at least two tasks."""
    return {query: tasks_of(query, shot) for query in range(1, PER_CLASS // 2 - shot + 1)}


def exact_widths(shot: int) -> dict[int, float]:
    """Open half-width that the exact model expects, percentage points, by Q."""
    model = exact(shot)
    return {
        query: 100.0 * factor * math.sqrt(model.task_variance(query))
        for query, factor in width_factors(all_tasks(shot), LEVEL).items()
    }


def holds(found: QueryChoice, best: int) -> bool:
    """Tell whether an interval of Q* holds the right one; an undetermined upper end is none."""
    return (
        found.low is not None and found.low <= best and (found.high is None or best <= found.high)
    )


def mean_text(values: NDArray[np.float64], digits: int) -> str:
    """Return the mean and its standard error."""
    error = values.std(ddof=1) / np.sqrt(values.size)
    return f"{values.mean():.{digits}f} ({error:.{digits}f})"


def variance_rows(shot: int, simulation: Simulation) -> Iterator[str]:
    """Compute table 1: α and w."""
    model = exact(shot)
    for i, (name, right) in enumerate((("α", model.alpha), ("w", model.w))):
        found = np.array([(each.alpha, each.w)[i] for each in simulation.estimates])
        bound = np.sqrt(np.mean([each.covariance[i][i] for each in simulation.estimates]))
        yield (
            f"| {shot} | {name} | {right:.6f} | {mean_text(found, 6)} | {found.std(ddof=1):.6f} "
            f"| {bound:.6f} |"
        )


def choice_row(shot: int, simulation: Simulation) -> str:
    """Compute table 2: Q*."""
    model, widths, tasks = exact(shot), exact_widths(shot), all_tasks(shot)
    best = best_query(model.w / model.alpha, width_factors(tasks, LEVEL))
    costs = " | ".join(f"{100 * (widths[q] / widths[best] - 1):.1f} %" for q in (1, 5, 7))
    found = [choose(each, shot, tasks, LEVEL) for each in simulation.estimates]
    held = np.mean([holds(each, best) for each in found])
    ends = np.mean([each.high is not None for each in found])
    return (
        f"| {shot} | {math.sqrt(model.beta / model.alpha):.1f} | {best} | {tasks[best]} "
        f"| {costs} | {100 * held:.1f} % | {100 * ends:.1f} % |"
    )


def width_row(query: int, simulations: dict[int, Simulation]) -> str:
    """Compute table 3: T, exact and observed half-width at each S."""
    cells = [str(query)]
    for shot, simulation in simulations.items():
        width = f"{exact_widths(shot)[query]:.2f}"
        cells += [str(tasks_of(query, shot)), width, mean_text(simulation.widths[query], 2)]
    return f"| {' | '.join(cells)} |"


def tables(seeds: int) -> Iterator[str]:
    """Yield the lines of the three tables."""
    found = {shot: simulate(shot, seeds) for shot in SHOTS}
    yield "| S | | exact | mean of estimates | their sd | jackknife's sd |"
    yield "|---:|---|---:|---:|---:|---:|"
    for shot in SHOTS:
        yield from variance_rows(shot, found[shot])
    yield ""
    yield (
        "| S | √(β/α) | best Q | its T | cost of Q = 1 | of 5 | of 7 | interval holds the best Q "
        "| has an upper end |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for shot in SHOTS:
        yield choice_row(shot, found[shot])
    yield ""
    heads = (f"S = {shot}: T | exact ± | observed ±" for shot in SHOTS)
    yield f"| Q | {' | '.join(heads)} |"
    yield f"|---:|{'---:|' * 3 * len(SHOTS)}"
    for query in QUERIES:
        yield width_row(query, found)


if __name__ == "__main__":
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    sys.stdout.write("".join(f"{line}\n" for line in tables(seeds)))
