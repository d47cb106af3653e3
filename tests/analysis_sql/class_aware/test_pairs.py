"""Comparisons for new classes and superclasses, ties, and what stands beside intervals."""

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import t, ttest_rel

from analysis_sql.class_aware import kinds
from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import halfwidths, mixtures_of, p_values, task_halfwidths
from analysis_sql.class_aware.kinds import NEW_CLASSES, NEW_SUPERCLASSES, AwareKind
from analysis_sql.class_aware.superclasses import SuperclassDesign
from analysis_sql.comparison.verdicts import Verdict, holm, paired_p
from analysis_sql.intervals.bounds import zero_bound
from analysis_sql.intervals.counts import Counts
from analysis_sql.ranking.multiple_comparisons import ahead_p, evidence, pairwise_tests, zeros

T, C, K, UNIT = 60, 24, 5, 25
ALL = np.array([1, 2, 3, 4])
both_kinds = pytest.mark.parametrize("kind", [NEW_CLASSES, NEW_SUPERCLASSES])


@pytest.fixture(scope="module")
def superclasses() -> SuperclassDesign:
    rng = np.random.default_rng(3)
    ids = np.stack([rng.permutation(C)[:K] for _ in range(T)])
    return SuperclassDesign.of(ids, np.arange(C) % 8)


@pytest.fixture(scope="module")
def design(superclasses: SuperclassDesign) -> ClassDesign:
    return superclasses.classes


@pytest.fixture(scope="module")
def counts(superclasses: SuperclassDesign) -> Counts:
    """Five methods: one far better, the first again, a prefix, and one of three runs."""
    rng = np.random.default_rng(4)
    members, labels = superclasses.classes.members, superclasses.labels
    easy = rng.normal(0, 0.5, C)[members].mean(axis=1) + rng.normal(0, 1, 8)[labels].mean(axis=1)
    p = 1 / (1 + np.exp(-(easy + np.array([0.0, 1.2, 0.0, 0.1, -0.6])[:, None])))
    queries = np.array([UNIT, UNIT, UNIT, UNIT, 3 * UNIT])
    x = rng.binomial(queries[:, None], p).astype(np.int16)
    x[2] = x[0]
    x[3, 40:] = 0
    return Counts(x, np.array([T, T, T, 40, T]), queries)


def _of(kind: AwareKind, design: SuperclassDesign) -> Any:
    return design.classes if kind is NEW_CLASSES else design


def _width(kind: AwareKind, design: Any, counts: Counts, level: float = 0.95) -> float:
    """The half-width of one row of counts by itself, on a design of its own tasks."""
    tasks = int(counts.tasks[0])
    own_classes = kind is NEW_CLASSES
    part = ClassDesign.of(design.members[:tasks]) if own_classes else design.prefix(tasks)
    return float(kind.method_halfwidths(part, counts.first(tasks), level)[0])


@both_kinds
def test_each_comparison_is_that_of_its_own_intervals(
    kind: AwareKind, superclasses: SuperclassDesign, counts: Counts
) -> None:
    design = _of(kind, superclasses)
    pairs = kind.pairs(design, counts, 0.95)
    found = pairs.columns(0, ALL).intervals()
    methods = kind.method_halfwidths(design, counts, 0.95)
    for j, pair in zip(ALL.tolist(), found, strict=True):
        tasks = int(counts.tasks[j])
        for own, row in ((pair.mean, 0), (pair.versus_mean, j)):
            alone = _width(kind, design, counts.some([row]).first(tasks))
            assert own.halfwidth == pytest.approx(alone, rel=1e-12)
        assert pair.versus_mean.halfwidth == methods[j]
        apart = counts.differences(0, np.array([j]), tasks)
        assert pair.difference.mean == pytest.approx(apart.moments().mean[0])
        assert (pair.difference.kind, pair.difference.tasks) == (kind.name, tasks)
        if j == 2:
            assert (pair.verdict, pair.difference.halfwidth) == (Verdict.IDENTICAL, None)
            continue
        width = _width(kind, design, apart)
        assert pair.difference.halfwidth == pytest.approx(width, rel=1e-8)
        claim = Verdict.WORSE if pair.difference.mean < 0 else Verdict.BETTER
        outside = abs(pair.difference.mean) > width
        assert pair.verdict is (claim if outside else Verdict.INCONCLUSIVE)
    assert {pair.verdict for pair in found} >= {Verdict.WORSE, Verdict.INCONCLUSIVE}
    # to the last digit, whatever else is compared
    assert [pairs.columns(0, ALL[i : i + 1]).intervals()[0] for i in range(4)] == found
    p = kind.p_values(design, counts, np.zeros(4, int), ALL)
    alone = [kind.p_values(design, counts, np.zeros(1, int), ALL[i : i + 1]) for i in range(4)]
    assert np.concatenate(alone).tolist() == p.tolist()


