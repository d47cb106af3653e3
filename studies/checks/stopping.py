"""Confidence sequences that are looked at after every task exclude a true 0 no more than stated.

4000 sequences of 2000 tasks of each of several laws of mean 0, under both assumptions.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.stopping import Assumption

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/support"))
from first_conclusive import first_conclusive  # type: ignore[import-not-found]

BOTH: tuple[Assumption, ...] = ("bounded", "symmetric")


def nulls(
    rng: np.random.Generator, shape: tuple[int, int]
) -> dict[str, tuple[NDArray[np.int64], int]]:
    """Differences of mean 0 and their unit; those of names in capitals are not symmetric."""
    skill = rng.beta(5, 2, shape)
    return {
        "two equal methods": (rng.binomial(25, skill) - rng.binomial(25, skill), 25),
        "one shot, Q = 1": (rng.binomial(5, skill) - rng.binomial(5, skill), 5),
        "rare ones": (rng.choice([-1, 0, 1], shape, p=[0.02, 0.96, 0.02]), 25),
        "whole ones": (rng.choice([-5, 5], shape), 5),
        "heavy ties": (rng.choice([-3, 0, 3], shape, p=[0.1, 0.8, 0.1]), 25),
        "SKEWED": (rng.choice([-9, 1], shape, p=[0.1, 0.9]), 10),
        "RARE DISASTERS": (rng.choice([-25, 0, 1], shape, p=[0.004, 0.896, 0.1]), 25),
        "MILDLY SKEWED": (rng.choice([-2, -1, 0, 4], shape, p=[0.1, 0.2, 0.6, 0.1]), 25),
    }


def errors(sequences: int, tasks: int, assumption: Assumption) -> dict[str, float]:
    """Compute the share of sequences in which 0 is ever excluded, by law."""
    return {
        name: float((first_conclusive(d, unit, 0.95, assumption) > 0).mean())
        for name, (d, unit) in nulls(np.random.default_rng(0), (sequences, tasks)).items()
    }


def hold(rates: dict[str, float], sequences: int, assumption: Assumption) -> None:
    """Assert that no law that the assumption allows errs more often than 5 %, but for chance."""
    most = 0.05 + 3 * (0.05 * 0.95 / sequences) ** 0.5
    for name, rate in rates.items():
        if assumption == "bounded" or not name.isupper():
            assert rate <= most, (name, rate)


def main() -> None:
    """Print how often each law errs; those in capitals may err where symmetry is assumed."""
    for assumption in BOTH:
        rates = errors(4000, 2000, assumption)
        print(f"{assumption}: " + ", ".join(f"{name} {rate:.4f}" for name, rate in rates.items()))
        hold(rates, 4000, assumption)
