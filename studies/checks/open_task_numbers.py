"""Compare how many tasks `open` draws with the paper's Algorithm 2 under a hundred seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.catalogue import catalogue, lookup
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, Protocol
from builders.sampling.balanced import most_tasks
from fslbench_data.sampling.draw import draw_open

SEEDS = 100


def tasks_of_algorithm_2(sizes: Sequence[int], protocol: Protocol, seeds: int) -> NDArray[np.int64]:
    """Return T of runs of Algorithm 2 side by side; classes by the smallest of random keys."""
    left = np.tile(np.array(sizes) // protocol.per_class, (seeds, 1))
    tasks = np.zeros(seeds, np.int64)
    rng = np.random.default_rng(20240902)
    going = np.arange(seeds)
    while True:
        going = going[(left[going] > 0).sum(axis=1) >= protocol.way]
        if not going.size:
            return tasks
        keys = rng.random((going.size, left.shape[1]), dtype=np.float32)
        keys[left[going] == 0] = 2
        chosen = np.argpartition(keys, protocol.way - 1, axis=1)[:, : protocol.way]
        left[going[:, None], chosen] -= 1
        tasks[going] += 1


def numbers_of_tasks(
    dataset: str, protocol: Protocol, seeds: int
) -> tuple[int, NDArray[np.int64], int]:
    """Return how many tasks are drawn, how many Algorithm 2 draws by seed, and the most."""
    sizes = lookup(dataset).class_sizes
    drawn = len(draw_open(sizes, protocol, dataset=dataset, seed=0))
    return drawn, tasks_of_algorithm_2(sizes, protocol, seeds), most_tasks(sizes, protocol)


def main() -> None:
    """Draw every data set of the catalogue at every published protocol."""
    wrong = []
    for name in catalogue():
        for protocol in PUBLISHED_PROTOCOLS:
            drawn, spread, most = numbers_of_tasks(name, protocol, SEEDS)
            low, high = int(spread.min()), int(spread.max())
            print(f"{name} {protocol}: {drawn:,} tasks; Algorithm 2 {low:,} to {high:,}", end="")
            print(f", at most {most:,}")
            if not low <= drawn <= high <= most:
                wrong.append(f"{name} {protocol}")
    assert not wrong, wrong
