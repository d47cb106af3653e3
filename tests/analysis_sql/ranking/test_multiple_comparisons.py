"""Who is told apart from whom, adjusted for all pairs, by one mechanism for few and many."""

import numpy as np
import pytest

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.comparison.pairs import pair_differences
from analysis_sql.comparison.verdicts import VERDICTS, Verdict, holm, paired_p
from analysis_sql.intervals.counts import Counts
from analysis_sql.ranking import multiple_comparisons as told_apart_module
from analysis_sql.ranking.multiple_comparisons import (
    VerdictCounts,
    adjusted_pairs,
    count_verdicts,
    pair_p,
)


def _counts(rng: np.random.Generator, methods: int = 9, tasks: int = 40) -> Counts:
    """Methods that are better and better, of which the second has two runs."""
    skill = np.linspace(0.6, 0.75, methods)[:, None]
    queries = np.full(methods, 25)
    queries[1] = 50
    hard = rng.normal(0, 0.05, tasks)
    correct = rng.binomial(queries[:, None], np.clip(skill + hard, 0, 1))
    return Counts(correct, np.full(methods, tasks), queries)


@pytest.fixture(scope="module")
def counts() -> Counts:
    return _counts(np.random.default_rng(7))


def _paired_p(counts: Counts, i: int, j: int) -> np.ndarray:
    difference = pair_differences(counts, np.array([i]), np.array([j]))
    return np.asarray(paired_p(difference, "open"))


def test_p_values_are_those_of_pairs_one_by_one(counts: Counts) -> None:
    first, second = np.triu_indices(len(counts), 1)
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    alone = np.concatenate([_paired_p(counts, i, j) for i, j in pairs])
    every = pair_p(counts, first, second, "open")
    assert every.tolist() == alone.tolist()
    of_few = [pair_p(counts, first[i : i + 5], second[i : i + 5], "open") for i in range(0, 36, 5)]
    assert np.concatenate(of_few).tolist() == every.tolist()  # to the last bit


def test_a_method_that_answered_fewer_tasks_is_compared_on_these(counts: Counts) -> None:
    tasks = counts.tasks.copy()
    tasks[2] = 11
    correct = np.where(np.arange(40) < tasks[:, None], counts.correct, 0)
    some = Counts(correct, tasks, counts.queries_per_task)
    p = pair_p(some, np.array([2, 0]), np.array([5, 1]), "open")
    assert p[0] == _paired_p(some, 2, 5)
    assert p[1] == _paired_p(counts, 0, 1)


def test_of_very_many_methods_only_the_pairs_that_are_asked_for_are_compared(
    counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_holm = adjusted_pairs(counts, "open", only=8)
    monkeypatch.setattr(told_apart_module, "MOST_PAIRED", 8)
    with_one = adjusted_pairs(counts, "open", only=8)
    assert (with_one.family, with_one.by_holm, len(with_one.p)) == (36, False, 8)
    p = pair_p(counts, np.arange(8), np.full(8, 8), "open")
    assert with_one.of(8, 0.95).tolist() == [*(36 * p <= 0.05).tolist(), False]
    assert (by_holm.of(8, 0.95) >= with_one.of(8, 0.95)).all()
    assert adjusted_pairs(counts, "open").by_holm  # where all are asked for


def test_kinds_beside_the_carried_one_have_their_own_p_values(counts: Counts) -> None:
    rng = np.random.default_rng(3)
    design = ClassDesign.of(np.stack([rng.permutation(12)[:5] for _ in range(40)]))
    told = adjusted_pairs(counts, "class-aware", design)
    p = pair_p(counts, told.first, told.second, "class-aware", design)
    assert told.p.tolist() == holm(p).p.tolist()
    assert (p > pair_p(counts, told.first, told.second, "open")).all()


def test_one_method_is_told_apart_from_none(counts: Counts) -> None:
    alone = adjusted_pairs(counts.some([3]), "open", only=0)
    assert (alone.family, alone.of(0, 0.95).tolist()) == (0, [False])


def test_counts_of_verdicts() -> None:
    codes = np.array([[0, 1, 2], [3, 4, -1], [0, -1, -1]], np.int8)
    assert VERDICTS[:2] == (Verdict.BETTER, Verdict.WORSE)
    found = count_verdicts({"paired": codes, "direct": np.full(3, 4, np.int8)})
    assert found["paired"] == VerdictCounts(2, 1, 1, 1, 1)
    assert (found["paired"].conclusive, found["paired"].compared) == (3, 5)
    assert found["paired"].share == 0.6
    assert found["direct"].share is None
