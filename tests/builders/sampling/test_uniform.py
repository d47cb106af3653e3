"""The suites open, closed, published, balanced, grouped, pooled: plain loops, and chances."""

import hashlib
import json
from collections import Counter
from fractions import Fraction
from itertools import combinations, count
from math import ceil, sqrt

import numpy as np
import pytest
from full_checks import check_module
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, chisquare

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.catalogue import catalogue, lookup
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, Protocol, TaskSetName
from builders.release.verify import task_problems
from builders.sampling import draw_again, draw_published, draw_task_set
from builders.sampling.balanced import draw_balanced, draw_grouped, most_tasks, one_of_each
from fslbench_data.sampling.draw import (
    KEPT,
    LARGE,
    Pool,
    _sample,
    draw_closed,
    draw_open,
    draw_pooled,
    exhaust,
    number_of_tasks,
)

THRESHOLD = 1e-3
"""A test fails if the statistic would be as large with less than this probability.  Seeds are
fixed, so it fails always or never; about 20 such tests make a false alarm 2 % likely, once."""


def taken(stream, n, count):
    """`count` distinct numbers below n, one word at a time."""
    left, chosen = list(range(n)), []
    for _ in range(count):
        word = int(stream.words(1)[0])
        while word >= 2**64 - 2**64 % len(left):
            word = int(stream.words(1)[0])
        chosen.append(left.pop(word % len(left)))
    return chosen


def plain_open(sizes, protocol, key):
    """Classes of Algorithm 2, one task and one word at a time."""
    stream, left, tasks = Stream(*key, "classes"), list(sizes), []
    while True:
        eligible = [c for c, n in enumerate(left) if n >= protocol.per_class]
        if len(eligible) < protocol.way:
            return tasks
        tasks.append([eligible[i] for i in taken(stream, len(eligible), protocol.way)])
        for c in tasks[-1]:
            left[c] -= protocol.per_class


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 30), min_size=4, max_size=12),
    st.integers(2, 4),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 1000),
)
def test_open_is_algorithm_2(sizes, way, shot, query, seed):
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
def test_the_first_tasks_of_a_set_are_a_set(suite):
    groups = np.arange(2400) // 2 if "group" in suite else None
    name, sizes = TaskSetName(suite.split()[0], Protocol(5, 5, 5)), [100, 140] * 10
    whole, _ = draw_task_set("x", name, sizes, seed=3, tasks=20, groups=groups)
    for m in (1, 2, 13, 19):
        part, how = draw_task_set("x", name, sizes, seed=3, tasks=m, groups=groups)
        assert part == whole.slice(0, m)
        assert draw_again("x", name, sizes, how, m, groups) == part


def test_classes_too_small_are_never_drawn_and_never_needed():
    sizes = [1, 20, 20, 0, 20]
    for drawn in (
        draw_open(sizes, Protocol(3, 1, 1), dataset="x", seed=0),
        draw_closed(sizes, Protocol(3, 1, 1), dataset="x", seed=0, tasks=50),
    ):
        assert set(drawn.class_ids.reshape(-1).tolist()) == {1, 2, 4}


@pytest.mark.parametrize("sizes", [[7.9] * 6, [2**62] * 6, [2**63] * 6, [-1] * 6, [[9] * 6]])
def test_sizes_that_are_none(sizes):
    for draw, options in ((draw_open, {"seed": 0}), (draw_published, {})):
        with pytest.raises(SamplingError, match="non-negative integer"):
            draw(sizes, Protocol(2, 1, 1), dataset="x", **options)


def test_a_numpy_seed_is_a_seed():
    name = TaskSetName.parse("open-2w1s1q")
    tables = [draw_task_set("x", name, [9] * 4, seed=seed)[0] for seed in (3, np.int64(3))]
    assert tables[0] == tables[1]


def test_settings_that_no_task_fits():
    with pytest.raises(SamplingError, match="2 of 5 classes have at least 21 images"):
        draw_open([20, 20, 20, 21, 40], Protocol(3, 20, 1), dataset="x", seed=0)
    for name, how, said in (
        ("closed-5w1s1q", {}, "number of tasks"),
        ("closed-5w1s1q", {"tasks": 0}, "at least 1"),
        ("closed-5w1s1q", {"tasks": -1}, "at least 1"),
        ("open-5w1s1q", {"tasks": 0}, "at least 1"),
        ("open-5w1s1q", {"tasks": -1}, "at least 1"),
        ("published-5w1s1q", {"seed": 1}, "published"),
        ("published-5w1s1q", {"tasks": 10}, "published"),
    ):
        with pytest.raises(SamplingError, match=said):
            draw_task_set("x", TaskSetName.parse(name), [30] * 9, **how)
    for tasks in (0, -1, 8):
        with pytest.raises(SamplingError, match=f"cannot draw {tasks} balanced tasks"):
            draw_balanced([9] * 5, Protocol(2, 1, 2), dataset="x", seed=0, tasks=tasks)


