"""The suite grouped: one image of each group, fairly drawn, then Algorithm 2."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import Protocol, TaskSetName
from builders.sampling import draw_again, draw_task_set
from builders.sampling.balanced import draw_grouped, one_of_each
from fslbench_data.tasks.draw import exhaust, groups_of

SEEDS = 10_000
THRESHOLD = 1e-3


def test_one_image_of_each_group_is_kept() -> None:
    groups = np.array([7, -1, 7, 3, -1, 3, 3, 0])
    for seed in range(50):
        kept = one_of_each(groups, Stream("test", seed)).tolist()
        assert kept == sorted(kept)
        assert {1, 4, 7} < set(kept)
        assert sorted(groups[kept].tolist()) == [-1, -1, 0, 3, 7]


@pytest.mark.slow
def test_every_image_of_a_group_is_equally_likely() -> None:
    groups = np.array([5, 5, 5, 2, 2, -1])
    kept = [one_of_each(groups, Stream("chi", seed)).tolist() for seed in range(SEEDS)]
    counts = np.bincount([i for k in kept for i in k], minlength=6)
    assert chisquare(counts[:3]).pvalue > THRESHOLD
    assert chisquare(counts[3:5]).pvalue > THRESHOLD
    assert counts[5] == SEEDS


@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 25), min_size=4, max_size=8), st.integers(1, 40), st.integers(0, 1000)
)
def test_no_group_is_used_twice_even_across_classes(
    sizes: list[int], n_groups: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.integers(-1, n_groups, sum(sizes))
    protocol = Protocol(3, 2, 1)
    try:
        drawn = draw_grouped(sizes, protocol, dataset="x", seed=seed, groups=groups)
    except SamplingError:
        key = ("grouped", "x", str(protocol), seed, "groups")
        if (groups >= 0).any():
            kept = one_of_each(groups, Stream(*key))
            left = np.bincount(np.repeat(np.arange(len(sizes)), sizes)[kept], minlength=len(sizes))
            assert (left >= 3).sum() < 3
        return
    first = np.cumsum([0, *sizes[:-1]])[drawn.class_ids][..., None]
    images = (np.concatenate([drawn.support, drawn.query], axis=2) + first).reshape(-1)
    of_class = np.repeat(np.arange(len(sizes)), sizes)[images].reshape(-1, 3)
    assert (of_class.reshape(len(drawn), 3, 3) == drawn.class_ids[..., None]).all()
    assert np.unique(images).size == images.size
    used = groups[images]
    assert np.unique(used[used >= 0]).size == (used >= 0).sum()


def test_it_is_algorithm_2_on_the_images_kept() -> None:
    sizes, protocol = [40, 30, 20, 25, 30], Protocol(3, 2, 2)
    groups = np.repeat(np.arange(29), 5)  # bursts of five within a class
    key = ("grouped", "x", str(protocol), 4)
    kept = one_of_each(groups, Stream(*key, "groups"))
    class_of = np.repeat(np.arange(5), sizes)
    of_class = [kept[class_of[kept] == c] - sum(sizes[:c]) for c in range(5)]
    assert [len(x) for x in of_class] == [8, 6, 4, 5, 6]
    plain = exhaust(np.array([8, 6, 4, 5, 6]), protocol, key, None)
    drawn = draw_grouped(sizes, protocol, dataset="x", seed=4, groups=groups)
    assert (drawn.class_ids == plain.class_ids).all()
    for part in ("support", "query"):
        for t, k, i in np.ndindex(getattr(drawn, part).shape):
            position = getattr(plain, part)[t, k, i]
            assert getattr(drawn, part)[t, k, i] == of_class[drawn.class_ids[t, k]][position]


def test_the_first_tasks_of_a_set_are_a_set_and_provenance_draws_it_again() -> None:
    name, sizes = TaskSetName.parse("grouped-3w2s2q"), [40, 30, 20, 25, 30]
    groups = np.repeat(np.arange(29), 5)
    whole, how = draw_task_set("x", name, sizes, groups=groups)
    part, _ = draw_task_set("x", name, sizes, groups=groups, tasks=1)
    assert part == whole.slice(0, 1)
    assert draw_again("x", name, sizes, how, len(whole), groups) == whole


def test_groups_come_from_the_images_table() -> None:
    images = pa.table({"group": pa.array([3, None, 3], pa.int32())})
    assert groups_of(images).tolist() == [3, -1, 3]


def test_what_cannot_be_grouped() -> None:
    name = TaskSetName.parse("grouped-2w1s1q")
    with pytest.raises(SamplingError, match="needs the groups"):
        draw_task_set("x", name, [9] * 3)
    with pytest.raises(SamplingError, match="no image has a group"):
        draw_task_set("x", name, [9] * 3, groups=np.full(27, -1))
    with pytest.raises(SamplingError, match="26 groups for 27 images"):
        draw_task_set("x", name, [9] * 3, groups=np.zeros(26, np.int64))
    with pytest.raises(SamplingError, match=r"0 of 3 classes .* counting one image of each group"):
        draw_task_set("x", name, [9] * 3, groups=np.repeat(np.arange(3), 9))
