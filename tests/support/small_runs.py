"""Files of small trainings on the digits that scikit-learn ships."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from builders.training import run

DIGITS = """
method = {method!r}
[network]
channels = {channels}
pools = [true, true, false, false]
start = {start!r}
[data]
source = "digits"
side = 8
[training]
episode = "5w1s5q"
steps = {steps}
[validation]
episode = "5w1s5q"
tasks = {tasks}
every = {every}
"""

OWN = """
from torch import Tensor

from builders.training.method import Method


class Cosine(Method):
    def __init__(self, network: object, scale: float = 10.0) -> None:
        super().__init__(network)
        self.scale = scale

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        of_support, of_query = self._both(support, query)
        means = of_support.flatten(2).mean(dim=1)
        means = means / means.norm(dim=1, keepdim=True)
        return self.scale * of_query.flatten(1) @ means.T


class NoScores(Method):
    pass


class NoMethod:
    pass
"""


def write_run(path: Path, **values: Any) -> Path:
    """Write the file of a training of four steps, where `values` say nothing else."""
    usual = {"method": "ProtoNet", "channels": 4, "steps": 4, "tasks": 3, "every": 2, "start": ""}
    path.write_text(DIGITS.format(**{**usual, **values}).replace("'", '"'))
    return path


@contextmanager
def stopped_at(number: int, error: type[BaseException] = KeyboardInterrupt) -> Iterator[None]:
    """Have a training end with an error before its step of a number."""
    step = run._step

    def die(*arguments: Any) -> float:
        if arguments[-1] == number:
            raise error("killed")
        return step(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_step", die)
        yield
