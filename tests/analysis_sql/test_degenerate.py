"""Differences without any spread: one p-value, and verdicts that agree with it, wherever asked."""

from math import isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.kinds import NEW_CLASSES
from analysis_sql.comparison.pairs import pair_arrays, pair_differences, primary_pairs
from analysis_sql.comparison.verdicts import (
    VERDICTS,
    Verdict,
    holm,
    paired_p,
    paired_verdicts,
)
from analysis_sql.intervals.bounds import disjoint_tasks
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import halfwidths
from analysis_sql.intervals.sign_flip import sign_flips
from analysis_sql.ranking.multiple_comparisons import ahead_p, evidence, lead, pairwise_tests

Array = np.ndarray[Any, Any]
UNIT = 10


def _expected_p(step: int, tasks: int) -> float:
    """Two-sided p-value of a difference of `step` on every one of so many independent tasks."""
    if step == 0:
        return 1.0
    return nan if tasks < 2 else 2.0 ** (1 - tasks)


def _expected_verdict(step: int, p: float, level: float) -> Verdict:
    if step == 0:
        return Verdict.IDENTICAL
    if isnan(p) or p > 1 - level + 1e-12:
        return Verdict.NOT_ESTIMABLE
    return Verdict.BETTER if step > 0 else Verdict.WORSE


@st.composite
def cases(draw: st.DrawFn) -> tuple[Array, Array, int]:
    """Classes of some tasks, and two methods whose counts differ by the same on every task."""
    tasks, way = draw(st.integers(1, 9)), draw(st.integers(2, 3))
    if draw(st.booleans()):  # no class twice
        classes = np.arange(tasks * way).reshape(tasks, way)
    else:
        one = st.lists(st.integers(0, draw(st.integers(way, 12))), min_size=way, max_size=way)
        rows = st.lists(one.filter(lambda row: len({*row}) == way), min_size=tasks, max_size=tasks)
        classes = np.array(draw(rows))
    step = draw(st.integers(-3, 3))
    counts = st.integers(max(0, -step), UNIT - max(0, step))
    versus = np.array(draw(st.lists(counts, min_size=tasks, max_size=tasks)))
    return classes, np.stack([versus + step, versus]), step


levels = st.sampled_from([0.5, 0.75, 0.9, 0.95, 0.99, 1 - 2**-5]) | st.floats(0.01, 0.999999)


@given(cases(), levels, st.sampled_from(["open", "closed"]))
def test_new_images(case: tuple[Array, Array, int], level: float, kind: Any) -> None:
    _, x, step = case
    tasks = x.shape[1]
    counts = Counts(x, np.full(2, tasks), UNIT)
    difference = pair_differences(counts, np.array([0]), np.array([1]))
    p = _expected_p(step, tasks)
    verdict = _expected_verdict(step, p, level)
    assert paired_p(difference, kind)[0] == pytest.approx(p, rel=1e-15, nan_ok=True)
    widths = halfwidths(difference, kind, level)
    assert VERDICTS[int(paired_verdicts(difference, widths, kind, level)[0])] is verdict
    (pair,) = primary_pairs(counts, kind, level).columns(0, np.array([1])).intervals()
    assert pair.verdict is verdict
    assert pair.difference.halfwidth == (None if verdict is Verdict.NOT_ESTIMABLE else 0.0)
    assert (pair.verdict_direct is Verdict.NOT_ESTIMABLE) == (tasks < 2)
    arrays = pair_arrays(counts, np.ones((2, 2), bool), kind, level)
    assert VERDICTS[arrays.verdict[0, 1]] is verdict
    told = verdict in (Verdict.BETTER, Verdict.WORSE)
    assert holm(np.array([p])).significant(level).tolist() == [told]
    found = pairwise_tests(("a", "b"), counts, kind, {}).at(level)
    assert (len(found.tied[kind]) == 1) == told
    apart = Counts(x[:1] - x[1:], np.array([x.shape[1]]), UNIT)
    beside = evidence(apart, kind, level, None)[0].p
    assert (nan if beside is None else beside) == pytest.approx(p, rel=1e-15, nan_ok=True)
    if not isnan(p):
        assert sign_flips(x[:1] - x[1:])[0] == pytest.approx(p, rel=1e-15)
    one_sided = ahead_p(lead(counts.some([0]), counts.some([1])), "open")
    expected = p / 2 if step > 0 or isnan(p) else 1.0
    assert one_sided[0] == pytest.approx(expected, rel=1e-15, nan_ok=True)


@given(cases(), levels)
def test_new_classes(case: tuple[Array, Array, int], level: float) -> None:
    classes, x, step = case
    tasks = x.shape[1]
    design = ClassDesign.of(classes)
    counts = Counts(x, np.full(2, tasks), UNIT)
    p = _expected_p(step, len(disjoint_tasks(classes)))
    verdict = _expected_verdict(step, p, level)
    found = NEW_CLASSES.p_values(design, counts, np.array([0]), np.array([1]))
    assert found[0] == pytest.approx(p, rel=1e-15, nan_ok=True)
    pairs = NEW_CLASSES.pairs(design, counts, level)
    assert pairs.columns(0, np.array([1])).intervals()[0].verdict is verdict
    told = verdict in (Verdict.BETTER, Verdict.WORSE)
    tied = (
        pairwise_tests(("a", "b"), counts, "open", {"class-aware": design})
        .at(level)
        .tied["class-aware"]
    )
    assert (len(tied) == 1) == told
    ahead = lead(counts.some([0]), counts.some([1]))
    expected = p / 2 if step > 0 or isnan(p) else 1.0
    one_sided = ahead_p(ahead, "class-aware", design)
    assert one_sided[0] == pytest.approx(expected, rel=1e-15, nan_ok=True)
