"""The same intervals of counts, in percentage points, as every kind of interval gives them."""

import numpy as np
import pytest
from leave_one_out_tasks import uniform_tasks, values_on

from analysis_sql.comparison.verdicts import VERDICTS, Verdict
from analysis_sql.intervals.counts import Counts
from analysis_sql.leave_one_out.design import LEFT_OUT, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import FirstTasks, LeftOutKind, leave_one_out
from analysis_sql.ranking.multiple_comparisons import ahead_p, lead

TASKS, QUERIES, METHODS = 400, 25, 5


@pytest.fixture(scope="module")
def drawn():
    return uniform_tasks([30] * 12, TASKS, 4, 6, 0)


@pytest.fixture(scope="module")
def declared(drawn) -> FirstTasks:
    design = TaskDesign.of(*drawn, superclass_of_class=np.repeat(np.arange(6), 2))
    return FirstTasks(design)


@pytest.fixture(scope="module")
def counts(drawn) -> Counts:
    """Five methods; the last answered half of the tasks, the one before a number of its own."""
    ids, images, _ = drawn
    correct = np.rint(QUERIES * values_on(ids, images, METHODS, 1)).astype(np.int16)
    correct[2] = correct[0]
    tasks = np.array([TASKS, TASKS, TASKS, 123, TASKS // 2])
    correct[np.arange(TASKS) >= tasks[:, None]] = 0
    return Counts(correct, tasks, QUERIES)


def truth(declared: FirstTasks, counts: Counts, rows: list[int], tasks: int, name: str):
    """Half-widths and p-values by the arrays, over the first tasks."""
    y = counts.correct[rows, :tasks] / QUERIES
    return getattr(leave_one_out(declared.whole.prefix(tasks), y, 0.95), name)


@pytest.mark.parametrize("name", LEFT_OUT)
def test_methods_and_pairs_are_those_of_the_tasks_of_both(
    declared, counts: Counts, name: str
) -> None:
    kind, versus = LeftOutKind(name), np.array([1, 2, 3, 4])
    own = kind.method_halfwidths(declared, counts, 0.95)
    found = kind.pairs(declared, counts, 0.95).columns(0, versus)
    p = kind.p_values(declared, counts, np.zeros(4, int), versus)
    for at, pair in enumerate(found.intervals()):
        j, tasks = at + 1, int(counts.tasks[at + 1])
        alone = truth(declared, counts, [0, j], tasks, name)
        assert own[j] == pytest.approx(100 * alone.halfwidth[1, 1], rel=1e-9)
        assert (pair.difference.tasks, pair.difference.kind) == (tasks, name)
        assert pair.verdict is VERDICTS[found.verdict[at]]
        if j == 2:
            assert (pair.verdict, p[at]) == (Verdict.IDENTICAL, 1)
            continue
        width = 100 * alone.halfwidth[0, 1]
        assert found.halfwidth[2, at] == pytest.approx(width, rel=1e-9)
        assert (pair.verdict is Verdict.INCONCLUSIVE) == (abs(pair.difference.mean) <= width)
        assert p[at] == pytest.approx(alone.p[0, 1], abs=1e-9)


@pytest.mark.parametrize("name", LEFT_OUT)
@pytest.mark.parametrize("right", [0, QUERIES])
def test_methods_that_are_always_wrong_or_right_have_none(declared, name: str, right: int) -> None:
    """Of what never varies nothing can be estimated, of 0 % no more than of 100 %."""
    counts = Counts(np.full((2, TASKS), right, np.int16), np.array([TASKS] * 2), QUERIES)
    assert np.isnan(LeftOutKind(name).method_halfwidths(declared, counts, 0.95)).all()
    (pair,) = LeftOutKind(name).pairs(declared, counts, 0.95).columns(0, np.array([1])).intervals()
    assert pair.verdict is Verdict.IDENTICAL
    assert pair.mean.halfwidth is None


@pytest.mark.parametrize("name", LEFT_OUT)
def test_one_sided_p_is_half_where_ahead(declared, counts: Counts, name: str) -> None:
    ahead = counts.differences([0, 1, 2], [1, 0, 0], TASKS)
    p = ahead_p(ahead, name, declared)
    two = truth(declared, counts, [0, 1], TASKS, name).p[0, 1]
    leads = counts.correct[0].sum() > counts.correct[1].sum()
    expected = (two / 2, 1.0) if leads else (1.0, two / 2)
    np.testing.assert_allclose(p[:2], expected, atol=1e-10)
    assert p[2] == 1


def test_p_values_fall_to_0_and_are_never_missing(drawn) -> None:
    """However small they are, down to the smallest number there is; rounding once lost some."""
    noise = np.random.default_rng(0).integers(0, 100, TASKS)
    ahead = [noise + more for more in range(0, 3000, 3)]
    counts = Counts.of([np.full(TASKS, 5000), *(5000 - own for own in ahead)], [10_000] * 1001)
    kind, design = LeftOutKind("images"), FirstTasks(TaskDesign.of(*drawn))
    first, others = np.zeros(1000, int), np.arange(1, 1001)
    two_sided = kind.p_values(design, counts, first, others)
    one_sided = ahead_p(lead(counts.some([0]), counts.some(others)), kind.name, design)
    for p in (two_sided, one_sided):
        assert (np.diff(p) <= 0).all()
        assert ((p > 0) & (p < 1e-299)).any()
        assert p[-1] == 0
