"""Calling a method, one task or one batch after another, and checking what it returns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import MethodFailedError, PredictionError
from fslbench_data.evaluation.inputs import Inputs
from fslbench_data.evaluation.journal import Journal
from fslbench_data.evaluation.whose_line import lines_of
from fslbench_data.submission.recorder import array_of
from fslbench_data.tasks import Task, TaskSet, TaskSetInfo

MethodCallable = Callable[[Any, Any, np.random.Generator], Any]


def callable_name(method: MethodCallable) -> str:
    """Return the name of a callable, or of its class."""
    return str(getattr(method, "__name__", type(method).__name__))


def answer_tasks(
    method: MethodCallable,
    inputs: Inputs,
    tasks: TaskSet,
    count: int,
    log: Journal,
    *,
    name: str,
    seed: int,
    batch: int | None,
) -> Iterator[tuple[Sequence[Task], bool]]:
    """Answer the first `count` tasks of a set, one or one batch at a time, into the journal.

    Messages call the method `name`.  Yields the tasks, and whether the journal held the answers to
    all of them before.
    """
    step = batch or 1
    for start in range(0, count, step):
        group = [tasks[task_id] for task_id in range(start, min(start + step, count))]
        if all((str(tasks.info), task.task_id) in log.answers for task in group):
            yield group, True
            continue
        rng = task_generator(seed, tasks.info, start)
        where = f"{name} on {_named(group)}"
        with inputs.batch(group) as (supports, queries):
            arguments = (supports, queries) if batch else (supports[0], queries[0])
            try:
                answer = method(*arguments, rng)
            except Exception as error:
                raise _failed(error, where) from error
        array = array_of(answer, where)
        rows = array if batch else array[None]
        for task, row in zip(group, _checked(rows, group, where), strict=True):
            log.add(str(tasks.info), task.task_id, row.tolist())
        yield group, False


def task_generator(seed: int, info: TaskSetInfo, task_id: int) -> np.random.Generator:
    """Return the generator of one task, or of the batch that begins with it."""
    text = json.dumps(["fslbench-evaluate-1", seed, info.dataset, str(info.name), task_id])
    key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")
    return np.random.Generator(np.random.Philox(key=key))


def _checked(rows: NDArray[Any], group: Sequence[Task], where: str) -> NDArray[Any]:
    """Return the predictions (B, K·Q) of a group of tasks, or say what they are instead."""
    info = group[0].info
    expected = (len(group), info.protocol.n_query)
    if rows.dtype.kind not in "iu" or rows.shape != expected:
        shown = rows.shape[1:] if rows.shape[:1] == (1,) else rows.shape
        raise PredictionError(
            f"the method returned predictions of type {rows.dtype} and shape {shown}",
            where=where,
            expected=f"integers ({info.protocol.n_query},) for each task: K·Q positions 0..K-1",
            fix="return, for every query in the given order, the position of its class in support",
        )
    outside = (rows < 0) | (rows >= info.protocol.way)
    if outside.any():
        raise PredictionError(
            f"the method predicted {rows[outside][0]}",
            where=where,
            expected=f"0..{info.protocol.way - 1}, the position of the class in support",
        )
    return rows


def _failed(error: Exception, where: str) -> MethodFailedError:
    return MethodFailedError(
        f"the method raised {type(error).__name__}: {error}",
        where=f"{where}; {lines_of(error)}",
        fix="mend the method and run again; with a journal (or -o) answered tasks are kept",
    )


def _named(group: Sequence[Task]) -> str:
    last = f"..{group[-1].task_id}" if len(group) > 1 else ""
    return f"{group[0].info}, task {group[0].task_id}{last}"
