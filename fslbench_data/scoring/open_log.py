"""Read a researcher's own log of tasks, or of all classes at once, to be scored."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.intervals.counts import EXACT, RightQueries
from analysis_sql.leave_one_out.all_ways import Cells, of_each
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.episodes import ABSENT, padded
from analysis_sql.leave_one_out.leave_one_out import Design
from benchmark_spec.errors import (
    FSLBenchWarning,
    SpecError,
    SubmissionError,
    TaskLogError,
    listing,
    many,
)
from benchmark_spec.protocol import EPISODES, OWN, LoggedProtocol, TaskSetName, WholeProtocol
from fslbench_data.scoring.designs import left_out_design
from fslbench_data.scoring.own_release import (
    DrawFacts,
    LogFacts,
    OwnLog,
    digest_of,
    joined,
    lists_of,
    numbered,
    release_of,
)
from fslbench_data.submission.bindings import Method
from fslbench_data.submission.model import Submission
from fslbench_data.submission.reading import is_all_ways, is_log
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.rows import Group
from fslbench_data.validation.validate import Validated

if TYPE_CHECKING:
    from fslbench_data.scoring.draw_log import DrawLog, Drawn
    from fslbench_data.scoring.own_tasks import LogResults
    from fslbench_data.scoring.task_log import TaskLog

NO_ROLES = (
    "inductive changes nothing without the column correct, 1 or 0 for each of query_ids: ± for new "
    "images takes tasks as a whole"
)
OWN_TASKS_PER_RUN = (
    "inductive changes nothing where training runs have tasks of their own: ± for new images takes "
    "tasks as a whole"
)
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

    The tasks are drawn uniformly, K of the classes and then m images of each for support and query.
    Or results with all classes at once, as :func:`fslbench_data.all_ways` takes them.
    See docs/own_tasks.md.

    Parameters
    ----------
    log
        One row a method, training run and task: method, run (where there are several), task,
        dataset (where there are several, each with tasks, classes and images of its own),
        class_ids (K), support_ids and query_ids (K·S and K·Q, class by class in the order of
        class_ids, or K lists), or image_ids in their place, and correct (1 or 0 for each of the
        query_ids), n_correct with n_query, or accuracy, 0 to 1, or any other statistic of a task
        in its place.  Tasks of few numbers of shots, such as 1 and 5, are task sets of their own.
        A Parquet, CSV or JSON Lines file; a frame of pandas or polars; an Arrow table; a mapping of
        columns; a list of rows; or several of these, of other methods, runs or shots.
    class_sizes
        Images that may be drawn of each class: a mapping, a .json file of one, a table with the
        columns class and n_images, or the name of a known test split or data set, such as
        ``miniImageNet``; of several data sets a mapping of these by data set, or a table with the
        column dataset besides.  Without it the images seen are taken for all, which is refused
        where many were seen only once.
    groups, superclasses
        Of images that are not independent, such as shots of one scene, and of classes: the same
        forms, with the columns image and group, class and superclass.
    trained
        False where the methods train nothing before the tasks, so that there are no training runs
        to differ.
    inductive
        True where no answer to a query depends on the task's other queries: with `correct`,
        intervals for new images are then usually narrower.
    pool
        Of all classes at once alone: training images of a class, of which draws take some.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the log, or with how tasks were drawn.
    """
    from fslbench_data.scoring.own_tasks import check_rows
    from fslbench_data.scoring.task_log import TaskLog, several_logs

    given = (class_sizes, groups, superclasses, trained, inductive)
    several = several_logs(log) or ()
    if len(several) == 1:
        log = several[0]
    elif any(map(is_all_ways, several)):
        raise SpecError(
            "results with all classes at once are read from one file",
            fix="write the rows of all methods and draws into one",
        )
    if is_all_ways(log):
        if any(value is not None for value in given):
            raise SpecError("of all classes at once, only a pool is to be told besides")
        return open_draws(log, pool or 0)
    if pool is not None:
        raise SpecError("a pool is of results with all classes at once")
    parts = TaskLog.read(log)
    for part in parts:
        check_rows(part)
    opened = [
        _of_dataset(part, (class_sizes, groups, superclasses), trained, inductive) for part in parts
    ]
    for each in opened:
        for facts in each.release.facts.values():
            for text in facts.warnings:
                warnings.warn(f"{facts.source}: {text}", FSLBenchWarning, stacklevel=2)
    return opened[0] if len(opened) == 1 else joined(opened)