def test_every_order_of_the_queries_is_equally_likely():
    table, _ = draw_task_set("chi", TaskSetName.parse("closed-2w1s2q"), [9] * 5, tasks=6000)
    arrangements = Counter(map(tuple, table.column("query_label").to_pylist()))
    assert len(arrangements) == 6  # 4! / (2! 2!)
    assert chisquare(list(arrangements.values())).pvalue > THRESHOLD


LARGE_SETS = ("quickdraw", "mscoco")


@pytest.mark.parametrize("protocol", PUBLISHED_PROTOCOLS[1:], ids=str)
@pytest.mark.parametrize("dataset", [name for name in catalogue() if name not in LARGE_SETS])
def test_open_is_within_the_spread_of_other_seeds(dataset, protocol):
    """Of twenty; studies/checks/open_task_numbers.py has a hundred, of the large ones too."""
    drawn, spread, most = check_module("open_task_numbers").numbers_of_tasks(dataset, protocol, 20)
    assert spread.min() <= drawn <= spread.max() <= most


# ---- published: the sequences behind the released accuracies of Lafargue et al. (TMLR 2024) ------
# number of tasks at 1, 5, 10 shots, as the released files have them
PUBLISHED_TASKS = {
    "aircraft": (145, 28, 14),
    "cub": (175, 33, 17),
    "dtd": (82, 16, 9),
    "fungi": (1275, 235, 132),
    "mscoco": (2000, 2000, 1616),
    "omniglot": (1317, 263, 131),
    "quickdraw": (2000, 2000, 2000),
    "traffic_signs": (2000, 773, 449),
    "vgg_flower": (118, 22, 11),
}


def _sha(array):
    return hashlib.sha256(np.ascontiguousarray(array, "<i4").tobytes()).hexdigest()


def test_the_embedded_sets_have_the_published_number_of_tasks(embedded):
    for dataset, numbers in PUBLISHED_TASKS.items():
        sets = [f"published-{protocol}" for protocol in PUBLISHED_PROTOCOLS]
        assert tuple([embedded.task_set_info(dataset, name).n_tasks for name in sets]) == numbers


def test_the_embedded_sets_are_the_published_sequences(shared, embedded):
    """From the frozen tables alone: classes, support and queries in the order of the draw."""
    sequences = json.loads((shared / "design/published_sequences.json").read_text())
    assert len(sequences) == 4
    for dataset, protocols in sequences.items():
        start = np.array(embedded.classes(dataset).column("first_image_id"))
        for protocol_name, expected in protocols.items():
            protocol = Protocol.parse(protocol_name)
            tasks = embedded.task_set(dataset, f"published-{protocol_name}")
            first = start[tasks.class_ids][..., None]
            by_label = np.argsort(tasks.query_label, axis=1, kind="stable")
            query = np.take_along_axis(tasks.query, by_label, axis=1)
            query = query.reshape(-1, protocol.way, protocol.query)
            assert len(tasks) == expected["T"]
            assert _sha(tasks.class_ids) == expected["classes"]
            assert _sha(tasks.support - first) == expected["support"]
            assert _sha(query - first) == expected["query"]


def test_it_is_algorithm_2_written_with_choice():
    """The literal algorithm, with lists and RandomState.choice, on classes that run out."""
    sizes, protocol = [7, 12, 30, 9, 11, 8], Protocol(3, 2, 1)
    generator = np.random.RandomState(0)
    left = [list(range(n)) for n in sizes]
    classes, images = [], []
    while True:
        ids = [c for c in range(6) if len(left[c]) >= 3]
        if len(ids) < 3:
            break
        chosen = generator.choice(ids, 3, replace=False)
        taken = []
        for c in chosen:
            drawn = generator.choice(left[c], 3, replace=False)
            left[c] = [i for i in left[c] if i not in drawn]
            taken.append(drawn.tolist())
        classes.append(chosen.tolist())
        images.append(taken)
    found = draw_published(sizes, protocol, dataset="x")
    assert found.class_ids.tolist() == classes
    assert np.concatenate([found.support, found.query], axis=2).tolist() == images


