"""Represent a log of own tasks as a release in memory with validated results."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.leave_one_out.episodes import ABSENT
from benchmark_spec.errors import SubmissionError, UnknownNameError, listing
from benchmark_spec.manifest import Dataset, Kind, Manifest, Table, table_path
from benchmark_spec.protocol import OWN_OPEN, TaskSetName
from fslbench_data.release.folder import ReleaseFiles
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Method, Submission
from fslbench_data.tasks import TaskSet, TaskSetInfo
from fslbench_data.validation.rows import Group
from fslbench_data.validation.validate import Validated

OWN_TASKS = "own-tasks"
"""What stands in signatures in place of a release's name."""

Ints = NDArray[np.int64]


class OwnTasks(Struct, frozen=True, eq=False):
    """A set of B tasks of a log, by their names there, and the methods that answered exactly these.

    `class_ids` (B, K) and `image_ids` (B, K, m) are positions among the log's names, or
    :data:`ABSENT` where a task has fewer; the first `shots` (B, K) images of a class are support.
    """

    info: TaskSetInfo
    tasks: tuple[str, ...]
    class_ids: Ints
    image_ids: Ints
    shots: Ints
    groups: tuple[Group, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods."""
        return tuple(group.method for group in self.groups)

    @property
    def is_open(self) -> bool:
        """Whether no image is in two tasks."""
        return self.info.name.suite == OWN_OPEN.name

    @property
    def runs_apart(self) -> bool:
        """Whether training runs have tasks of their own."""
        return self.groups[0].run_of_task is not None


class Pool(Struct, frozen=True, eq=False):
    """The classes and images that may be drawn; `images` are the names of those in the log.

    Those of the log come first, then those that are in no task; `unseen` is the number, known or
    estimated, of images in no task.
    """

    classes: tuple[str, ...]
    images: tuple[str, ...]
    class_of_image: Ints
    group_of_image: Ints | None = None
    superclasses: tuple[str, ...] | None = None
    unseen: float = 0.0
    warnings: tuple[str, ...] = ()


class LogFacts(Struct, frozen=True):
    """Facts about a log's tasks.

    `unseen` images are in no task, by the classes' sizes or an estimate.  `roles` says whether
    support and query are distinguished, `run_column` which column names training runs, and
    `runs_apart` whether runs have tasks of their own.
    """

    source: str
    classes: int
    images: int
    unseen: float
    sizes_known: bool
    roles: bool
    run_column: str = ""
    superclasses: int = 0
    warnings: tuple[str, ...] = ()
    runs_apart: bool = False


class DrawFacts(LogFacts, frozen=True, kw_only=True):
    """Facts about a log of results with all classes at once.

    `draws` gives for each method and number of shots the number of draws, 0 without any support;
    `pool` is the number of training images of a class that they draw from, 0 if they are many.
    """

    draws: Mapping[str, Mapping[int, int]]
    pool: int


class OwnRelease(Release, frozen=True, eq=False):
    """The tasks of a log: for each group of methods that answered the same tasks, a task set.

    Images are numbered class by class: first those of the log, then those that no task shows.
    """

    source: str
    facts: Mapping[str, LogFacts]
    """Facts by the log's data sets."""
    drawn: Mapping[str, str]
    """Tasks with their digests, and what they were drawn from, by the task sets' data sets."""
    tables: Mapping[str, pa.Table]
    """Tables by their paths in the manifest."""

    def __str__(self) -> str:
        return OWN_TASKS

    def drawn_from(self, datasets: Iterable[str]) -> str:
        """Describe the tasks of data sets, by default of all, and what they were drawn from."""
        chosen = [*datasets] or [*self.drawn]
        return "|".join(dict.fromkeys(self.drawn[name] for name in chosen))

    def classes(self, dataset: str) -> pa.Table:
        """Return the classes that may be drawn, with their sizes."""
        return self.tables[self._find("classes", dataset, "").path]

    def images(self, dataset: str) -> pa.Table:
        """Return the images that may be drawn; `path` is the log's name of an image, if any."""
        return self.tables[self._find("images", dataset, "").path]

    def task_set(self, dataset: str, name: str) -> TaskSet:
        """Return a task set; refuse those of all classes, of which no log names the support."""
        if TaskSetName.parse(name).whole:
            raise SubmissionError(
                "a log of all classes at once does not say which images were support",
                where=self.source,
                expected="images and results alone, as release.images and fb.score give them",
            )
        return super().task_set(dataset, name)

    def _tasks(self, entry: Table, column: str = "") -> pa.Table:
        table = self.tables[entry.path]
        return table.select([column]) if column else table


class OwnLog(Struct, frozen=True, eq=False):
    """A log of one's own tasks with the results of methods: a submission with its release."""

    release: OwnRelease
    answers: Validated

    def __repr__(self) -> str:
        return f"<OwnLog {self.release.source}: {listing(self.answers.methods, 4)}>"

    def only(self, methods: Sequence[str]) -> OwnLog:
        """Return the results of some of the methods, in this order."""
        known = self.answers.methods
        if unknown := [name for name in methods if name not in known]:
            raise UnknownNameError("method", unknown[0], known, where=self.release.source)
        groups = tuple(g for name in methods for g in self.answers.groups if g.method == name)
        return replace(self, answers=replace(self.answers, groups=groups))


def joined(logs: Sequence[OwnLog]) -> OwnLog:
    """Join logs of several data sets."""
    if len(logs) == 1:
        return logs[0]
    releases, answers = [log.release for log in logs], [log.answers for log in logs]
    source = releases[0].source.rpartition(", data set ")[0]
    datasets = tuple(dataset for part in releases for dataset in part.manifest.datasets)
    names = [dataset.name for dataset in datasets]
    if twice := [name for number, name in enumerate(names) if name in names[:number]]:
        raise SubmissionError(
            f"two sets of tasks are called {twice[0]}: a data set, and the tasks of other methods "
            "in another one",
            where=source,
            expected="other names of data sets",
        )
    entries = tuple(entry for part in releases for entry in part.manifest.tables)
    release = OwnRelease(
        Manifest(OWN_TASKS, "", "", datasets, entries),
        ReleaseFiles(str(Path(source))),
        source,
        {key: facts for part in releases for key, facts in part.facts.items()},
        {key: text for part in releases for key, text in part.drawn.items()},
        {key: table for part in releases for key, table in part.tables.items()},
    )
    groups = [group for part in answers for group in part.groups]
    rows = pa.concat_tables((part.submission.table for part in answers), promote_options="default")
    about = {k: method for part in answers for k, method in part.submission.methods.items()}
    return own_log(release, groups, rows, about)


def own_log(
    release: OwnRelease, groups: Iterable[Group], rows: pa.Table, about: dict[str, Method]
) -> OwnLog:
    """Make a log from groups, one per method and task set, and from rows as in a submission."""
    rows = rows.unify_dictionaries().combine_chunks()
    submission = Submission(rows, about, source=release.source)
    return OwnLog(release, Validated(submission, tuple(groups)))


def numbered(dataset: str, group: int) -> str:
    """Return the name of a data set, numbered for the tasks of later groups of methods."""
    number = f"{group + 1}" if dataset == "log" else f" ({group + 1})"
    return f"{dataset}{number}" if group else dataset


def digest_of(
    classes: Sequence[str], images: Sequence[str], class_ids: Ints, image_ids: Ints
) -> str:
    """Return a fingerprint of tasks, whatever their order, by names of classes and images."""
    digest, parts = hashlib.sha256(), []
    for names, ids in ((classes, class_ids), (images, image_ids)):
        used = sorted(np.unique(ids[ids >= 0]).tolist(), key=names.__getitem__)
        position = np.full(len(names) + 1, ABSENT, "<i8")  # the last is for ABSENT
        position[used] = np.arange(len(used))
        digest.update("\0".join([names[i] for i in used]).encode())
        parts.append(position[ids].reshape(len(ids), -1))
    tasks = np.hstack(parts)
    digest.update(np.sort(tasks.view(f"V{8 * tasks.shape[1]}"), axis=0).tobytes())
    return digest.hexdigest()


def release_of(name: str, pool: Pool, facts: LogFacts, sets: Sequence[OwnTasks]) -> OwnRelease:
    """Make tables of classes, of images, which are numbered class by class, and of tasks."""
    order = np.argsort(pool.class_of_image, kind="stable")
    image_id = np.append(np.argsort(order), ABSENT)  # the last is for ABSENT
    sizes = np.bincount(pool.class_of_image, minlength=len(pool.classes))
    names, owner, groups = np.array(pool.classes), pool.class_of_image[order], pool.group_of_image
    classes = {
        "class_id": np.arange(len(sizes), dtype=np.int32),
        "class_name": list(pool.classes),
        "n_images": sizes.astype(np.int32),
        "first_image_id": (np.cumsum(sizes) - sizes).astype(np.int32),
    }
    if pool.superclasses is not None:
        classes["superclass"] = list(pool.superclasses)
    nothing, paths = pa.nulls(len(order), pa.string()), pa.array(pool.images, pa.string())
    images = {
        "image_id": np.arange(len(order), dtype=np.int32),
        "class_id": owner.astype(np.int32),
        "class_name": pa.array(names[owner], pa.string()),
        "path": paths.take(pa.array(order, mask=order >= len(paths))),
        "sha256": nothing,
        "group": pa.nulls(len(order), pa.int32()) if groups is None else groups[order].astype("i4"),
        "creator": nothing,
        "licence": nothing,
    }
    provenance = {"pool": facts.pool} if isinstance(facts, DrawFacts) else {}
    class_table, image_table = pa.table(classes), pa.table(images)
    entries, tables = [], {}
    for own in sets:
        dataset, task_set, fingerprint = own.info.dataset, str(own.info.name), own.info.fingerprint
        of_set: tuple[tuple[Kind, pa.Table, str, str, dict[str, Any]], ...] = (
            ("classes", class_table, "", "", {}),
            ("images", image_table, "", "", {}),
            ("tasks", _tasks(own, image_id[own.image_ids]), task_set, fingerprint, provenance),
        )
        for kind, table, label, digest, how in of_set:
            path = table_path(kind, dataset, label)
            entry = Table(path, kind, dataset, label, len(table), 0, "", digest, digest, how)
            if path not in tables:
                entries.append(entry)
            tables[path] = table
    described = dict.fromkeys((own.info.dataset for own in sets), _drawn(facts, sets))
    datasets = tuple(
        Dataset(dataset, facts.source, "", "", "", len(sizes), len(order), "",
                n_superclasses=facts.superclasses)
        for dataset in described
    )  # fmt: skip
    manifest = Manifest(OWN_TASKS, "", "", datasets, tuple(entries))
    folder = ReleaseFiles(str(Path(facts.source)))
    return OwnRelease(manifest, folder, facts.source, {name: facts}, described, tables)


def _tasks(own: OwnTasks, drawn: Ints) -> pa.Table:
    """Make the table of a task set, whose images have the ids `drawn` (B, K, m)."""
    name, shots = own.info.name, own.shots
    if not name.varies and not name.whole:  # perhaps the log names no support
        shots = np.full_like(shots, name.protocol.shot)
    is_support = np.arange(drawn.shape[2]) < shots[:, :, None]
    support, query = (drawn >= 0) & is_support, (drawn >= 0) & ~is_support
    label = np.broadcast_to(np.arange(drawn.shape[1])[:, None], drawn.shape)
    columns = {
        "task_id": np.arange(len(drawn), dtype=np.int32),
        "class_ids": lists_of(own.class_ids, own.class_ids >= 0, pa.int32()),
        "support": lists_of(drawn, support, pa.int32()),
        "query": lists_of(drawn, query, pa.int32()),
        "query_label": lists_of(label, query, pa.int16()),
    }
    if name.varies:
        columns["support_label"] = lists_of(label, support, pa.int16())
    return pa.table(columns)


def _drawn(facts: LogFacts, sets: Sequence[OwnTasks]) -> str:
    """Describe tasks with their digests, and what they were drawn from, for signatures."""
    infos = [own.info for own in sets]
    digests = (
        f"{i.n_tasks}x{i.protocol.way}x{i.protocol.per_class}#{i.fingerprint[:12]}" for i in infos
    )
    named = "" if infos[0].dataset == "log" else f"{infos[0].dataset}:"
    sizes = "known" if facts.sizes_known else "seen"
    pool = facts.pool if isinstance(facts, DrawFacts) else 0
    return (
        f"own-tasks:{named}{','.join(digests)}|classes:{facts.classes}|images:{facts.images}|"
        f"sizes:{sizes}{f'|pool:{pool}' if pool else ''}"
    )


def lists_of(values: NDArray[Any], chosen: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Return the chosen values of an array (T, ...) as one list per task."""
    lengths = chosen.reshape(len(chosen), -1).sum(axis=1)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values[chosen], kind))
