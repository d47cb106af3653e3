"""Hoeffding's bound on the variance of a mean over tasks that reuse images or classes."""

from __future__ import annotations

from math import inf


def variance_factor(tasks: int, share: float) -> float:
    """Return how many times v_mc the variance of the mean is at most: 1 + B ρ/(1-ρ).

    Each term of Hoeffding's decomposition has in the mean over all tasks at most the share ρ of
    its weight in one task (Hoeffding, Ann. Math. Statist. 1948); tasks of one pool vary less
    than tasks of new ones, whence 1-ρ.  Infinite where every task has everything.
    """
    return 1.0 + tasks * share / (1.0 - share) if share < 1.0 else inf
