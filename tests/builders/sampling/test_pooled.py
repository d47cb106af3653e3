"""The suite pooled: a plain loop as oracle, pool, number of tasks; its chances, and of closed."""

from itertools import combinations
from math import ceil, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2, chisquare

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import Protocol, TaskSetName
from builders.release.verify import task_problems
from builders.sampling import draw_again, draw_task_set
from fslbench_data.tasks.draw import (
    KEPT,
    LARGE,
    DrawnTasks,
    Pool,
    _sample,
    draw_closed,
    draw_pooled,
    number_of_tasks,
)

UnitsOfTasks = tuple[DrawnTasks, NDArray[np.int64]]

THRESHOLD = 1e-3
TASKS = 20_000
GROUPED = np.array([0, 0, 0, 1, -1, 2, 2, 3, -1, -1, 4, 5, 5, 6, -1, -1, 7, 8, 8, 9, -1, -1])
GROUPED_SIZES = [5, 6, 5, 6]
"""Units of the four classes: {0,1,2} {3} {4} · {5,6} {7} {8} {9} {10} · {11,12} {13} {14} {15} ·
{16} {17,18} {19} {20} {21}."""


def taken(stream, n, count):
    """`count` distinct numbers below n, one word at a time."""
    left, chosen = list(range(n)), []
    for _ in range(count):
        word = int(stream.words(1)[0])
        while word >= 2**64 - 2**64 % len(left):
            word = int(stream.words(1)[0])
        chosen.append(left.pop(word % len(left)))
    return chosen


def plain(units, protocol, tasks, key, grouped):
    """Classes and images of each task; `units` are lists of image ids, of each class."""
    classes, images = Stream(*key, "classes"), Stream(*key, "images")
    which = Stream(*key, "groups") if grouped else images
    eligible = [c for c, of_class in enumerate(units) if len(of_class) > protocol.per_class]
    made = []
    for _ in range(tasks):
        task = []
        for c in [eligible[i] for i in taken(classes, len(eligible), protocol.way)]:
            drawn = [units[c][i] for i in taken(which, len(units[c]), protocol.per_class)]
            one = [unit[taken(images, len(unit), 1)[0]] if grouped else unit[0] for unit in drawn]
            task.append((c, one))
        made.append(task)
    return made


def as_lists(drawn, sizes):
    first = np.cumsum([0, *sizes[:-1]])
    both = np.concatenate([drawn.support, drawn.query], axis=2)
    return [
        [(int(c), (first[c] + both[t, k]).tolist()) for k, c in enumerate(drawn.class_ids[t])]
        for t in range(len(drawn))
    ]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 15), min_size=3, max_size=8),
    st.integers(2, 3),
    st.integers(1, 2),
    st.integers(1, 2),
    st.integers(0, 1000),
    st.booleans(),
)
def test_it_is_a_plain_loop(sizes, way, shot, query, seed, in_groups):
    protocol, n = Protocol(way, shot, query), sum(sizes)
    class_of = np.repeat(np.arange(len(sizes)), sizes)
    groups = np.full(n, -1)
    if in_groups:  # up to three groups a class, and images without one
        rng = np.random.default_rng(seed)
        groups = np.where(rng.random(n) < 0.6, 3 * class_of + rng.integers(0, 3, n), -1)
    units = [[] for _ in sizes]
    for image in range(n):
        mates = np.flatnonzero(groups == groups[image]).tolist() if groups[image] >= 0 else [image]
        if mates[0] == image:
            units[class_of[image]].append(mates)
    if sum(len(of_class) > protocol.per_class for of_class in units) < way:
        with pytest.raises(SamplingError):
            draw_pooled(sizes, protocol, dataset="x", seed=seed, groups=groups)
        return
    drawn, pool = draw_pooled(sizes, protocol, dataset="x", seed=seed, tasks=9, groups=groups)
    assert pool.grouped == bool((groups >= 0).any())
    key = ("pooled", "x", str(protocol), seed)
    assert as_lists(drawn, sizes) == plain(units, protocol, 9, key, pool.grouped)
    assert pool.sizes.tolist() == [len(of_class) for of_class in units]
    assert pool.images.tolist() == [i for of_class in units for unit in of_class for i in unit]
    assert not pool.cut


def test_a_class_needs_one_unit_more_than_a_task_takes():
    protocol = Protocol(2, 1, 2)
    drawn, pool = draw_pooled([3, 4, 9, 4], protocol, dataset="x", seed=0, tasks=200)
    assert set(drawn.class_ids.reshape(-1).tolist()) == {1, 2, 3}
    assert pool.eligible(protocol, "x").tolist() == [1, 2, 3]
    with pytest.raises(SamplingError, match="1 of 3 classes have more than 3 images") as caught:
        draw_pooled([3, 4, 3], protocol, dataset="x", seed=0)
    assert "none could be left out" in str(caught.value)
    groups = np.array([0, 0, 1, 2, 3, 4, 5, 6])  # 3 groups beside 4
    with pytest.raises(SamplingError, match="1 of 2 classes have more than 3 groups"):
        draw_pooled([4, 4], protocol, dataset="x", seed=0, groups=groups)


