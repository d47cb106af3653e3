"""Log the tasks that other packages' samplers draw, and the results of methods on them."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from torch.utils.data import Sampler

from benchmark_spec.errors import OutputError, SpecError, TaskLogError
from fslbench_data.files import whole_file
from fslbench_data.submission.recorder import array_of
from fslbench_data.torch.task_sampler import TaskSampler, labels_of


class LoggedTasks(Sampler[list[int]]):
    """The tasks of a sampler as it draws them; made by :func:`log_tasks`.

    Attributes
    ----------
    class_sizes
        Images of each class, for ``fb.interval`` and ``fb.open_log``.
    """

    def __init__(self, tasks: Any, label_of: Mapping[int, Any], queries_from: int | None) -> None:
        self._rows: list[dict[str, Any]] = []
        self.class_sizes: dict[Any, int] = dict(Counter(label_of.values()))
        self._tasks, self._label_of, self._queries_from = tasks, label_of, queries_from
        self._drawn: list[dict[str, Any]] = []  # tasks of the current iteration
        self._all_drawn = False
        self._recorded: Counter[tuple[str, str]] = Counter()  # tasks by method and run
        self._numbers: dict[str, int] = {}  # of tasks, by their classes and images

    def __repr__(self) -> str:
        return f"<LoggedTasks: {len(self._rows):,} rows, {len(self.class_sizes)} classes>"

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[list[int]]:
        self._check()
        self._drawn, self._recorded, self._all_drawn = [], Counter(), False
        for ids in self._tasks:
            self._drawn.append(self._episode(ids))
            yield ids
        self._all_drawn = True

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The log, a row per method and task, for ``fb.interval`` and ``fb.open_log``.

        All rows have the same columns; which queries were right is left out unless all rows say it.
        Raises a TaskLogError if a method has recorded some tasks of an iteration, and not all.
        """
        self._check()
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        if not all("correct" in row for row in self._rows):
            names = [name for name in names if name != "correct"]
        return [{name: row.get(name) for name in names} for row in self._rows]

    def _check(self) -> None:
        for (method, _), number in self._recorded.items():
            if self._all_drawn and number < len(self._drawn):
                raise TaskLogError(
                    f"{method} has recorded {number} of the {len(self._drawn)} tasks that were "
                    "drawn, and those after a task that it left out would count for others",
                    expected="one call of record a method, run and task, before the log is used",
                    fix="of a task that failed, record None",
                )

    def _episode(self, image_ids: Iterable[Any]) -> dict[str, Any]:
        """Return a task's number, classes and images as a row of the log."""
        by_class: dict[Any, list[int]] = {}
        for image in map(int, image_ids):
            if image not in self._label_of:
                raise TaskLogError(
                    f"image {image} is drawn, and its class is not known",
                    expected="in labels the class of every image of the data set",
                )
            by_class.setdefault(self._label_of[image], []).append(image)
        images = list(by_class.values())
        columns: dict[str, Any] = {"class_ids": list(by_class)}
        if self._queries_from is None:
            columns["image_ids"] = images
        else:
            columns["support_ids"] = [ids[: self._queries_from] for ids in images]
            columns["query_ids"] = [ids[self._queries_from :] for ids in images]
        number = self._numbers.setdefault(json.dumps(columns), len(self._numbers))
        return {"task": number, **columns}

    def record(
        self, method: str, correct: Any, n_query: int | None = None, run: str | int = ""
    ) -> None:
        """Log a method's result on its next task of this iteration.

        Call it once for every task, in the order of the tasks: loaders draw ahead.

        Parameters
        ----------
        correct
            For each query, class by class, whether it was predicted correctly; or how many were.
            None leaves out a task that failed.
        n_query
            Number of queries; with `n_shot`, by default all other images of the task.
        run
            The name of the training run, if there are several.

        Raises a TaskLogError if the task was not drawn, or `correct` is an accuracy.
        """
        if not isinstance(method, str) or not method:
            raise TaskLogError(f"a method is called {method!r}", expected="its name, a text")
        run = str(run)
        position = self._recorded[method, run]
        if position >= len(self._drawn):
            raise TaskLogError(
                f"{method} answers task {position + 1} of an iteration in which {position} were "
                "drawn",
                expected="one call of record a method, run and task, while its tasks are drawn",
                fix="iterate over a loader that has this log as its batch_sampler",
            )
        if correct is None:
            self._recorded[method, run] += 1
            return
        task = self._drawn[position]
        where = f"{method}, task {position + 1}"
        right = array_of(correct, where, TaskLogError)
        whole = right.dtype.kind in "biuf" and (right % 1 == 0).all()
        if not whole or (right.ndim and not ((right == 0) | (right == 1)).all()):
            raise TaskLogError(
                "what was right is no count, nor true or false for each query",
                where=where,
                expected="(predicted == answer), or its sum",
                fix="give no accuracy, and of a task that failed None",
            )
        row = {"method": method, **({"run": run} if run else {}), **task}
        queries = sum(map(len, task.get("query_ids", ())))
        if right.ndim and queries:
            row["correct"] = right.ravel().astype(int).tolist()
        if n_query is None:
            n_query = queries or (right.size if right.ndim else 0)
        if not n_query:
            raise TaskLogError(
                "it is not known how many queries the task has",
                fix="give n_query, or n_shot to log_tasks",
            )
        answered = right.size if right.ndim else n_query
        if not 0 <= right.sum() <= n_query == answered:
            raise TaskLogError(
                f"{int(right.sum())} of {answered} queries are right, and the task has {n_query}",
                where=where,
                expected="an answer to every query of the task",
            )
        self._recorded[method, run] += 1
        self._rows.append(row | {"n_correct": int(right.sum()), "n_query": int(n_query)})

    def write(self, path: str | Path) -> None:
        """Write the log as a file (.csv, .jsonl or .parquet) for ``fslbench score``."""
        path = Path(path)
        rows = self.rows
        if not rows:
            raise TaskLogError("nothing has been recorded", fix="call record after each task")
        if path.suffix not in (".csv", ".jsonl", ".parquet"):
            raise OutputError(f"{path} is no name of a log", expected=".csv, .jsonl or .parquet")
        with whole_file(path) as temporary:
            if path.suffix == ".parquet":
                pq.write_table(pa.Table.from_pylist(rows), temporary)
                return
            with temporary.open("w", encoding="utf-8", newline="") as file:
                if path.suffix == ".jsonl":
                    file.writelines(json.dumps(row) + "\n" for row in rows)
                    return
                writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(
                    {k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()}
                    for row in rows
                )


