"""Parts of a variance: by dense matrices, adding up, and estimated without bias."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.intervals.counts import Moments
from analysis_sql.intervals.power import detectable_difference, detectable_difference_of
from analysis_sql.planning.query_size import estimate_set
from analysis_sql.planning.variance_budget import (
    Components,
    LikelyComponents,
    components_of,
)
from benchmark_spec.errors import SpecError

Array = np.ndarray[Any, Any]


def ids_of(tasks: int, classes: int, way: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(classes)[:way] for _ in range(tasks)])


def test_variances_are_those_of_dense_matrices() -> None:
    ids = ids_of(14, 6, 3)
    design = ClassDesign.of(ids)
    z = (ids[:, :, None] == np.arange(6)).any(axis=1).astype(float)
    parts = Components(classes=0.3, images=0.2, queries=0.8)
    whole = 0.3 * z @ z.T + (0.2 + 0.8 / 4) * np.eye(14)
    mean = np.full(14, 1 / 14)
    assert parts.variance_of_mean(design, 4) == pytest.approx(mean @ whole @ mean)
    centring = np.eye(14) - 1 / 14
    assert parts.between_tasks(design, 4) == pytest.approx(np.trace(centring @ whole) / 13)
    shares = parts.budget(design, 4)
    assert shares.classes + shares.images + shares.queries == pytest.approx(1)
    assert shares.classes == pytest.approx(1 - 0.4 / 14 / parts.variance_of_mean(design, 4))
    reported = parts.open_budget(design, 4)
    assert (
        reported.images == reported.queries == pytest.approx(0.2 / parts.between_tasks(design, 4))
    )


def test_the_parts_add_up_to_what_was_observed() -> None:
    ids = ids_of(40, 9, 5)
    x = np.random.default_rng(2).binomial(6, 0.5 + 0.04 * ids)
    design, estimate = ClassDesign.of(ids), estimate_set(x, 6)
    parts = components_of(design, x, estimate)
    assert parts.images > 0
    assert parts.between_tasks(design, 6) == pytest.approx(estimate.variance)
    likely = LikelyComponents.of(design, x, estimate)
    assert likely is not None
    low, high = likely.range(likely.classes, 0.95)
    assert low < parts.classes < high


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(3, 30), st.integers(2, 9))
@settings(max_examples=200)
def test_a_plan_for_the_pilots_own_tasks_says_what_its_report_says(
    seed: int, tasks: int, query: int
) -> None:
    """Whatever the signs of the estimates: the parts are at least 0 and add up to s²."""
    rng = np.random.default_rng(seed)
    ids = ids_of(tasks, 8, 3, seed)
    design = ClassDesign.of(ids)
    x = rng.binomial(query, rng.uniform(0.2, 0.95), (tasks, 3))
    if design.obstacle is not None or len(set(x.sum(axis=1).tolist())) == 1:
        return
    parts = components_of(design, x, estimate_set(x, query))
    assert min(parts.classes, parts.images, parts.queries) >= 0.0
    planned = 100 * detectable_difference_of(tasks, parts.between_tasks(design, query))
    reported = detectable_difference(Moments.of(x.sum(axis=1), 3 * query))
    assert planned == pytest.approx(float(reported), rel=1e-9)


def test_equal_tasks_and_equal_classes() -> None:
    ids = ids_of(8, 6, 3)
    x = np.tile([2, 1, 2], (8, 1))
    design, estimate = ClassDesign.of(ids), estimate_set(x, 4)
    assert components_of(design, x, estimate).classes == 0.0
    assert LikelyComponents.of(design, x, estimate) is None
    same = ClassDesign.of(np.tile([0, 1, 2], (8, 1)))
    with pytest.raises(SpecError, match="same classes"):
        components_of(same, x, estimate)


def test_classes_images_and_queries_are_found_again() -> None:
    """60 classes, 300 tasks, 200 times: estimates within 4 standard errors, or 5 % for REML's."""
    rng = np.random.default_rng(5)
    found, query = [], 20
    ids = ids_of(300, 60, 5)
    design = ClassDesign.of(ids)
    for _ in range(200):
        effect = rng.normal(0, 0.05, 60)  # of a class's own accuracy: b is a fifth of it
        luck = rng.normal(0, 0.04, (300, 1))
        p = 0.6 + effect[ids] + luck
        x = rng.binomial(query, p)
        estimate = estimate_set(x, query)
        parts = components_of(design, x, estimate)
        found.append((parts.classes, parts.images, parts.queries))
    true = (0.01**2, 0.04**2, (0.24 - 0.05**2 - 0.04**2) / 5)
    for values, right in zip(np.array(found).T, true, strict=True):
        assert abs(values.mean() - right) < max(4 * stats.sem(values), 0.05 * right)