def _of_dataset(
    read: TaskLog,
    given: tuple[object, object, object],
    trained: bool | None,
    inductive: bool | None,
) -> OwnLog:
    """Return the log of one data set; `given` are sizes of classes, groups and superclasses."""
    from fslbench_data.scoring.own_tasks import check_tasks_of_runs, pool_of, results_of_log

    found = [(part, results_of_log(part)) for part in read.by_shots()]

    def per_run(group: LogResults) -> bool:
        return group.run_of_task is not None and trained is not False

    results = [group for _, of_part in found for group in of_part]
    of_runs = [check_tasks_of_runs(read, group) if per_run(group) else [] for group in results]
    drawable = pool_of(read, results, *given)
    n_superclasses = len(set(drawable.superclasses or ()))
    facts = LogFacts(
        read.source,
        len(drawable.classes),
        len(read.images),
        drawable.unseen,
        given[0] is not None,
        read.roles,
        read.run_column,
        n_superclasses,
        (),
        runs_apart=any(map(per_run, results)),
    )
    infos: list[TaskSetInfo] = []
    tables: list[pa.Table] = []
    for part, of_part in found:
        own = [_info(part, group, number) for number, group in enumerate(of_part)]
        tables.append(_results(part, of_part, own))
        infos += own
    release = release_of(read, drawable, facts, results, infos)
    messages = list(drawable.warnings)
    for info, group, about_runs in zip(infos, results, of_runs, strict=True):
        design = left_out_design(release, info)
        if inductive and per_run(group):
            messages.append(OWN_TASKS_PER_RUN)
        elif inductive and (None in group.right or not design.takes_queries):
            messages.append(NO_ROLES if None in group.right else NO_QUERIES + _why_whole(design))
        if "images" in design.why:
            raise TaskLogError(
                f"nothing can be said of new images: {design.why['images']}",
                where=f"{read.source}, {listing(group.methods, 4)}",
                expected="tasks of which at least a bound can be given; a mean without an interval "
                "is none to report",
            )
        messages += [*design.warnings, *about_runs]
    for of_part in (of_part for _, of_part in found if len(of_part) > 1):
        names = "; ".join(listing(group.methods, 4) for group in of_part[:4])
        more = f"; and {len(of_part) - 4} more groups" if len(of_part) > 4 else ""
        messages.append(
            f"not compared, since their tasks differ: {names}{more}. Only methods that answer the "
            "same tasks, with the same names, classes and images, are compared pairwise"
        )
    facts = replace(facts, warnings=tuple(dict.fromkeys(messages)))
    release = replace(release, facts={read.name: facts})
    queries = [part.queries for part, of_part in found for _ in of_part]
    made = _groups(queries, infos, results, known=bool(inductive), trained=trained is not False)
    about = {name: Method(name, trained=trained, inductive=inductive) for name in read.methods}
    rows = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    submission = Submission(rows, about, source=read.source)
    return OwnLog(release, Validated(submission, made))


def _why_whole(design: Design) -> str:
    """Return why the interval for new images does not use which queries were right."""
    if isinstance(design, TaskDesign) and not design.membership.one_each:
        return "a task shows several images of a group"
    if "images" in design.bounded:
        return f"only a bound can be given, since {design.bounded['images']}"
    return "no class has three times as many images as a task shows of it"


def open_draws(log: object, pool: int = 0) -> OwnLog:
    """Read results with all classes at once; see :func:`fslbench_data.all_ways`.

    There is a task set for every number of shots, and one more for methods that leave out other
    images, or whose draws differ.
    """
    from fslbench_data.scoring.draw_log import read_draws

    opened = [_of_draws(part, pool) for part in read_draws(log)]
    return opened[0] if len(opened) == 1 else joined(opened)


