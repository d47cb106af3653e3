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
    MissingTaskError,
    PredictionError,
    SchemaError,
    UnknownTaskError,
    listing,
    rows,
)
from benchmark_spec.protocol import suite_of
from fslbench_data.release.release import Release
from fslbench_data.submission import columns
from fslbench_data.submission.columns import canonical
from fslbench_data.submission.model import Source, Submission, open_all
from fslbench_data.submission.reading import is_by_image
from fslbench_data.tasks import TaskSet
from fslbench_data.validation.log_source import table_of

_NAMES, _NUMBERS = ("method", "dataset", "task_set"), ("task_id", "image_id", "predicted")
_OPTIONAL = ("run", "fingerprint")
_SECOND = "second"
"""The id of the second-best class."""


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
    task, image = (columns.integers(table.column(name), name, where) for name in _NUMBERS[:2])
    named_classes = [name for name in ("predicted", _SECOND) if name in table.column_names]
    predicted = {name: columns.integers(table.column(name), name, where) for name in named_classes}
    keys = [name for name in texts if name != "fingerprint"]
    codes = np.stack(
        [texts[name].combine_chunks().indices.fill_null(-1).to_numpy() for name in keys]
    )
    made = []
    _, first, group = np.unique(codes, axis=1, return_index=True, return_inverse=True)
    for number in np.argsort(first):
        own = np.flatnonzero(group.ravel() == number)
        named = {name: texts[name][int(own[0])].as_py() for name in texts}
        if "fingerprint" in texts and len(texts["fingerprint"].take(pa.array(own)).unique()) > 1:
            raise FingerprintError(
                f"the rows of {named['method']} have different fingerprints",
                where=f"{where}, {rows(own)}",
                expected="that of the task set, in each",
            )
        info = release.task_set_info(named["dataset"], named["task_set"])
        if not suite_of(info.name.suite).whole:
            raise SchemaError(
                f"{info} has no tasks of all classes",
                where=f"{where}, {rows(own)}",
                expected="a row a task, or a row an image of an allway set",
            )
        tasks = release.task_set(info.dataset, str(info.name))
        classes = {name: values[own] for name, values in predicted.items()}
        ids, lists = _in_order(tasks, own, task[own], image[own], classes, where)
        predictions = lists["predicted"]
        right = (predictions == tasks.query_label[ids]).sum(axis=1)
        rows_of = {name: [value] * len(ids) for name, value in named.items()}
        counts = {
            "task_id": ids,
            "n_correct": right,
            "n_query": np.full(len(ids), predictions.shape[1]),
        }
        more = {_SECOND: lists[_SECOND].tolist()} if _SECOND in lists else {}
        made.append(pa.table({**rows_of, **counts, "predictions": predictions.tolist(), **more}))
    return Submission(canonical(pa.concat_tables(made, promote_options="permissive"), where))


def _in_order(
    tasks: TaskSet,
    own: NDArray[Any],
    task: NDArray[Any],
    image: NDArray[Any],
    predicted: Mapping[str, NDArray[Any]],
    where: str,
) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    """Return the task ids (T,) and of each column its classes (T, M), in the order of queries.

    `own` numbers the rows in the file.
    """
    number, n_query = tasks.query.shape
    if (bad := np.flatnonzero((task < 0) | (task >= number))).size:
        raise UnknownTaskError(
            f"there is no task {task[bad[0]]}",
            where=f"{where}, {rows(own[bad])} ({tasks.info})",
            expected=f"task_id 0..{number - 1}, the draws of the set",
        )
    place = np.full((number, max(int(tasks.query.max()), int(tasks.support.max())) + 1), -1)
    np.put_along_axis(place, tasks.query, np.arange(n_query)[None], axis=1)
    known = (image >= 0) & (image < place.shape[1])
    at = np.where(known, place[task, np.where(known, image, 0)], -1)
    if (bad := np.flatnonzero(at < 0)).size:
        raise PredictionError(
            f"image {image[bad[0]]} is no query of task {task[bad[0]]}",
            where=f"{where}, {rows(own[bad])} ({tasks.info})",
            expected="image ids of the task's queries",
            fix="leave the images out that are support in a draw",
        )
    way = tasks.class_ids.shape[1]
    for name, classes in predicted.items():
        if (bad := np.flatnonzero((classes < 0) | (classes >= way))).size:
            raise PredictionError(
                f"{name} is {classes[bad[0]]}",
                where=f"{where}, {rows(own[bad])} ({tasks.info})",
                expected=f"the id of a class, 0..{way - 1}",
            )
    key = task * n_query + at
    times = np.bincount(key, minlength=number * n_query)
    if (bad := np.flatnonzero(times[key] > 1)).size:
        raise DoubledTaskError(
            f"image {image[bad[0]]} is answered more than once in task {task[bad[0]]}",
            where=f"{where}, {rows(own[bad])} ({tasks.info})",
            expected="one row a method, draw and query",
            fix="name training seeds of one method in a column `run`",
        )
    found = times.reshape(number, n_query) > 0
    there = np.flatnonzero(found.any(axis=1)).tolist()
    for one in there:
        if not found[one].all():
            lost = tasks.query[one][~found[one]]
            raise MissingTaskError(
                f"{lost.size} of {n_query} queries of task {one} are missing: image_id "
                f"{listing(lost.tolist())}",
                where=f"{where} ({tasks.info})",
                expected="a row for every query of an answered task",
            )
    lists = {}
    for name, classes in predicted.items():
        flat = np.zeros(number * n_query, np.int64)
        flat[key] = classes
        lists[name] = flat.reshape(number, n_query)[there]
    return np.array(there), lists
