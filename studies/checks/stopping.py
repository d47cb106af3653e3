"""Confidence sequences that are looked at after every task exclude a true 0 no more than stated.

4000 sequences of 2000 tasks of each of several laws of mean 0.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/support"))
from first_conclusive import first_conclusive  # type: ignore[import-not-found]


def nulls(
    rng: np.random.Generator, shape: tuple[int, int]
) -> dict[str, tuple[NDArray[np.int64], int]]:
    """Return differences of mean 0 and their unit."""
    skill = rng.beta(5, 2, shape)
    return {
        "two equal methods": (rng.binomial(25, skill) - rng.binomial(25, skill), 25),
        "one shot, Q = 1": (rng.binomial(5, skill) - rng.binomial(5, skill), 5),
        "rare ones": (rng.choice([-1, 0, 1], shape, p=[0.02, 0.96, 0.02]), 25),
        "whole ones": (rng.choice([-5, 5], shape), 5),
        "heavy ties": (rng.choice([-3, 0, 3], shape, p=[0.1, 0.8, 0.1]), 25),
        "skewed": (rng.choice([-9, 1], shape, p=[0.1, 0.9]), 10),
        "rare disasters": (rng.choice([-25, 0, 1], shape, p=[0.004, 0.896, 0.1]), 25),
        "mildly skewed": (rng.choice([-2, -1, 0, 4], shape, p=[0.1, 0.2, 0.6, 0.1]), 25),
    }


def errors(sequences: int, tasks: int) -> dict[str, float]:
    """Compute the share of sequences in which 0 is ever excluded, by law."""
    return {
        name: float((first_conclusive(d, unit) > 0).mean())
        for name, (d, unit) in nulls(np.random.default_rng(0), (sequences, tasks)).items()
    }


def hold(rates: dict[str, float], sequences: int) -> None:
    """Assert that no law errs more often than 5 %, but for chance."""
    most = 0.05 + 3 * (0.05 * 0.95 / sequences) ** 0.5
    for name, rate in rates.items():
        assert rate <= most, (name, rate)


def main() -> None:
    """Print how often each law errs."""
    rates = errors(4000, 2000)
    print(", ".join(f"{name} {rate:.4f}" for name, rate in rates.items()))
    hold(rates, 4000)
