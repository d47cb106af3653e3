from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis_sql.comparison.verdicts import VERDICTS, Verdict
from analysis_sql.ranking.told_apart import (
    VerdictCounts,
    by_mean,
    count_verdicts,
    letter,
    letter_display,
)
from benchmark_spec.errors import SpecError


def test_too_many_groups_have_no_letters() -> None:
    pairs = [(i, i + 1) for i in range(0, 18, 2)]  # 2^9 ways to take one of each
    with pytest.raises(SpecError, match="more than 400 groups"):
        letter_display(np.arange(18.0), _apart(18, *pairs))


def _apart(methods: int, *pairs: tuple[int, int]) -> np.ndarray:
    found = np.zeros((methods, methods), bool)
    for i, j in pairs:
        found[i, j] = found[j, i] = True
    return found


def test_by_hand() -> None:
    # means 70, 90, 80: the ends are told apart, the middle ties with both
    means, apart = np.array([70.0, 90.0, 80.0]), _apart(3, (0, 1))
    found = letter_display(means, apart)
    assert found.letters == (("b",), ("a",), ("a", "b"))
    assert found.groups == ((1, 2), (2, 0))
    assert by_mean(means) == [1, 2, 0]


def test_all_alike_and_all_different() -> None:
    means = np.array([1.0, 2.0, 2.0])
    assert letter_display(means, _apart(3)).letters == (("a",), ("a",), ("a",))
    each = letter_display(means, _apart(3, (0, 1), (0, 2), (1, 2)))
    assert each.letters == (("c",), ("a",), ("b",))  # of equal means the first comes first
    assert letter_display(means[:1], _apart(1)).letters == (("a",),)
    assert letter_display(np.empty(0), _apart(0)).letters == ()


def test_piephos_sweep_spares_letters() -> None:
    # a ring of six ties, and the triangle 0 2 4, whose ties two rings' groups do not share
    ties = {(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (0, 2), (2, 4), (0, 4)}
    apart = _apart(6, *(pair for pair in combinations(range(6), 2) if pair not in ties))
    found = letter_display(np.arange(6.0), apart)
    # largest tied sets: 012, 234, 045, 024; every tie of 024 is in one of the others
    assert sorted(tuple(sorted(group)) for group in found.groups) == [
        (0, 1, 2),
        (0, 4, 5),
        (2, 3, 4),
    ]


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    methods = draw(st.integers(1, 8))
    means = np.array(draw(st.lists(st.integers(0, 5), min_size=methods, max_size=methods)))
    pairs = list(combinations(range(methods), 2))
    told = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return means, _apart(methods, *told)


@settings(max_examples=300)
@given(tables())
def test_letters_say_who_is_told_apart_and_none_can_be_spared(
    table: tuple[np.ndarray, np.ndarray],
) -> None:
    means, apart = table
    found = letter_display(means, apart)
    letters = [set(each) for each in found.letters]

    def right(letters: list[set[str]]) -> bool:
        return all(letters) and all(
            bool(letters[i] & letters[j]) != apart[i, j]
            for i, j in combinations(range(len(means)), 2)
        )

    assert right(letters)
    for method, own in enumerate(letters):
        for one in own:
            fewer = [each - {one} if i == method else each for i, each in enumerate(letters)]
            assert not right(fewer)
    for one, other in combinations(found.groups, 2):  # absorbed
        assert not set(one) <= set(other)
        assert not set(other) <= set(one)
    rank = {method: r for r, method in enumerate(by_mean(means))}
    ranks = [[rank[method] for method in group] for group in found.groups]
    assert ranks == sorted(sorted(group) for group in ranks)
    assert "a" in letters[by_mean(means)[0]]


def test_a_hundred_methods() -> None:
    means = np.random.default_rng(0).uniform(0, 100, 100)
    apart = np.abs(means[:, None] - means) > 10
    found = letter_display(means, apart)
    assert len(found.groups) > 26
    assert [letter(n) for n in (0, 25, 26, 51, 52)] == ["a", "z", "a2", "z2", "a3"]


@pytest.mark.parametrize(
    "apart",
    [
        np.zeros((2, 3), bool),
        np.zeros((2, 2)),
        np.eye(2, dtype=bool),
        np.triu(np.ones((2, 2), bool), 1),
    ],
)
def test_what_does_not_say_who_is_told_apart(apart: np.ndarray) -> None:
    with pytest.raises(SpecError, match="told apart"):
        letter_display(np.array([1.0, 2.0]), apart)
    with pytest.raises(SpecError, match="means"):
        by_mean(np.array([1.0, np.nan]))


def test_counts_of_verdicts() -> None:
    codes = np.array([[0, 1, 2], [3, 4, -1], [0, -1, -1]], np.int8)
    assert VERDICTS[:2] == (Verdict.BETTER, Verdict.WORSE)
    found = count_verdicts({"paired": codes, "direct": np.full(3, 4, np.int8)})
    assert found["paired"] == VerdictCounts(2, 1, 1, 1, 1)
    assert (found["paired"].conclusive, found["paired"].compared) == (3, 5)
    assert found["paired"].share == 0.6
    assert found["direct"].share is None
