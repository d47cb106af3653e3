"""Which methods could be the best: by hand, against scipy, and how often the best is missed."""

from math import atan, pi, sqrt
from typing import Any

import numpy as np
import pytest
from full_checks import study_module
from numpy.typing import NDArray
from scipy.stats import ttest_rel

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.kinds import NEW_CLASSES
from analysis_sql.comparison.verdicts import VERDICTS, Verdict
from analysis_sql.intervals.counts import Counts
from analysis_sql.ranking.multiple_comparisons import ahead_p, could_be_best, lead, leader_of

UNIT = 20


@pytest.fixture(scope="module")
def boards() -> Any:
    return study_module("coverage.boards")


def _lead(rows: NDArray[np.int64]) -> tuple[int, Counts]:
    """Return the leader, and by how much it is ahead of each method."""
    counts = Counts(rows.astype(np.int16), np.full(len(rows), rows.shape[1]), UNIT)
    first = leader_of(counts.moments().mean, counts.tasks, np.ones(len(rows), bool))
    return first, lead(counts.some([first]), counts)


def test_by_hand() -> None:
    # leader: 10 12 14 16 (mean 13). The first is behind by 1 3 1 3: mean 2, sd² = 4/3, so
    # t = 2/√(1/3) = 2√3; the last by -4 0 4 4: mean 1, sd² = 44/3, so t = √(3/11).
    # Student's law of 3 degrees: P(t > x√3) = 1/2 - (x/(1 + x²) + arctan x)/π
    def tail(x: float) -> float:
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


def test_new_classes_as_the_two_sided_interval_at_twice_the_error() -> None:
    """One-sided at a is the interval at 1 - 2a, on one side: the house's own verdicts."""
    rng = np.random.default_rng(6)
    members = np.stack([rng.permutation(12)[:5] for _ in range(40)])
    design = ClassDesign.of(members)
    hard = rng.normal(0, 0.06, (30, 12))[:, members].mean(axis=2)
    x = rng.binomial(UNIT, np.clip(np.linspace(0.5, 0.75, 30)[:, None] + hard, 0, 1))
    x[3] = x[29]
    x[4] = np.maximum(x[29] - 2, 0)
    x[20:25, 25:] = 0
    tasks = np.array([40] * 20 + [25] * 5 + [40] * 5)
    counts = Counts(x.astype(np.int16), tasks, UNIT)
    first = leader_of(counts.moments().mean, counts.tasks, np.ones(30, bool))
    others = np.delete(np.arange(30), first)
    ahead = lead(counts.some([first]), counts.some(others))
    p, of_images = ahead_p(ahead, "class-aware", design), ahead_p(ahead, "open")
    assert (p >= of_images).all()  # nobody is excluded for new classes who is not for new images
    for level in (0.5, 0.9, 0.99):
        at = 1.0 - 2.0 * (1.0 - level) / 29
        pairs = NEW_CLASSES.pairs(design, counts, at).columns(first, others)
        excluded = ~could_be_best(p, 30, level)
        assert excluded.tolist() == [VERDICTS[code] is Verdict.BETTER for code in pairs.verdict]
        assert 0 < excluded.sum() < 29


def test_what_cannot_be_said_of_new_classes_excludes_nobody() -> None:
    _, ahead = _lead(np.array([[18, 17, 19, 18, 20, 18] * 5, [9, 8, 9, 10, 9, 9] * 5]))
    p = ahead_p(ahead, "class-aware", ClassDesign.of(np.tile(np.arange(5), (30, 1))))
    assert could_be_best(p, 2, 0.95).all()
    assert not could_be_best(ahead_p(ahead, "open"), 2, 0.95)[1]


def test_the_best_for_new_classes_is_in_the_set_as_often_as_promised() -> None:
    """Every repetition draws its classes anew; methods differ in which they find hard."""
    rng = np.random.default_rng(8)
    design = ClassDesign.of(np.stack([rng.permutation(15)[:5] for _ in range(40)]))
    missed = {"open": 0, "aware": 0}
    for _ in range(300):
        hard = rng.normal(0, 0.1, 15) + rng.normal(0, 0.1, (6, 15))
        p = np.clip(0.7 + hard[:, design.members].mean(axis=2), 0, 1)
        _, ahead = _lead(rng.binomial(UNIT, p))
        own = {
            "open": ahead_p(ahead, "open"),
            "aware": ahead_p(ahead, "class-aware", design),
        }
        for kind, values in own.items():
            missed[kind] += not could_be_best(values, 6, 0.95)[0]
    assert missed["aware"] / 300 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)
    assert missed["open"] / 300 > 0.2  # which is why there is the other


def test_the_boards_of_the_benchmark_have_the_rule_of_leaderboards(boards: Any) -> None:
    """The benchmark's rule is that of leaderboards, and its p-values are scipy's."""
    rng = np.random.default_rng(10)
    x = rng.binomial(UNIT, np.linspace(0.5, 0.75, 7)[:, None], (5, 7, 25))
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
