"""Which queries were right: by definitions, by literal deletion, all pairs at once, and its use."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from analysis_sql.comparisons import IDENTICAL, INCONCLUSIVE
from analysis_sql.intervals.counts import Counts, RightQueries
from analysis_sql.leave_one_out import all_ways
from analysis_sql.leave_one_out.all_ways import AllWayDesign, AllWaySums, squares_of_methods
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.episodes import ABSENT, EpisodeDesign
from analysis_sql.leave_one_out.jackknife import leave_out_images
from analysis_sql.leave_one_out.leave_one_out import (
    FirstTasks,
    Influences,
    LeftOutKind,
    leave_one_out,
)
from analysis_sql.leave_one_out.queries import QuerySums

IMAGES = LeftOutKind("images")
SIZES = (40, 25, 30, 50, 14)
WAY, SHOT, QUERY, TASKS = 3, 2, 3, 60
SMALL = np.array([size < 3 * (SHOT + QUERY) for size in SIZES])


@pytest.fixture(scope="module")
def tasks():
    rng = np.random.default_rng(0)
    start = np.cumsum(SIZES) - SIZES
    ids = np.array([rng.choice(len(SIZES), WAY, replace=False) for _ in range(TASKS)])
    images = [
        [start[c] + rng.choice(SIZES[c], SHOT + QUERY, replace=False) for c in own] for own in ids
    ]
    return ids, np.array(images)


@pytest.fixture(scope="module")
def design(tasks):
    owner = np.repeat(np.arange(len(SIZES)), SIZES)
    return TaskDesign.of(*tasks, owner, shots=SHOT)


@pytest.fixture(scope="module")
def right(tasks):
    """Right answers (3, B, K, Q), of images that are easy for all methods or hard."""
    rng = np.random.default_rng(1)
    easy = rng.random(sum(SIZES))
    chance = 0.2 + 0.7 * easy[tasks[1][..., SHOT:]] * easy[tasks[1][..., :1]]
    return (rng.random((3, TASKS, WAY, QUERY)) < chance).astype(np.uint8)


def by_definition(tasks, u, right):
    """V of the larger classes, pair of tasks by pair of tasks, as the module states it."""
    ids, images = tasks
    mean = [right[ids == c].mean() for c in range(len(SIZES))]
    support = [dict.fromkeys(own[:, :SHOT].ravel().tolist()) for own in images]
    e = [
        {
            int(image): (int(c), answer - mean[c])
            for c, queries, row in zip(own, shown[:, SHOT:], answers, strict=True)
            for image, answer in zip(queries, row, strict=True)
        }
        for own, shown, answers in zip(ids, images, right.astype(float), strict=True)
    ]
    class_of = np.repeat(np.arange(len(SIZES)), SIZES)
    sums, found, all_pairs = np.zeros((3, 3, 5))
    uses = np.array([(ids == c).any(1).sum() for c in range(len(SIZES))])
    for b, other in permutations(range(TASKS), 2):
        for image in support[b]:
            c = class_of[image]
            if image in support[other]:
                sums[0, c] += u[b] * u[other]
                found[0, c] += 1
            if image in e[other]:
                sums[2, c] += u[b] * e[other][image][1]
                found[2, c] += 1
        for image, (c, own) in e[b].items():
            if image in e[other]:
                sums[1, c] += own * e[other][image][1]
                found[1, c] += 1
        for c in {*ids[b].tolist()} & {*ids[other].tolist()}:
            one, two = (np.mean([v for k, v in x.values() if k == c]) for x in (e[b], e[other]))
            products = np.array([u[b] * u[other], one * two, u[b] * two])
            all_pairs[:, c] += products / (uses[c] * (uses[c] - 1))
    size = np.array(SIZES)
    f, k = (size - 1) / (size - SHOT), (WAY / len(SIZES)) ** 2 / (size - 1)
    o = (1 + f * SHOT / (size - 1)) / WAY
    parts = np.where(SMALL, 0, k) * np.array([(f * SHOT) ** 2, o**2, 2 * f * SHOT * o])
    overlap = np.array([SHOT**2 / size, QUERY**2 / size, SHOT * QUERY / size])
    weight = parts / (uses * (uses - 1) * overlap)
    levels = (weight * sums).sum(axis=1) / (weight * found).sum(axis=1)
    return float(parts.sum(axis=1) @ levels - (parts * all_pairs).sum())


def of_whole_tasks(design, u):
    rest = leave_out_images(design.membership, SMALL)
    return float((rest.weights * rest.coordinates(u[None])[0] ** 2).sum() + rest.noise @ u**2)


def told(right):
    return [RightQueries(own.reshape(TASKS, -1), 1) for own in right]


@pytest.mark.slow
def test_it_is_the_sum_over_pairs_of_tasks(design, tasks, right):
    u = design.residuals(right.mean((2, 3)))
    sums = QuerySums(design.queries, u, told(right))
    block, _ = sums.block(np.arange(3), np.arange(3))
    assert np.diag(block) == pytest.approx(sums.own[0], rel=1e-10)
    assert block == pytest.approx(block.T, rel=1e-12)
    x = right.astype(float)
    for at, u_of, answers in ((0, u[0], x[0]), (1, u[1], x[1]), (2, u[2], x[2])):
        expected = by_definition(tasks, u_of, answers) + of_whole_tasks(design, u_of)
        assert block[at, at] == pytest.approx(expected, rel=1e-10)
    expected = by_definition(tasks, u[0] - u[1], x[0] - x[1]) + of_whole_tasks(design, u[0] - u[1])
    assert block[0, 1] == pytest.approx(expected, rel=1e-10)


def test_as_many_right_of_other_queries_are_not_identical(design, right):
    alike = np.stack([right[0], right[0][..., ::-1], right[0]])  # the last is the first
    found = leave_one_out(design, alike.mean((2, 3)), 0.95, told(alike))
    u = design.residuals(np.zeros((1, TASKS)))
    apart = (alike[0].astype(float) - alike[1]).reshape(TASKS, -1)
    (variance,), (tau,) = QuerySums(design.queries, u, [RightQueries(apart, 1)]).own
    whole, z = max(variance, 0.0), 1.959963984540054
    width = z * np.sqrt(whole + (z * z + 1) / 4 * tau**2 / (whole + 2 * tau))
    assert found.images.halfwidth[0, 1:] == pytest.approx([width, 0], rel=1e-9)
    counts = Counts.of(list(alike.sum((2, 3))), [WAY * QUERY] * 3, right=told(alike))
    made = IMAGES.pairs(FirstTasks(design), counts, 0.95).columns(0, np.array([1, 2]))
    assert made.verdict.tolist() == [INCONCLUSIVE, IDENTICAL]
    own = IMAGES.method_halfwidths(FirstTasks(design), counts, 0.95)
    assert own == pytest.approx(100 * np.diag(found.images.halfwidth), rel=1e-8)
    p = IMAGES.p_values(FirstTasks(design), counts, np.array([0]), np.array([1]))
    assert p == pytest.approx(found.images.p[0, 1], rel=1e-6)
    some, thrice = counts.select([2, 0]), RightQueries(3 * counts.right[0].counts, 3)
    assert some.right[0] is counts.right[2]
    assert (len(thrice.first_tasks(40)), thrice.first_tasks(TASKS + 1)) == (40, None)
    of_runs, once = (QuerySums(design.queries, u, [x]).own[0] for x in (thrice, counts.right[0]))
    assert of_runs == pytest.approx(once)


def test_only_methods_whose_queries_are_known_use_them(design, right):
    y = right.mean((2, 3))
    whole, known = leave_one_out(design, y, 0.95), leave_one_out(design, y, 0.95, told(right))
    mixed = leave_one_out(design, y, 0.95, [*told(right)[:2], None])
    of_known = np.zeros((3, 3), bool)
    of_known[:2, :2] = True
    for at in np.ndindex(3, 3):
        expected = known if of_known[at] else whole
        assert mixed.images.halfwidth[at] == pytest.approx(expected.images.halfwidth[at])
    assert not np.isclose(whole.images.halfwidth, known.images.halfwidth).any()
    sums = QuerySums(design.queries, design.residuals(y), [*told(right)[:2], None])
    found, _ = sums.block(np.arange(3), np.arange(3), [(0, 1), (0, 2), (2, 0)])
    assert np.isnan(found).tolist() == (~of_known).tolist()


def test_roles_that_nobody_knows_and_groups_leave_whole_tasks(tasks, design, episodes):
    owner = np.repeat(np.arange(len(SIZES)), SIZES)
    assert TaskDesign.of(*tasks, owner).queries is None
    assert design.queries.rest is not None  # of small classes
    groups = np.arange(owner.size) // 2  # of which a task has several images
    assert TaskDesign.of(*tasks, owner, groups, shots=SHOT).queries is None
    known = _design(episodes, SIZES_OF_EPISODES)
    without = EpisodeDesign.of(known.classes, known.images, known.class_of_image)
    takes = [of.takes_queries for of in (known, known.prefix(40), without)]
    assert (takes, without.queries) == ([True, True, False], None)


def test_it_is_the_literal_jackknife_as_far_as_pairs_of_images_matter_little():
    """Three classes of 30 images, two a task, one shot and one query: every task is counted."""
    classes, size, many = 3, 30, 30_000
    rng = np.random.default_rng(3)
    seen = rng.normal(size=(classes, 1, 2)) + rng.normal(size=(classes, size, 2))
    near = np.square(seen[:, :, None, None] - seen[None, None]).sum(-1)  # query, support
    loss = np.zeros((classes, size))  # mean without an image, by a sum over all tasks
    weights = ~np.eye(size, dtype=bool)
    for a, b in permutations(range(classes), 2):
        right = near[a, :, a][:, :, None] < near[a, :, b][:, None, :]  # query, support, other
        cells = right * weights[:, :, None]
        total, number = cells.sum(), weights.sum() * size
        own, fewer = cells.sum((1, 2)) + cells.sum((0, 2)), (2 * size - 2) * size
        loss[a] += ((total - own) / (number - fewer) - total / number) / 2
        other = total - cells.sum((0, 1))
        loss[b] += (other / (number - number / size) - total / number) / 2
    loss *= 1 / classes  # of the C(C-1)/2 pairs of classes, each two halves
    deletion = float((size - 1) / size * ((loss - loss.mean(1, keepdims=True)) ** 2).sum())
    ids = np.argsort(rng.random((many, classes)), axis=1)[:, :2]
    places = np.argsort(rng.random((many, 2, size)), axis=2)[:, :, :2]
    images = ids[:, :, None] * size + places
    flat = seen.reshape(-1, 2)
    apart = np.square(flat[images[:, :, 1]][:, :, None] - flat[images[:, None, :, 0]]).sum(-1)
    right = (apart.argmin(2) == np.arange(2)).astype(np.uint8)
    design = TaskDesign.of(ids, images, np.repeat(np.arange(classes), size), shots=1)
    y = right.mean(1, keepdims=True).T
    variance, _ = QuerySums(design.queries, design.residuals(y), [RightQueries(right, 1)]).own
    for found in (Influences(design, y).variance("images")[0], variance[0]):
        assert found == pytest.approx(deletion, rel=0.05)


SIZES_OF_EPISODES = np.array([40, 25, 30, 50, 14])
EPISODES = 70


def _design(tasks, sizes):
    """Tasks are classes, images of each, support first, and shots of each."""
    way = max(len(own) for own, _, _ in tasks)
    most = max(len(images) for _, drawn, _ in tasks for images in drawn)
    ids, shots = np.full((len(tasks), way), ABSENT), np.zeros((len(tasks), way), int)
    images = np.full((len(tasks), way, most), ABSENT)
    for b, (own, drawn, support) in enumerate(tasks):
        ids[b, : len(own)], shots[b, : len(own)] = own, support
        for k, one in enumerate(drawn):
            images[b, k, : len(one)] = one
    return EpisodeDesign.of(ids, images, np.repeat(np.arange(len(sizes)), sizes), shots=shots)


def _influences(tasks, sizes, u, right):
    """Compute v (B, R) of one method by its definition, task by task and image by image."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    start = np.cumsum(sizes) - sizes
    answers = [[] for _ in sizes]
    for (own, drawn, support), told in zip(tasks, right, strict=True):
        each = iter(told)
        for c, one, shot in zip(own, drawn, support, strict=True):
            answers[c] += [float(next(each)) for _ in one[shot:]]
    mean = [np.mean(given) if given else 0.0 for given in answers]
    v = np.zeros((len(tasks), len(owner)))
    for b, ((own, drawn, support), told) in enumerate(zip(tasks, right, strict=True)):
        each = iter(told)
        for c, one, s in zip(own, drawn, support, strict=True):
            n = sizes[c]
            e = {int(i): float(next(each)) - mean[c] for i in one[s:]}
            w = n * n / ((n - s) * (n - 1) * len(told))
            for i in range(start[c], start[c] + n):
                is_support = i in one[:s]
                v[b, i] = (is_support - s / n) / (1 - s / n) * u[b]
                v[b, i] += w * (e.get(i, 0.0) - sum(e.values()) / n)
    return v


