"""Convert results on tasks of all classes from a row an image and draw to a row a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from benchmark_spec.protocol import suite_of
from fslbench_data.release.release import Release
from fslbench_data.submission import columns
from fslbench_data.submission.columns import canonical
from fslbench_data.submission.model import Source, Submission, open_all
from fslbench_data.submission.reading import is_by_image
from fslbench_data.tasks import TaskSet
from fslbench_data.validation.log_source import table_of
from fslbench_data.validation.rows import Rows, numbered

_NAMES, _NUMBERS = ("method", "dataset", "task_set"), ("task_id", "image_id", "predicted")
_OPTIONAL = ("run", "fingerprint")
_SECOND = "second"
"""The id of the second-best class."""
_CLASSES = {"predicted": "predictions", _SECOND: _SECOND}
"""Columns of ids of classes, and of lists of them."""


def open_submissions(sources: Source | Sequence[Source], release: Release) -> list[Submission]:
    """Read submissions, also those with a row an image and draw; see :func:`open_all`."""
    several: Any = sources if isinstance(sources, list | tuple) else [sources]
    return open_all([by_task(one, release) if is_by_image(one) else one for one in several])


def by_task(source: Any, release: Release) -> Submission:
    """Join rows of images to rows of tasks, with predictions in the order of the tasks' queries.

    Columns: method, dataset, task_set, task_id (the draw), image_id, predicted (the id of a class),
    and perhaps second, run and fingerprint.

    Raises
    ------
    SubmissionError, SchemaError
        A kind of them for rows that are no queries, doubled or missing; it names rows and images.
    """
    where = str(source) if isinstance(source, str | Path) else "the frame"
    needed = (*_NAMES, *_NUMBERS)
    table = table_of(source, needed, where, (*_OPTIONAL, _SECOND))
    if missing := [name for name in needed if name not in table.column_names]:
        raise SchemaError(
            f"the file misses the column{'s' if len(missing) > 1 else ''} {listing(missing)}",
            where=f"{where}, which has {listing(table.column_names)}",
            expected=", ".join(needed),
        )
    if not table.num_rows:
        raise SchemaError("there are no rows", where=where)
    texts = {
        name: columns.text_column(table.column(name), name, where, nulls=name in _OPTIONAL)
        for name in (*_NAMES, *_OPTIONAL)
        if name in table.column_names
    }
    given = (*_NUMBERS, *({_SECOND} & {*table.column_names}))
    numbers = {name: columns.integers(table.column(name), name, where) for name in given}
    found = numbered(Submission(pa.table(texts).unify_dictionaries(), source=where), release)
    made = []
    for group, key in enumerate(found.keys):
        own = np.flatnonzero(found.groups == group)
        if sum(said == group for said, _ in found.fingerprints) > 1:
            what = f"the rows of {key.method} have different fingerprints"
            raise found.error(FingerprintError, what, own, "that of the task set, in each")
        if not suite_of(key.info.name.suite).whole:
            expected = "a row a task, or a row an image of an allway set"
            what = f"{key.info} has no tasks of all classes"
            raise found.error(SchemaError, what, own, expected)
        tasks = release.task_set(key.info.dataset, str(key.info.name))
        ids, lists = _in_order(tasks, own, {n: all_[own] for n, all_ in numbers.items()}, found)
        columns_of: dict[str, Any] = {
            name: [texts[name][int(own[0])].as_py()] * len(ids) for name in texts
        }
        right = (lists["predicted"] == tasks.query_label[ids]).sum(axis=1)
        columns_of |= {"task_id": ids, "n_correct": right}
        columns_of["n_query"] = np.full(len(ids), tasks.query.shape[1])
        predicted = {_CLASSES[name]: classes.tolist() for name, classes in lists.items()}
        made.append(pa.table({**columns_of, **predicted}))
    return Submission(canonical(pa.concat_tables(made, promote_options="permissive"), where))


def _in_order(
    tasks: TaskSet, own: NDArray[Any], numbers: Mapping[str, NDArray[Any]], found: Rows
) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    """Return the task ids (T,) and of each column its classes (T, M), in the order of queries.

    `own` are the rows of a group in the file, with these `numbers`.
    """
    (number, n_query), way = tasks.query.shape, tasks.class_ids.shape[1]
    task, image = numbers["task_id"], numbers["image_id"]

    def refuse(
        kind: type[FSLBenchError], bad: Any, what: str, expected: str, fix: str = ""
    ) -> None:
        """Refuse rows, if any; the words may name the task and the image of the first."""
        if (at := np.flatnonzero(bad)).size:
            what = what.format(task=task[at[0]], image=image[at[0]])
            raise found.error(kind, what, own[at], expected, fix)

    draws = f"task_id 0..{number - 1}, the draws of the set"
    refuse(UnknownTaskError, (task < 0) | (task >= number), "there is no task {task}", draws)
    place = np.full((number, max(int(tasks.query.max()), int(tasks.support.max())) + 1), -1)
    np.put_along_axis(place, tasks.query, np.arange(n_query)[None], axis=1)
    known = (image >= 0) & (image < place.shape[1])
    at = np.where(known, place[task, np.where(known, image, 0)], -1)
    refuse(
        PredictionError,
        at < 0,
        "image {image} is no query of task {task}",
        "image ids of the task's queries",
        "leave the images out that are support in a draw",
    )
    classes = {name: numbers[name] for name in _CLASSES if name in numbers}
    for name, each in classes.items():
        if (bad := (each < 0) | (each >= way)).any():
            what = f"{name} is {each[bad][0]}"
            refuse(PredictionError, bad, what, f"the id of a class, 0..{way - 1}")
    cell = task * n_query + at
    times = np.bincount(cell, minlength=number * n_query)
    refuse(
        DoubledTaskError,
        times[cell] > 1,
        "image {image} is answered more than once in task {task}",
        "one row a method, draw and query",
        "name training seeds of one method in a column `run`",
    )
    there = times.reshape(number, n_query) > 0
    ids = np.flatnonzero(there.any(axis=1))
    for one in ids[~there[ids].all(axis=1)].tolist():
        lost = tasks.query[one][~there[one]]
        raise MissingTaskError(
            f"{lost.size} of {n_query} queries of task {one} are missing: image_id "
            f"{listing(lost.tolist())}",
            where=f"{found.where} ({tasks.info})",
            expected="a row for every query of an answered task",
        )
    lists = {}
    for name, each in classes.items():
        lists[name] = np.zeros((number, n_query), np.int64)
        lists[name].flat[cell] = each
    return ids, {name: each[ids] for name, each in lists.items()}
