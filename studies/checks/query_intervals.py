"""Intervals of α, w and w/α, each from a single task set, hold the truth as often as they say.

5000 sets of six designs of the synthetic example of two normal classes, whose α and w are exact.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from analysis_sql.planning.query_size import estimate_set, ratio_interval

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import query_size as example  # type: ignore[import-not-found]

DESIGNS = (
    (1, 2, 0.93),
    (1, 5, 0.91),
    (1, 10, 0.88),
    (5, 5, 0.91),
    (5, 10, 0.88),
    (20, 5, 0.91),
)
"""S, Q and the least coverage of α and w/α: the fewer tasks, and the rarer the bad ones, the more
often α comes out too low."""


def coverage(shot: int, query: int, sets: int) -> tuple[float, float, float]:
    """Compute how often the intervals of α, w and w/α from a single set hold the truth."""
    model = example.exact(shot)
    rng = np.random.default_rng(shot * 1000 + query)
    ratio = model.w / model.alpha
    held = np.zeros(3)
    for _ in range(sets):
        images = rng.standard_normal((2, example.PER_CLASS)) + np.array([[-1.0], [1.0]])
        one = estimate_set(example.task_counts(images, shot, query), query)
        found, (alpha, w) = ratio_interval(one, 0.95), one.intervals(0.95)
        held += (
            alpha[0] <= model.alpha <= alpha[1],
            w[0] <= model.w <= w[1],
            found.low is not None
            and found.low <= ratio
            and (found.high is None or ratio <= found.high),
        )
    alpha, w, both = (held / sets).tolist()
    return alpha, w, both


def main() -> None:
    """Print the coverage of 95 % intervals from single task sets."""
    for shot, query, least in DESIGNS:
        alpha, w, ratio = coverage(shot, query, 5000)
        print(f"S = {shot}, Q = {query}: α {alpha:.3f}, w {w:.3f}, w/α {ratio:.3f}", flush=True)
        assert 0.93 < w < 0.97
        assert least < alpha < 0.97
        assert least < ratio < 0.97
