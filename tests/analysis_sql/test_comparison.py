"""Pairs, verdicts and rankings: by hand, in exact fractions, against scipy's, by simulation."""

from fractions import Fraction
from math import atan, isnan, lcm, nan, pi, sqrt

import numpy as np
import pytest
from full_checks import study_module
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from msgspec.structs import replace
from scipy import stats
from scipy.stats import ttest_rel

from analysis_sql import comparisons as pairs
from analysis_sql import multiple_comparisons as told_apart_module
from analysis_sql.class_aware.design import ClassDesign, disjoint_tasks
from analysis_sql.class_aware.kinds import NEW_CLASSES
from analysis_sql.comparisons import (
    VERDICTS,
    PrimaryKind,
    Verdict,
    conclusive,
    direct_verdicts,
    holm,
    pair_arrays,
    pair_differences,
    paired_p,
    paired_verdicts,
)
from analysis_sql.intervals.counts import Counts, Moments
from analysis_sql.intervals.intervals import halfwidths
from analysis_sql.intervals.sign_flip import sign_flips
from analysis_sql.multiple_comparisons import (
    adjusted_pairs,
    ahead_p,
    could_be_best,
    evidence,
    lead,
    leader_of,
    pair_p,
    pairwise_tests,
)


def _compare(a, b, unit=10, level=0.95):
    x, y = np.array(a), np.array(b)
    counts = Counts(np.stack([x, y]), np.full(2, x.size), unit)
    return PrimaryKind("open").pairs(None, counts, level).columns(0, np.array([1])).intervals()[0]


def test_verdicts_by_hand():
    # differences 1, 2, 3 of 10: 10, 20, 30 points; mean 20, sd 10; t(2) · 10 / √3 = 24.8414
    found = _compare([5, 7, 9], [4, 5, 6])
    assert found.difference.mean == 20.0
    assert found.difference.halfwidth == pytest.approx(24.8414, abs=1e-4)
    assert found.verdict is Verdict.INCONCLUSIVE
    # at 80 %, t(2) is 1.885618: half-width 10.8866
    assert _compare([5, 7, 9], [4, 5, 6], level=0.8).verdict is Verdict.BETTER
    assert _compare([4, 5, 6], [5, 7, 9], level=0.8).verdict is Verdict.WORSE
    # equal means are not identical tasks
    assert _compare([3, 5], [5, 3]).verdict is Verdict.INCONCLUSIVE
    # tasks vary by 80 points, the difference hardly: pairing sees it
    found = _compare([1, 3, 5, 7, 9, 2, 4, 6, 8, 9], [0, 2, 4, 6, 8, 1, 3, 5, 7, 9])
    assert (found.verdict, found.verdict_direct) == (Verdict.BETTER, Verdict.INCONCLUSIVE)


def test_separate_intervals_that_touch_overlap():
    first, second = ([50, 50, 54, 54], [2, 1.9, 2, nan]), ([54, 54, 50, 50], [2, 2, 1.9, 1.9])
    found = direct_verdicts(*map(np.array, (*first, *second)))
    expected = [Verdict.INCONCLUSIVE, Verdict.WORSE, Verdict.BETTER, Verdict.NOT_ESTIMABLE]
    assert [VERDICTS[code] for code in found.tolist()] == expected


def test_holm_by_hand():
    p = np.array([0.01, 0.04, 0.03, 0.005])
    # sorted 0.005 0.01 0.03 0.04: Holm 4, 3, 2, 1 times: 0.02 0.03 0.06 and 0.04, raised to 0.06
    assert holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert conclusive(holm(p), 0.95).tolist() == [True, False, False, True]


def test_what_cannot_be_compared_is_no_member_of_the_family():
    p = np.array([[nan, 0.01], [0.02, nan]])
    found = holm(p)
    assert found[[0, 1], [1, 0]] == pytest.approx([0.02, 0.02])
    assert np.isnan(found[[0, 1], [0, 1]]).all()
    assert conclusive(found, 0.95).tolist() == [[False, True], [True, False]]
    assert holm(np.empty(0)).size == 0


families = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)


