"""Convert results on tasks of all classes from rows of images to rows of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec.errors import (
    DoubledTaskError,
    FingerprintError,
    FSLBenchError,
    MissingTaskError,
    PredictionError,
    SchemaError,
    UnknownTaskError,
    listing,
)
from fslbench_data.release.release import Release
from fslbench_data.submission.columns import NAMES, TableKind, canonical
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSet
from fslbench_data.validation.log_source import table_of
from fslbench_data.validation.rows import Rows, numbered

_NUMBERS = ("task_id", "image_id", "predicted", "second")
"""Columns of ids; `second` is that of the second-best class."""
_NEEDED = (*NAMES, *_NUMBERS[:3])
_BY_IMAGE = TableKind(
    "the file",
    dict.fromkeys((*NAMES, "run", "fingerprint"), pa.string())
    | dict.fromkeys(_NUMBERS, pa.int64()),
    _NEEDED,
    ", ".join(_NEEDED),
    ids=["run"],
    loose=["run", "fingerprint", "second"],
)
_LISTS = {"predicted": "predictions", "second": "second"}
"""By column of class ids: the submission's column of lists."""


def by_task(source: Any, release: Release) -> Submission:
    """Convert rows of images to rows of tasks, with predictions in the order of queries.

    Columns: method, dataset, task_set, task_id (the draw), image_id, predicted (the id of a class),
    and perhaps second, run and fingerprint.

    Raises
    ------
    SubmissionError, SchemaError
        A subclass for rows that are no queries, doubled or missing; it names rows and images.
    """
    where = str(source) if isinstance(source, str | Path) else "the frame"
    table = table_of(source, _BY_IMAGE, where)
    texts = table.select([name for name in table.column_names if name not in _NUMBERS])
    numbers = {name: table[name].to_numpy() for name in _NUMBERS if name in table.column_names}
    rows = numbered(Submission(texts, source=where), release)
    tables = []
    for group, key in enumerate(rows.keys):
        members = np.flatnonzero(rows.groups == group)
        if sum(of_group == group for of_group, _ in rows.fingerprints) > 1:
            what = f"the rows of {key.method} have different fingerprints"
            raise rows.error(FingerprintError, what, members, "that of the task set, in each")
        if not key.info.name.whole:
            expected = "a row per task, or a row per image of an allway set"
            what = f"{key.info} has no tasks of all classes"
            raise rows.error(SchemaError, what, members, expected)
        tasks = release.task_set(key.info.dataset, str(key.info.name))
        of_members = {name: values[members] for name, values in numbers.items()}
        task_ids, classes = _in_query_order(tasks, rows, members, of_members)
        first = int(members[0])
        content: dict[str, Any] = {
            name: [texts[name][first].as_py()] * len(task_ids) for name in texts.column_names
        }
        content["task_id"] = task_ids
        content["n_correct"] = (classes["predicted"] == tasks.query_label[task_ids]).sum(axis=1)
        content["n_query"] = np.full(len(task_ids), tasks.query.shape[1])
        content |= {_LISTS[name]: values.tolist() for name, values in classes.items()}
        tables.append(pa.table(content))
    return Submission(canonical(pa.concat_tables(tables, promote_options="permissive"), where))


def _in_query_order(
    tasks: TaskSet, rows: Rows, members: NDArray[Any], numbers: Mapping[str, NDArray[Any]]
) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    """Return the task ids (T,), and for each column its classes (T, M) in the order of queries.

    `members` are the rows of one group, and `numbers` their values by column.
    """
    (n_tasks, n_query), way = tasks.query.shape, tasks.class_ids.shape[1]
    task, image = numbers["task_id"], numbers["image_id"]

    def refuse(
        kind: type[FSLBenchError], bad: Any, what: str, expected: str, fix: str = ""
    ) -> None:
        """Raise an error about the bad rows, if any; `what` may name the first task and image."""
        if (first := np.flatnonzero(bad)[:1]).size:
            what = what.format(task=task[first[0]], image=image[first[0]])
            raise rows.error(kind, what, members[bad], expected, fix)

    draws = f"task_id 0..{n_tasks - 1}, the draws of the set"
    refuse(UnknownTaskError, (task < 0) | (task >= n_tasks), "there is no task {task}", draws)
    positions = np.full((n_tasks, max(int(tasks.query.max()), int(tasks.support.max())) + 1), -1)
    np.put_along_axis(positions, tasks.query, np.arange(n_query)[None], axis=1)
    known = (image >= 0) & (image < positions.shape[1])
    position = np.where(known, positions[task, np.where(known, image, 0)], -1)
    refuse(
        PredictionError,
        position < 0,
        "image {image} is no query of task {task}",
        "image ids of the task's queries",
        "leave the images out that are support in a draw",
    )
    classes = {name: numbers[name] for name in _LISTS if name in numbers}
    for name, class_ids in classes.items():
        if (bad := (class_ids < 0) | (class_ids >= way)).any():
            what = f"{name} is {class_ids[bad][0]}"
            refuse(PredictionError, bad, what, f"the id of a class, 0..{way - 1}")
    cell = task * n_query + position
    n_answers = np.bincount(cell, minlength=n_tasks * n_query)
    refuse(
        DoubledTaskError,
        n_answers[cell] > 1,
        "image {image} is answered more than once in task {task}",
        "one row per method, draw and query",
        "name training seeds of one method in a column `run`",
    )
    answered = n_answers.reshape(n_tasks, n_query) > 0
    task_ids = np.flatnonzero(answered.any(axis=1))
    incomplete = task_ids[~answered[task_ids].all(axis=1)]
    if incomplete.size:
        first = int(incomplete[0])
        missing = tasks.query[first][~answered[first]]
        raise MissingTaskError(
            f"{missing.size} of {n_query} queries of task {first} are missing: image_id "
            f"{listing(missing.tolist())}",
            where=f"{rows.where} ({tasks.info})",
            expected="a row for every query of an answered task",
        )
    ordered = {}
    for name, class_ids in classes.items():
        values = np.zeros((n_tasks, n_query), np.int64)
        values.flat[cell] = class_ids
        ordered[name] = values[task_ids]
    return task_ids, ordered
