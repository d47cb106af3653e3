"""Call a method, one task or one batch after another, and check what it returns."""

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
from benchmark_spec.protocol import suite_of
from fslbench_data.evaluation.inputs import Inputs
from fslbench_data.evaluation.journal import Journal
from fslbench_data.submission.recorder import array_of, check_positions
from fslbench_data.tasks import Task, TaskSet

MOST_CHECKED = 12
"""Tasks of a set that are run again, to check whether predictions depend on other queries."""

_OWN = str(Path(__file__).parents[1])
_LIBRARIES = tuple(
    sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
)
_PACKAGES = {"site-packages", "dist-packages"}


def lines_of(error: BaseException) -> str:
    """Return the line that raised an error, after the user's last one, if that is another.

    The user's line is what called the library: in the method or, of an adapter of a library, the
    call of :func:`fslbench_data.evaluate`.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or error.__traceback__ is None:
        return ""
    raised = _text(frames[-1])
    if not _is_of_a_library(frames[-1]):
        return raised
    callers = traceback.extract_stack(error.__traceback__.tb_frame)
    for stack in (frames, callers):
        if own := [frame for frame in stack if not _is_of_a_library(frame)]:
            return f"{_text(own[-1])}; raised at {raised}"
    return raised


def _is_of_a_library(frame: FrameSummary) -> bool:
    name = frame.filename
    own = name.startswith((_OWN, "<frozen ", "<__array_function__"))
    return own or name.startswith(_LIBRARIES) or bool(_PACKAGES & {*Path(name).parts})


def _text(frame: FrameSummary) -> str:
    return f"{frame.filename}:{frame.lineno}, in {frame.name}"


MethodCallable = Callable[[Any, Any, np.random.Generator], Any]


def callable_name(method: MethodCallable) -> str:
    """Return the name of a callable, or of its class."""
    return str(getattr(method, "__name__", type(method).__name__))


class Calls(Struct, frozen=True, eq=False):
    """Calls of a method, which messages call `name`, with one task, or with a `batch` at a time."""

    method: MethodCallable
    name: str
    log: Journal
    seed: int
    batch: int | None

    def predict(
        self, inputs: Inputs, tasks: TaskSet, count: int
    ) -> Iterator[tuple[Sequence[Task], bool]]:
        """Predict the first `count` tasks of a set into the journal.

        Yields the tasks of each call, and whether the journal held the predictions of all of them
        before.
        """
        for group in self._groups(tasks, count):
            if all((str(tasks.info), task.task_id) in self.log.answers for task in group):
                yield group, True
                continue
            last = f"..{group[-1].task_id}" if len(group) > 1 else ""
            where = f"{self.name} on {tasks.info}, task {group[0].task_id}{last}"
            with inputs(group) as given:
                try:
                    output = self._output(group, *given)
                except (Exception, SystemExit) as error:  # sys.exit() would end all, in silence
                    raise MethodFailedError.of(
                        "the method",
                        error,
                        where=f"{where}; {lines_of(error)}",
                        fix="mend the method and run again; with a journal (or -o) answered tasks "
                        "are kept",
                    ) from error
            array = array_of(output, where)
            best = _checked(array if self.batch else array[None], group, where)
            for number, task in enumerate(group):
                self.log.add(str(tasks.info), task.task_id, *(own[number].tolist() for own in best))
            yield group, False

    def alone(self, inputs: Inputs, tasks: TaskSet, count: int) -> bool | None:
        """Return whether queries of the first tasks get the same predictions in another context.

        Those of each class without the others, and all in reverse order.  None where the method
        fails on some queries of a task.
        """
        for group in self._groups(tasks, min(count, MOST_CHECKED)):
            answers = [self.log.answers[str(tasks.info), task.task_id][0] for task in group]
            known, label = np.array(answers), np.array([task.query_label for task in group])
            order = np.argsort(label, axis=1, kind="stable")  # class by class
            ends = np.cumsum(np.bincount(label[0]))[:-1]  # of sets of all classes these differ
            reversed_ = np.broadcast_to(np.arange(label.shape[1])[::-1], label.shape)
            for places in (reversed_, *np.split(order, ends, axis=1)):
                with inputs(group) as (supports, every):
                    if isinstance(every, list):
                        some: Any = [
                            [own[place] for place in at] if isinstance(own, list) else own[at]
                            for own, at in zip(every, places.tolist(), strict=True)
                        ]
                    else:
                        some = every[np.arange(len(group))[:, None].tolist(), places.tolist()]
                    try:
                        array = array_of(self._output(group, supports, some), "")
                        if array.dtype.kind == "f":  # scores
                            array = array.argmax(axis=-1)
                        rows = array.reshape(places.shape)
                    except (Exception, SystemExit):
                        return None
                if (rows != np.take_along_axis(known, places, axis=1)).any():
                    return False
        return True

    def _groups(self, tasks: TaskSet, count: int) -> Iterator[list[Task]]:
        step = self.batch or 1
        for start in range(0, count, step):
            yield [tasks[task_id] for task_id in range(start, min(start + step, count))]

    def _output(self, group: Sequence[Task], supports: Any, queries: Any) -> Any:
        """Call the method, with the generator of the task, or of the batch that begins with it."""
        info, first = group[0].info, group[0].task_id
        text = json.dumps(["fslbench-evaluate-1", self.seed, info.dataset, info.task_set, first])
        key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")
        rng = np.random.Generator(np.random.Philox(key=key))
        return self.method(*((supports, queries) if self.batch else (supports[0], queries[0])), rng)


def _checked(rows: NDArray[Any], group: Sequence[Task], where: str) -> list[NDArray[Any]]:
    """Return the predictions (B, K·Q) of a group of tasks; raise a PredictionError for others.

    Of scores (B, K·Q, K) on tasks of all classes also the second-best classes.
    """
    way, queries = group[0].class_ids.size, group[0].query.size
    expected, scores = (len(group), queries), ""
    whole = suite_of(group[0].info.name.suite).whole
    if whole:
        scores = f"; or scores ({queries}, {way}) of the classes"
        if rows.dtype.kind == "f" and rows.shape == (*expected, way):
            if not np.isfinite(rows).all():
                raise PredictionError("the method returned scores that are not finite", where=where)
            order = np.argsort(-rows, axis=2, kind="stable")
            return [order[..., 0], order[..., 1]]
    check_positions(rows, expected, way, where, scores)
    return [rows]
