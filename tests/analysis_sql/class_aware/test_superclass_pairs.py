"""Comparisons for new superclasses: intervals, verdicts and p-values that agree."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from analysis_sql.class_aware.kinds import NEW_CLASSES, NEW_SUPERCLASSES
from analysis_sql.class_aware.superclasses import SuperclassDesign, halfwidths
from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.intervals.counts import Counts

T, C, K, UNIT = 60, 24, 5, 25
ALL = np.array([1, 2, 3, 4])


@pytest.fixture(scope="module")
def design() -> SuperclassDesign:
    rng = np.random.default_rng(3)
    ids = np.stack([rng.permutation(C)[:K] for _ in range(T)])
    return SuperclassDesign.of(ids, np.arange(C) % 8)


@pytest.fixture(scope="module")
def counts(design: SuperclassDesign) -> Counts:
    """Five methods: one far better, the first again, a prefix, and one of three runs."""
    rng = np.random.default_rng(4)
    members, labels = design.classes.members, design.labels
    easy = rng.normal(0, 0.5, C)[members].mean(axis=1) + rng.normal(0, 1, 8)[labels].mean(axis=1)
    p = 1 / (1 + np.exp(-(easy + np.array([0.0, 1.2, 0.0, 0.1, -0.6])[:, None])))
    queries = np.array([UNIT, UNIT, UNIT, UNIT, 3 * UNIT])
    x = rng.binomial(queries[:, None], p).astype(np.int16)
    x[2] = x[0]
    x[3, 40:] = 0
    return Counts(x, np.array([T, T, T, 40, T]), queries)


def test_each_comparison_is_that_of_its_own_interval(
    design: SuperclassDesign, counts: Counts
) -> None:
    pairs = NEW_SUPERCLASSES.pairs(design, counts, 0.95).columns(0, ALL).intervals()
    own = NEW_SUPERCLASSES.method_halfwidths(design, counts, 0.95)
    for j, pair in zip(ALL.tolist(), pairs, strict=True):
        tasks = int(counts.tasks[j])
        prefix = design.prefix(tasks)
        apart = counts.differences(0, np.array([j]), tasks)
        width = halfwidths(prefix, prefix.coordinates(apart.correct), apart.moments(), 0.95)[0]
        assert (pair.difference.kind, pair.difference.tasks) == ("superclass-aware", tasks)
        if tasks == T:
            assert (pair.mean.halfwidth, pair.versus_mean.halfwidth) == (own[0], own[j])
        if j == 2:
            assert (pair.verdict, pair.difference.halfwidth) == (Verdict.IDENTICAL, None)
            continue
        assert pair.difference.halfwidth == pytest.approx(width, rel=1e-8)
        outside = abs(pair.difference.mean) > width
        worse = pair.difference.mean < 0
        claim = Verdict.WORSE if worse else Verdict.BETTER
        assert pair.verdict is (claim if outside else Verdict.INCONCLUSIVE)
    assert {pair.verdict for pair in pairs} >= {Verdict.WORSE, Verdict.INCONCLUSIVE}
    found = NEW_SUPERCLASSES.pairs(design, counts, 0.95)
    alone = [found.columns(0, ALL[i : i + 1]).intervals() for i in range(4)]
    assert [pair for (pair,) in alone] == pairs  # to the last digit, whatever else is compared


def test_p_values_are_where_intervals_end(design: SuperclassDesign, counts: Counts) -> None:
    methods, versus = np.array([0, 0, 1, 0]), np.array([1, 2, 3, 4])
    p = NEW_SUPERCLASSES.p_values(design, counts, methods, versus)
    assert p[1] == 1.0
    for place in (0, 2, 3):
        i, j = int(methods[place]), versus[place : place + 1]
        tasks = int(min(counts.tasks[i], counts.tasks[j[0]]))
        apart = counts.differences(i, j, tasks)
        moments = apart.moments()
        prefix = design.prefix(tasks)
        level = 1 - float(p[place])
        width = halfwidths(prefix, prefix.coordinates(apart.correct), moments, level)
        assert width == pytest.approx(np.abs(moments.mean), rel=1e-6)
        one = NEW_SUPERCLASSES.one_sided_p(design, apart)
        ahead = moments.total[0] > 0
        assert one[0] == pytest.approx(p[place] / 2, rel=1e-8) if ahead else one[0] == 1.0


def test_nothing_is_narrower_or_surer_than_for_new_classes() -> None:
    """Also without any effect of superclasses, where their likelihood alone might say so."""
    rng = np.random.default_rng(9)
    ids = np.array([rng.permutation(14)[:4] for _ in range(30)])
    design = SuperclassDesign.of(ids, np.arange(14) % 7)
    x = rng.binomial(40, 0.6, (30, 30)) + rng.binomial(4, 0.5, (30, 14))[:, ids].sum(axis=2)
    counts = Counts(x.astype(np.int16), np.full(30, 30), 60)
    wide = NEW_SUPERCLASSES.method_halfwidths(design, counts, 0.95)
    assert (wide >= NEW_CLASSES.method_halfwidths(design.classes, counts, 0.95)).all()
    pairs = np.arange(1, 30)
    wide = NEW_SUPERCLASSES.pairs(design, counts, 0.95).columns(0, pairs).halfwidth[2]
    narrow = NEW_CLASSES.pairs(design.classes, counts, 0.95).columns(0, pairs).halfwidth[2]
    assert (wide >= narrow).all()


def test_without_an_interval_there_is_no_verdict() -> None:
    rng = np.random.default_rng(1)
    ids = np.array([rng.permutation(10)[:3] for _ in range(20)])
    few = SuperclassDesign.of(ids, np.arange(10) // 2)
    assert few.obstacle == f"{few.superclasses} superclasses: 6 are needed"
    x = rng.integers(0, 26, (3, 20)).astype(np.int16)
    x[2] = x[0]
    counts = Counts(x, np.full(3, 20), UNIT)
    assert np.isnan(NEW_SUPERCLASSES.method_halfwidths(few, counts, 0.95)).all()
    other, same = NEW_SUPERCLASSES.pairs(few, counts, 0.95).columns(0, np.array([1, 2])).intervals()
    assert (other.verdict, same.verdict) == (Verdict.NOT_ESTIMABLE, Verdict.IDENTICAL)
    p = NEW_SUPERCLASSES.p_values(few, counts, np.array([0, 0]), np.array([1, 2]))
    assert np.isnan(p[0])
    assert p[1] == 1.0


def test_constant_differences_need_tasks_without_a_common_superclass() -> None:
    x = np.array([[20] * 9, [18] * 9], np.int16)
    counts = Counts(x, np.array([9, 9]), UNIT)
    apart = counts.differences(0, np.array([1]), 9)
    ids = np.arange(45).reshape(9, 5)
    for superclass_of_class, verdict, p in (
        (np.arange(45), Verdict.BETTER, 2.0**-8),
        (np.arange(45) % 20, Verdict.NOT_ESTIMABLE, 2.0**-3),
    ):
        design = SuperclassDesign.of(ids, superclass_of_class)
        (pair,) = NEW_SUPERCLASSES.pairs(design, counts, 0.95).columns(0, np.array([1])).intervals()
        assert pair.verdict is verdict
        assert NEW_SUPERCLASSES.p_values(
            design, counts, np.array([0]), np.array([1])
        ) == pytest.approx(p)
        assert NEW_SUPERCLASSES.one_sided_p(design, apart) == pytest.approx(p / 2)


def test_where_no_superclass_recurs_the_p_value_is_student_s() -> None:
    design = SuperclassDesign.of(np.arange(40).reshape(8, 5), np.arange(40) // 5)
    assert design.disjoint
    x = np.random.default_rng(1).integers(0, 26, (2, 8)).astype(np.int16)
    counts = Counts(x, np.array([8, 8]), UNIT)
    p = NEW_SUPERCLASSES.p_values(design, counts, np.array([0]), np.array([1]))
    assert p == pytest.approx(ttest_rel(x[0], x[1]).pvalue)
    (pair,) = NEW_SUPERCLASSES.pairs(design, counts, 0.95).columns(0, np.array([1])).intervals()
    open_width = 2.364624 * 100 * (x[0] - x[1]).std(ddof=1) / UNIT / np.sqrt(8)
    assert pair.difference.halfwidth == pytest.approx(open_width, rel=1e-6)
