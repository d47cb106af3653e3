"""Comparisons for new classes, ties, and what stands beside intervals: against their parts."""

from dataclasses import replace

import numpy as np
import pytest
from class_aware_interval import class_aware_interval
from scipy.stats import ttest_rel

from analysis_sql.class_aware import intervals, kinds
from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import halfwidths, p_values, task_halfwidths
from analysis_sql.class_aware.kinds import NEW_CLASSES
from analysis_sql.comparison.verdicts import Verdict, holm, paired_p
from analysis_sql.intervals.bounds import zero_bound
from analysis_sql.intervals.counts import Counts, for_new_runs
from analysis_sql.intervals.intervals import halfwidths as open_halfwidths
from analysis_sql.ranking.told_apart import contest, evidence, zeros

T, C, K, UNIT = 60, 12, 5, 25


@pytest.fixture(scope="module")
def design() -> ClassDesign:
    rng = np.random.default_rng(3)
    return ClassDesign.of(np.stack([rng.permutation(C)[:K] for _ in range(T)]))


@pytest.fixture(scope="module")
def counts(design: ClassDesign) -> Counts:
    """Four methods: the second a bit better, the third the first again, the fourth a prefix."""
    rng = np.random.default_rng(4)
    easy = rng.normal(0, 0.5, C)[design.members].mean(axis=1)
    p = 1 / (1 + np.exp(-(easy + np.array([0.3, 0.9, 0.3, 0.0])[:, None])))
    x = rng.binomial(UNIT, p).astype(np.int16)
    x[2] = x[0]
    tasks = np.array([T, T, T, 40])
    x[3, 40:] = 0
    return Counts(x, tasks, UNIT)


def test_each_comparison_is_that_of_its_own_intervals(design: ClassDesign, counts: Counts) -> None:
    found = NEW_CLASSES.pairs(design, counts, 0.95).columns(0, np.array([1, 2, 3])).intervals()
    for j, each in zip((1, 2, 3), found, strict=True):
        m = int(counts.tasks[j])
        x, y = (counts.correct[i, :m].astype(np.int64) for i in (0, j))
        assert each.mean == class_aware_interval(design, x, UNIT, 0.95)
        assert each.versus_mean == class_aware_interval(design, y, UNIT, 0.95)
        apart = class_aware_interval(design, x - y, UNIT, 0.95)
        assert each.difference.mean == apart.mean
        if apart.halfwidth is None:
            assert each.difference.halfwidth is None
        else:
            assert each.difference.halfwidth == pytest.approx(apart.halfwidth, rel=1e-12)
    one, same, part = found
    width = one.difference.halfwidth
    outside = abs(one.difference.mean) > width
    assert one.verdict is (Verdict.WORSE if outside else Verdict.INCONCLUSIVE)
    assert (same.verdict, same.difference.halfwidth) == (Verdict.IDENTICAL, None)
    assert part.difference.tasks == 40
    pairs = NEW_CLASSES.pairs(design, counts, 0.95)
    alone = [pairs.columns(0, np.array([j])).intervals()[0] for j in (1, 2, 3)]
    assert alone == found  # to the last digit, whatever else is compared
    p = [NEW_CLASSES.p_values(design, counts, np.zeros(len(j), int), j)
         for j in (np.array([1, 2, 3]), *np.array([[1], [2], [3]]))]  # fmt: skip
    assert np.concatenate(p[1:]).tolist() == p[0].tolist()


def test_the_p_value_is_where_the_interval_ends(design: ClassDesign, counts: Counts) -> None:
    p = NEW_CLASSES.p_values(design, counts, np.array([0, 0, 1]), np.array([1, 2, 3]))
    assert p[1] == 1.0
    for value, (i, j) in ((p[0], (0, 1)), (p[2], (1, 3))):
        m = min(int(counts.tasks[i]), int(counts.tasks[j]))
        d = counts.correct[i, :m].astype(np.int64) - counts.correct[j, :m]
        level = min(max(1 - value, 0.01), 0.999999)
        at = class_aware_interval(design, d, UNIT, level)
        assert at.halfwidth == pytest.approx(abs(at.mean), rel=1e-6)


def test_where_no_class_recurs_the_p_value_is_student_s() -> None:
    design = ClassDesign.of(np.arange(40).reshape(8, 5))
    x = np.random.default_rng(1).integers(0, 26, (2, 8)).astype(np.int16)
    counts = Counts(x, np.array([8, 8]), UNIT)
    (p,) = NEW_CLASSES.p_values(design, counts, np.array([0]), np.array([1]))
    assert p == pytest.approx(ttest_rel(x[0], x[1]).pvalue)


