"""The half-widths of redraws, from the tasks' accuracies."""

import numpy as np
import pytest
from scipy.stats import sem, t

from benchmark_spec.protocol import Protocol
from builders.baselines import Predictor

pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")

from studies.query_size.comparisons import Redraws, sets_of
from studies.query_size.gains import FIRST_SEED


def test_the_mean_half_width_is_that_of_the_pairs_differences() -> None:
    sets, heads = sets_of("digits", Protocol(5, 5, 5)), ("NCC", "MatchingNet", "LinearProbe")
    pairs = [(heads[0], heads[1]), (heads[0], heads[2])]
    redraws = Redraws(sets, pairs, 4)
    redraws.more(2)
    widths = []
    for seed in (FIRST_SEED, FIRST_SEED + 1):
        tasks = sets.draws.draw(4, seed)
        right = {
            head: Predictor(head, sets.features)(tasks.support, tasks.query) == tasks.query_label
            for head in heads
        }
        accuracy = {head: 100 * right[head].mean(axis=1) for head in heads}
        each = [sem(accuracy[one] - accuracy[other]) for one, other in pairs]
        widths.append(np.mean(each) * t.ppf(0.975, len(tasks.query) - 1))
    assert redraws.mean == pytest.approx(np.mean(widths))
    assert redraws.error == pytest.approx(sem(widths) / np.mean(widths))
