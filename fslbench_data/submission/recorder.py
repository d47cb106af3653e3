"""Record a submission task by task, or a task set at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmark_spec.errors import (
    DoubledTaskError,
    FSLBenchError,
    MissingTaskError,
    PredictionError,
    SubmissionError,
    listing,
    printable,
)
from benchmark_spec.naming import check_method_name
from fslbench_data.submission.columns import NAMES, canonical
from fslbench_data.submission.frames import frame_table
from fslbench_data.submission.model import Binding, GroupKey, Method, Stopping, Submission
from fslbench_data.tasks import Episodes, Task, TaskSet, TaskSetInfo


class Recorder:
    """Collects a method's predictions and makes a submission of them.

    The first tasks of a task set are enough; the submission then declares how many.

    Parameters
    ----------
    method : str
        Its name in tables, by convention `<backbone>/<head>`.
    description, backbone, link : str, optional
        What readers should know about it.
    transductive : bool, optional
        Whether it uses a task's queries together; tables mark it.
    trained : bool, optional
        False if the method trains nothing before the tasks, as a classifier on fixed features does;
        else results of one run are reported as those of one trained model.
    inductive : bool, optional
        True if its prediction for a query never depends on the task's other queries: intervals for
        new images then use which queries were right, and are usually narrower.
    run : str or int, optional
        The training run of the method; :func:`fslbench_data.merge` joins several.

    Examples
    --------
    >>> recorder = Recorder("mine")
    >>> for task in release.task_set("digits", "open-5w1s1q"):  # doctest: +SKIP
    ...     recorder.add(task, my_predictions(task))
    >>> recorder.submission().write("mine.parquet")  # doctest: +SKIP
    """

    def __init__(
        self,
        method: str,
        *,
        description: str = "",
        backbone: str = "",
        link: str = "",
        transductive: bool = False,
        trained: bool | None = None,
        inductive: bool | None = None,
        run: str | int | None = None,
    ) -> None:
        about = description, backbone, link, transductive, trained, inductive
        self._method = Method(check_method_name(method), *about)
        self._run = None if run is None else check_method_name(str(run), what="run")
        self._infos: dict[str, TaskSetInfo] = {}
        self._stopping: dict[str, Stopping] = {}
        self._rows: dict[str, dict[int, dict[str, Any]]] = {}

    @property
    def name(self) -> str:
        """The method's name."""
        return self._method.name

    def add(self, task: Task, predictions: ArrayLike, second: ArrayLike | None = None) -> int:
        """Record one task's predictions, integers (K·Q,) in 0..K-1, in the frozen query order.

        `second` has the second-best class of each query of a task of all classes: intervals for new
        classes need it.

        Returns
        -------
        int
            The number of correct predictions.
        """
        where = f"{self.name} on {task.info}, task {task.task_id}"
        way, label = task.class_ids.size, task.query_label[None, :]
        return self._record(task.info, task.task_id, way, label, predictions, second, where)[0]

    def add_task_set(
        self, tasks: TaskSet, predictions: ArrayLike, second: ArrayLike | None = None
    ) -> NDArray[np.int64]:
        """Record predictions (m, K·Q) of the first m tasks of a set; return the counts (m,).

        Predictions of episodes are m lists. `second` is that of :meth:`add`.
        """
        where = f"{self.name} on {tasks.info}"
        if isinstance(tasks, Episodes):
            lists: Any = predictions
            if len(lists) > len(tasks):
                raise _too_many(len(lists), len(tasks), where)
            seconds: Any = [None] * len(lists) if second is None else second
            answers = zip(tasks, lists, seconds, strict=False)
            return np.array([self.add(*answer) for answer in answers])
        way, label = tasks.class_ids.shape[1], tasks.query_label
        return np.array(self._record(tasks.info, 0, way, label, predictions, second, where))

    def stopped(self, info: TaskSetInfo, stopping: Stopping) -> None:
        """Declare the rule that chose how many tasks of a set are recorded."""
        self._stopping[str(info)] = stopping

    def submission(self) -> Submission:
        """Return everything recorded so far.

        Raises
        ------
        MissingTaskError
            If the recorded tasks of a set are not its first ones.
        """
        if not self._rows:
            raise SubmissionError("nothing has been recorded", fix="add the answers to a task")
        rows: list[dict[str, Any]] = []
        bindings: dict[GroupKey, Binding] = {}
        constants: dict[str, Any] = {} if self._run is None else {"run": self._run}
        if self._method.transductive:  # a column survives programs that drop the metadata
            constants["transductive"] = True
        for name, results in self._rows.items():
            info, count = self._infos[name], len(results)
            if missing := [task_id for task_id in range(count) if task_id not in results]:
                raise MissingTaskError(
                    f"tasks are missing: task_id {listing(missing)}",
                    where=f"{self.name} on {info}",
                    expected=f"the first {count} tasks, if not all {info.n_tasks}",
                    fix="answer these, too",
                )
            key = (self.name, info.dataset, str(info.name))
            tasks = None if count == info.n_tasks else count
            bindings[key] = Binding(info.fingerprint, tasks, self._stopping.get(name))
            constants |= zip(NAMES, key, strict=True)
            rows += [{**constants, "task_id": i, **results[i]} for i in range(count)]
        where = "the recording"
        table = canonical(frame_table(rows, where), where)
        return Submission(table, {self.name: self._method}, bindings, where)

    def _record(
        self,
        info: TaskSetInfo,
        first: int,
        way: int,
        label: NDArray[Any],
        predictions: ArrayLike,
        second: ArrayLike | None,
        where: str,
    ) -> list[int]:
        """Record predictions of the tasks from `first` on; return the counts.

        `label` (m, K·Q) are the labels of the tasks; predictions of fewer tasks are enough.
        """
        predicted = _predictions(predictions, label, info, where)
        label = label[: len(predicted)]
        rows: dict[str, NDArray[Any]] = {"predictions": predicted}
        if second is not None:
            rows["second"] = _second(second, predicted, label, info, where)
        right = predicted == label
        by_class = [(right & (label == position)).sum(axis=1) for position in range(way)]
        rows |= {"class_correct": np.stack(by_class, axis=1), "n_correct": right.sum(axis=1)}
        rows["n_query"] = np.full(len(label), label.shape[1])
        values = zip(*(column.tolist() for column in rows.values()), strict=True)
        self._keep(info, first, [dict(zip(rows, row, strict=True)) for row in values])
        counts: list[int] = rows["n_correct"].tolist()
        return counts

    def _keep(self, info: TaskSetInfo, first: int, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of the tasks from `first` on; refuse a task that is recorded already."""
        results = self._rows.get(str(info), {})
        if doubled := [i for i in range(first, first + len(rows)) if i in results]:
            raise DoubledTaskError(
                f"task {listing(doubled)} has been recorded already",
                where=f"{self.name} on {info}",
                fix="use a Recorder for each method",
            )
        if self._infos.setdefault(str(info), info) != info:
            raise SubmissionError(f"{info} comes from two different releases")
        self._rows.setdefault(str(info), {}).update(enumerate(rows, first))


def array_of(values: Any, where: str, kind: type[FSLBenchError] = PredictionError) -> NDArray[Any]:
    """Return a method's answer, such as a tensor on any device, as an array.

    Raises an error of the kind if numpy makes no array of it (a tuple of arrays, a tensor of
    bfloat16, None), or if values are masked.
    """
    try:
        array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
        why = "it holds no numbers" if array.dtype == object else ""
    except Exception as error:  # the class's own code may raise anything
        why = printable(str(error)) or type(error).__name__
    else:
        why = "some of it is masked" if np.ma.is_masked(values) else why
    if why:
        raise kind(
            f"the answer is a {type(values).__name__} of which numpy makes no array: {why}",
            where=where,
            expected="an array or tensor of integers",
            fix="give these alone, as integers; of predictions positions of classes, no scores",
        )
    return array


def check_positions(
    array: NDArray[Any], shape: tuple[int, ...], way: int, where: str, alternative: str = ""
) -> None:
    """Refuse predictions (m, K·Q) of another shape or type, or out of range.

    `alternative` says what else the method may return.
    """
    if array.dtype.kind not in "iu" or array.shape != shape:
        found = array.shape[1:] if array.shape[:1] == (1,) else array.shape
        raise PredictionError(
            f"predictions are of type {array.dtype} and shape {found}",
            where=where,
            expected=f"integers ({shape[-1]},) for each task: K·Q positions 0..K-1{alternative}",
            fix="predict for every query, in the given order, the position of its class in support",
        )
    outside = (array < 0) | (array >= way)
    if outside.any():
        raise PredictionError(
            f"the method predicted {array[outside][0]}",
            where=where,
            expected=f"0..{way - 1}, the position of the class in support",
            fix="predict positions in the task, not class ids",
        )


def _predictions(
    predictions: ArrayLike, label: NDArray[Any], info: TaskSetInfo, where: str
) -> NDArray[Any]:
    """Return predictions as an integer array (m, K·Q), m at most the rows of `label`."""
    array = array_of(predictions, where)
    array = array[None, :] if array.ndim == 1 and len(label) == 1 else array
    n_query = label.shape[1]
    way = info.protocol.way if not info.name.varies else int(label.max()) + 1
    check_positions(array, (*array.shape[:1], n_query), way, where)
    if len(array) > len(label):
        raise _too_many(len(array), len(label), where)
    return array


def _too_many(found: int, tasks: int, where: str) -> PredictionError:
    what, expected = f"there are predictions for {found} tasks", f"at most {tasks}"
    return PredictionError(what, where=where, expected=expected)


def _second(
    second: ArrayLike,
    predicted: NDArray[Any],
    label: NDArray[Any],
    info: TaskSetInfo,
    where: str,
) -> NDArray[Any]:
    """Return second-best classes as an integer array (m, K·Q); refuse predicted ones."""
    where += ", second"
    if not info.name.whole:
        raise PredictionError(
            "second-best classes are recorded of tasks of all classes alone",
            where=where,
            fix="leave them out",
        )
    array = _predictions(second, label, info, where)
    if array.shape != predicted.shape or (array == predicted).any():
        raise PredictionError(
            "second-best classes are those that are predicted"
            if array.shape == predicted.shape
            else f"second-best classes are of shape {array.shape}",
            where=where,
            expected=f"{predicted.shape}: for each prediction the class with the highest score but "
            "one",
            fix="np.argsort(-scores, axis=1)[:, :2].T gives predictions and second-best classes",
        )
    return array