# ---- balanced and grouped: as many tasks as images allow, one image of each group ----------------
SEEDS = 10_000


def counted_down(sizes, protocol):
    """T by trying every number: a class gives a task at most one of its uses."""
    uses = [n // protocol.per_class for n in sizes]
    numbers = range(sum(uses) + 1)
    return max(t for t in numbers if sum(min(u, t) for u in uses) >= protocol.way * t)


def plain_balanced(sizes, protocol, tasks, key):
    """Uses and class sequence, one task and one word at a time, in Python's whole numbers."""
    streams = {}

    def below(name, n):
        stream = streams.setdefault(name, Stream(*key, name))
        for word in map(int, (stream.words(1)[0] for _ in count())):
            if word < 2**64 - 2**64 % n:
                return word % n
        raise AssertionError

    def order(name, n):
        words = streams.setdefault(name, Stream(*key, name)).words(n).tolist()
        assert len(set(words)) == n
        return sorted(range(n), key=lambda i: words[i])

    can = [n // protocol.per_class for n in sizes]
    left = [0] * len(sizes)
    while sum(left) < protocol.way * tasks:  # one more for every class that can, if there is room
        once_more = [c for c in range(len(sizes)) if left[c] < can[c]]
        room = protocol.way * tasks - sum(left)
        if len(once_more) > room or max(left, default=0) == tasks:
            once_more = [once_more.pop(below("remainder", len(once_more))) for _ in range(room)]
        for c in once_more:
            left[c] += 1
    uses, sequence = list(left), []
    for to_go in range(tasks, 0, -1):
        start = below("offsets", to_go)
        row = [c for c in order("orders", len(sizes)) for _ in range(left[c])]
        chosen = [row[start + to_go * k] for k in range(protocol.way)]
        for c in chosen:
            left[c] -= 1
        sequence.append([chosen[k] for k in order("labels", protocol.way)])
    assert left == [0] * len(sizes)
    return uses, sequence


@settings(max_examples=80)
@given(
    st.lists(st.integers(0, 30), min_size=4, max_size=12),
    st.builds(Protocol, st.integers(2, 4), st.integers(1, 3), st.integers(1, 3)),
    st.integers(0, 1000),
    st.none() | st.integers(1, 100),
)
def test_it_is_the_plain_loop(sizes, protocol, seed, asked):
    most = counted_down(sizes, protocol)
    assert most_tasks(sizes, protocol) == most
    if most == 0:
        with pytest.raises(SamplingError, match=r"of \d+ classes"):
            draw_balanced(sizes, protocol, dataset="x", seed=seed)
        return
    tasks = min(asked or most, most)
    number = None if asked is None else tasks
    drawn = draw_balanced(sizes, protocol, dataset="x", seed=seed, tasks=number)
    key = ("balanced", "x", str(protocol), seed)
    uses, sequence = plain_balanced(sizes, protocol, tasks, key)
    assert drawn.class_ids.tolist() == sequence
    assert np.bincount(drawn.class_ids.reshape(-1), minlength=len(sizes)).tolist() == uses
    for c, n in enumerate(sizes):
        images = np.concatenate([drawn.support, drawn.query], axis=2)[drawn.class_ids == c]
        assert np.unique(images).size == images.size
        assert images.size == uses[c] * protocol.per_class <= n


@pytest.mark.slow
@pytest.mark.parametrize("task", [0, 5, 9])
def test_a_class_is_in_a_task_as_often_as_its_share_wherever_the_task_stands(task):
    """P(class c in task t) = a_c / T; and its label is any of the K."""
    sizes, protocol, tasks = [3, 6, 9, 12, 30, 30], Protocol(3, 1, 2), 10
    can = [1, 2, 3, 4, 10, 10]
    assert most_tasks(sizes, protocol) == tasks  # 30 = 3 * 10: every use is made
    label_of = np.zeros((6, 3))
    for seed in range(4000):
        drawn = draw_balanced(sizes, protocol, dataset="share", seed=seed)
        for label, c in enumerate(drawn.class_ids[task]):
            label_of[c, label] += 1
    inside = label_of.sum(axis=1)
    assert inside[4] == inside[5] == 4000
    expected = [4000 * float(Fraction(u, tasks)) for u in can[:4]]
    assert chisquare(inside[:4], expected).pvalue > THRESHOLD
    for c in range(6):
        assert chisquare(label_of[c]).pvalue > THRESHOLD


def test_provenance_draws_it_again():
    name, sizes = TaskSetName.parse("balanced-5w5s5q"), lookup("cub").class_sizes
    for tasks in (None, 20):
        table, how = draw_task_set("cub", name, sizes, seed=3, tasks=tasks)
        assert draw_again("cub", name, sizes, how, len(table)) == table
        assert how["tasks"] == tasks


def test_one_image_of_each_group_is_kept():
    groups = np.array([7, -1, 7, 3, -1, 3, 3, 0])
    for seed in range(50):
        kept = one_of_each(groups, Stream("test", seed)).tolist()
        assert kept == sorted(kept)
        assert sorted(groups[kept].tolist()) == [-1, -1, 0, 3, 7]


@pytest.mark.slow
def test_every_image_of_a_group_is_equally_likely():
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
def test_grouped_is_algorithm_2_on_one_a_group(sizes, n_groups, seed):
    protocol, key = Protocol(3, 2, 1), ("grouped", "x", "3w2s1q", seed)
    groups = np.random.default_rng(seed).integers(-1, n_groups, sum(sizes))
    if not (groups >= 0).any():
        return
    kept = one_of_each(groups, Stream(*key, "groups"))
    class_of = np.repeat(np.arange(len(sizes)), sizes)
    of_class = [kept[class_of[kept] == c] - sum(sizes[:c]) for c in range(len(sizes))]
    left = np.array([images.size for images in of_class])
    if (left >= 3).sum() < 3:
        with pytest.raises(SamplingError, match="counting one image of each group"):
            draw_grouped(sizes, protocol, dataset="x", seed=seed, groups=groups)
        return
    drawn = draw_grouped(sizes, protocol, dataset="x", seed=seed, groups=groups)
    plain = exhaust(left, protocol, key, None)
    assert (drawn.class_ids == plain.class_ids).all()
    for part in ("support", "query"):
        ours, positions = getattr(drawn, part), getattr(plain, part)
        for t, k in np.ndindex(drawn.class_ids.shape):
            assert (ours[t, k] == of_class[drawn.class_ids[t, k]][positions[t, k]]).all()


def test_what_cannot_be_grouped():
    name = TaskSetName.parse("grouped-2w1s1q")
    with pytest.raises(SamplingError, match="needs the groups"):
        draw_task_set("x", name, [9] * 3)
    with pytest.raises(SamplingError, match="no image has a group"):
        draw_task_set("x", name, [9] * 3, groups=np.full(27, -1))
    with pytest.raises(SamplingError, match="26 groups for 27 images"):
        draw_task_set("x", name, [9] * 3, groups=np.zeros(26, np.int64))
    with pytest.raises(SamplingError, match=r"0 of 3 classes .* counting one image of each group"):
        draw_task_set("x", name, [9] * 3, groups=np.repeat(np.arange(3), 9))


TASKS = 20_000
GROUPED = np.array([0, 0, 0, 1, -1, 2, 2, 3, -1, -1, 4, 5, 5, 6, -1, -1, 7, 8, 8, 9, -1, -1])
GROUPED_SIZES = [5, 6, 5, 6]
"""Units of the four classes: {0,1,2} {3} {4} · {5,6} {7} {8} {9} {10} · {11,12} {13} {14} {15} ·
{16} {17,18} {19} {20} {21}."""


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
    assert (pool.unit == "group") == bool((groups >= 0).any())
    key = ("pooled", "x", str(protocol), seed)
    first, both = np.cumsum([0, *sizes[:-1]]), np.concatenate([drawn.support, drawn.query], axis=2)
    for t, expected in enumerate(plain(units, protocol, 9, key, pool.unit == "group")):
        images = [(first[c] + both[t, k]).tolist() for k, c in enumerate(drawn.class_ids[t])]
        assert list(zip(drawn.class_ids[t].tolist(), images, strict=True)) == expected
    assert len(drawn) == 9
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


def test_every_image_of_a_group_is_equally_likely_in_a_pool():
    sizes, groups = [9, 9, 9], np.repeat([0, 0, 0, 1, 2, 3, 3, 4, 5], 3).reshape(9, 3)
    by_class = (groups.T + 10 * np.arange(3)[:, None]).reshape(-1)
    how = {"dataset": "chi", "seed": 6, "tasks": TASKS, "groups": by_class}
    drawn, _ = draw_pooled(sizes, Protocol(2, 1, 1), **how)
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
    assert np.bincount(np.repeat(np.arange(4), sizes)[pool.images]).tolist() == [100, 100, 100, 7]
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
