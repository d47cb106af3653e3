"""The suites open, closed, published, balanced and grouped: plain loops as oracles, and chances."""

import hashlib
import json
from collections import Counter
from fractions import Fraction
from itertools import combinations, count

import numpy as np
import pytest
from full_checks import check_module
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.catalogue import catalogue, lookup
from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, Protocol, TaskSetName
from builders.sampling import draw_again, draw_published, draw_task_set
from builders.sampling.balanced import draw_balanced, draw_grouped, most_tasks, one_of_each
from fslbench_data.tasks.draw import draw_closed, draw_open, exhaust

THRESHOLD = 1e-3
"""A test fails if the statistic would be as large with less than this probability.  Seeds are
fixed, so it fails always or never; about 20 such tests make a false alarm 2 % likely, once."""


def plain_open(sizes, protocol, key):
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
    for draw in (draw_open, draw_published):
        options = {"seed": 0} if draw is draw_open else {}
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
    name = TaskSetName.parse("closed-2w1s2q")
    table, _ = draw_task_set("chi", name, [9] * 5, tasks=6000)
    arrangements = Counter(map(tuple, table.column("query_label").to_pylist()))
    assert len(arrangements) == 6  # 4! / (2! 2!)
    assert chisquare(list(arrangements.values())).pvalue > THRESHOLD


LARGE = ("quickdraw", "mscoco")


@pytest.mark.parametrize("protocol", PUBLISHED_PROTOCOLS[1:], ids=str)
@pytest.mark.parametrize("dataset", [name for name in catalogue() if name not in LARGE])
def test_open_is_within_the_spread_of_other_seeds(dataset, protocol):
    """Of twenty; studies/checks/open_task_numbers.py has a hundred, of the large ones too."""
    numbers_of_tasks = check_module("open_task_numbers").numbers_of_tasks
    drawn, spread, most = numbers_of_tasks(dataset, protocol, 20)
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
        found = [embedded.task_set_info(dataset, name).n_tasks for name in sets]
        assert tuple(found) == numbers


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
    """T by trying every number from above: a class gives a task at most one of its uses."""
    uses = [n // protocol.per_class for n in sizes]
    return next(
        t for t in range(sum(uses), -1, -1) if sum(min(u, t) for u in uses) >= protocol.way * t
    )


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
def test_every_class_set_is_equally_likely_where_sizes_are_equal():
    pairs = {pair: i for i, pair in enumerate(combinations(range(5), 2))}
    protocol = Protocol(2, 1, 2)
    drawn = [draw_balanced([9] * 5, protocol, dataset="chi", seed=s) for s in range(SEEDS)]
    assert {len(d) for d in drawn} == {7}
    for task in (0, 3, 6):
        sets = [pairs[tuple(sorted(d.class_ids[task].tolist()))] for d in drawn]
        assert chisquare(np.bincount(sets, minlength=10)).pvalue > THRESHOLD
        first = [int(d.class_ids[task][0]) for d in drawn]
        assert chisquare(np.bincount(first, minlength=5)).pvalue > THRESHOLD
    # images: the first support image of the first task that has class 2
    picked = [int(d.support[d.class_ids == 2][0, 0]) for d in drawn]
    assert chisquare(np.bincount(picked, minlength=9)).pvalue > THRESHOLD


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
    name = TaskSetName.parse("balanced-5w5s5q")
    sizes = lookup("cub").class_sizes
    for tasks in (None, 20):
        table, how = draw_task_set("cub", name, sizes, seed=3, tasks=tasks)
        assert draw_again("cub", name, sizes, how, len(table)) == table
        assert how["tasks"] == tasks
    with pytest.raises(SamplingError, match="version 0 of the samplers"):
        draw_again("cub", name, sizes, {**how, "sampler_version": 0}, 20)


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
    """Whose groups span classes, too."""
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
