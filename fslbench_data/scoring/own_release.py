"""A researcher's own log of tasks as a release in memory, and its results as validated answers."""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from analysis_sql.intervals.moments import EXACT
from analysis_sql.leave_one_out.design import TaskDesign
from benchmark_spec.errors import (
    FSLBenchWarning,
    SubmissionError,
    TaskLogError,
    UnknownNameError,
    listing,
)
from benchmark_spec.manifest import Manifest
from benchmark_spec.protocol import MAX_QUERIES, LoggedProtocol, TaskSetName
from benchmark_spec.suites import OWN
from benchmark_spec.tables import Dataset, Kind, Table, table_path
from fslbench_data.release.folder import Folder
from fslbench_data.release.release import Release
from fslbench_data.scoring.own_answers import Answers, answers_of, apart_text
from fslbench_data.scoring.own_pool import Pool, pool_of
from fslbench_data.scoring.task_log import TaskLog
from fslbench_data.submission.bindings import Method
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSet, TaskSetInfo
from fslbench_data.validation.runs import Group
from fslbench_data.validation.validate import Validated

DATASET = "log"
"""What the data set of a log is called; a log with several sets of tasks has log2, and so on."""

OWN_TASKS = "own-tasks"
"""What signatures have in place of a release."""


@dataclass(frozen=True)
class LogFacts:
    """What a log says of its tasks besides their results.

    Attributes
    ----------
    source
        The log.
    classes, images
        Numbers of classes, and of images that tasks show.
    unseen
        Images that no task shows: by the classes' sizes, else an estimate.
    sizes_known
        Whether the classes' sizes were given; else the images seen are taken for all.
    roles
        Whether the log says which images are support and which query.
    run_column
        The log's column that names training runs; empty without any.
    superclasses
        Number of superclasses; 0 where none were given.
    warnings
        What weakens the intervals, a sentence each.
    """

    source: str
    classes: int
    images: int
    unseen: float
    sizes_known: bool
    roles: bool
    run_column: str
    superclasses: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class OwnRelease(Release):
    """The tasks of a log, a task set for each group of methods that answered the same ones.

    Images have ids in the order of their classes: those of the log first, then those that no task
    shows.

    Attributes
    ----------
    facts
        What else the log says.
    pool
        What tasks were drawn from.
    image_names
        What the log calls its images.
    sets, designs
        By data set: the tasks, and what they allow to be left out.
    """

    facts: LogFacts
    pool: Pool
    image_names: tuple[str, ...]
    sets: Mapping[str, TaskSet]
    designs: Mapping[str, TaskDesign]

    def __str__(self) -> str:
        return OWN_TASKS

    def __repr__(self) -> str:
        return f"<OwnRelease: the tasks of {self.facts.source}>"

    @property
    def drawn_from(self) -> str:
        """Tasks with their digests, and what they were drawn from, for signatures."""
        facts = self.facts
        sets = (
            f"{i.n_tasks}x{i.protocol.way}x{i.protocol.per_class}#{i.fingerprint[:12]}"
            for i in self.task_sets
        )
        sizes = "known" if facts.sizes_known else "seen"
        return (
            f"own-tasks:{','.join(sets)}|classes:{facts.classes}|images:{facts.images}|"
            f"sizes:{sizes}"
        )

    def task_set(self, dataset: str, name: str) -> TaskSet:
        """The tasks of one of the sets."""
        return self.sets[self.task_set_info(dataset, name).dataset]

    def task_table(self, info: TaskSetInfo) -> pa.Table:
        """The same as a table, by image ids."""
        tasks = self.sets[info.dataset]
        columns = {
            name: _lists(getattr(tasks, name))
            for name in ("class_ids", "support", "query", "query_label")
        }
        return pa.table({"task_id": np.arange(len(tasks), dtype=np.int32), **columns})

    def provenance(self, info: TaskSetInfo) -> Mapping[str, Any]:
        """Nothing is known of it."""
        return {}

    def class_ids(self, info: TaskSetInfo) -> NDArray[np.int32]:
        """Classes of each task of a set, int32 (T, K)."""
        return self.sets[info.dataset].class_ids

    def query_labels(self, info: TaskSetInfo) -> NDArray[np.int8]:
        """Positions in its classes of each task's queries, (T, K·Q)."""
        return self.sets[info.dataset].query_label

    def datasets_with(self, kind: Kind, name: str = "") -> tuple[str, ...]:
        """Return the log's data sets, of which there are classes, images and tasks."""
        known = kind in ("classes", "images") and not name
        return self.datasets if known else super().datasets_with(kind, name)

    def classes(self, dataset: str) -> pa.Table:
        """The classes that may be drawn, with their sizes."""
        sizes = np.bincount(self.pool.class_of_image, minlength=len(self.pool.classes))
        columns = {
            "class_id": np.arange(len(sizes), dtype=np.int32),
            "class_name": list(self.pool.classes),
            "n_images": sizes.astype(np.int32),
            "first_image_id": (np.cumsum(sizes) - sizes).astype(np.int32),
        }
        if self.pool.superclasses is not None:
            columns["superclass"] = list(self.pool.superclasses)
        return pa.table(columns)

    def images(self, dataset: str) -> pa.Table:
        """The images that may be drawn; `path` is what the log calls an image, if it shows it."""
        order = self.pool.order
        names = [*self.image_names, *[None] * (len(order) - len(self.image_names))]
        owner = self.pool.class_of_image[order]
        groups = self.groups(dataset)
        return pa.table(
            {
                "image_id": np.arange(len(order), dtype=np.int32),
                "class_id": owner.astype(np.int32),
                "class_name": [self.pool.classes[i] for i in owner.tolist()],
                "path": pa.array([names[i] for i in order.tolist()], pa.string()),
                "sha256": pa.nulls(len(order), pa.string()),
                "group": pa.nulls(len(order), pa.int32())
                if groups is None
                else groups.astype(np.int32),
                "creator": pa.nulls(len(order), pa.string()),
                "licence": pa.nulls(len(order), pa.string()),
            }
        )

    def groups(self, dataset: str) -> NDArray[np.int64] | None:
        """The group of each image; None without any."""
        groups = self.pool.group_of_image
        return None if groups is None else groups[self.pool.order]


