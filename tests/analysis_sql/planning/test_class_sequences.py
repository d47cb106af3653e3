"""Simulated class sequences: the rules that they follow, and the samplers' numbers of tasks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis_sql.intervals.random_stream import Stream
from analysis_sql.planning.planning import class_uses, draw_classes, most_tasks
from benchmark_spec.protocol import Protocol
from builders.sampling.balanced import draw_balanced
from builders.sampling.balanced import most_tasks as sampler_most_tasks
from fslbench_data.tasks.draw import draw_open

USES = st.lists(st.integers(0, 12), min_size=1, max_size=9).map(np.array)


@given(USES, st.integers(1, 4))
def test_the_bound_is_the_largest_that_fits(uses: np.ndarray, way: int) -> None:
    fitting = [t for t in range(200) if np.minimum(uses, t).sum() >= way * t]
    assert most_tasks(uses, way) == max(fitting)


@given(USES, st.integers(1, 4), st.integers(0, 5))
def test_open_stops_only_when_it_must(uses: np.ndarray, way: int, seed: int) -> None:
    found = draw_classes("open", uses, way, Stream("test", seed))
    used = np.bincount(found.reshape(-1), minlength=uses.size)
    assert (used <= uses).all()
    assert (uses - used > 0).sum() < way
    assert all(len(set(task)) == way for task in found.tolist())
    few = draw_classes("open", uses, way, Stream("test", seed), most=3)
    assert np.array_equal(few, found[:3])


@given(USES, st.integers(1, 4), st.integers(0, 5))
def test_balanced_is_as_long_and_as_even_as_can_be(uses: np.ndarray, way: int, seed: int) -> None:
    found = draw_classes("balanced", uses, way, Stream("test", seed))
    assert len(found) == most_tasks(uses, way)
    used = np.bincount(found.reshape(-1), minlength=uses.size)
    assert (used <= uses).all()
    assert all(len(set(task)) == way for task in found.tolist())
    more = used < uses  # a class used less than it could be is used as often as any, but for one
    if more.any() and len(found):
        assert used[more].min() >= used.max() - 1


@pytest.mark.slow
def test_first_tasks_choose_classes_alike() -> None:
    """Each of 7 classes stands in each place of the first task equally often (4 errors)."""
    uses = np.full(7, 3)
    for suite in ("open", "balanced"):
        first = np.array([draw_classes(suite, uses, 3, Stream("x", s))[0] for s in range(3000)])
        share = np.bincount(first.reshape(-1), minlength=7) / 3000
        assert np.abs(share - 3 / 7).max() < 4 * np.sqrt(12 / 49 / 3000)


@pytest.mark.parametrize("sizes", [[178] * 10, [50, 60, 90, 200, 30, 44, 71, 300]])
def test_as_many_tasks_as_the_samplers_draw(sizes: list[int]) -> None:
    protocol = Protocol(5, 5, 5)
    uses = class_uses(sizes, 10)
    ours = [len(draw_classes("open", uses, 5, Stream("x", s))) for s in range(60)]
    theirs = [len(draw_open(sizes, protocol, dataset="x", seed=s)) for s in range(60)]
    error = np.sqrt((np.var(ours) + np.var(theirs)) / 60)
    assert abs(np.mean(ours) - np.mean(theirs)) < 4 * error
    most = sampler_most_tasks(sizes, protocol)
    assert most_tasks(uses, 5) == most
    assert len(draw_balanced(sizes, protocol, dataset="x", seed=0)) == most
