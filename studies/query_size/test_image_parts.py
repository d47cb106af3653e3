"""A jackknife over parts of the images, by hand and against simulation."""

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")

from analysis_sql.planning.query_size import PooledEstimate, estimate_set, pool
from builders.query_size.sweep import QuerySets, sweep
from fslbench_data.release.release import load_release
from studies.query_size.image_parts import (
    jackknife,
    only,
    parts_of,
    sharper_sweep,
)


def test_parts_of_the_images() -> None:
    """The jackknife by hand, and parts that spread each class evenly."""
    sets = QuerySets.of(load_release(), "digits", "pixels", "NCC", way=5, shot=1, suite="open")
    found = sharper_sweep(sets, [4, 9], seeds=2, parts=3)
    plain = sweep(sets, [4, 9], seeds=2)
    assert (found.estimate.alpha, found.rows) == (plain.estimate.alpha, plain.rows)
    parts, class_of, without = parts_of(sets, 3), np.repeat(np.arange(10), sets.draws.sizes), []
    for i in range(3):
        some = only(sets, parts != i)
        assert np.ptp(np.array(some.draws.sizes) * 3 - np.array(sets.draws.sizes) * 2) <= 4
        assert np.array_equal(some.features, sets.features[parts != i])
        assert np.array_equal(np.bincount(class_of[parts != i]), some.draws.sizes)
        seeds = [
            [estimate_set(some.sums(some.draws.draw(q, seed))["NCC",][0], q) for q in (4, 9)]
            for seed in (0, 1)
        ]
        without.append(pool(seeds, 1).alpha)
    expected = 2 / 3 * ((np.array(without) - np.mean(without)) ** 2).sum()
    assert found.estimate.covariance[0][0] == pytest.approx(expected)
    assert found.estimate.freedom == 2.0


@pytest.mark.slow
def test_a_jackknife_over_images_sees_what_new_images_change(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The jackknife's standard error of w, whose seeds' error is small, against the true one."""
    monkeypatch.syspath_prepend(root / "examples")
    example = importlib.import_module("query_size")
    rng = np.random.default_rng(4)
    part = np.arange(example.PER_CLASS) % 10
    model = example.exact(1)

    def fit(images: Any) -> PooledEstimate:
        tasks = images.shape[1] // 6
        shuffled = [rng.permuted(images, axis=1)[:, : tasks * 6] for _ in range(20)]
        return pool([[estimate_set(example.task_counts(x, 1, 5), 5)] for x in shuffled], 1)

    found = []
    for _ in range(40):
        images = rng.standard_normal((2, example.PER_CLASS)) + np.array([[-1.0], [1.0]])
        without = [fit(images[:, part != i]) for i in range(10)]
        found.append(jackknife(fit(images), without))
    for i, name in enumerate(("alpha", "w")):
        values = [getattr(each, name) for each in found]
        error = math.sqrt(np.mean([each.covariance[i][i] for each in found]))
        seeds = math.sqrt(np.mean([(each.seed_errors or (0, 0))[i] ** 2 for each in found]))
        data = max(np.var(values, ddof=1) - seeds**2, 0.0)
        expected = math.sqrt(data + 81 / 10 * seeds**2)  # (G-1)²/G times the seeds' own
        assert error == pytest.approx(expected, rel=0.25)
        assert abs(np.mean(values) - getattr(model, name)) < 4 * stats.sem(values)