@dataclass(frozen=True, eq=False)
class OwnLog:
    """A log of one's own tasks: it goes wherever a submission does.

    Attributes
    ----------
    release
        Its tasks.
    answers
        What methods made of them.
    """

    release: OwnRelease
    answers: Validated

    def __repr__(self) -> str:
        return f"<OwnLog {self.release.facts.source}: {listing(self.answers.methods, 4)}>"

    def only(self, methods: Sequence[str]) -> OwnLog:
        """Return what some of the methods made of the tasks, in this order.

        Raises
        ------
        UnknownNameError
            If there is no such method.
        """
        there = self.answers.methods
        if unknown := [name for name in methods if name not in there]:
            raise UnknownNameError("method", unknown[0], there, where=self.release.facts.source)
        of = {name: [g for g in self.answers.groups if g.method == name] for name in methods}
        groups = tuple(group for name in methods for group in of[name])
        return replace(self, answers=replace(self.answers, groups=groups))


def open_log(
    log: object,
    *,
    class_sizes: Mapping[object, int] | str | Path | None = None,
    groups: object = None,
    superclasses: object = None,
    trained: bool | None = None,
) -> OwnLog:
    """Read a log of one's own random tasks, which reuse images.

    The tasks are drawn uniformly, K of the classes and then m images of each for support and query.
    See docs/own_tasks.md.

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

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the log, or with how tasks were drawn.
    """
    read = TaskLog.read(log)
    answers = answers_of(read)
    pool = pool_of(read, answers, class_sizes, groups, superclasses)
    place = np.empty_like(pool.order)
    place[pool.order] = np.arange(len(place))
    infos, sets, made, designs = [], {}, [], {}
    for number, group in enumerate(answers, start=1):
        name = TaskSetName(OWN.name, _protocol(read, group))
        dataset = DATASET if number == 1 else f"{DATASET}{number}"
        info = TaskSetInfo(dataset, name, len(group.tasks), group.digest(read))
        infos.append(info)
        sets[dataset] = _task_set(info, group, place)
        made += _groups(read, info, group)
        designs[dataset] = _design(read, pool, group)
    facts = _facts(read, pool, [*designs.values()], apart_text(answers))
    for text in facts.warnings:
        warnings.warn(f"{read.source}: {text}", FSLBenchWarning, stacklevel=2)
    folder = Folder(Path(read.source))
    release = OwnRelease(
        _manifest(pool, facts, infos), folder, facts, pool, read.images, sets, designs
    )
    about = {name: Method(name, trained=trained) for name in read.methods}
    results = Submission(_table(read, answers, infos), about, source=read.source)
    return OwnLog(release, Validated(results, tuple(made)))


