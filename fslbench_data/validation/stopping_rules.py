"""On which task sets a run may stop as soon as it is conclusive."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from analysis_sql.intervals.stopping import misleading_capital, tolerable_capital
from benchmark_spec.errors import DriftError
from benchmark_spec.protocol import TaskSetName
from fslbench_data.release.release import Release
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.rows import Rows, Terms


def check_stopping(answers: Rows, terms: Terms) -> None:
    """Raise a DriftError for rules to stop early on sets that do not allow them."""
    for key in answers.keys:
        binding = answers.binding(key)
        if binding is not None and binding.stopping is not None:
            where = f"{answers.where} ({key})"
            check_may_stop(key.info, terms.release, binding.stopping.level, where)


def check_may_stop(info: TaskSetInfo, release: Release, level: float, where: str = "") -> None:
    """Refuse a rule to stop early on a task set whose classes drift along it.

    Closed and balanced sets are drawn so that every task has a class with the same probability,
    wherever it stands; others are judged by their tasks (:mod:`analysis_sql.intervals.stopping`).
    Raises a DriftError naming the balanced set of the same data and protocol, where there is one.
    """
    if info.name.interval == "closed" or info.name.suite == "balanced":
        return
    ids = np.ascontiguousarray(release.class_ids(info), np.int32)
    if _capital(ids.tobytes(), ids.shape[1]) < tolerable_capital(level):
        return
    balanced = TaskSetName("balanced", info.protocol)
    there = any(i.dataset == info.dataset and i.name == balanced for i in release.task_sets)
    raise DriftError(
        f"classes drift along {info}: it uses some classes up before others, so that a run which "
        "stops early concludes wrongly too often",
        where=where,
        expected=f"a rule to stop on a set without drift, such as {info.dataset}/{balanced}"
        if there
        else "a rule to stop on a set without drift; the release has no balanced set of this data "
        "and protocol",
        fix=f"stop early on {info.dataset}/{balanced}, or answer all tasks without a rule"
        if there
        else "answer all tasks without a rule",
    )


@lru_cache(maxsize=256)
def _capital(class_ids: bytes, way: int) -> float:
    return misleading_capital(np.frombuffer(class_ids, np.int32).reshape(-1, way))