@pytest.fixture(scope="module")
def episodes():
    """Tasks of 2 to 4 of the classes, 1 to 5 shots of each class and 2 to 4 queries."""
    rng, sizes, made = np.random.default_rng(0), SIZES_OF_EPISODES, []
    start = np.cumsum(sizes) - sizes
    for _ in range(EPISODES):
        own = rng.permutation(len(sizes))[: rng.integers(2, 5)]
        shots, query = rng.integers(1, 6, len(own)), int(rng.integers(2, 5))
        most = zip(own, shots + query, strict=True)
        made.append((own, [start[c] + rng.permutation(sizes[c])[:n] for c, n in most], shots))
    return made


def test_variance_and_its_error_are_those_of_the_definition(episodes):
    rng, sizes = np.random.default_rng(1), SIZES_OF_EPISODES
    design, runs = _design(episodes, sizes), (1, 3, 1)
    queries = [sum(len(one) - s for one, s in zip(d, n, strict=True)) for _, d, n in episodes]
    counts = [[rng.binomial(r, 0.7, n) for n in queries] for r in runs]
    padded = np.zeros((3, EPISODES, max(queries)), np.uint8)
    for j, b in product(range(3), range(EPISODES)):
        padded[j, b, : queries[b]] = counts[j][b]
    shares = [[own / r for own in method] for method, r in zip(counts, runs, strict=True)]
    u = design.residuals(np.array([[own.mean() for own in method] for method in shares]))
    v = [_influences(episodes, sizes, u[j], shares[j]) for j in range(3)]
    factor = np.repeat((sizes - 1) / sizes, sizes)
    sums = design.queries.sums(u, [*map(RightQueries, padded, runs)])
    image, weight = [], []
    for (own, drawn, shots), number in zip(episodes, queries, strict=True):
        for n, one, s in zip(sizes[own], drawn, shots, strict=True):
            image += one[s:].tolist()
            weight += [(n * n / ((n - s) * (n - 1) * number)) ** 2] * len(one[s:])
    label = np.repeat(np.arange(len(sizes)), sizes)[image]
    answers = np.stack([np.concatenate(method) for method in shares])
    means = np.stack([np.bincount(label, own) / np.bincount(label) for own in answers])
    e, of_query = answers - means[:, label], factor[image] * np.array(weight)
    x = _influences(episodes, sizes, np.ones(EPISODES), [np.zeros(number) for number in queries])
    found, tau = sums.block(np.arange(3), np.arange(3))
    for j, k in product(range(3), repeat=2):
        apart, of_u, of_e = (of[j] if j == k else of[j] - of[k] for of in (v, u, e))
        whole = factor @ (apart.sum(axis=0) ** 2)
        expected = (whole - (factor * (apart**2)).sum()) / (EPISODES * (EPISODES - 1))
        assert found[j, k] == pytest.approx(expected, rel=1e-10)
        noise = factor * (x**2).sum(axis=0) * (of_u**2).mean()
        noise += np.bincount(image, of_query, len(factor)) * (of_query @ of_e**2 / of_query.sum())
        share = np.sqrt(2 * (noise @ noise) / (1 - 1 / sizes.mean())) / noise.sum()
        assert tau[j, k] == pytest.approx(share * whole / EPISODES**2, rel=1e-10)
    np.testing.assert_allclose(sums.own[0], np.diagonal(found), rtol=1e-12)


