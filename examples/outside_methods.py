"""Methods of other libraries, run unchanged on frozen tasks.

From the command line, for example:

    fslbench evaluate examples/outside_methods.py:logistic_regression --features pixels \
        --name sklearn/LogisticRegression -o logistic_regression.parquet
    fslbench score logistic_regression.parquet

or all of them at once: ``python examples/outside_methods.py outside.parquet``.  They need
scikit-learn and easyfsl: pip install "fslbench[test]".
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fslbench_data as fb

Array = NDArray[Any]


def _fit(classifier: Any, support: Array, query: Array) -> Array:
    way, shot, dimensions = support.shape
    classifier.fit(support.reshape(-1, dimensions), np.repeat(np.arange(way), shot))
    return np.asarray(classifier.predict(query))


def logistic_regression(support: Array, query: Array, rng: np.random.Generator) -> Array:
    """scikit-learn's LogisticRegression."""
    from sklearn.linear_model import LogisticRegression

    return _fit(LogisticRegression(), support, query)


def linear_svm(support: Array, query: Array, rng: np.random.Generator) -> Array:
    """scikit-learn's linear support vector machine."""
    from sklearn.svm import LinearSVC

    return _fit(LinearSVC(), support, query)


class PrototypicalNetworks:
    """easyfsl's PrototypicalNetworks, on features: the backbone is the identity."""

    def __init__(self) -> None:
        import torch
        from easyfsl.methods import PrototypicalNetworks as Networks

        self._torch = torch
        self._model = Networks(torch.nn.Identity())

    def __call__(self, support: Array, query: Array, rng: np.random.Generator) -> Array:
        """Predict the positions of the queries' classes."""
        way, shot, dimensions = support.shape
        images = self._torch.from_numpy(support.reshape(-1, dimensions))
        labels = self._torch.arange(way).repeat_interleave(shot)
        self._model.process_support_set(images, labels)
        return np.asarray(self._model(self._torch.from_numpy(query)).argmax(dim=1))


def main(path: str) -> None:
    """Run all three on the digits at five shots, and write one submission."""
    methods = {
        "sklearn/LogisticRegression": logistic_regression,
        "sklearn/LinearSVC": linear_svm,
        "easyfsl/PrototypicalNetworks": PrototypicalNetworks(),
    }
    found = [
        fb.evaluate(method, name=name, features="pixels", task_sets="open-5w5s5q")
        for name, method in methods.items()
    ]
    fb.merge(found).write(path)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "outside.parquet")