def _design(log: TaskLog, pool: Pool, group: Answers) -> TaskDesign:
    """Return what may be left out of tasks; refuse those of which not even a bound can be given."""
    above = pool.superclasses
    design = TaskDesign.of(
        group.class_ids,
        group.image_ids,
        pool.class_of_image,
        pool.group_of_image,
        None if above is None else np.unique(above, return_inverse=True)[1],
        pool.classes,
    )
    if "images" in design.why:
        raise TaskLogError(
            f"nothing can be said of new images: {design.why['images']}",
            where=f"{log.source}, {listing(group.methods, 4)}",
            expected="tasks of which at least a bound can be given; a mean without an interval "
            "is none to report",
        )
    return design


def _facts(log: TaskLog, pool: Pool, designs: Sequence[TaskDesign], apart: str) -> LogFacts:
    said = [*pool.warnings, *(text for design in designs for text in design.warnings)]
    said += [apart] if apart else []
    return LogFacts(
        log.source,
        len(pool.classes),
        len(log.images),
        pool.unseen,
        pool.sizes_known,
        log.query_ids > 0,
        log.run_column,
        0 if pool.superclasses is None else len(set(pool.superclasses)),
        tuple(dict.fromkeys(said)),
    )


def _protocol(log: TaskLog, group: Answers) -> LoggedProtocol:
    """Ways, shots and queries; 0 shots where nothing says which images are support."""
    _, way, per_class = group.image_ids.shape
    known = log.query_ids or log.queries
    query = known // way if known and known % way == 0 else per_class
    return LoggedProtocol(way, per_class - query, query)


def _task_set(info: TaskSetInfo, group: Answers, place: NDArray[np.int64]) -> TaskSet:
    tasks, way, _ = group.image_ids.shape
    images, shot = place[group.image_ids].astype(np.int32), info.protocol.shot
    label = np.repeat(np.arange(way, dtype=np.int16), info.protocol.query)
    return TaskSet(
        info,
        group.class_ids.astype(np.int32),
        images[:, :, :shot],
        images[:, :, shot:].reshape(tasks, -1),
        np.broadcast_to(label, (tasks, label.size)),
    )


def _groups(log: TaskLog, info: TaskSetInfo, group: Answers) -> list[Group]:
    """What each method made of the tasks: counts where they are known, else accuracies."""
    tasks, runs = len(group.tasks), max(group.runs)
    n_query = info.protocol.n_query
    counted = (
        group.run_of_task is None and log.queries == n_query and tasks * n_query * runs**2 <= EXACT
    )
    made = []
    for method, y, means, number, names in zip(
        group.methods, group.y, group.run_means, group.runs, group.run_names, strict=True
    ):
        counts, totals = y, means * tasks
        if counted:
            counts = np.rint(y * n_query * number).astype(np.int64)
            totals = np.rint(means * tasks * n_query).astype(np.int64)
        made.append(Group(method, info, counts, True, names, totals, group.run_of_task))
    return made