@both_kinds
def test_the_p_value_is_where_the_interval_ends(
    kind: AwareKind, superclasses: SuperclassDesign, counts: Counts
) -> None:
    design = _of(kind, superclasses)
    methods, versus = np.array([0, 0, 1, 0]), np.array([1, 2, 3, 4])
    p = kind.p_values(design, counts, methods, versus)
    assert p[1] == 1.0
    for place in (0, 2, 3):
        i, j = int(methods[place]), versus[place : place + 1]
        apart = counts.differences(i, j, int(min(counts.tasks[i], counts.tasks[j[0]])))
        width = _width(kind, design, apart, 1 - float(p[place]))
        assert width == pytest.approx(abs(apart.moments().mean[0]), rel=1e-6)
        (one,) = ahead_p(apart, kind.name, design)
        ahead = apart.moments().total[0] > 0
        assert one == (pytest.approx(p[place] / 2, rel=1e-8) if ahead else 1.0)


@both_kinds
def test_where_nothing_recurs_both_are_student_s(kind: AwareKind) -> None:
    design = _of(kind, SuperclassDesign.of(np.arange(40).reshape(8, 5), np.arange(40) // 5))
    x = np.random.default_rng(1).integers(0, 26, (2, 8)).astype(np.int16)
    counts = Counts(x, np.array([8, 8]), UNIT)
    p = kind.p_values(design, counts, np.array([0]), np.array([1]))
    assert p == pytest.approx(ttest_rel(x[0], x[1]).pvalue)
    (pair,) = kind.pairs(design, counts, 0.95).columns(0, np.array([1])).intervals()
    width = t.isf(0.025, 7) * 100 * (x[0] - x[1]).std(ddof=1) / UNIT / np.sqrt(8)
    assert pair.difference.halfwidth == pytest.approx(width, rel=1e-6)


def test_superclasses_make_nothing_narrower_or_surer() -> None:
    """Also without any effect of superclasses, where their likelihood alone might say so."""
    rng = np.random.default_rng(9)
    ids = np.array([rng.permutation(14)[:4] for _ in range(30)])
    design = SuperclassDesign.of(ids, np.arange(14) % 7)
    x = rng.binomial(40, 0.6, (30, 30)) + rng.binomial(4, 0.5, (30, 14))[:, ids].sum(axis=2)
    counts = Counts(x.astype(np.int16), np.full(30, 30), 60)
    first, second = np.zeros(29, int), np.arange(1, 30)
    wide, narrow = (
        kind.pairs(own, counts, 0.95).columns(0, second).halfwidth
        for kind, own in ((NEW_SUPERCLASSES, design), (NEW_CLASSES, design.classes))
    )
    assert (wide >= narrow).all()
    surer = NEW_CLASSES.p_values(design.classes, counts, first, second)
    assert (NEW_SUPERCLASSES.p_values(design, counts, first, second) >= surer).all()


def test_without_an_interval_there_is_no_verdict() -> None:
    rng = np.random.default_rng(1)
    ids = np.array([rng.permutation(10)[:3] for _ in range(20)])
    few = SuperclassDesign.of(ids, np.arange(10) // 2)
    x = rng.integers(0, 26, (3, 20)).astype(np.int16)
    x[2] = x[0]
    counts = Counts(x, np.full(3, 20), UNIT)
    assert np.isnan(NEW_SUPERCLASSES.method_halfwidths(few, counts, 0.95)).all()
    other, same = NEW_SUPERCLASSES.pairs(few, counts, 0.95).columns(0, np.array([1, 2])).intervals()
    assert (other.verdict, same.verdict) == (Verdict.NOT_ESTIMABLE, Verdict.IDENTICAL)
    p = NEW_SUPERCLASSES.p_values(few, counts, np.array([0, 0]), np.array([1, 2]))
    assert np.isnan(p[0])
    assert p[1] == 1.0


@pytest.mark.parametrize(
    ("superclass_of_class", "verdict", "p"),
    [
        (np.arange(45), Verdict.BETTER, 2.0**-8),
        (np.arange(45) % 20, Verdict.NOT_ESTIMABLE, 2.0**-3),
    ],
)
def test_constant_differences_need_tasks_without_a_common_superclass(
    superclass_of_class: np.ndarray, verdict: Verdict, p: float
) -> None:
    counts = Counts(np.array([[20] * 9, [18] * 9], np.int16), np.array([9, 9]), UNIT)
    design = SuperclassDesign.of(np.arange(45).reshape(9, 5), superclass_of_class)
    first, second = np.array([0]), np.array([1])
    (pair,) = NEW_SUPERCLASSES.pairs(design, counts, 0.95).columns(0, second).intervals()
    assert pair.verdict is verdict
    assert NEW_SUPERCLASSES.p_values(design, counts, first, second) == pytest.approx(p)
    apart = counts.differences(0, second, 9)
    assert ahead_p(apart, "superclass-aware", design) == pytest.approx(p / 2)


def test_ties_are_adjusted_over_all_pairs(design: ClassDesign, counts: Counts) -> None:
    names = tuple("abcde")
    found = pairwise_tests(names, counts, "open", {"class-aware": design}).at(0.95)
    assert (found.best, found.family) == ("b", 10)
    first, second = np.triu_indices(5, 1)
    p = []
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        m = min(counts.tasks[i], counts.tasks[j])
        x, y = (counts.correct[k, :m] / counts.queries_per_task[k] for k in (i, j))
        p.append(1.0 if (x == y).all() else ttest_rel(x, y).pvalue)
    tied = ~holm(np.array(p)).significant(0.95) & ((first == 1) | (second == 1))
    means = counts.moments().mean
    others = sorted({*first[tied], *second[tied], 1}, key=lambda i: -means[i])
    assert found.tied["open"] == tuple(names[i] for i in others)
    assert set(found.tied["open"]) <= set(found.tied["class-aware"])
    assert pairwise_tests(names, counts, "open", {}).at(0.95).tied.get("class-aware") is None


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


def test_runs_are_added_in_squares(superclasses: SuperclassDesign, counts: Counts) -> None:
    """Two runs, 16 points apart: t(1)² v of all kinds of interval; none is narrower by them."""
    design = superclasses.classes
    runs = replace(counts.some([0]), run_variance=np.array([64.0]), run_square=np.array([64.0**2]))
    moments = runs.moments()
    mixtures = mixtures_of(design, design.coordinates(runs.correct), moments.norm2)
    bare = task_halfwidths(mixtures, moments, 0.95)
    expected = np.sqrt(bare**2 + 12.7062**2 * 64)
    assert halfwidths(mixtures, moments, 0.95) == pytest.approx(expected, rel=1e-5)
    assert NEW_SUPERCLASSES.method_halfwidths(superclasses, runs, 0.95)[0] >= expected[0] - 1e-3
    p = p_values(mixtures, moments)
    assert p[0] >= paired_p(moments, "open")[0]
    assert NEW_SUPERCLASSES.method_p_values(superclasses, runs) >= p


def test_blocks_of_pairs_have_the_numbers_of_all_at_once(
    design: ClassDesign, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(1).binomial(UNIT, 0.7, (100, T)).astype(np.int16)
    first, second = np.triu_indices(100, 1)

    def found() -> tuple[np.ndarray, np.ndarray]:
        counts = Counts(x, np.full(100, T), UNIT)
        columns = NEW_CLASSES.pairs(design, counts, 0.95).columns(first, second)
        return NEW_CLASSES.p_values(design, counts, first, second), columns.halfwidth

    whole = found()
    monkeypatch.setattr(kinds, "_NUMBERS_AT_ONCE", 1)
    for one, other in zip(whole, found(), strict=True):
        assert np.array_equal(one, other)
