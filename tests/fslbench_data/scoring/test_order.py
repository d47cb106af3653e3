"""Methods from the best down, whatever task sets they answer."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fslbench_data.scoring.order import best_first


def _columns(*gaps: dict[str, float]) -> Any:
    """Of each task set, how far methods are behind its highest mean."""
    return [
        SimpleNamespace(by_method={name: SimpleNamespace(behind=b) for name, b in column.items()})
        for column in gaps
    ]


def test_a_method_that_leaves_out_the_hard_set_gains_nothing() -> None:
    """B is behind C where both answer; by means B, of 2, came before C, of 4."""
    columns = _columns({"A": 0, "B": 2, "C": 1}, {"A": 0, "C": 7})
    assert best_first(["A", "B", "C"], columns) == ["A", "C", "B"]


def test_one_that_is_far_behind_moves_no_others() -> None:
    columns = _columns({"A": 0, "B": 0.1, "last": 99}, {"A": 0, "last": 100})
    assert best_first(["B", "last", "A"], columns) == ["A", "B", "last"]


def test_it_passes_all_that_it_is_ahead_of() -> None:
    """C passes two that answer the first set alone, and stops below A."""
    columns = _columns({"A": 0, "B": 2, "C": 1, "D": 3}, {"A": 0, "C": 7})
    assert best_first(["B", "C", "D", "A"], columns) == ["A", "C", "B", "D"]


def test_leaders_of_different_sets_come_first() -> None:
    columns = _columns({"A": 0, "B": 5}, {"C": 0, "D": 1})
    assert best_first([*"ABCD"], columns) == ["A", "C", "D", "B"]


@pytest.mark.parametrize("seed", range(20))
def test_where_all_answer_all_it_is_the_order_of_means(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gaps = rng.integers(0, 4, (5, 3)) / 8  # some equally far behind
    names = [*"ABCDE"]
    columns = _columns(*(dict(zip(names, column, strict=True)) for column in gaps.T))
    by_means = sorted(names, key=lambda name: float(gaps[names.index(name)].sum()))
    assert best_first(names, columns) == by_means


def test_no_sets_and_sets_of_one_method() -> None:
    assert best_first(["B", "A"], []) == ["B", "A"]
    assert best_first(["B", "A"], _columns({"A": 0}, {"B": 0})) == ["B", "A"]
