"""A log of random tasks, checked task by task, as methods that answered the same tasks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import (
    DoubledTaskError,
    MissingTaskError,
    TaskLogError,
    listing,
    rows,
    shown,
)
from fslbench_data.scoring.task_log import TaskLog

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answers:
    """B tasks, and the M methods that answered exactly these.

    Attributes
    ----------
    methods, tasks
        Their names.
    class_ids, image_ids : int64 (B, K), (B, K, m)
        Positions among the log's classes and images.
    y : float64 (M, B)
        What the methods made of the tasks, 0 to 1; of several runs on these tasks their mean.
    run_means
        Of each method with several runs on the same tasks, the means of its runs, 0 to 1; else an
        empty array.
    run_of_task : int64 (B,) or None
        Where every run answered tasks of its own, which run that is, 0..R-1.
    run_names
        Of each method, the names of its runs.
    """

    methods: tuple[str, ...]
    tasks: tuple[str, ...]
    class_ids: Ints
    image_ids: Ints
    y: NDArray[np.float64]
    run_means: tuple[NDArray[np.float64], ...]
    run_of_task: Ints | None
    run_names: tuple[tuple[str, ...], ...]

    @property
    def runs(self) -> tuple[int, ...]:
        """Number of training runs of each method; 1 where nothing is said of runs."""
        if self.run_of_task is not None:
            return (int(self.run_of_task.max()) + 1,) * len(self.methods)
        return tuple(max(means.size, 1) for means in self.run_means)

    def digest(self, log: TaskLog) -> str:
        """Return the SHA-256 (hex) of the tasks, by the names of classes and images."""
        digest = hashlib.sha256()
        for names, ids in ((log.classes, self.class_ids), (log.images, self.image_ids)):
            used = sorted(np.unique(ids).tolist(), key=names.__getitem__)
            position = np.zeros(len(names), "<i8")
            position[used] = np.arange(len(used))
            digest.update("\0".join([names[i] for i in used]).encode())
            digest.update(position[ids].tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class _Answered:
    """A method's tasks, a row of the log each, and what it made of them; as :class:`Answers`."""

    method: int
    rows: Ints
    y: NDArray[np.float64]
    run_means: NDArray[np.float64]
    run: Ints | None
    run_names: tuple[str, ...]


def answers_of(log: TaskLog) -> list[Answers]:
    """Check a log's tasks, and put methods together that answered the same ones.

    Tasks are the same if they have the same name, classes and images, in the same order, and are of
    the same run where every run has tasks of its own.

    Raises
    ------
    TaskLogError
        If a task has a class or an image twice, an image is of two classes, or two methods have
        some tasks in common and others of the same name not.
    DoubledTaskError, MissingTaskError
        If a method answers a task twice in a run, or a method, or a run, does not answer all of the
        tasks that it shares with another.
    """
    _check_rows(log)
    groups: list[list[_Answered]] = []
    for own in (_answered(log, *each) for each in enumerate(_rows_by_method(log))):
        for members in groups:
            if _same_tasks(log, members[0], own):
                members.append(own)
                break
        else:
            groups.append([own])
    for later, members in enumerate(groups):
        for others in groups[:later]:
            if others[0].run is None and members[0].run is None:
                names = log.methods[others[0].method], log.methods[members[0].method]
                _check_apart(log, others[0].rows, members[0].rows, *names)
    return [
        Answers(
            tuple(log.methods[own.method] for own in members),
            tuple(log.tasks[task] for task in log.task[members[0].rows].tolist()),
            log.class_ids[members[0].rows],
            log.image_ids[members[0].rows],
            np.stack([own.y for own in members]),
            tuple(own.run_means for own in members),
            members[0].run,
            tuple(own.run_names for own in members),
        )
        for members in groups
    ]


def _answered(log: TaskLog, method: int, rows_: Ints) -> _Answered:
    """Put a method's runs together, by rows in the order of runs, then of tasks."""
    numbers, run = np.unique(log.run[rows_], return_inverse=True)
    run_names = tuple(log.runs[number] for number in numbers.tolist()) if log.runs else ()
    by_run = np.split(rows_, np.flatnonzero(np.diff(run)) + 1)
    first = by_run[0]
    none = np.empty(0)
    if len(by_run) == 1:
        return _Answered(method, first, log.y[first], none, None, run_names)
    if all(np.array_equal(log.task[first], log.task[own]) for own in by_run) and all(
        _agree(log, first, own).all() for own in by_run
    ):
        y = np.stack([log.y[own] for own in by_run])
        return _Answered(method, first, y.mean(axis=0), y.mean(axis=1), None, run_names)
    for number, own in enumerate(by_run):
        for other in by_run[:number]:
            names = [f"run {shown(log.runs[log.run[part[0]]])}" for part in (other, own)]
            _check_apart(log, other, own, *(f"{name} of {log.methods[method]}" for name in names))
    return _Answered(method, rows_, log.y[rows_], none, run, run_names)