@pytest.mark.parametrize("draws", [1, 3])
def test_of_methods_that_hardly_differ(draws, monkeypatch):
    """Rounding takes nothing from them, nor gives to those that answer alike."""
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(4), 5000)
    queries = np.tile(np.arange(owner.size), (draws, 1))
    design = AllWayDesign.of(queries, owner, 0.1)
    answers, far = ((rng.random(queries.shape) < p).astype(np.int8) for p in (0.7, 0.5))
    other = answers.copy()
    other[-1, 17] ^= 1
    right = [RightQueries(a, 1) for a in (answers, answers.copy(), other, far)]
    sums = AllWaySums(design, [*right, None])
    whole, df, *_ = sums.block(np.arange(4), np.arange(5))

    def of(x):
        return [
            v[0] for v in design.cells.variances(x[:, None].astype(float), squares_of_methods)[:2]
        ]

    assert whole[0, 1] == 0
    for k, apart in ((0, answers), (2, answers - other), (3, answers - far)):
        assert_allclose((whole[0, k], df[0, k]), of(apart), rtol=1e-10)
    assert_allclose([v[0] for v in sums.own[:2]], of(answers), rtol=1e-12)
    monkeypatch.setattr(all_ways, "_NUMBERS_AT_ONCE", 1)
    assert_allclose(AllWaySums(design, [*right, None]).own, sums.own, rtol=1e-12)
    assert np.isnan([*whole[:, 4], sums.own[0][4]]).all()
    assert_allclose(whole[:, :4], whole[:, :4].T)
    again = sums.block(np.array([2]), np.array([0, 1]))
    assert_allclose(again[:2], (whole[2:3, :2], df[2:3, :2]))


