"""How many tasks `open` draws: as many as the paper's Algorithm 2 under any other generator."""

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark_spec.catalogue import catalogue, lookup
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, Protocol
from builders.sampling import draw_open, most_tasks

SEEDS = 100


def tasks_of_algorithm_2(sizes: tuple[int, ...], protocol: Protocol) -> NDArray[np.int64]:
    """T of a hundred runs of Algorithm 2 side by side; classes by the smallest of random keys."""
    left = np.tile(np.array(sizes) // protocol.per_class, (SEEDS, 1))
    tasks = np.zeros(SEEDS, np.int64)
    rng = np.random.default_rng(20240902)
    going = np.arange(SEEDS)
    while True:
        going = going[(left[going] > 0).sum(axis=1) >= protocol.way]
        if not going.size:
            return tasks
        keys = rng.random((going.size, left.shape[1]), dtype=np.float32)
        keys[left[going] == 0] = 2
        chosen = np.argpartition(keys, protocol.way - 1, axis=1)[:, : protocol.way]
        left[going[:, None], chosen] -= 1
        tasks[going] += 1


@pytest.mark.parametrize("protocol", PUBLISHED_PROTOCOLS, ids=str)
@pytest.mark.parametrize(
    "dataset",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ("quickdraw", "mscoco") else name
        for name in catalogue()
    ],
)
def test_open_is_within_the_spread_of_a_hundred_seeds(dataset: str, protocol: Protocol) -> None:
    sizes = lookup(dataset).class_sizes
    spread = tasks_of_algorithm_2(sizes, protocol)
    drawn = len(draw_open(sizes, protocol, dataset=dataset, seed=0))
    assert spread.min() <= drawn <= spread.max() <= most_tasks(sizes, protocol)