def _check_rows(log: TaskLog) -> None:
    images = log.image_ids.reshape(len(log.method), -1)
    for what, ids, names in (
        ("class", log.class_ids, log.classes),
        ("image", images, log.images),
    ):
        ordered = np.sort(ids, axis=1)
        twice = ordered[:, 1:] == ordered[:, :-1]
        if (bad := np.flatnonzero(twice.any(axis=1))).size:
            name = names[ordered[bad[0], 1:][twice[bad[0]]][0]]
            raise TaskLogError(
                f"a task has {what} {shown(name)} twice",
                where=f"{log.source}, {rows(bad)}",
                expected=f"no {what} twice in a task, in support and query together",
                fix="sample without replacement; log ids, not positions within a class or a batch",
            )
    class_of = np.repeat(log.class_ids, log.image_ids.shape[2], axis=1)
    owner = np.zeros(len(log.images), np.int64)
    owner[images] = class_of
    wrong = owner[images] != class_of
    if wrong.any():
        row, place = np.argwhere(wrong)[0].tolist()
        image = images[row, place]
        other = int(np.flatnonzero(((images == image) & ~wrong).any(axis=1))[0])
        raise TaskLogError(
            f"image {shown(log.images[image])} is of class "
            f"{shown(log.classes[class_of[row, place]])} in one task and of class "
            f"{shown(log.classes[owner[image]])} in another",
            where=f"{log.source}, data rows {row + 1} and {other + 1}",
            expected="ids that tell all images apart, class by class in the order of class_ids",
            fix="number images over the whole data set, not within a class; take class_ids from "
            "the labels of the images as they stand, since loaders may list classes in another "
            "order (easyfsl's episodic_collate_fn does)",
        )


def _rows_by_method(log: TaskLog) -> list[Ints]:
    """Rows of each method, in the order of its runs, then of the log's tasks."""
    order = np.lexsort((log.task, log.run, log.method))
    method, task, run = log.method[order], log.task[order], log.run[order]
    alike = [key[1:] == key[:-1] for key in (method, task, run)]
    doubled = np.flatnonzero(np.logical_and.reduce(alike))
    if doubled.size:
        at = int(doubled[0])
        raise DoubledTaskError(
            f"{log.methods[method[at]]} answers task {shown(log.tasks[task[at]])} twice",
            where=f"{log.source}, {rows(sorted(order[at : at + 2].tolist()))}",
            expected="one row a method, run and task",
            fix="name training runs in a column `run`; number tasks through, over epochs and "
            "batches",
        )
    return np.split(order, np.cumsum(np.bincount(method))[:-1])


def _same_tasks(log: TaskLog, first: _Answered, own: _Answered) -> bool:
    alike = np.array_equal(log.task[first.rows], log.task[own.rows])
    if (first.run is None) != (own.run is None) or not alike:
        return False
    if first.run is not None and not np.array_equal(log.run[first.rows], log.run[own.rows]):
        return False
    return bool(_agree(log, first.rows, own.rows).all())


def _agree(log: TaskLog, first: Ints, own: Ints) -> NDArray[np.bool_]:
    """Whether rows (n,) are of tasks with the same classes and images."""
    agree: NDArray[np.bool_] = (log.class_ids[first] == log.class_ids[own]).all(axis=1)
    agree &= (log.image_ids[first] == log.image_ids[own]).all(axis=(1, 2))
    return agree


def _check_apart(log: TaskLog, first: Ints, own: Ints, name: str, other: str) -> None:
    """Refuse two methods that have some, but not all, of their tasks in common."""
    _, left, right = np.intersect1d(
        log.task[first], log.task[own], assume_unique=True, return_indices=True
    )
    same = _agree(log, first[left], own[right])
    if not same.any():
        return
    if not same.all():
        bad = own[right][~same]
        raise TaskLogError(
            f"{other} answers {len(bad)} of its {len(own)} tasks with other classes or images, or "
            f"in another order, than {name} answers tasks of the same name: "
            f"{listing([log.tasks[task] for task in log.task[bad].tolist()], 4)}",
            where=f"{log.source}, {rows(bad)}",
            expected="the same classes and images in every task of the same name, or in none",
            fix="draw the tasks once and give them to all methods",
        )
    for lacking, rows_, there in ((other, own, first), (name, first, own)):
        missing = np.setdiff1d(log.task[there], log.task[rows_])
        if missing.size:
            raise MissingTaskError(
                f"{lacking} lacks tasks that {name if lacking == other else other} answers: "
                f"{listing([log.tasks[task] for task in missing.tolist()])}",
                where=log.source,
                expected="all of the same tasks, so that methods are compared task by task",
                fix="run the missing tasks; leaving out those that failed would flatter",
            )


def apart_text(answers: list[Answers]) -> str:
    """Say which methods are not compared, since their tasks differ; empty where none do."""
    if len(answers) < 2:
        return ""
    groups = "; ".join(listing(group.methods, 4) for group in answers[:4])
    more = f"; and {len(answers) - 4} more groups" if len(answers) > 4 else ""
    return (
        f"not compared, since their tasks differ: {groups}{more}. Only methods that answer the "
        "same tasks, with the same names, classes and images, are compared pairwise"
    )