def _of_draws(read: DrawLog, pool: int) -> OwnLog:
    """Return the results of one data set with all classes at once."""
    from fslbench_data.scoring.draw_log import by_shots, on_same_draws
    from fslbench_data.scoring.own_tasks import Pool

    classes, images = len(read.classes), len(read.images)
    infos: list[TaskSetInfo] = []
    results: list[LogResults] = []
    draws: dict[str, dict[int, int]] = {name: {} for name in read.methods}
    by_reason: dict[str, list[str]] = {}
    every = [*by_shots(read, pool)]
    for shots, methods in every:
        groups, pairs = on_same_draws(methods, read.class_of_image)
        for own in groups:
            group = _on_draws(read, own)
            queries = int((group.image_ids >= 0).sum(axis=(1, 2)).max())
            name = TaskSetName("allway", WholeProtocol(classes, shots, queries))
            same = sum(info.name == name for info in infos)
            dataset = numbered(read.name, same)
            digest = digest_of(read, _in_order(read, group))
            infos.append(TaskSetInfo(dataset, name, len(group.tasks), digest))
            results.append(group)
        for one in methods:
            draws[one.name][shots] = len(one.draws) if one.support else 0
        at = f" at {many(shots, 'shot')}" if len(every) > 1 else ""
        for pair, why in pairs.items():
            by_reason.setdefault(why, []).append(f"{pair}{at}")
    notes = [f"{why}: {listing(pairs, 4)}" for why, pairs in by_reason.items()]
    if single := [name for name, numbers in draws.items() if 1 in numbers.values()]:
        more = ", in differences too" * any(len(group.methods) > 1 for group in results)
        about_one = f"± is for new test images with this one support{more}"
        notes.insert(0, f"one draw of {listing(single, 4)}: {about_one}")
    shared = read.source, classes, images, 0.0, True, True, "", 0, tuple(notes)
    facts = DrawFacts(*shared, draws=draws, pool=pool)
    drawn = Pool(read.classes, read.class_of_image, None, None, 0.0, ())
    release = release_of(read, drawn, facts, results, infos, {"pool": pool})
    made = _groups([0] * len(infos), infos, results, known=True)
    about = {name: Method(name, trained=False) for name in read.methods}
    submission = Submission(_draw_results(results, infos), about, source=read.source)
    return OwnLog(release, Validated(submission, made))


def _on_draws(read: DrawLog, methods: Sequence[Drawn]) -> LogResults:
    """Return the results of methods in the same draws, class by class."""
    from fslbench_data.scoring.own_tasks import LogResults

    order = np.argsort(read.class_of_image, kind="stable")
    owner, classes = read.class_of_image[order], len(read.classes)
    most = max(methods, key=lambda one: len(one.draws))
    there = ~np.isnan(most.right[:, order])
    n_queries = there.sum(axis=1)

    def by_draw(values: NDArray[Any]) -> NDArray[Any]:
        return padded(np.broadcast_to(values[:, order], there.shape)[there].astype(int), n_queries)

    draws, (draw, image) = len(there), np.nonzero(there)
    number = np.bincount(draw * classes + owner[image], minlength=draws * classes)
    x = np.stack([np.broadcast_to(one.right[:, order], there.shape) for one in methods])
    none = np.zeros((draws, classes), np.int64)
    return LogResults(
        tuple(one.name for one in methods),
        most.draws,
        none + np.arange(classes),
        padded(order[image], number).reshape(draws, classes, -1).astype(np.int64),
        Cells(there, owner).variances([*x.swapaxes(0, 1)], of_each).means,
        (np.empty(0),) * len(methods),
        None,
        ((),) * len(methods),
        tuple(
            RightQueries(
                by_draw(m.right), 1, None if m.regained is None else by_draw(m.regained)[None]
            )
            for m in methods
        ),
        none,
    )


def _in_order(read: DrawLog, group: LogResults) -> LogResults:
    """Return draws with classes and images by their names: a log may list them in any order."""
    rank = np.empty(len(read.images) + 1, np.int64)
    rank[np.argsort(np.array(read.images))] = np.arange(len(read.images))
    rank[ABSENT] = len(read.images)  # the last place, of none
    classes = np.argsort(np.array(read.classes))
    ids = group.image_ids[:, classes]
    ids = np.take_along_axis(ids, np.argsort(rank[ids], axis=2), axis=2)
    order = np.lexsort(rank[ids].reshape(len(ids), -1).T[::-1])
    return replace(group, class_ids=group.class_ids[:, classes], image_ids=ids[order])


def _draw_results(results: Sequence[LogResults], infos: Sequence[TaskSetInfo]) -> pa.Table:
    """Return results with all classes at once: a row a method and draw."""
    rows = []
    for info, group in zip(infos, results, strict=True):
        row: dict[str, Any] = {"dataset": info.dataset, "task_set": str(info.name)}
        there = group.image_ids >= 0
        for method, own in zip(group.methods, group.right, strict=True):
            right = np.zeros(there.shape, np.int64)
            right[there] = own.counts[own.counts >= 0] if own else 0
            for draw, (correct, queried) in enumerate(zip(right, there, strict=True)):
                row |= {"method": method, "task_id": draw, "class_correct": correct.sum(axis=1)}
                rows.append(row | {"n_correct": correct.sum(), "n_query": queried.sum()})
    return pa.Table.from_pylist(rows)


