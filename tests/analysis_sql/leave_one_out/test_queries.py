"""Variance for new images from which queries were right: definitions, deletion, and its use."""

import numpy as np
import pytest

from analysis_sql.comparison.verdicts import IDENTICAL, INCONCLUSIVE
from analysis_sql.intervals.counts import Counts, RightQueries
from analysis_sql.leave_one_out.design import TaskDesign
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
def tasks() -> tuple[np.ndarray, np.ndarray]:
    """Classes (B, K) and images (B, K, m) of random tasks."""
    rng = np.random.default_rng(0)
    start = np.cumsum(SIZES) - SIZES
    ids = np.array([rng.choice(len(SIZES), WAY, replace=False) for _ in range(TASKS)])
    images = [
        [start[c] + rng.choice(SIZES[c], SHOT + QUERY, replace=False) for c in own] for own in ids
    ]
    return ids, np.array(images)


@pytest.fixture(scope="module")
def design(tasks) -> TaskDesign:
    owner = np.repeat(np.arange(len(SIZES)), SIZES)
    return TaskDesign.of(*tasks, owner, shots=SHOT)


@pytest.fixture(scope="module")
def right(tasks) -> np.ndarray:
    """Right answers (3, B, K, Q), of images that are easy for all methods or hard."""
    rng = np.random.default_rng(1)
    easy = rng.random(sum(SIZES))
    chance = 0.2 + 0.7 * easy[tasks[1][..., SHOT:]] * easy[tasks[1][..., :1]]
    return (rng.random((3, TASKS, WAY, QUERY)) < chance).astype(np.uint8)


def by_definition(tasks, u: np.ndarray, right: np.ndarray) -> float:
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
    sums, found, all_pairs = np.zeros((3, 5)), np.zeros((3, 5)), np.zeros((3, 5))
    uses = np.array([(ids == c).any(1).sum() for c in range(len(SIZES))])
    for b in range(TASKS):
        for other in range(TASKS):
            if b == other:
                continue
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
                all_pairs[:, c] += np.array([u[b] * u[other], one * two, u[b] * two]) / (
                    uses[c] * (uses[c] - 1)
                )
    size = np.array(SIZES)
    f, k = (size - 1) / (size - SHOT), (WAY / len(SIZES)) ** 2 / (size - 1)
    o = (1 + f * SHOT / (size - 1)) / WAY
    parts = np.where(SMALL, 0, k) * np.array([(f * SHOT) ** 2, o**2, 2 * f * SHOT * o])
    overlap = np.array([SHOT**2 / size, QUERY**2 / size, SHOT * QUERY / size])
    variance = 0.0
    for part, mean_pairs, total, number, level in zip(
        parts, overlap, sums, found, all_pairs, strict=True
    ):
        weight = part / (uses * (uses - 1) * mean_pairs)
        variance += part.sum() * (weight @ total) / (weight @ number) - part @ level
    return float(variance)


def of_whole_tasks(design: TaskDesign, u: np.ndarray) -> float:
    """V of the classes that are too small."""
    rest = leave_out_images(design.membership, SMALL)
    return float((rest.weights * rest.coordinates(u[None])[0] ** 2).sum() + rest.noise @ u**2)


def told(right: np.ndarray) -> list[RightQueries]:
    return [RightQueries(own.reshape(TASKS, -1), 1) for own in right]


@pytest.mark.slow
def test_it_is_the_sum_over_pairs_of_tasks(design, tasks, right) -> None:
    u = design.residuals(right.mean((2, 3)))
    own, _ = QuerySums(design.queries, u, told(right)).own
    every = np.arange(3)
    block, _ = QuerySums(design.queries, u, told(right)).block(every, every)
    assert np.diag(block) == pytest.approx(own, rel=1e-10)
    for j in range(3):
        expected = by_definition(tasks, u[j], right[j]) + of_whole_tasks(design, u[j])
        assert own[j] == pytest.approx(expected, rel=1e-10)
    difference = by_definition(tasks, u[0] - u[1], right[0].astype(float) - right[1])
    assert block[0, 1] == pytest.approx(difference + of_whole_tasks(design, u[0] - u[1]), rel=1e-10)
    assert block == pytest.approx(block.T, rel=1e-12)


def test_runs_are_their_mean(design, right) -> None:
    u = design.residuals(right[:2].mean((0, 2, 3))[None])
    runs = RightQueries(right[:2].sum(0).reshape(TASKS, -1), 2)
    shares = right[:2].mean(0).reshape(TASKS, -1)
    assert QuerySums(design.queries, u, [runs]).own[0] == pytest.approx(
        QuerySums(design.queries, u, [RightQueries(shares, 1)]).own[0]
    )


def _width(variance: float, tau: float, noise: float) -> float:
    whole, z = max(variance, 0.0) + noise, 1.959963984540054
    return float(z * np.sqrt(whole + (z * z + 1) / 4 * tau**2 / (whole + 2 * tau)))


