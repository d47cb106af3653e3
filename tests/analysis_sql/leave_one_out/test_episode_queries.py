"""Variance for new images of tasks of different sizes, from which queries were right."""

from itertools import combinations, product

import numpy as np
import pytest

from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.episodes import ABSENT, EpisodeDesign

SIZES = np.array([40, 25, 30, 50, 14])
TASKS = 70

Episode = tuple[np.ndarray, list[np.ndarray], np.ndarray]
"""Classes, images of each, support first, and shots of each."""


def _design(tasks: list[Episode], sizes: np.ndarray) -> EpisodeDesign:
    way = max(len(own) for own, _, _ in tasks)
    most = max(len(images) for _, drawn, _ in tasks for images in drawn)
    ids, shots = np.full((len(tasks), way), ABSENT), np.zeros((len(tasks), way), int)
    images = np.full((len(tasks), way, most), ABSENT)
    for b, (own, drawn, support) in enumerate(tasks):
        ids[b, : len(own)], shots[b, : len(own)] = own, support
        for k, one in enumerate(drawn):
            images[b, k, : len(one)] = one
    return EpisodeDesign.of(ids, images, np.repeat(np.arange(len(sizes)), sizes), shots=shots)


def _influences(
    tasks: list[Episode], sizes: np.ndarray, u: np.ndarray, right: list[np.ndarray]
) -> np.ndarray:
    """Compute v (B, R) of one method by its definition, task by task and image by image."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    start = np.cumsum(sizes) - sizes
    answers: list[list[float]] = [[] for _ in sizes]
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
def tasks() -> list[Episode]:
    """Tasks of 2 to 4 of the classes, 1 to 5 shots of each class and 2 to 4 queries."""
    rng, start = np.random.default_rng(0), np.cumsum(SIZES) - SIZES
    made = []
    for _ in range(TASKS):
        own = rng.permutation(len(SIZES))[: rng.integers(2, 5)]
        shots, query = rng.integers(1, 6, len(own)), int(rng.integers(2, 5))
        drawn = [
            start[c] + rng.permutation(SIZES[c])[: s + query]
            for c, s in zip(own, shots, strict=True)
        ]
        made.append((own, drawn, shots))
    return made


def test_variance_and_its_error_are_those_of_the_definition(tasks: list[Episode]) -> None:
    rng = np.random.default_rng(1)
    design, runs = _design(tasks, SIZES), (1, 3, 1)
    queries = [sum(len(one) - s for one, s in zip(d, n, strict=True)) for _, d, n in tasks]
    counts = [[rng.binomial(r, 0.7, n) for n in queries] for r in runs]
    padded = np.zeros((3, TASKS, max(queries)), np.uint8)
    for j, method in enumerate(counts):
        for b, own in enumerate(method):
            padded[j, b, : len(own)] = own
    shares = [[own / r for own in method] for method, r in zip(counts, runs, strict=True)]
    y = np.array([[own.mean() for own in method] for method in shares])
    u = design.residuals(y)
    v = [_influences(tasks, SIZES, u[j], shares[j]) for j in range(3)]
    factor = np.repeat((SIZES - 1) / SIZES, SIZES)
    sums = design.queries.sums(
        u, [RightQueries(told, r) for told, r in zip(padded, runs, strict=True)]
    )
    image, weight = [], []
    for (own, drawn, shots), number in zip(tasks, queries, strict=True):
        for n, one, s in zip(SIZES[own], drawn, shots, strict=True):
            image += one[s:].tolist()
            weight += [(n * n / ((n - s) * (n - 1) * number)) ** 2] * len(one[s:])
    label = np.repeat(np.arange(len(SIZES)), SIZES)[image]
    answers = np.stack([np.concatenate(method) for method in shares])
    means = np.stack([np.bincount(label, own) / np.bincount(label) for own in answers])
    e, of_query = answers - means[:, label], factor[image] * np.array(weight)
    x = _influences(tasks, SIZES, np.ones(TASKS), [np.zeros(number) for number in queries])
    places = np.arange(3)
    found, tau = sums.block(places, places)
    for j, k in product(range(3), repeat=2):
        apart = v[j] if j == k else v[j] - v[k]
        whole = factor @ (apart.sum(axis=0) ** 2)
        expected = (whole - (factor * (apart**2)).sum()) / (TASKS * (TASKS - 1))
        assert found[j, k] == pytest.approx(expected, rel=1e-10)
        e_2 = of_query @ (e[j] if j == k else e[j] - e[k]) ** 2 / of_query.sum()
        noise = factor * (x**2).sum(axis=0) * ((u[j] if j == k else u[j] - u[k]) ** 2).mean()
        noise += np.bincount(image, of_query, len(factor)) * e_2
        share = np.sqrt(2 * (noise @ noise) / (1 - 1 / SIZES.mean())) / noise.sum()
        assert tau[j, k] == pytest.approx(share * whole / TASKS**2, rel=1e-10)
    np.testing.assert_allclose(sums.own[0], np.diagonal(found), rtol=1e-12)


@pytest.mark.parametrize(("supports", "error"), [(0.0, 1e-12), (0.5, 0.15)])
def test_influences_are_those_of_literal_deletion(supports: float, error: float) -> None:
    """All tasks of a pool are listed; with N of 4 and 5, images as support interact somewhat."""
    sizes, rng = np.array([5, 4, 5]), np.random.default_rng(2)
    start = np.cumsum(sizes) - sizes
    as_query, as_support = rng.random((2, sizes.sum()))
    tasks, cells, right = [], [], []
    for own in combinations(range(3), 2):
        for shape in (((1, 2), (2, 1)), ((2, 1), (1, 1))):
            listed = [
                [
                    (*support, *query)
                    for support in combinations(range(start[c], start[c] + sizes[c]), s)
                    for query in combinations(
                        [i for i in range(start[c], start[c] + sizes[c]) if i not in support], q
                    )
                ]
                for c, (s, q) in zip(own, shape, strict=True)
            ]
            for drawn in product(*listed):
                shots = np.array([s for s, _ in shape])
                images = [np.array(one) for one in drawn]
                helps = np.concatenate(
                    [as_support[one[:s]] for one, s in zip(images, shots, strict=True)]
                )
                asked = np.concatenate([one[s:] for one, s in zip(images, shots, strict=True)])
                tasks.append((np.array(own), images, shots))
                cells.append((own, shape))
                right.append(as_query[asked] + supports * helps.mean())
    y = np.array([told.mean() for told in right])
    kinds = sorted(set(cells))
    cell = np.array([kinds.index(one) for one in cells])
    mean = np.array([y[cell == k].mean() for k in range(len(kinds))])
    weight = 1.0 / np.bincount(cell)[cell] / len(kinds)
    v = _influences(tasks, sizes, y - mean[cell], right)
    shown = np.array([[i in np.concatenate(d) for i in range(sizes.sum())] for _, d, _ in tasks])
    without = np.array(
        [
            np.mean([y[(cell == k) & ~shown[:, i]].mean() for k in range(len(kinds))])
            for i in range(int(sizes.sum()))
        ]
    )
    deleted = mean.mean() - without
    np.testing.assert_allclose(weight @ v, deleted, atol=error * np.abs(deleted).max())


def test_roles_that_nobody_knows_leave_whole_tasks(tasks: list[Episode]) -> None:
    known = _design(tasks, SIZES)
    design = EpisodeDesign.of(known.classes, known.images, known.class_of_image)
    assert known.takes_queries
    assert known.prefix(40).takes_queries
    assert not design.takes_queries
    assert design.queries is None
