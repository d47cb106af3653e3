"""A method's failure names the user's line and the library's."""

import inspect
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fslbench_data as fb
from benchmark_spec.errors import MethodFailedError

CHOSEN = {"features": "pixels", "datasets": "digits", "task_sets": "open-5w5s5q", "max_tasks": 2}
HERE = str(Path(__file__))


def _raised_by(method: Any, line: int) -> str:
    with pytest.raises(MethodFailedError) as caught:
        fb.evaluate(method, name="x", **CHOSEN)  # the line that runs it
    return caught.value.where.replace(f"{HERE}:{line},", "HERE,")


def _line_of(function: Any, offset: int) -> int:
    return inspect.getsourcelines(function)[1] + offset


def test_a_line_of_the_user_alone() -> None:
    def method(support: Any, query: Any, rng: Any) -> Any:
        raise ValueError("no")

    where = _raised_by(method, _line_of(method, 1))
    assert where == "x on digits/open-5w5s5q, task 0; HERE, in method"


def test_a_line_of_the_user_and_one_of_a_library() -> None:
    def method(support: Any, query: Any, rng: Any) -> Any:
        return np.linalg.inv(np.zeros((2, 2)))

    where = _raised_by(method, _line_of(method, 1))
    assert where.startswith("x on digits/open-5w5s5q, task 0; HERE, in method; raised at ")
    assert "linalg.py" in where.partition("; raised at ")[2]


def test_of_an_adapter_the_line_that_runs_it() -> None:
    where = _raised_by(shutil.copyfileobj, _line_of(_raised_by, 2))
    assert where.startswith("x on digits/open-5w5s5q, task 0; HERE, in _raised_by; raised at ")
    assert "shutil.py" in where