def test_as_many_right_of_other_queries_are_not_identical(design, right) -> None:
    alike = np.stack([right[0], right[0][..., ::-1], right[0]])  # the last is the first
    y = alike.mean((2, 3))
    found = leave_one_out(design, y, 0.95, told(alike))
    u = design.residuals(np.zeros((1, TASKS)))
    apart = (alike[0].astype(float) - alike[1]).reshape(TASKS, -1)
    variance, tau = QuerySums(design.queries, u, [RightQueries(apart, 1)]).own
    width = _width(variance[0], tau[0], 0.0)
    assert found.images.halfwidth[0, 1] == pytest.approx(width, rel=1e-9)
    assert found.images.halfwidth[0, 2] == 0
    counts = Counts.of(list(alike.sum((2, 3))), [WAY * QUERY] * 3, right=told(alike))
    made = IMAGES.pairs(FirstTasks(design), counts, 0.95).columns(0, np.array([1, 2]))
    assert made.verdict.tolist() == [INCONCLUSIVE, IDENTICAL]


def test_only_methods_whose_queries_are_known_use_them(design, right) -> None:
    y = right.mean((2, 3))
    whole, known = leave_one_out(design, y, 0.95), leave_one_out(design, y, 0.95, told(right))
    mixed = leave_one_out(design, y, 0.95, [*told(right)[:2], None])
    of_known = np.zeros((3, 3), bool)
    of_known[:2, :2] = True
    for at in np.ndindex(3, 3):
        expected = known if of_known[at] else whole
        assert mixed.images.halfwidth[at] == pytest.approx(expected.images.halfwidth[at])
    assert not np.isclose(whole.images.halfwidth, known.images.halfwidth).any()


def test_counts_carry_them_to_widths_pairs_and_p_values(design, right) -> None:
    counts = Counts.of(list(right.sum((2, 3))), [WAY * QUERY] * 3, right=told(right))
    first = FirstTasks(design)
    found = leave_one_out(design, right.mean((2, 3)), 0.95, told(right))
    own = IMAGES.method_halfwidths(first, counts, 0.95)
    assert own == pytest.approx(100 * np.diag(found.images.halfwidth), rel=1e-8)
    made = IMAGES.pairs(first, counts, 0.95).columns(np.array([0, 0]), np.array([1, 2]))
    assert made.halfwidth[2] == pytest.approx(100 * found.images.halfwidth[0, 1:], rel=1e-8)
    p = IMAGES.p_values(first, counts, np.array([0]), np.array([1]))
    assert p == pytest.approx(found.images.p[0, 1], rel=1e-6)
    some = counts.some([2, 0])
    assert some.right[0] is counts.right[2]
    short = RightQueries(counts.right[0].counts[:40], 1)
    assert short.first(60) is None
    assert len(counts.right[0].first(40)) == 40


def test_without_roles_or_with_small_classes_alone_there_is_no_such_design(tasks) -> None:
    owner = np.repeat(np.arange(len(SIZES)), SIZES)
    assert TaskDesign.of(*tasks, owner).queries is None
    small = TaskDesign.of(tasks[0], tasks[1], owner, shots=SHOT)
    assert small.queries.rest is not None
    groups = np.arange(owner.size) // 2  # of which a task has several images
    assert TaskDesign.of(*tasks, owner, groups, shots=SHOT).queries is None


def test_it_is_the_literal_jackknife_as_far_as_pairs_of_images_matter_little() -> None:
    """Three classes of 30 images, two a task, one shot and one query: every task is counted."""
    classes, size, many = 3, 30, 30_000
    rng = np.random.default_rng(3)
    seen = rng.normal(size=(classes, 1, 2)) + rng.normal(size=(classes, size, 2))
    near = np.square(seen[:, :, None, None] - seen[None, None]).sum(-1)  # query, support
    loss = np.zeros((classes, size))  # mean without an image, by a sum over all tasks
    weights = ~np.eye(size, dtype=bool)
    for a in range(classes):
        for b in range(classes):
            if a == b:
                continue
            right = near[a, :, a][:, :, None] < near[a, :, b][:, None, :]  # query, support, other
            cells = right * weights[:, :, None]
            total, number = cells.sum(), weights.sum() * size
            for image in range(size):
                without = cells[image].sum() + cells[:, image].sum()
                fewer = (2 * size - 2) * size
                share = (total - without) / (number - fewer) - total / number
                loss[a, image] += share / 2
                other = cells[:, :, image].sum()
                loss[b, image] += ((total - other) / (number - number / size) - total / number) / 2
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
    whole = Influences(design, y).variance("images")[0]
    assert whole == pytest.approx(deletion, rel=0.05)
    assert variance[0] == pytest.approx(deletion, rel=0.05)