def _table(log: TaskLog, answers: Sequence[Answers], infos: Sequence[TaskSetInfo]) -> pa.Table:
    """The log as results: a row a method, run and task, in the order of the log."""
    task_set, task_id = np.zeros((2, len(log.method)), np.int32)
    for number, group in enumerate(answers):
        rows = np.isin(log.method, [log.methods.index(name) for name in group.methods])
        keys = [log.task[rows], *([log.run[rows]] if group.run_of_task is not None else [])]
        task_set[rows] = number
        found = np.unique(np.stack(keys[::-1], axis=1), axis=0, return_inverse=True)[1]
        task_id[rows] = found.ravel()  # numpy 2.0 gives a column
    counts = np.rint(log.y * log.queries).astype(np.int32)
    known = 0 < log.queries <= MAX_QUERIES

    def named(codes: NDArray[Any], names: Sequence[str]) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(codes.astype(np.int32), pa.array(names, pa.string()))

    columns = {
        "method": named(log.method, log.methods),
        "dataset": named(task_set, [info.dataset for info in infos]),
        "task_set": named(task_set, [str(info.name) for info in infos]),
        "task_id": task_id,
        "n_correct": counts if known else pa.nulls(len(counts), pa.int32()),
        "n_query": pa.array([log.queries if known else None] * len(counts), pa.int32()),
    }
    if log.run_column:
        columns["run"] = named(log.run, log.runs)
    return pa.table(columns)


def _manifest(pool: Pool, facts: LogFacts, infos: Sequence[TaskSetInfo]) -> Manifest:
    sizes = facts.classes, len(pool.class_of_image)
    datasets = tuple(
        Dataset(i.dataset, facts.source, "", "", "", *sizes, "", n_superclasses=facts.superclasses)
        for i in infos
    )
    tables = tuple(
        Table(
            table_path("tasks", info.dataset, str(info.name)),
            "tasks", info.dataset, str(info.name), info.n_tasks,
            0, "", info.fingerprint, info.fingerprint, {},
        )
        for info in infos
    )  # fmt: skip
    return Manifest(OWN_TASKS, "", "", datasets, tables)


def _lists(values: NDArray[Any]) -> pa.Array:
    """Return an array (T, ...) as one list a task."""
    flat = np.ascontiguousarray(values).reshape(len(values), -1)
    return pa.FixedSizeListArray.from_arrays(flat.ravel(), flat.shape[1])


def log_of(sources: object) -> OwnLog | None:
    """Return the log that is given in place of submissions; None where there is none.

    Raises
    ------
    SubmissionError
        If it stands beside another file.
    """
    several = sources if isinstance(sources, list | tuple) else [sources]
    logs = [source for source in several if isinstance(source, OwnLog) or is_log(source)]
    if not logs:
        return None
    if len(several) > 1:
        raise SubmissionError(
            "a log of one's own tasks stands beside other results",
            where=listing([str(source) for source in several], 4),
            expected="one log: only methods on the same tasks are compared",
            fix="write all methods into one log",
        )
    return logs[0] if isinstance(logs[0], OwnLog) else open_log(logs[0])


def is_log(source: object) -> bool:
    """Whether a file or a frame holds own tasks: it has a column class_ids, and no task_set."""
    names = _columns(source)
    return "class_ids" in names and "task_set" not in names


def _columns(source: object) -> Collection[str]:
    """Return the names of a file's or a frame's columns; none where they cannot be read."""
    if not isinstance(source, str | Path):
        names = getattr(source, "column_names", getattr(source, "columns", ()))
        return names if isinstance(names, Collection) else ()
    path = Path(source)
    if not path.is_file():
        return ()
    try:
        if path.suffix.lower() == ".parquet":
            return list(pq.read_schema(path).names)
        with path.open(encoding="utf-8-sig") as file:
            line = file.readline(1 << 24)
        if path.suffix.lower() in (".jsonl", ".ndjson"):
            row = json.loads(line)
            return row if isinstance(row, dict) else ()
    except (OSError, ValueError, RecursionError, pa.ArrowException):
        return ()  # reading it as a submission says what is wrong
    return line.strip().replace('"', "").split(",") if path.suffix.lower() == ".csv" else ()
