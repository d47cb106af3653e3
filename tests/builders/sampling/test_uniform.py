"""The suites open and closed: a plain loop as oracle, numbers of tasks, and what is refused."""

from collections import Counter

import numpy as np
import pytest
from full_checks import check_module
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.catalogue import catalogue
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, Protocol, TaskSetName
from builders.sampling import draw_again, draw_published, draw_task_set
from fslbench_data.tasks.draw import draw_closed, draw_open

THRESHOLD = 1e-3
"""A test fails if the statistic would be as large with less than this probability.  Seeds are
fixed, so it fails always or never; about 20 such tests make a false alarm 2 % likely, once."""


def plain_open(sizes: list[int], protocol: Protocol, key: tuple[str | int, ...]) -> list[list[int]]:
    """Classes of Algorithm 2, one task and one word at a time."""
    words = iter(Stream(*key, "classes").words(100_000).tolist())
    left, tasks = list(sizes), []
    while True:
        eligible = [c for c, n in enumerate(left) if n >= protocol.per_class]
        if len(eligible) < protocol.way:
            return tasks
        chosen = []
        for _ in range(protocol.way):
            n = len(eligible)
            word = next(w for w in words if w < 2**64 - 2**64 % n)
            chosen.append(eligible.pop(word % n))
        for c in chosen:
            left[c] -= protocol.per_class
        tasks.append(chosen)


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 30), min_size=4, max_size=12),
    st.integers(2, 4),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 1000),
)
def test_open_is_algorithm_2(sizes: list[int], way: int, shot: int, query: int, seed: int) -> None:
    protocol = Protocol(way, shot, query)
    if sum(n >= protocol.per_class for n in sizes) < way:
        with pytest.raises(SamplingError, match=r"of \d+ classes"):
            draw_open(sizes, protocol, dataset="x", seed=seed)
        return
    drawn = draw_open(sizes, protocol, dataset="x", seed=seed)
    expected = plain_open(sizes, protocol, ("open", "x", str(protocol), seed))
    assert drawn.class_ids.tolist() == expected
    # images: the r-th use of a class takes the r-th S+Q images of its one shuffle
    images = Stream("open", "x", str(protocol), seed, "images")
    shuffles = [images.permutations(1, n)[0].tolist() for n in sizes]
    for t, classes in enumerate(expected):
        for k, c in enumerate(classes):
            taken = [shuffles[c].pop(0) for _ in range(protocol.per_class)]
            assert drawn.support[t, k].tolist() + drawn.query[t, k].tolist() == taken


@pytest.mark.parametrize("suite", ["open", "closed", "pooled", "pooled of groups", "grouped"])
def test_the_first_tasks_of_a_set_are_a_set(suite: str) -> None:
    """And each is drawn again from its provenance."""
    groups = np.arange(2400) // 2 if "group" in suite else None
    name, sizes = TaskSetName(suite.split()[0], Protocol(5, 5, 5)), [100, 140] * 10
    whole, _ = draw_task_set("x", name, sizes, seed=3, tasks=20, groups=groups)
    for m in (1, 2, 13, 19):
        part, how = draw_task_set("x", name, sizes, seed=3, tasks=m, groups=groups)
        assert part == whole.slice(0, m)
        assert draw_again("x", name, sizes, how, m, groups) == part


def test_classes_too_small_are_never_drawn_and_never_needed() -> None:
    sizes = [1, 20, 20, 0, 20]
    for drawn in (
        draw_open(sizes, Protocol(3, 1, 1), dataset="x", seed=0),
        draw_closed(sizes, Protocol(3, 1, 1), dataset="x", seed=0, tasks=50),
    ):
        assert set(drawn.class_ids.reshape(-1).tolist()) == {1, 2, 4}


@pytest.mark.parametrize("sizes", [[7.9] * 6, [2**62] * 6, [2**63] * 6, [-1] * 6, [[9] * 6]])
def test_sizes_that_are_none(sizes: list[int]) -> None:
    for draw in (draw_open, draw_published):
        options = {"seed": 0} if draw is draw_open else {}
        with pytest.raises(SamplingError, match="non-negative integer"):
            draw(sizes, Protocol(2, 1, 1), dataset="x", **options)  # type: ignore[operator]


def test_a_numpy_seed_is_a_seed() -> None:
    name = TaskSetName.parse("open-2w1s1q")
    tables = [draw_task_set("x", name, [9] * 4, seed=seed)[0] for seed in (3, np.int64(3))]  # type: ignore[arg-type]
    assert tables[0] == tables[1]


def test_settings_that_no_task_fits() -> None:
    with pytest.raises(SamplingError, match="2 of 5 classes have at least 21 images"):
        draw_open([20, 20, 20, 21, 40], Protocol(3, 20, 1), dataset="x", seed=0)
    with pytest.raises(SamplingError, match="number of tasks"):
        draw_task_set("x", TaskSetName.parse("closed-5w1s1q"), [9] * 9)
    for tasks in (0, -1):
        with pytest.raises(SamplingError, match="at least 1"):
            draw_task_set("x", TaskSetName.parse("closed-5w1s1q"), [9] * 9, tasks=tasks)
        with pytest.raises(SamplingError, match="at least 1"):
            draw_task_set("x", TaskSetName.parse("open-5w1s1q"), [9] * 9, tasks=tasks)


def test_every_order_of_the_queries_is_equally_likely() -> None:
    name = TaskSetName.parse("closed-2w1s2q")
    table, _ = draw_task_set("chi", name, [9] * 5, tasks=6000)
    arrangements = Counter(map(tuple, table.column("query_label").to_pylist()))
    assert len(arrangements) == 6  # 4! / (2! 2!)
    assert chisquare(list(arrangements.values())).pvalue > THRESHOLD


OTHER_SEEDS = 20
LARGE = ("quickdraw", "mscoco")


@pytest.mark.parametrize("protocol", PUBLISHED_PROTOCOLS[1:], ids=str)
@pytest.mark.parametrize("dataset", [name for name in catalogue() if name not in LARGE])
def test_open_is_within_the_spread_of_other_seeds(dataset: str, protocol: Protocol) -> None:
    """Of twenty; studies/checks/open_task_numbers.py has a hundred, of the large ones too."""
    numbers_of_tasks = check_module("open_task_numbers").numbers_of_tasks
    drawn, spread, most = numbers_of_tasks(dataset, protocol, OTHER_SEEDS)
    assert spread.min() <= drawn <= spread.max() <= most


SIX_SIZES = [30, 40, 50, 60, 70, 80]


def test_the_published_sets_take_no_other_seed() -> None:
    for options in ({"seed": 1}, {"tasks": 10}):
        with pytest.raises(SamplingError, match="published"):
            draw_task_set("x", TaskSetName.parse("published-5w1s1q"), SIX_SIZES, **options)