def _info(log: TaskLog, group: LogResults, number: int) -> TaskSetInfo:
    """Name a group's tasks, with 0 shots where nothing says which images are support."""
    _, way, per_class = group.image_ids.shape
    suite, shot = OWN, 0
    if group.varies:
        suite, shot = EPISODES, int(group.shots.max())
        query = int(((group.image_ids >= 0).sum(axis=2) - group.shots).max())
    elif log.roles:
        shot = int(group.shots[0, 0])
        query = per_class - shot
    else:
        query = log.queries // way if log.queries and log.queries % way == 0 else per_class
        shot = per_class - query
    name = TaskSetName(suite.name, LoggedProtocol(way, shot, query))
    dataset = numbered(log.name, number)
    return TaskSetInfo(dataset, name, len(group.tasks), digest_of(log, group))


def _groups(
    queries: Sequence[int],
    infos: Sequence[TaskSetInfo],
    results: Sequence[LogResults],
    *,
    known: bool,
    trained: bool = True,
) -> tuple[Group, ...]:
    """Return the results of each method on the tasks: counts where they are known, else accuracies.

    They are known of tasks that all have as many `queries`.  And where methods are `known` to be
    inductive, which queries were right.  Where nothing is `trained`, seeds that drew tasks of their
    own are no training runs.
    """
    made = []
    for info, group, logged in zip(infos, results, queries, strict=True):
        if group.run_of_task is not None and not trained:
            means, names = tuple(group.y.mean(axis=1)[:, None]), ((),) * len(group.methods)
            group = replace(group, run_of_task=None, run_means=means, run_names=names)
        tasks, n_query, run = len(group.tasks), info.protocol.n_query, group.run_of_task
        numbers = [max(means.size, 1) for means in group.run_means]
        counted = run is None and logged == n_query and tasks * n_query * max(numbers) ** 2 <= EXACT
        for method, y, means, number, names, right in zip(
            group.methods,
            group.y,
            group.run_means,
            numbers,
            group.run_names,
            group.right,
            strict=True,
        ):
            counts, totals = y, means * tasks
            if counted:
                counts = np.rint(y * n_query * number).astype(np.int64)
                totals = np.rint(means * tasks * n_query).astype(np.int64)
            known_right = right if known and run is None else None
            made.append(Group(method, info, counts, True, names, totals, run, known_right))
    return tuple(made)


def _results(log: TaskLog, results: Sequence[LogResults], infos: Sequence[TaskSetInfo]) -> pa.Table:
    """Return the log as results: a row a method, run and task, in the order of the log."""
    task_set, task_id = np.zeros((2, len(log.method)), np.int32)
    for number, group in enumerate(results):
        rows = np.isin(log.method, [log.methods.index(name) for name in group.methods])
        keys = [log.task[rows], *([log.run[rows]] if group.run_of_task is not None else [])]
        task_set[rows] = number
        found = np.unique(np.stack(keys[::-1], axis=1), axis=0, return_inverse=True)[1]
        task_id[rows] = found.ravel()  # numpy 2.0 gives a column
    queries = log.n_query if log.right is None else log.query_images
    unknown = queries == 0

    def named(codes: NDArray[Any], names: Sequence[str]) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(codes.astype(np.int32), pa.array(names, pa.string()))

    columns = {
        "method": named(log.method, log.methods),
        "dataset": named(task_set, [info.dataset for info in infos]),
        "task_set": named(task_set, [str(info.name) for info in infos]),
        "task_id": task_id,
        "n_correct": pa.array(np.rint(log.y * queries), pa.int32(), mask=unknown),
        "n_query": pa.array(queries, pa.int32(), mask=unknown),
    }
    if log.right is not None:
        there = np.arange(log.right.shape[1]) < log.query_images[:, None]
        columns["correct"] = lists_of(log.right, there, pa.int8())
    if log.run_column:
        columns["run"] = named(log.run, log.runs)
    return pa.table(columns)


def log_of(sources: object) -> OwnLog | None:
    """Return the log given in place of submissions, or None; refuse a log with other files."""
    rows = sources if isinstance(sources, list) else [sources]
    if all(isinstance(row, Mapping) for row in rows):  # or one mapping of columns
        return open_log(sources) if is_log(sources) else None
    several = sources if isinstance(sources, list | tuple) else [sources]
    logs = [source for source in several if isinstance(source, OwnLog) or is_log(source)]
    if not logs:
        return None
    if len(several) == 1 and isinstance(logs[0], OwnLog):
        return logs[0]
    if len(logs) < len(several) or any(isinstance(log, OwnLog) for log in logs):
        raise SubmissionError(
            "a log of one's own tasks stands beside other results",
            where=listing([str(source) for source in several], 4),
            expected="one log, or several files or frames of logs: only methods on the same tasks "
            "are compared",
            fix="give the logs by themselves, such as fb.open_log([one, other])",
        )
    return open_log(logs)
