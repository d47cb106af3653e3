"""A results repository with real submissions: examples/results was made so.

    python examples/results_repository.py FOLDER

Five files: four methods on two task sets of the digits, and a slow one (a Gaussian process) that
answered the first tasks of one only.  Needs scikit-learn: pip install '.[test]'.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
from my_method import ridge
from numpy.typing import NDArray
from outside_methods import linear_svm, logistic_regression
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF

import fslbench_data as fb
from builders.hub.results_repo import start_results_repository

Array = NDArray[Any]
TASK_SETS = ("open-5w5s5q", "closed-5w5s5q")
SLOW = 12
"""Tasks of the first set that the slow method answers."""


def ridge_classifier(support: Array, query: Array, rng: np.random.Generator) -> Array:
    """Return the example's own method."""
    return ridge(support.astype(np.float64), query.astype(np.float64))


def nearest_image(support: Array, query: Array, rng: np.random.Generator) -> Array:
    """Return the class of the support image at the smallest angle."""
    way, shot, dimensions = support.shape
    images = support.reshape(way * shot, dimensions)
    images = images / np.linalg.norm(images, axis=1, keepdims=True)
    return np.asarray((query @ images.T).argmax(axis=1) // shot)


def main(folder: str) -> None:
    """Start the repository, and put every submission into it under its digest."""
    start_results_repository(Path(folder), ["embedded"], "Digits, from pixels")
    methods = {
        "pixels/Ridge": ridge_classifier,
        "pixels/NearestAngle": nearest_image,
        "sklearn/LogisticRegression": logistic_regression,
        "sklearn/LinearSVC": linear_svm,
    }
    submissions = [
        fb.evaluate(method, name=name, features="pixels", task_sets=TASK_SETS)
        for name, method in methods.items()
    ]
    submissions.append(
        fb.evaluate(
            fb.sklearn(GaussianProcessClassifier(RBF(20.0), optimizer=None)),
            name="sklearn/GaussianProcess",
            features="pixels",
            task_sets=TASK_SETS[0],
            max_tasks=SLOW,
        )
    )
    below = Path(folder) / "submissions"
    for submission in submissions:
        draft = below / "draft.parquet"
        submission.write(draft)
        draft.rename(below / f"{hashlib.sha256(draft.read_bytes()).hexdigest()}.parquet")


if __name__ == "__main__":
    main(sys.argv[1])