def log_tasks(tasks: Any, labels: Any = None, *, n_shot: int | None = None) -> LoggedTasks:
    """Log which classes and images each task uses, as it is drawn.

    Parameters
    ----------
    tasks
        A batch sampler, such as easyfsl's TaskSampler and :class:`TaskSampler`, which the returned
        one replaces.  Or a Taskset of learn2learn, which is used as before: each task that it loads
        in this process is logged.
    labels
        The class of each image: a list, or a data set.  Not needed for easyfsl and learn2learn.
    n_shot
        The number of first images of a class in a batch that are its support; not needed for
        samplers of easyfsl.  Without it the log does not say which images are support.
    """
    queries_from = getattr(tasks, "n_shot", None) if n_shot is None else n_shot
    if isinstance(tasks, TaskSampler):  # its shots may differ between classes
        queries_from = -tasks.n_query
    is_taskset = hasattr(tasks, "sample_task_description")
    if labels is not None:
        label_of = dict(enumerate(labels_of(labels)))
    elif is_taskset:
        label_of = dict(tasks.dataset.indices_to_labels)
    elif hasattr(tasks, "items_per_label"):
        label_of = {i: label for label, images in tasks.items_per_label.items() for i in images}
    else:
        raise SpecError(
            f"the classes of the images that a {type(tasks).__name__} draws are not known",
            fix="give labels, a list of the class of each image",
        )
    log = LoggedTasks(tasks, label_of, queries_from)
    if is_taskset:
        load = tasks.get_task

        def logged(description: Any) -> Any:
            log._drawn, log._recorded = [log._episode(d.index for d in description)], Counter()
            return load(description)

        tasks.get_task = logged
    return log
