"""Which methods could be the best: by hand, against scipy, and how often the best is missed."""

from math import atan, pi, sqrt
from typing import Any

import numpy as np
import pytest
from best_set import Best, best_set
from full_checks import study_module
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.kinds import NEW_CLASSES
from analysis_sql.comparison.verdicts import VERDICTS, Verdict, one_sided_p
from analysis_sql.intervals.counts import Counts
from analysis_sql.ranking.told_apart import claim, could_be_best, lead, leader_of
from benchmark_spec.errors import SpecError

UNIT = 20


@pytest.fixture(scope="module")
def boards() -> Any:
    """The boards of the study of coverage."""
    return study_module("coverage.boards")


def _counts(rows: NDArray[np.int64], tasks: list[int] | None = None) -> Counts:
    x = rows.astype(np.int16)
    lengths = np.full(len(x), x.shape[1]) if tasks is None else np.array(tasks)
    for row, length in zip(x, lengths, strict=True):
        row[length:] = 0
    return Counts(x, lengths.astype(np.int64), UNIT)


def _best(counts: Counts, level: float = 0.95, **more: object) -> Best:
    return best_set(counts, level, **more)


def test_by_hand() -> None:
    # leader: 10 12 14 16 (mean 13). The first is behind by 1 3 1 3: mean 2, sd² = 4/3, so
    # t = 2/√(1/3) = 2√3; the last by -4 0 4 4: mean 1, sd² = 44/3, so t = √(3/11).
    # Student's law of 3 degrees: P(t > x√3) = 1/2 - (x/(1 + x²) + arctan x)/π
    def tail(x: float) -> float:
        return 0.5 - (x / (1 + x * x) + atan(x)) / pi

    first, last = tail(2.0), tail(1 / sqrt(11))
    assert (first, last) == pytest.approx((0.02026, 0.31881), abs=1e-5)
    x = np.array([[9, 9, 13, 13], [10, 12, 14, 16], [14, 12, 10, 12]])
    found = _best(_counts(x))
    assert (found.leader, found.compared) == (1, 3)
    assert found.p == pytest.approx([first, 1.0, last])
    # at 95 %, .05/2 = .025 for each: the first is out. At 96 %, .02: it stays
    assert found.possible.tolist() == [False, True, True]
    assert _best(_counts(x), 0.96).possible.tolist() == [True, True, True]
    # two methods alone: .05 for the one comparison
    assert _best(_counts(x[:2])).possible.tolist() == [False, True]


@pytest.mark.parametrize("methods", [1, 2, 7, 60])
@pytest.mark.parametrize("tasks", [2, 9, 200])
def test_it_is_scipy_s_one_sided_paired_test(methods: int, tasks: int) -> None:
    rng = np.random.default_rng(methods * 1000 + tasks)
    skill = rng.uniform(0.5, 0.8, (methods, 1))
    x = rng.binomial(UNIT, skill, (methods, tasks))
    found = _best(_counts(x), 0.9)
    leader = int(np.argmax(x.sum(axis=1)))
    assert found.leader == leader
    for j in range(methods):
        d = x[leader] - x[j]
        if (d == d[0]).all():
            assert found.p[j] == (1.0 if d[0] == 0 else 2.0**-tasks)
        else:
            p = ttest_rel(x[leader], x[j], alternative="greater").pvalue
            assert found.p[j] == (pytest.approx(p, rel=1e-9) if d.sum() > 0 else 1.0)
            assert found.possible[j] == (p > 0.1 / max(methods - 1, 1))
    assert found.possible[leader]