def test_what_its_provenance_says():
    name = TaskSetName.parse("pooled-3w1s2q")
    always = {"suite": "pooled", "sampler_version": 1, "generator": "Philox", "seed": 2}
    _, how = draw_task_set("x", name, GROUPED_SIZES, seed=2, tasks=7, groups=GROUPED)
    assert how == {**always, "tasks": 7, "unit": "group", "pool": None}
    with pytest.raises(SamplingError, match="its provenance says 7"):
        draw_again("x", name, GROUPED_SIZES, how, 6, GROUPED)
    _, how = draw_task_set("x", name, GROUPED_SIZES, seed=2, tasks=7, groups=np.full(22, -1))
    assert how == {**always, "tasks": 7, "unit": "image", "pool": None}
    _, how = draw_task_set("x", name, [LARGE, 101, 5], seed=2, tasks=7)
    assert how == {**always, "tasks": 7, "unit": "image", "pool": 100}
    other = {**how, "pool": None}
    with pytest.raises(SamplingError, match="is not that of a set of this suite"):
        draw_again("x", name, [LARGE, 101, 5], other, 7)


# ---- every choice equally likely ----------------------------------------------------------------


@pytest.fixture(scope="module", params=["closed", "images", "groups"])
def units_of_tasks(request):
    """Many tasks of 2 classes, and the number within its class of each image's unit."""
    groups = GROUPED if request.param == "groups" else None
    sizes = GROUPED_SIZES if request.param == "groups" else [5, 5, 5, 5]
    how = {"dataset": "chi", "seed": 5, "tasks": TASKS}
    if request.param == "closed":
        drawn = draw_closed(sizes, Protocol(2, 1, 2), **how)
        return drawn, np.concatenate([drawn.support, drawn.query], axis=2).astype(np.int64)
    drawn, pool = draw_pooled(sizes, Protocol(2, 1, 2), groups=groups, **how)
    number = np.zeros(sum(sizes), np.int64)
    within = np.concatenate([np.arange(size) for size in pool.sizes])
    number[pool.images] = np.repeat(within, pool.counts)
    first = np.cumsum([0, *sizes[:-1]])[drawn.class_ids][..., None]
    return drawn, number[first + np.concatenate([drawn.support, drawn.query], axis=2)]


def test_every_set_of_classes_is_equally_likely(units_of_tasks):
    drawn, _ = units_of_tasks
    eligible = sorted(set(drawn.class_ids.reshape(-1).tolist()))
    assert eligible in ([0, 1, 2, 3], [1, 2, 3])  # class 0 has 3 groups
    pairs = {pair: i for i, pair in enumerate(combinations(eligible, 2))}
    found = [pairs[min(a, b), max(a, b)] for a, b in drawn.class_ids.tolist()]
    assert chisquare(np.bincount(found, minlength=len(pairs))).pvalue > THRESHOLD


def test_every_set_of_units_is_equally_likely_in_every_role(units_of_tasks):
    drawn, units = units_of_tasks
    for c, size in ((1, 5), (2, 5 if 0 in drawn.class_ids else 4)):
        of_class = units[drawn.class_ids == c]
        triples = [(s, frozenset(q)) for s, *q in of_class.tolist()]
        possible = [
            (s, frozenset(q))
            for s in range(size)
            for q in combinations([i for i in range(size) if i != s], 2)
        ]
        counts = [triples.count(triple) for triple in possible]
        assert sum(counts) == len(triples)
        assert chisquare(counts).pvalue > THRESHOLD


def test_every_image_of_a_group_is_equally_likely():
    sizes, groups = [9, 9, 9], np.repeat([0, 0, 0, 1, 2, 3, 3, 4, 5], 3).reshape(9, 3)
    by_class = (groups.T + 10 * np.arange(3)[:, None]).reshape(-1)
    drawn, _ = draw_pooled(
        sizes, Protocol(2, 1, 1), dataset="chi", seed=6, tasks=TASKS, groups=by_class
    )
    both = np.concatenate([drawn.support, drawn.query], axis=2)[drawn.class_ids == 1]
    counts = np.bincount(both.reshape(-1), minlength=9)
    assert chisquare(counts[:3]).pvalue > THRESHOLD
    assert chisquare(counts[5:7]).pvalue > THRESHOLD
    # six groups, equally often whatever their sizes
    of_group = [counts[:3].sum(), counts[3], counts[4], counts[5:7].sum(), counts[7], counts[8]]
    assert chisquare(of_group).pvalue > THRESHOLD


# ---- how many tasks, and the pool ---------------------------------------------------------------