@given(families, st.sampled_from([0.01, 0.05, 0.2]))
def test_adjusted_values_reject_what_stepping_down_rejects(p, a):
    n, rejected = p.size, set()
    for i, at in enumerate(np.argsort(p, kind="stable").tolist()):
        if (n - i) * p[at] > a:
            break
        rejected.add(at)
    assert set(np.flatnonzero(holm(p) <= a)) == rejected


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=40), st.sampled_from(["open", "closed"]))
def test_p_values_are_scipys_and_agree_with_the_verdicts(d, kind):
    moments = Moments.of(np.array(d), 25)
    p = float(paired_p(moments, kind))
    if len(set(d)) > 1:
        score = np.mean(d) / stats.sem(d)
        law = stats.t(len(d) - 1) if kind == "open" else stats.norm()
        assert p == pytest.approx(2 * law.sf(abs(score)), rel=1e-9)
    for level in (0.5, 0.9, 0.95, 0.99):
        widths = halfwidths(moments, kind, level)
        verdict = VERDICTS[paired_verdicts(moments, widths, kind, level)]
        if abs(p - (1 - level)) > 1e-9:
            assert (p < 1 - level) == (verdict in (Verdict.BETTER, Verdict.WORSE))


LEVEL = 0.95
ONE = np.array([1])


def _counts(x, tasks=None, unit=25):
    m, t = x.shape
    answered = np.array([t] * m if tasks is None else tasks)
    x = np.where(np.arange(t) < answered[:, None], x, 0).astype(np.int32)
    return Counts(x, answered.astype(np.int64), unit)


def _difference(counts, i, j):
    return pair_differences(counts.select([i, j]), np.array([0]), np.array([1]))


matrices = hnp.arrays(
    np.int32, st.tuples(st.integers(1, 6), st.integers(1, 12)), elements=st.integers(0, 25)
)


@given(matrices, st.data())
def test_every_pair_is_the_pair_alone_in_the_units_of_its_two_methods(x, data):
    m, t = x.shape
    some = st.lists(st.integers(25, 10**6), min_size=m, max_size=m)
    units = np.array(data.draw(st.just([25] * m) | some))
    tasks = data.draw(st.lists(st.integers(1, t), min_size=m, max_size=m))
    first = data.draw(st.integers(1, m))
    kind = data.draw(st.sampled_from(["open", "closed"]))
    counts = _counts(x, tasks, units)
    arrays = pair_arrays(counts, np.ones((first, m), bool), kind, LEVEL)
    everything = pair_differences(counts, *np.indices((m, m)))
    for i in range(first):
        of_row = PrimaryKind(kind).pairs(None, counts, LEVEL).columns(i, np.arange(m)).intervals()
        for j in range(m):
            common, unit = min(tasks[i], tasks[j]), lcm(int(units[i]), int(units[j]))
            d = [
                Fraction(int(a), int(units[i])) - Fraction(int(b), int(units[j]))
                for a, b in zip(x[i, :common], x[j, :common], strict=True)
            ]
            moments = (common, unit * sum(d), unit**2 * sum(v * v for v in d), unit)
            own = _difference(counts, i, j)
            assert (own.tasks, own.total, own.squares, own.queries_per_task) == moments
            assert (everything.total[i, j], everything.squares[i, j]) == moments[1:3]
            exact = Moments.of(np.array([int(unit * v) for v in d]), unit)
            width = float(halfwidths(exact, kind, LEVEL))
            verdict = VERDICTS[int(paired_verdicts(exact, width, kind, LEVEL))]
            one = (
                PrimaryKind(kind)
                .pairs(None, counts.select([i, j]), LEVEL)
                .columns(0, ONE)
                .intervals()[0]
            )
            assert (one.difference.mean, one.verdict) == (exact.mean, verdict)
            assert one.mean.mean == Moments.of(x[i, :common], int(units[i])).mean
            assert of_row[j] == one
            assert arrays.tasks[i, j] == common
            assert arrays.difference[i, j] == one.difference.mean
            assert VERDICTS[arrays.verdict[i, j]] is one.verdict
            assert VERDICTS[arrays.direct[i, j]] is one.verdict_direct
            if verdict not in (Verdict.IDENTICAL, Verdict.NOT_ESTIMABLE):
                assert one.difference.halfwidth == width
            if one.difference.halfwidth is not None and common > 1:
                assert arrays.halfwidth[i, j] == one.difference.halfwidth


