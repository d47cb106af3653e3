"""Many pairs at once: as few steps as there may be, and the same numbers as one pair alone."""

import numpy as np
import pytest

from analysis_sql.class_aware import intervals
from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.kinds import NEW_CLASSES
from analysis_sql.intervals.counts import Counts

METHODS, TASKS = 100, 60


@pytest.fixture(scope="module")
def design() -> ClassDesign:
    rng = np.random.default_rng(0)
    return ClassDesign.of(rng.permuted(np.tile(np.arange(20), (TASKS, 1)), axis=1)[:, :5])


@pytest.fixture(scope="module")
def counts() -> Counts:
    correct = np.random.default_rng(1).binomial(25, 0.7, (METHODS, TASKS)).astype(np.int16)
    return Counts(correct, np.full(METHODS, TASKS), 25)


def test_pairs_of_a_hundred_methods_are_weighed_in_few_blocks(
    design: ClassDesign, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighed, own = [], intervals.mixture

    def mixture(shares):
        weighed.append(len(shares.rest))
        return own(shares)

    monkeypatch.setattr(intervals, "mixture", mixture)
    first, second = np.triu_indices(METHODS, 1)
    NEW_CLASSES.p_values(design, counts, first, second)
    assert sum(weighed) == first.size
    assert len(weighed) <= 10


def test_a_pair_has_the_same_p_alone(design: ClassDesign, counts: Counts) -> None:
    first, second = np.triu_indices(METHODS, 1)
    p = NEW_CLASSES.p_values(design, counts, first, second)
    for pair in (0, 77, 4949):
        own = slice(pair, pair + 1)
        assert NEW_CLASSES.p_values(design, counts, first[own], second[own]) == p[own]