def test_the_number_of_tasks_by_hand():
    # 15 classes of 100, m = 10: 40 · 1.1² · √3000 = 2650.98; 80 · 1500 / 50 = 2400
    assert number_of_tasks(np.full(15, 100), Protocol(5, 5, 5)) == 2651
    # m = 2: 40 · (99/98)² · √3000 = 2235.8; 80 · 1500 / 10 = 12000, more than 4000
    assert number_of_tasks(np.full(15, 100), Protocol(5, 1, 1)) == 4000
    # sizes 4 and 10, m = 3: F = 3/1 and 9/7, mean F² = (9 + 81/49) / 2; n = 14
    expected = ceil(40 * (9 + 81 / 49) / 2 * sqrt(28))
    assert number_of_tasks(np.array([4, 10]), Protocol(2, 1, 2)) == expected == 1128
    # exact: 40 · (8/4)² · √144 = 1920, and no task more; 80 · 72 / 10 = 576
    assert number_of_tasks(np.full(8, 9), Protocol(2, 3, 2)) == 1920
    drawn, _ = draw_pooled([9] * 8 + [5], Protocol(2, 3, 2), dataset="x", seed=0)
    assert len(drawn) == 1920


def test_only_a_large_data_set_is_cut():
    whole = Pool.of([1000] * 10, dataset="x", seed=0)
    assert not whole.cut
    assert whole.sizes.tolist() == [1000] * 10
    small = Pool.of([KEPT] * (LARGE // KEPT + 1), dataset="x", seed=0)
    assert not small.cut  # large, of classes of which all is kept
    sizes = [LARGE - 100, 100, 101, 7]
    pool = Pool.of(sizes, dataset="x", seed=0)
    assert pool.cut
    assert pool.sizes.tolist() == [100, 100, 100, 7]
    of_class = np.repeat(np.arange(4), sizes)[pool.images]
    assert np.bincount(of_class).tolist() == [100, 100, 100, 7]
    assert (np.diff(pool.images) > 0).all()
    drawn, again = draw_pooled(sizes, Protocol(3, 1, 1), dataset="x", seed=0, tasks=4000)
    assert again.images.tolist() == pool.images.tolist()
    first = np.cumsum([0, *sizes[:-1]])[drawn.class_ids][..., None]
    used = np.unique(np.concatenate([drawn.support, drawn.query], axis=2) + first)
    assert used.tolist() == pool.images.tolist()  # and of none other


def test_data_set_and_seed_decide_which_images_are_kept_and_the_protocol_does_not():
    sizes = [LARGE, 300]
    pools = [Pool.of(sizes, dataset=d, seed=s) for d, s in (("a", 0), ("b", 0), ("a", 1))]
    assert len({tuple(pool.images.tolist()) for pool in pools}) == 3
    for protocol in (Protocol(2, 1, 1), Protocol(2, 5, 5)):
        _, pool = draw_pooled(sizes, protocol, dataset="a", seed=0, tasks=1)
        assert pool.images.tolist() == pools[0].images.tolist()


@pytest.mark.slow
def test_every_image_is_kept_equally_often():
    seeds = 300
    kept = [_sample(np.array([150]), Stream("chi", seed)) for seed in range(seeds)]
    counts = np.sum(kept, axis=0)
    assert counts.sum() == 100 * seeds
    # each of 150 images is kept with p = 2/3; a seed's indicators have covariance -p(1-p)/149
    p = 2 / 3
    statistic = 149 / 150 * ((counts - p * seeds) ** 2).sum() / (seeds * p * (1 - p))
    assert chi2.sf(statistic, 149) > THRESHOLD


def test_groups_are_kept_whole():
    groups = np.repeat(np.arange(LARGE + 1), 2)  # of two images each; 5001 and 5000 groups a class
    pool = Pool.of([10_002, 10_000], dataset="x", seed=0, groups=groups)
    assert pool.cut
    assert pool.sizes.tolist() == [100, 100]
    assert pool.counts.tolist() == [2] * 200
    assert (groups[pool.images].reshape(200, 2)[:, 0] == groups[pool.images][1::2]).all()
    for wrong, said in (
        ([0, 4, 4, -1], "group 4 has images of two classes"),
        ([0, 4, 4], "3 groups for 4"),
    ):
        with pytest.raises(SamplingError, match=said):
            Pool.of([2, 2], dataset="x", seed=0, groups=np.array(wrong))


def test_images_of_one_group_in_a_task_are_found():
    name = TaskSetName.parse("pooled-3w1s2q")
    table, _ = draw_task_set("x", name, GROUPED_SIZES, seed=3, tasks=50, groups=GROUPED)
    assert not list(task_problems(table, name, np.array(GROUPED_SIZES), GROUPED))
    (what,) = task_problems(table, name, np.array(GROUPED_SIZES), np.arange(22) // 2)
    assert what.endswith("two images of one group")