@pytest.mark.parametrize("largest", [35, 5_000, 2**20])
def test_products_are_exact_whatever_their_size(largest):
    # float32, float64 and integer products in turn
    rng = np.random.default_rng(0)
    x = rng.integers(largest - 5, largest + 1, (3, 20_000)).astype(np.int32)
    counts = _counts(x, unit=largest)
    arrays = pair_arrays(counts, np.ones((3, 3), bool), "open", LEVEL)
    for i in range(3):
        for j in range(3):
            difference = (x[i].astype(object) - x[j].astype(object)) ** 2
            assert _difference(counts, i, j).squares == sum(difference)
            one = PrimaryKind("open").pairs(None, counts, LEVEL).columns(i, np.array([j]))
            assert arrays.halfwidth[i, j] == one.halfwidth[2, 0]


def test_blocks_of_rows_are_joined(monkeypatch):
    x = np.random.default_rng(0).integers(0, 26, (7, 30))
    asked = np.triu(np.ones((5, 7), bool), 1)
    whole = pair_arrays(_counts(x), np.ones((5, 7), bool), "open", LEVEL)
    for at_once in (14, 1):
        monkeypatch.setattr(pairs, "_PAIRS_AT_ONCE", at_once)
        parts = pair_arrays(_counts(x), asked, "open", LEVEL)
        for name in ("tasks", "difference", "halfwidth", "verdict", "direct"):
            np.testing.assert_array_equal(getattr(parts, name)[asked], getattr(whole, name)[asked])
    assert np.isnan(parts.difference[4, :4]).all()
    assert (parts.verdict[4, :4] == -1).all()
    assert (parts.direct[4, :4] == -1).all()


UNIT = 10


def _expected_p(step, tasks):
    if step == 0:
        return 1.0
    return nan if tasks < 2 else 2.0 ** (1 - tasks)


def _expected_verdict(step, p, level):
    if step == 0:
        return Verdict.IDENTICAL
    if isnan(p) or p > 1 - level + 1e-12:
        return Verdict.NOT_ESTIMABLE
    return Verdict.BETTER if step > 0 else Verdict.WORSE


@st.composite
def cases(draw):
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
def test_new_images(case, level, kind):
    _, x, step = case
    tasks = x.shape[1]
    counts = Counts(x, np.full(2, tasks), UNIT)
    difference = pair_differences(counts, np.array([0]), np.array([1]))
    p = _expected_p(step, tasks)
    verdict = _expected_verdict(step, p, level)
    assert paired_p(difference, kind)[0] == pytest.approx(p, rel=1e-15, nan_ok=True)
    widths = halfwidths(difference, kind, level)
    assert VERDICTS[int(paired_verdicts(difference, widths, kind, level)[0])] is verdict
    (pair,) = PrimaryKind(kind).pairs(None, counts, level).columns(0, np.array([1])).intervals()
    assert pair.verdict is verdict
    assert pair.difference.halfwidth == (None if verdict is Verdict.NOT_ESTIMABLE else 0.0)
    assert (pair.verdict_direct is Verdict.NOT_ESTIMABLE) == (tasks < 2)
    arrays = pair_arrays(counts, np.ones((2, 2), bool), kind, level)
    assert VERDICTS[arrays.verdict[0, 1]] is verdict
    told = verdict in (Verdict.BETTER, Verdict.WORSE)
    assert conclusive(holm(np.array([p])), level).tolist() == [told]
    found = pairwise_tests(("a", "b"), counts, kind, {}).at(level)
    assert (found.best, found.tied[kind][0]) == (("b", "b") if step < 0 else ("a", "a"))
    assert (len(found.tied[kind]) == 1) == told
    apart = Counts(x[:1] - x[1:], np.array([x.shape[1]]), UNIT)
    beside = evidence(apart, kind, level, None)[0].p
    assert (nan if beside is None else beside) == pytest.approx(p, rel=1e-15, nan_ok=True)
    if not isnan(p):
        assert sign_flips(x[:1] - x[1:])[0] == pytest.approx(p, rel=1e-15)
    one_sided = ahead_p(lead(counts.select([0]), counts.select([1])), "open")
    expected = p / 2 if step > 0 or isnan(p) else 1.0
    assert one_sided[0] == pytest.approx(expected, rel=1e-15, nan_ok=True)