def test_a_method_that_answered_only_the_first_tasks() -> None:
    rng = np.random.default_rng(3)
    x = np.stack([rng.binomial(UNIT, p, 60) for p in (0.7, 0.6, 0.95, 0.4)])
    counts = _counts(x, [60, 60, 25, 25])
    found = _best(counts)
    assert found.leader == 0  # not the third, although its mean is higher: it answered fewer
    assert found.p[2] == 1.0
    p = ttest_rel(x[0, :25], x[3, :25], alternative="greater").pvalue
    assert found.p[3] == pytest.approx(p)
    assert found.possible.tolist()[2:] == [True, False]
    nobody = _best(_counts(x, [20, 20, 20, 20]))  # none answered all: those that did most
    assert nobody.leader == 2


def test_runs_that_stopped_by_a_rule_are_left_alone() -> None:
    rng = np.random.default_rng(4)
    x = np.stack([rng.binomial(UNIT, p, 40) for p in (0.95, 0.7, 0.3, 0.6)])
    found = _best(_counts(x), ordinary=np.array([False, True, False, True]))
    assert (found.leader, found.compared) == (1, 2)
    assert found.possible.tolist()[:3] == [True, True, True]
    assert np.isnan(found.p[[0, 2]]).all()
    assert best_set(_counts(x), 0.95, ordinary=np.zeros(4, bool)) is None


def test_methods_in_other_units_are_compared_exactly() -> None:
    rng = np.random.default_rng(5)
    x = rng.binomial(UNIT, 0.6, (2, 30))
    three = Counts((3 * x[1:]).astype(np.int32), np.array([30]), 3 * UNIT)
    apart = lead(_counts(x[:1]), three)
    assert apart.queries_per_task == 3 * UNIT
    alike = lead(_counts(x[:1]), _counts(x[1:]))
    assert one_sided_p(apart.moments()) == one_sided_p(alike.moments())
    assert leader_of(np.array([1.0, 2.0, 2.0]), np.array([5, 5, 5]), np.ones(3, bool)) == 1


def test_new_classes_as_the_two_sided_interval_at_twice_the_error() -> None:
    """One-sided at a is the interval at 1 - 2a, on one side: the house's own verdicts."""
    rng = np.random.default_rng(6)
    members = np.stack([rng.permutation(12)[:5] for _ in range(40)])
    design = ClassDesign.of(members)
    hard = rng.normal(0, 0.06, (30, 12))[:, members].mean(axis=2)
    x = rng.binomial(UNIT, np.clip(np.linspace(0.5, 0.75, 30)[:, None] + hard, 0, 1))
    x[3] = x[29]
    x[4] = np.maximum(x[29] - 2, 0)
    counts = _counts(x, [40] * 20 + [25] * 5 + [40] * 5)
    for level in (0.5, 0.9, 0.99):
        found = _best(counts, level, design=design)
        at = 1.0 - 2.0 * (1.0 - level) / 29
        others = np.array([j for j in range(30) if j != found.leader])
        pairs = NEW_CLASSES.pairs(design, counts, at).columns(found.leader, others)
        verdicts = [VERDICTS[code] for code in pairs.verdict]
        excluded = ~found.possible_new_classes[others]
        assert excluded.tolist() == [v is Verdict.BETTER for v in verdicts]
        assert 0 < excluded.sum() < 29
        # nobody is excluded for new classes who is not for new images
        assert not (found.possible & ~found.possible_new_classes).any()
    two_sided = NEW_CLASSES.p_values(design, counts, np.full(len(others), found.leader), others)
    ahead = (found.p_new_classes[others] < 1.0) & ~np.isnan(two_sided)
    assert ahead.sum() > 20
    assert found.p_new_classes[others][ahead] == pytest.approx(two_sided[ahead] / 2, rel=1e-9)


