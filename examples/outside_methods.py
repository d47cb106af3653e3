"""Methods of other libraries, run unchanged on frozen tasks.

From the command line, for example:

    fslbench evaluate examples/outside_methods.py:logistic_regression --features pixels \
        --name sklearn/LogisticRegression -o logistic_regression.parquet
    fslbench score logistic_regression.parquet

or all of them at once: ``python examples/outside_methods.py outside.parquet``.  They need
scikit-learn and easyfsl: pip install '.[test]'.
"""

from __future__ import annotations

import sys

from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import fslbench_data as fb

logistic_regression = fb.sklearn(LogisticRegression())
linear_svm = fb.sklearn(LinearSVC())


def main(path: str) -> None:
    """Run all three on the digits at five shots, and write one submission."""
    from easyfsl.methods import PrototypicalNetworks  # takes seconds, with PyTorch

    methods = {
        "sklearn/LogisticRegression": logistic_regression,
        "sklearn/LinearSVC": linear_svm,
        "easyfsl/PrototypicalNetworks": fb.easyfsl(PrototypicalNetworks()),
    }
    found = [
        fb.evaluate(method, name=name, features="pixels", task_sets="open-5w5s5q")
        for name, method in methods.items()
    ]
    fb.merge(found).write(path)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "outside.parquet")
