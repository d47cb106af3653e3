"""Call a method with tasks or batches of them, and check what it returns."""

from __future__ import annotations

import hashlib
import json
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from traceback import FrameSummary
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from benchmark_spec.errors import MethodFailedError, PredictionError
from fslbench_data.evaluation.inputs import Inputs
from fslbench_data.evaluation.journal import Journal
from fslbench_data.submission.recorder import array_of, check_positions
from fslbench_data.tasks import Task, TaskSet

MOST_CHECKED = 12
"""Tasks of a set that are run again to check whether predictions depend on other queries."""

_THIS_PACKAGE = str(Path(__file__).parents[1])
_PYTHON_FOLDERS = tuple(
    sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
)
_INSTALLED = {"site-packages", "dist-packages"}


def lines_of(error: BaseException) -> str:
    """Return the line that raised an error, preceded by the user's line that led there.

    The user's line is in the method or, for an adapter of a library, the call of
    :func:`fslbench_data.evaluate`.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or error.__traceback__ is None:
        return ""
    raised = _location(frames[-1])
    if not _is_in_library(frames[-1]):
        return raised
    callers = traceback.extract_stack(error.__traceback__.tb_frame)
    for stack in (frames, callers):
        if of_user := [frame for frame in stack if not _is_in_library(frame)]:
            return f"{_location(of_user[-1])}; raised at {raised}"
    return raised


def _is_in_library(frame: FrameSummary) -> bool:
    """Return whether a frame is in this package, in Python's or in an installed one."""
    name = frame.filename
    prefixes = (_THIS_PACKAGE, "<frozen ", "<__array_function__", *_PYTHON_FOLDERS)
    return name.startswith(prefixes) or bool(_INSTALLED & {*Path(name).parts})


def _location(frame: FrameSummary) -> str:
    return f"{frame.filename}:{frame.lineno}, in {frame.name}"


MethodCallable = Callable[[Any, Any, np.random.Generator], Any]


def callable_name(method: MethodCallable) -> str:
    """Return the name of a callable, or of its class."""
    return str(getattr(method, "__name__", type(method).__name__))


class Calls(Struct, frozen=True, eq=False):
    """Calls of a method with one task, or `batch` tasks, at a time; errors call it `name`."""

    method: MethodCallable
    name: str
    log: Journal
    seed: int
    batch: int | None

    def predict(
        self, inputs: Inputs, tasks: TaskSet, count: int
    ) -> Iterator[tuple[Sequence[Task], bool]]:
        """Predict the first `count` tasks of a set into the journal.

        Yields the tasks of each call, and whether the journal already held all their predictions.
        """
        for group in self._groups(tasks, count):
            if all((str(tasks.info), task.task_id) in self.log.answers for task in group):
                yield group, True
                continue
            last = f"..{group[-1].task_id}" if len(group) > 1 else ""
            where = f"{self.name} on {tasks.info}, task {group[0].task_id}{last}"
            with inputs(group) as (supports, queries):
                try:
                    output = self._call(group, supports, queries)
                except (Exception, SystemExit) as error:  # sys.exit() would end all, in silence
                    raise MethodFailedError.of(
                        "the method",
                        error,
                        where=f"{where}; {lines_of(error)}",
                        fix="mend the method and run again; with a journal (or -o) answered tasks "
                        "are kept",
                    ) from error
            array = array_of(output, where)
            answers = _checked(array if self.batch else array[None], group, where)
            for i, task in enumerate(group):
                answer = [predictions[i].tolist() for predictions in answers]
                self.log.add(str(tasks.info), task.task_id, *answer)
            yield group, False

    def is_inductive(self, inputs: Inputs, tasks: TaskSet, count: int) -> bool | None:
        """Return whether a query's prediction does not depend on the task's other queries.

        The first tasks are run again with the queries of one class at a time, and with all in
        reverse order.  None if the method fails on some of these.
        """
        for group in self._groups(tasks, min(count, MOST_CHECKED)):
            answers = [self.log.answers[str(tasks.info), task.task_id][0] for task in group]
            first, label = np.array(answers), np.array([task.query_label for task in group])
            by_class = np.argsort(label, axis=1, kind="stable")
            ends = np.cumsum(np.bincount(label[0]))[:-1]  # classes may have unequal numbers
            in_reverse = np.broadcast_to(np.arange(label.shape[1])[::-1], label.shape)
            for places in (in_reverse, *np.split(by_class, ends, axis=1)):
                with inputs(group) as (supports, queries):
                    try:
                        output = self._call(group, supports, _queries_at(queries, places))
                        array = array_of(output, "")
                        if array.dtype.kind == "f":  # scores
                            array = array.argmax(axis=-1)
                        again = array.reshape(places.shape)
                    except (Exception, SystemExit):
                        return None
                if (again != np.take_along_axis(first, places, axis=1)).any():
                    return False
        return True

    def _groups(self, tasks: TaskSet, count: int) -> Iterator[list[Task]]:
        step = self.batch or 1
        for start in range(0, count, step):
            yield [tasks[task_id] for task_id in range(start, min(start + step, count))]

    def _call(self, group: Sequence[Task], supports: Any, queries: Any) -> Any:
        """Call the method, with the generator of the task, or of the batch that begins with it."""
        info, first = group[0].info, group[0].task_id
        text = json.dumps(["fslbench-evaluate-1", self.seed, info.dataset, info.task_set, first])
        key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")
        rng = np.random.Generator(np.random.Philox(key=key))
        return self.method(*((supports, queries) if self.batch else (supports[0], queries[0])), rng)


def _queries_at(queries: Any, places: NDArray[np.int64]) -> Any:
    """Return the queries of B tasks, an array or B arrays or lists, at the places (B, n)."""
    if not isinstance(queries, list):
        return queries[np.arange(len(places))[:, None].tolist(), places.tolist()]
    return [
        [of_task[i] for i in row] if isinstance(of_task, list) else of_task[row]
        for of_task, row in zip(queries, places.tolist(), strict=True)
    ]


def _checked(output: NDArray[Any], group: Sequence[Task], where: str) -> list[NDArray[Any]]:
    """Return the predictions (B, K·Q) of a group of tasks, or raise a PredictionError.

    Scores (B, K·Q, K), allowed on tasks of all classes, also give the second-best classes.
    """
    way, queries = group[0].class_ids.size, group[0].query.size
    expected, or_scores = (len(group), queries), ""
    if group[0].info.name.whole:
        or_scores = f"; or scores ({queries}, {way}) of the classes"
        if output.dtype.kind == "f" and output.shape == (*expected, way):
            if not np.isfinite(output).all():
                raise PredictionError("the method returned scores that are not finite", where=where)
            order = np.argsort(-output, axis=2, kind="stable")
            return [order[..., 0], order[..., 1]]
    check_positions(output, expected, way, where, or_scores)
    return [output]