def test_what_cannot_be_said_of_new_classes_excludes_nobody() -> None:
    x = np.array([[18, 17, 19, 18, 20, 18] * 5, [9, 8, 9, 10, 9, 9] * 5])
    same = ClassDesign.of(np.tile(np.arange(5), (30, 1)))
    found = _best(_counts(x), design=same)
    assert found.possible.tolist() == [True, False]
    assert found.possible_new_classes.all()
    # where no class is used twice, new classes and new images are the same question
    apart = _best(_counts(x), design=ClassDesign.of(np.arange(150).reshape(30, 5)))
    assert apart.p_new_classes.tolist() == apart.p.tolist()
    # differences that are all equal: 2^-D of D tasks without a common class
    flat = np.array([[18] * 30, [16] * 30])
    few = _best(_counts(flat), design=ClassDesign.of(np.arange(150).reshape(30, 5) % 10))
    assert few.p_new_classes[1] == 0.25
    assert few.p[1] == 2.0**-30


def test_a_level_is_a_level() -> None:
    with pytest.raises(SpecError):
        best_set(_counts(np.ones((2, 3), np.int64)), 95)
    # the limit may lie far beyond what a level can be
    assert could_be_best(np.array([1e-9, 1e-11, np.nan]), 10_000, 0.999999).tolist() == [
        True,
        False,
        True,
    ]


def test_the_best_for_new_classes_is_in_the_set_as_often_as_promised() -> None:
    """Every repetition draws its classes anew; methods differ in which they find hard."""
    rng = np.random.default_rng(8)
    design = ClassDesign.of(np.stack([rng.permutation(15)[:5] for _ in range(40)]))
    missed = {"open": 0, "aware": 0}
    for _ in range(300):
        hard = rng.normal(0, 0.1, 15) + rng.normal(0, 0.1, (6, 15))
        p = np.clip(0.7 + hard[:, design.members].mean(axis=2), 0, 1)
        found = _best(_counts(rng.binomial(UNIT, p)), design=design)
        missed["open"] += not found.possible[0]
        missed["aware"] += not found.possible_new_classes[0]
    assert missed["aware"] / 300 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)
    assert missed["open"] / 300 > 0.2  # which is why there is the other


def test_the_boards_of_the_benchmark_have_the_rule_of_leaderboards(boards: Any) -> None:
    """The benchmark's rule is that of leaderboards, and its p-values are scipy's."""
    rng = np.random.default_rng(10)
    x = rng.binomial(UNIT, np.linspace(0.5, 0.75, 7)[:, None], (5, 7, 25))
    total, p = boards.one_sided(x)
    said = boards.noes(x)["leader"]
    for board, counts in enumerate(x):
        found = _best(_counts(counts))
        assert said[board].tolist() == (~found.possible).tolist()
        assert found.p == pytest.approx(
            [
                1.0 if total[board, found.leader] == total[board, j] else p[board, found.leader, j]
                for j in range(7)
            ]
        )
        q = ttest_rel(counts[3], counts[5], alternative="greater").pvalue
        assert p[board, 3, 5] == pytest.approx(q)


@pytest.mark.parametrize(
    ("methods", "tasks", "many"),
    [(2, 13, 1000), (5, 30, 1000), (40, 30, 200)],
)
def test_what_a_no_claims_and_what_it_does_not(
    boards: Any, methods: int, tasks: int, many: int
) -> None:
    """Another method is at least as good: wrong only of the one best.  Not: worse than the best."""
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / many)
    one_best = boards.run(boards.Cell(boards.nearly_equal(methods), tasks, many, 11))
    assert one_best["leader"].wrong / many <= limit
    equal = boards.run(boards.Cell(boards.equal(methods), tasks, many, 12))
    assert equal["leader"].wrong / many > limit  # so that this is not claimed
    assert equal["holm"].wrong / many <= limit  # which this rule could,
    apart = boards.run(boards.Cell(boards.spread(methods), tasks, many, 13))
    lost = 1 - apart["holm"].right / apart["leader"].right
    assert lost > 0.1 or tasks >= 200  # at this price


def test_the_claim_says_a_best_method_and_no_more() -> None:
    text = claim(0.95)
    assert "with 95 % confidence a best method is among those marked yes" in text
    assert "is not claimed" in text
    assert "5 % of tables" in text
    assert "10 % of tables" in claim(0.9)