@given(cases(), levels)
def test_new_classes(case, level):
    classes, x, step = case
    design, counts = ClassDesign.of(classes), Counts(x, np.full(2, x.shape[1]), UNIT)
    p = _expected_p(step, len(disjoint_tasks(classes)))
    verdict = _expected_verdict(step, p, level)
    found = NEW_CLASSES.p_values(design, counts, np.array([0]), np.array([1]))
    assert found[0] == pytest.approx(p, rel=1e-15, nan_ok=True)
    pairs = NEW_CLASSES.pairs(design, counts, level)
    assert pairs.columns(0, np.array([1])).intervals()[0].verdict is verdict
    told = verdict in (Verdict.BETTER, Verdict.WORSE)
    tests = pairwise_tests(("a", "b"), counts, "open", {"class-aware": design}).at(level)
    assert (len(tests.tied["class-aware"]) == 1) == told
    expected = p / 2 if step > 0 or isnan(p) else 1.0
    ahead = lead(counts.select([0]), counts.select([1]))
    one_sided = ahead_p(ahead, "class-aware", design)
    assert one_sided[0] == pytest.approx(expected, rel=1e-15, nan_ok=True)


@pytest.fixture(scope="module")
def nine():
    """Nine methods that are better and better, of which the second has two runs."""
    rng, queries = np.random.default_rng(7), np.full(9, 25)
    queries[1] = 50
    hard = rng.normal(0, 0.05, 40)
    chance = np.clip(np.linspace(0.6, 0.75, 9)[:, None] + hard, 0, 1)
    return Counts(rng.binomial(queries[:, None], chance), np.full(9, 40), queries)


def test_p_values_are_those_of_pairs_one_by_one(nine):
    """To the last bit; a method that answered fewer tasks is compared on these."""
    first, second = np.triu_indices(9, 1)
    tasks = np.where(np.arange(9) == 2, 11, 40)
    some = replace(nine, correct=nine.correct * (np.arange(40) < tasks[:, None]), tasks=tasks)
    for of in (nine, some):
        each = [pair_differences(of, first[i : i + 1], second[i : i + 1]) for i in range(36)]
        alone = np.concatenate([np.asarray(paired_p(pair, "open")) for pair in each])
        every = pair_p(of, first, second, "open")
        assert every.tolist() == alone.tolist()
    few = [pair_p(some, first[i : i + 5], second[i : i + 5], "open") for i in range(0, 36, 5)]
    assert np.concatenate(few).tolist() == every.tolist()


def test_of_very_many_methods_only_pairs_asked_for_are_compared(nine, monkeypatch):
    by_holm = adjusted_pairs(nine, "open", only=8)
    monkeypatch.setattr(told_apart_module, "MOST_PAIRED", 8)
    with_one = adjusted_pairs(nine, "open", only=8)
    assert (with_one.family, with_one.by_holm, len(with_one.p)) == (36, False, 8)
    p = pair_p(nine, np.arange(8), np.full(8, 8), "open")
    assert with_one.differing_from(8, 0.95).tolist() == [*(36 * p <= 0.05).tolist(), False]
    assert (by_holm.differing_from(8, 0.95) >= with_one.differing_from(8, 0.95)).all()
    assert adjusted_pairs(nine, "open").by_holm  # where all are asked for


RANKED = 20


@pytest.fixture(scope="module")
def boards():
    return study_module("coverage.boards")


def _lead(rows):
    counts = Counts(rows.astype(np.int16), np.full(len(rows), rows.shape[1]), RANKED)
    first = leader_of(counts.moments().mean, counts.tasks, np.ones(len(rows), bool))
    return first, lead(counts.select([first]), counts)


def test_the_best_by_hand():
    # leader: 10 12 14 16 (mean 13). The first is behind by 1 3 1 3: mean 2, sd² = 4/3, so
    # t = 2/√(1/3) = 2√3; the last by -4 0 4 4: mean 1, sd² = 44/3, so t = √(3/11).
    # Student's law of 3 degrees: P(t > x√3) = 1/2 - (x/(1 + x²) + arctan x)/π
    def tail(x):
        return 0.5 - (x / (1 + x * x) + atan(x)) / pi

    first, last = tail(2.0), tail(1 / sqrt(11))
    assert (first, last) == pytest.approx((0.02026, 0.31881), abs=1e-5)
    x = np.array([[9, 9, 13, 13], [10, 12, 14, 16], [14, 12, 10, 12]])
    leader, ahead = _lead(x)
    p = ahead_p(ahead, "open")
    assert leader == 1
    assert p == pytest.approx([first, 1.0, last])
    # at 95 %, .05/2 = .025 for each: the first is out. At 96 %, .02: it stays
    assert could_be_best(p, 3, 0.95).tolist() == [False, True, True]
    assert could_be_best(p, 3, 0.96).tolist() == [True, True, True]
    # where nothing can be said nobody is out; the limit may lie far beyond what a level can be
    tiny = np.array([1e-9, 1e-11, np.nan])
    assert could_be_best(tiny, 10_000, 0.999999).tolist() == [True, False, True]


