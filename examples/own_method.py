"""A method of your own on frozen features: photographs and drawings, nothing downloaded.

    python examples/own_method.py own_method.parquet

The method is a nearest class mean in the metric of the task's own scatter: differences from the
class means say which directions vary within a class, and those count less.  With one image of a
class there are none, and it is the nearest mean.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fslbench_data as fb

BACKBONE = "efficientnet_lite0-pca128"
RIDGE = 0.05  # about the largest variance of such features within a class


def scatter_metric(
    support: NDArray[Any], query: NDArray[Any], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return positions (B, K·Q) for B tasks at once: support (B, K, S, D), query (B, K·Q, D)."""
    support, query = unit(support), unit(query)
    way, shot, dimensions = support.shape[1:]
    means = support.mean(axis=2)  # (B, K, D)
    within = (support - means[:, :, None]).reshape(-1, way * shot, dimensions)
    scatter = within.transpose(0, 2, 1) @ within / max(1, way * (shot - 1))
    weights = np.linalg.solve(scatter + RIDGE * np.eye(dimensions), means.transpose(0, 2, 1))
    offsets = (means.transpose(0, 2, 1) * weights).sum(axis=1) / 2
    return np.asarray((query @ weights - offsets[:, None]).argmax(axis=2))


def unit(features: NDArray[Any]) -> NDArray[np.float64]:
    """Return vectors of length 1."""
    return np.asarray(features / np.linalg.norm(features, axis=-1, keepdims=True), np.float64)


def main(path: str) -> None:
    """Answer the tasks of two data sets, write the submission, and say what it shows."""
    submission = fb.evaluate(
        scatter_metric,
        name=f"{BACKBONE}/scatter",
        features=BACKBONE,
        datasets=["groceries", "openclipart"],
        task_sets=["open-5w1s1q", "open-5w5s5q", "open-5w10s7q"],
        batch=16,
        description="nearest class mean in the metric of the support set's scatter within classes",
    )
    submission.write(path)
    for found in fb.score(submission, against=[f"{BACKBONE}/NCC", f"{BACKBONE}/LR"]).comparisons:
        points = f"{found.difference.mean:+.1f} ± {found.difference.halfwidth:.1f}"
        print(f"{found.dataset}/{found.task_set} {found.versus}: {points} {found.verdict}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "own_method.parquet")
