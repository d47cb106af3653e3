"""Intervals of a researcher's own random tasks, which reuse images; no release is needed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.training_runs import REFERENCE, run_terms
from analysis_sql.leave_one_out.design import LEFT_OUT, TaskDesign
from analysis_sql.leave_one_out.leave_one_out import leave_one_out
from benchmark_spec.errors import FSLBenchWarning, TaskLogError, listing
from fslbench_data.scoring.own_answers import Answers, answers_of, apart_text
from fslbench_data.scoring.own_pool import Pool, pool_of
from fslbench_data.scoring.own_report import OwnTasks, OwnTaskSet
from fslbench_data.scoring.task_log import TaskLog


def interval(
    log: object,
    *,
    class_sizes: Mapping[object, int] | str | Path | None = None,
    groups: object = None,
    superclasses: object = None,
    trained: bool | None = None,
    level: float = 0.95,
) -> OwnTasks:
    """Compute what new images and new classes might change about means over random tasks.

    The tasks may reuse images; they are drawn uniformly, K of the classes and then m images of each
    for support and query.  See docs/own_tasks.md.

    Parameters
    ----------
    log
        One row a method, training run and task: method, run (where there are several), task,
        class_ids (K), support_ids and query_ids (K·S and K·Q, class by class in the order of
        class_ids, or K lists), or image_ids in their place, and n_correct with n_query, or
        accuracy, 0 to 1, or any other statistic of a task in its place.  A Parquet, CSV or JSON
        Lines file; a frame of pandas or polars; an Arrow table; a mapping of columns; a list of
        rows.
    class_sizes
        Images that may be drawn of each class: a mapping, a .json file of one, or a table with the
        columns class and n_images.  Without it the images seen are taken for all, which is refused
        where many were seen only once.
    groups, superclasses
        Of images that are not independent, such as shots of one scene, and of classes: the same
        forms, with the columns image and group, class and superclass.
    trained
        False where the methods train nothing before the tasks, so that there are no training runs
        to differ.
    level
        Such as 0.95.

    Returns
    -------
    OwnTasks
        Means and half-widths of methods and of all paired differences, percentage points.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the log, or with how tasks were drawn.
    """
    check_level(level)
    read = TaskLog.read(log)
    answers = answers_of(read)
    pool = pool_of(read, answers, class_sizes, groups, superclasses)
    said = [*pool.warnings]
    sets = []
    for group in answers:
        design = TaskDesign.of(
            group.class_ids,
            group.image_ids,
            pool.class_of_image,
            pool.group_of_image,
            pool.superclass_of_class,
            pool.classes,
        )
        if "images" in design.why:
            raise TaskLogError(
                f"nothing can be said of new images: {design.why['images']}",
                where=f"{read.source}, {listing(group.methods, 4)}",
                expected="tasks of which at least a bound can be given; a mean without an interval "
                "is none to report",
            )
        said += design.warnings
        sets.append(set_of(group, group.digest(read), design, level))
    if apart := apart_text(answers):
        said.append(apart)
    said = list(dict.fromkeys(said))
    for text in said:
        warnings.warn(f"{read.source}: {text}", FSLBenchWarning, stacklevel=2)
    return _report(read, pool, sets, level, said, trained)


def set_of(group: Answers, digest: str, design: TaskDesign, level: float) -> OwnTaskSet:
    """Compute the means and intervals of methods that answered the same tasks, and of all pairs."""
    tasks, way, per_class = group.image_ids.shape
    y = group.y
    if group.run_of_task is not None:  # what runs differ by is a term of its own
        y = y - _run_means(y, group.run_of_task)[:, group.run_of_task] + y.mean(axis=1)[:, None]
    return OwnTaskSet(
        group.methods,
        level,
        tasks,
        way,
        per_class,
        digest,
        design.unit,
        design.why,
        design.bounded,
        leave_one_out(design, y, level),
        leave_one_out(design, y, REFERENCE) if max(group.runs) > 1 else None,
        group.runs,
        {kind: design.disjoint_tasks(kind) for kind in LEFT_OUT},
        *_run_terms(group),
    )


def _run_means(y: NDArray[np.float64], run: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of every run (M, R) of values (M, B)."""
    return np.stack([y[:, run == number].mean(axis=1) for number in range(run.max() + 1)], axis=1)


def _run_terms(group: Answers) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what training anew adds, by :func:`run_terms`, to each method and pair, (M, M) each.

    Where every run answered tasks of its own, the means of runs differ by their tasks, too: the
    variance of the run-wise means, or differences, less the mean of their v_mc.
    """
    several, run = np.array(group.runs), group.run_of_task
    if run is None:
        spreads = [100 * means.std(ddof=1) if means.size else None for means in group.run_means]
        terms = run_terms(spreads, group.runs)
        same = np.eye(len(several), dtype=bool)
        variance, square = (np.where(same, own, own[:, None] + own) for own in terms)
        return variance, square
    methods = len(group.methods)
    variance = np.zeros((methods, methods))
    tasks = np.bincount(run)
    for i in range(methods):
        y = 100 * (group.y[i] - np.where(np.eye(methods)[i][:, None], 0.0, group.y))
        means = _run_means(y, run)
        within = np.zeros(methods)
        for number, size in enumerate(tasks.tolist()):
            own = y[:, run == number]
            within += own.var(axis=1, ddof=1) / size if size > 1 else 0.0
        between = means.var(axis=1, ddof=1) - within / len(tasks)
        variance[i] = np.maximum(between, 0.0) / len(tasks)
    return variance, variance**2 / (len(tasks) - 1)


def _report(
    log: TaskLog,
    pool: Pool,
    sets: list[OwnTaskSet],
    level: float,
    said: list[str],
    trained: bool | None,
) -> OwnTasks:
    above = pool.superclass_of_class
    return OwnTasks(
        log.source,
        level,
        len(pool.classes),
        len(log.images),
        pool.unseen,
        pool.sizes_known,
        log.roles,
        trained,
        log.run_column,
        0 if above is None else len(set(above.tolist())),
        tuple(sets),
        tuple(said),
    )
