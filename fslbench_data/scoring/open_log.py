"""Open a log of own tasks, or of all classes at once, to score it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from analysis_sql.intervals.arrays import Ints
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import Design
from benchmark_spec.errors import (
    FSLBenchWarning,
    SpecError,
    TaskLogError,
    listing,
    many,
)
from fslbench_data.scoring.designs import left_out_design
from fslbench_data.scoring.own_release import (
    DrawFacts,
    LogFacts,
    OwnLog,
    OwnTasks,
    Pool,
    joined,
    lists_of,
    own_log,
    release_of,
)
from fslbench_data.submission.model import Method
from fslbench_data.submission.reading import is_all_ways, several_logs

if TYPE_CHECKING:
    from fslbench_data.scoring.draw_log import DrawLog
    from fslbench_data.scoring.task_log import TaskLog

NO_CORRECT = (
    "inductive changes nothing without the column correct, 1 or 0 for each of query_ids: ± for new "
    "images takes tasks as a whole"
)
OWN_TASKS_PER_RUN = (
    "inductive changes nothing where training runs have tasks of their own: ± for new images takes "
    "tasks as a whole"
)
NO_REUSE = "inductive changes nothing where tasks share no image"
NO_QUERIES = "± for new images takes tasks as a whole, though inductive: "


def open_log(
    log: object,
    *,
    class_sizes: Mapping[object, int] | str | Path | None = None,
    groups: object = None,
    superclasses: object = None,
    trained: bool | None = None,
    inductive: bool | None = None,
    pool: int | None = None,
) -> OwnLog:
    """Read a log of one's own random tasks, which reuse images.

    The tasks are drawn uniformly: K of the classes, then m images of each for support and query.
    A log of results with all classes at once is read, too: one row per method, draw and test image,
    with method, image, class and predicted (names or numbers), draw (of the support; not for
    methods without any, such as zero-shot ones), shots where several are compared, and perhaps
    second, the class with the second-highest score, which gives intervals for new classes.
    See docs/own_tasks.md and docs/clip_adapters.md.

    Parameters
    ----------
    log
        One row per method, training run and task: method, run (if there are several), task, dataset
        (if there are several, each with its own tasks, classes and images), class_ids (K),
        support_ids and query_ids (K·S and K·Q, class by class in the order of class_ids, or K
        lists), or image_ids in their place, and correct (1 or 0 for each of the query_ids),
        n_correct with n_query, or accuracy, 0 to 1, or another statistic of a task in its place.
        Tasks of few numbers of shots, such as 1 and 5, become task sets of their own.  The log is a
        Parquet, CSV or JSON Lines file; a frame of pandas or polars; an Arrow table; a mapping of
        columns; a list of rows; or several of these, with other methods, runs or shots.
    class_sizes
        Number of images of each class that may be drawn: a mapping, a .json file of one, a table
        with the columns class and n_images, or the name of a known test split or data set, such as
        ``miniImageNet``.  For several data sets, a mapping of these by data set, or a table that
        also has the column dataset.  Without it the images seen are taken for all, which is refused
        if many were seen only once.
    groups, superclasses
        Groups of images that are not independent, such as shots of one scene, and superclasses of
        classes: in the same forms, with the columns image and group, class and superclass.
    trained
        False if the methods train nothing before the tasks, so that there are no training runs.
    inductive
        True if no answer to a query depends on the task's other queries: with `correct`, intervals
        for new images are then usually narrower.
    pool
        Only for all classes at once: number of training images of a class that draws are taken
        from.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the log, or with how tasks were drawn.
    """
    from fslbench_data.scoring.draw_log import read_draws
    from fslbench_data.scoring.own_tasks import check_rows
    from fslbench_data.scoring.task_log import TaskLog

    several = several_logs(log) or ()
    if len(several) == 1:
        log = several[0]
    elif any(map(is_all_ways, several)):
        raise SpecError(
            "results with all classes at once are read from one file",
            fix="write the rows of all methods and draws into one",
        )
    if is_all_ways(log):
        if any(v is not None for v in (class_sizes, groups, superclasses, trained, inductive)):
            raise SpecError("of all classes at once, only a pool is to be told besides")
        return joined([_of_draws(part, pool or 0) for part in read_draws(log)])
    if pool is not None:
        raise SpecError("a pool is of results with all classes at once")
    parts = TaskLog.read(log)
    for part in parts:
        check_rows(part)
    given = class_sizes, groups, superclasses
    own = joined([_of_dataset(part, given, trained, inductive) for part in parts])
    for facts in own.release.facts.values():
        for text in facts.warnings:
            warnings.warn(f"{facts.source}: {text}", FSLBenchWarning, stacklevel=2)
    return own


def _of_dataset(
    read: TaskLog,
    given: tuple[object, object, object],
    trained: bool | None,
    inductive: bool | None,
) -> OwnLog:
    """Open the log of one data set; `given` are sizes of classes, groups and superclasses."""
    from fslbench_data.scoring.own_tasks import (
        check_tasks_of_runs,
        groups_of,
        pool_of,
        task_sets,
    )

    messages: list[str] = []
    sizes, groups, superclasses = given[0], groups_of(read, given[1]), given[2]
    sets: list[OwnTasks] = []
    tables: list[pa.Table] = []
    for part in read.by_shots():
        part_sets, set_of_row, task_of_row = task_sets(
            part,
            trained=trained is not False,
            inductive=bool(inductive),
            groups=groups,
        )
        tables.append(_results(part, part_sets, set_of_row, task_of_row))
        sets += part_sets
        if len(part_sets) > 1:
            names = "; ".join(listing(task_set.methods, 4) for task_set in part_sets[:4])
            more = f"; and {len(part_sets) - 4} more groups" if len(part_sets) > 4 else ""
            messages.append(
                f"not compared, since their tasks differ: {names}{more}. Only methods that answer "
                "the same tasks, with the same names, classes and images, are compared pairwise"
            )
    about_runs = [check_tasks_of_runs(read, task_set) for task_set in sets]
    if groups is not None and all(task_set.is_open for task_set in sets):
        sizes = None  # no interval needs them, and groups of images in no task are unknown
    drawable = pool_of(read, sets, sizes, groups, superclasses)
    facts = LogFacts(
        read.source,
        len(drawable.classes),
        len(read.images),
        drawable.unseen,
        sizes_known=sizes is not None,
        roles=read.roles,
        run_column=read.run_column,
        superclasses=len(set(drawable.superclasses or ())),
        runs_apart=any(task_set.runs_apart for task_set in sets),
    )
    release = release_of(read.name, drawable, facts, sets)
    found = list(drawable.warnings)
    for task_set, about_run in zip(sets, about_runs, strict=True):
        if task_set.is_open:
            found += [*[NO_REUSE] * bool(inductive), *about_run]
            continue
        design = left_out_design(release, task_set.info)
        if inductive and task_set.runs_apart:
            found.append(OWN_TASKS_PER_RUN)
        elif inductive and read.right is None:
            found.append(NO_CORRECT)
        elif inductive and not design.takes_queries:
            found.append(NO_QUERIES + _why_whole(design))
        if "images" in design.why:
            raise TaskLogError(
                f"nothing can be said of new images: {design.why['images']}",
                where=f"{read.source}, {listing(task_set.methods, 4)}",
                expected="tasks of which at least a bound can be given; a mean without an interval "
                "is none to report",
            )
        found += [*design.warnings, *about_run]
    facts = replace(facts, warnings=tuple(dict.fromkeys([*found, *messages])))
    about = {name: Method(name, trained=trained, inductive=inductive) for name in read.methods}
    results = [group for task_set in sets for group in task_set.groups]
    release = replace(release, facts={read.name: facts})
    return own_log(release, results, pa.concat_tables(tables), about)


def _why_whole(design: Design) -> str:
    """Return why the interval for new images does not use which queries were right."""
    if isinstance(design, TaskDesign) and not design.membership.one_each:
        return "a task shows several images of a group"
    if "images" in design.bounded:
        return f"only a bound can be given, since {design.bounded['images']}"
    return "no class has three times as many images as a task shows of it"


def _of_draws(read: DrawLog, pool: int) -> OwnLog:
    """Open the results of one data set with all classes at once.

    There is a task set for every number of shots, and further ones for methods whose draws differ
    or leave out other images.
    """
    from fslbench_data.scoring.draw_log import by_shots, draws_of, on_same_draws

    sets: list[OwnTasks] = []
    draws: dict[str, dict[int, int]] = {name: {} for name in read.methods}
    by_reason: dict[str, list[str]] = {}
    methods_by_shots = dict(by_shots(read, pool))
    for shots, methods in methods_by_shots.items():
        alike, pair_notes = on_same_draws(methods, read.class_of_image)
        for members in alike:
            sets.append(draws_of(read, members, shots, sets))
        for method in methods:
            draws[method.name][shots] = len(method.draws) if method.support else 0
        at_shots = f" at {many(shots, 'shot')}" if len(methods_by_shots) > 1 else ""
        for pair, why in pair_notes.items():
            by_reason.setdefault(why, []).append(f"{pair}{at_shots}")
    notes = [f"{why}: {listing(pairs, 4)}" for why, pairs in by_reason.items()]
    if single := [name for name, numbers in draws.items() if 1 in numbers.values()]:
        more = ", in differences too" if any(len(s.groups) > 1 for s in sets) else ""
        about_one = f"± is for new test images with this one support{more}"
        notes.insert(0, f"one draw of {listing(single, 4)}: {about_one}")
    facts = DrawFacts(
        read.source,
        len(read.classes),
        len(read.images),
        unseen=0.0,
        sizes_known=True,
        roles=True,
        warnings=tuple(notes),
        draws=draws,
        pool=pool,
    )
    images = Pool(read.classes, read.images, read.class_of_image)
    release = release_of(read.name, images, facts, sets)
    about = {name: Method(name, trained=False) for name in read.methods}
    groups = [group for task_set in sets for group in task_set.groups]
    return own_log(release, groups, _draw_results(sets), about)


def _draw_results(sets: Sequence[OwnTasks]) -> pa.Table:
    """Return results with all classes at once: a row per method and draw.

    `correct` is in the order of the task's queries.
    """
    rows = []
    for task_set in sets:
        answered = task_set.image_ids >= 0
        for group in task_set.groups:
            info, right = group.info, np.zeros(answered.shape, np.int8)
            right[answered] = group.right.counts[group.right.counts >= 0] if group.right else 0
            rows += [
                {
                    "dataset": info.dataset,
                    "task_set": str(info.name),
                    "method": group.method,
                    "task_id": draw,
                    "class_correct": correct.sum(axis=1),
                    "correct": correct[queried],
                    "n_correct": correct.sum(),
                    "n_query": queried.sum(),
                }
                for draw, (correct, queried) in enumerate(zip(right, answered, strict=True))
            ]
    return pa.Table.from_pylist(rows)


def _results(log: TaskLog, sets: Sequence[OwnTasks], task_set: Ints, task_id: Ints) -> pa.Table:
    """Return the log as rows of a submission, in the order of the log."""
    unknown = log.n_query == 0

    def named(codes: Ints, names: Sequence[str]) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(codes.astype(np.int32), pa.array(names, pa.string()))

    columns = {
        "method": named(log.method, log.methods),
        "dataset": named(task_set, [own.info.dataset for own in sets]),
        "task_set": named(task_set, [str(own.info.name) for own in sets]),
        "task_id": task_id.astype(np.int32),
        "n_correct": pa.array(np.rint(log.y * log.n_query), pa.int32(), mask=unknown),
        "n_query": pa.array(log.n_query, pa.int32(), mask=unknown),
    }
    if log.right is not None:
        is_query = np.arange(log.right.shape[1]) < log.n_query[:, None]
        columns["correct"] = lists_of(log.right, is_query, pa.int8())
    if log.run_column:
        columns["run"] = named(log.run, log.runs)
    return pa.table(columns)