CLASSES, EACH, TWO, PER_CLASS = 5, 5, 2, 2
OWNER = np.repeat(np.arange(CLASSES), EACH)


@pytest.fixture(scope="module")
def pool():
    """All tasks of the pool, and values with effects of classes, of images and of their pairs."""
    places = [range(c * EACH, (c + 1) * EACH) for c in range(CLASSES)]
    rows = [
        (chosen, images)
        for chosen in combinations(range(CLASSES), TWO)
        for images in product(*(combinations(places[c], PER_CLASS) for c in chosen))
    ]
    ids, images = (np.array(part) for part in zip(*rows, strict=True))
    rng = np.random.default_rng(0)
    of_image, of_class = rng.normal(size=OWNER.size), rng.normal(size=CLASSES)
    of_pair = rng.normal(size=(OWNER.size, OWNER.size))
    y = of_image[images].sum((1, 2)) + 2 * of_class[ids].sum(1) + 0.2 * rng.normal(size=len(ids))
    (one, two), (three, four) = images.transpose(1, 2, 0)
    y += 0.3 * (of_pair[one, four] + of_pair[two, three])
    return ids, images, 0.5 + 0.03 * y


def literal(pool, kind):
    """Leave out one image or class after another."""
    ids, images, y = pool
    if kind == "images":  # every set of classes counted equally often
        sets = ids[:, 0] * CLASSES + ids[:, 1]
        kept = [~(images == image).any((1, 2)) for image in range(OWNER.size)]
        of_sets = [[y[own & (sets == one)].mean() for one in np.unique(sets)] for own in kept]
        by_class = np.mean(of_sets, axis=1).reshape(CLASSES, EACH)
        squares = (by_class - by_class.mean(1, keepdims=True)) ** 2
        return float((EACH - 1) / EACH * squares.sum())
    means = np.array([y[~(ids == c).any(1)].mean() for c in range(CLASSES)])
    return float((CLASSES - 1) / CLASSES * ((means - means.mean()) ** 2).sum())


def variance(pool, kind, tasks):
    ids, images, y = pool
    design = TaskDesign.of(ids[tasks], images[tasks], OWNER)
    return float(Influences(design, y[tasks][None]).variance(kind)[0])


@pytest.mark.parametrize("kind", ["images", "classes"])
def test_all_tasks_fifty_times_give_the_literal_jackknife(pool, kind):
    everything = np.tile(np.arange(len(pool[0])), 50)
    assert variance(pool, kind, everything) == pytest.approx(literal(pool, kind), rel=2e-3)