def test_ties_are_adjusted_over_all_pairs(design: ClassDesign, counts: Counts) -> None:
    names = ("a", "b", "c", "d")
    found = contest(names, counts, "open", {"class-aware": design}).at(0.95)
    assert (found.best, found.family) == ("b", 6)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    p = []
    for i, j in pairs:
        m = int(min(counts.tasks[i], counts.tasks[j]))
        x, y = counts.correct[i, :m], counts.correct[j, :m]
        p.append(1.0 if (x == y).all() else ttest_rel(x, y).pvalue)
    apart = dict(zip(pairs, holm(np.array(p)).apart(0.95).tolist(), strict=True))
    means = [counts.correct[i, : counts.tasks[i]].mean() for i in range(4)]
    tied = [i for i in range(4) if i == 1 or not apart[min(i, 1), max(i, 1)]]
    assert found.tied["open"] == tuple(names[i] for i in sorted(tied, key=lambda i: -means[i]))
    assert set(found.tied["open"]) <= set(found.tied["class-aware"])
    assert contest(names, counts, "open", {}).at(0.95).tied.get("class-aware") is None


def _differences(d: np.ndarray) -> Counts:
    return Counts(d, np.full(len(d), d.shape[1]), UNIT)


def test_evidence_beside_an_interval(design: ClassDesign) -> None:
    rng = np.random.default_rng(5)
    d = rng.integers(-4, 7, (2, 30))
    d[1] = 0
    some, none = evidence(_differences(d), "open", 0.95, design)
    assert some.p == pytest.approx(ttest_rel(d[0], np.zeros(30)).pvalue)
    assert some.p_sign_flip == pytest.approx(some.p, abs=0.05)
    # t and normal power agree roughly: (2.05 + .85) standard errors
    error = 100 * d[0].std(ddof=1) / UNIT / np.sqrt(30)
    assert some.detectable == pytest.approx(2.9 * error, rel=0.02)
    assert (none.p, none.p_sign_flip, none.detectable) == (1.0, 1.0, None)
    assert none.identical.bound == pytest.approx(100 * (1 - 0.05 ** (1 / 30)))
    disjoint = design.prefix(30).disjoint_tasks
    assert none.identical.new_classes_bound == zero_bound(disjoint)
    closed, _ = evidence(_differences(d), "closed", 0.95, None)
    assert closed.p_sign_flip is None
    assert zeros(None, 30, 0.95) is None
    constant = _differences(np.array([[3] * 60]))
    assert evidence(constant, "open", 0.95, design)[0].p_sign_flip is None


def test_few_runs_make_no_interval_for_new_classes_narrower(
    design: ClassDesign, counts: Counts
) -> None:
    """By Satterthwaite's law h' falls as h grows where two runs differ by more than tasks do."""
    runs = replace(counts.some([0]), run_variance=np.array([4.0]), run_square=np.array([16.0]))
    moments, u = runs.moments(), design.coordinates(runs.correct)
    (of_images,) = open_halfwidths(moments, "open", 0.95)
    bare = task_halfwidths(design, u, moments, 0.95)
    assert for_new_runs(bare, moments.run_terms, 0.95)[0] < of_images
    assert halfwidths(design, u, moments, 0.95)[0] == of_images
    assert p_values(design, u, moments, 2)[0] >= paired_p(moments, "open")[0]


@pytest.fixture(scope="module")
def hundred(design: ClassDesign) -> tuple[Counts, np.ndarray, np.ndarray]:
    """A hundred methods, and their 4,950 pairs."""
    x = np.random.default_rng(1).binomial(UNIT, 0.7, (100, T)).astype(np.int16)
    return Counts(x, np.full(100, T), UNIT), *np.triu_indices(100, 1)


def test_pairs_of_a_hundred_methods_are_weighed_in_few_blocks(
    design: ClassDesign, hundred: tuple[Counts, np.ndarray, np.ndarray], monkeypatch
) -> None:
    weighed, own = [], intervals.mixture
    monkeypatch.setattr(
        intervals, "mixture", lambda shares: weighed.append(len(shares.rest)) or own(shares)
    )
    NEW_CLASSES.p_values(design, *hundred)
    assert sum(weighed) == 4950
    assert len(weighed) <= 10


def test_blocks_of_pairs_have_the_numbers_of_all_at_once(
    design: ClassDesign, hundred: tuple[Counts, np.ndarray, np.ndarray], monkeypatch
) -> None:
    counts, first, second = hundred

    def found() -> tuple[np.ndarray, np.ndarray]:
        columns = NEW_CLASSES.pairs(design, counts, 0.95).columns(first, second)
        return NEW_CLASSES.p_values(design, counts, first, second), columns.halfwidth

    whole = found()
    monkeypatch.setattr(kinds, "_NUMBERS_AT_ONCE", 1)
    for one, other in zip(whole, found(), strict=True):
        assert np.array_equal(one, other)