def test_new_classes_as_the_two_sided_interval_at_twice_the_error():
    """One-sided at a is the interval at 1 - 2a, on one side: the house's own verdicts."""
    rng = np.random.default_rng(6)
    members = np.stack([rng.permutation(12)[:5] for _ in range(40)])
    design = ClassDesign.of(members)
    hard = rng.normal(0, 0.06, (30, 12))[:, members].mean(axis=2)
    x = rng.binomial(RANKED, np.clip(np.linspace(0.5, 0.75, 30)[:, None] + hard, 0, 1))
    x[3] = x[29]
    x[4] = np.maximum(x[29] - 2, 0)
    x[20:25, 25:] = 0
    tasks = np.array([40] * 20 + [25] * 5 + [40] * 5)
    counts = Counts(x.astype(np.int16), tasks, RANKED)
    first = leader_of(counts.moments().mean, counts.tasks, np.ones(30, bool))
    others = np.delete(np.arange(30), first)
    ahead = lead(counts.select([first]), counts.select(others))
    p, of_images = ahead_p(ahead, "class-aware", design), ahead_p(ahead, "open")
    assert (p >= of_images).all()  # nobody is excluded for new classes who is not for new images
    for level in (0.5, 0.9, 0.99):
        at = 1.0 - 2.0 * (1.0 - level) / 29
        pairs = NEW_CLASSES.pairs(design, counts, at).columns(first, others)
        excluded = ~could_be_best(p, 30, level)
        assert excluded.tolist() == [VERDICTS[code] is Verdict.BETTER for code in pairs.verdict]
        assert 0 < excluded.sum() < 29


def test_what_cannot_be_said_of_new_classes_excludes_nobody():
    _, ahead = _lead(np.array([[18, 17, 19, 18, 20, 18] * 5, [9, 8, 9, 10, 9, 9] * 5]))
    p = ahead_p(ahead, "class-aware", ClassDesign.of(np.tile(np.arange(5), (30, 1))))
    assert could_be_best(p, 2, 0.95).all()
    assert not could_be_best(ahead_p(ahead, "open"), 2, 0.95)[1]


def test_the_best_for_new_classes_is_in_the_set_as_often_as_promised():
    """Every repetition draws its classes anew; methods differ in which they find hard."""
    rng = np.random.default_rng(8)
    design = ClassDesign.of(np.stack([rng.permutation(15)[:5] for _ in range(40)]))
    missed = {"open": 0, "aware": 0}
    for _ in range(300):
        hard = rng.normal(0, 0.1, 15) + rng.normal(0, 0.1, (6, 15))
        p = np.clip(0.7 + hard[:, design.members].mean(axis=2), 0, 1)
        _, ahead = _lead(rng.binomial(RANKED, p))
        own = {"open": ahead_p(ahead, "open"), "aware": ahead_p(ahead, "class-aware", design)}
        for kind, values in own.items():
            missed[kind] += not could_be_best(values, 6, 0.95)[0]
    assert missed["aware"] / 300 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)
    assert missed["open"] / 300 > 0.2  # which is why there is the other


def test_the_boards_of_the_benchmark_have_the_rule_of_leaderboards(boards):
    rng = np.random.default_rng(10)
    x = rng.binomial(RANKED, np.linspace(0.5, 0.75, 7)[:, None], (5, 7, 25))
    _, p = boards.one_sided(x)
    said = boards.noes(x)["leader"]
    for board, counts in enumerate(x):
        leader, ahead = _lead(counts)
        own = ahead_p(ahead, "open")
        assert said[board].tolist() == (~could_be_best(own, 7, 0.95)).tolist()
        for j in np.delete(np.arange(7), leader).tolist():
            q = ttest_rel(counts[leader], counts[j], alternative="greater").pvalue
            assert own[j] == pytest.approx(1.0 if counts[j].sum() == counts[leader].sum() else q)
            assert p[board, leader, j] == pytest.approx(q)
