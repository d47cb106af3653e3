"""Make the designs of task sets: what their tasks share, for each kind of interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.kinds import CLASS_AWARE, NEW_SUPERCLASSES
from analysis_sql.class_aware.superclasses import SuperclassDesign
from analysis_sql.interval_kinds import Designs
from analysis_sql.intervals.arrays import Ints
from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.all_ways import AllWayDesign
from analysis_sql.leave_one_out.design import LEFT_OUT, TaskDesign
from analysis_sql.leave_one_out.episodes import EpisodeDesign, padded
from analysis_sql.leave_one_out.leave_one_out import Design, FirstTasks
from benchmark_spec.protocol import IntervalKind, suite_of
from fslbench_data.release.release import Release
from fslbench_data.sampling.allway import Parts
from fslbench_data.sampling.draw import Pool, Wanted
from fslbench_data.tasks import Episodes, TaskSetInfo, by_class, classes_of_images, padded_lists


class Units(Struct, frozen=True):
    """What another experiment would draw anew, as titles and notes name it.

    `missing` says why kinds of interval do not exist, `bounded` why some are only upper bounds.
    """

    groups: bool = False
    superclasses: int = 0
    missing: Mapping[IntervalKind, str] = field(default_factory=dict)
    bounded: Mapping[IntervalKind, str] = field(default_factory=dict)


NO_UNITS = Units()
"""The units of a task set whose images do not recur."""


def designs_of(
    release: Release, info: TaskSetInfo, right: Iterable[RightQueries | None] = ()
) -> tuple[Designs, Units]:
    """Return the designs of a task set's kinds of interval, and its units.

    `right` are each method's correct queries: tasks of all classes have an interval for new classes
    only if some method has second-best predictions.
    """
    suite = suite_of(info.name.suite)
    names = release.superclasses(info.dataset)
    n_superclasses = 0 if names is None else len(set(names))
    missing: dict[IntervalKind, str] = {}
    if suite.interval != "closed":
        class_ids = release.class_ids(info)
        if names is None:
            return {CLASS_AWARE: ClassDesign.of(class_ids)}, NO_UNITS
        superclass_design = SuperclassDesign.of(class_ids, np.array(names))
        designs: dict[IntervalKind, Any] = {CLASS_AWARE: superclass_design.classes}
        if superclass_design.obstacle is None:
            designs[NEW_SUPERCLASSES.name] = superclass_design
        else:
            missing[NEW_SUPERCLASSES.name] = superclass_design.obstacle
        return designs, Units(False, n_superclasses, missing)
    if not suite.uniform:
        return {}, Units(False, n_superclasses)
    design = left_out_design(release, info)
    if isinstance(design, AllWayDesign):
        has_second = any(queries is not None and queries.regained is not None for queries in right)
        design = replace(design, second=has_second and info.protocol.way > 2)
    missing = {k: why for k, why in design.why.items() if k != "superclasses" or n_superclasses}
    bounded: dict[IntervalKind, str] = {
        kind: design.bounded[kind] for kind in LEFT_OUT if kind in design.bounded
    }
    kinds = [kind for kind in LEFT_OUT if kind not in design.why]
    units = Units(design.unit == "groups", n_superclasses, missing, bounded)
    return dict.fromkeys(kinds, FirstTasks(design)), units


def estimable(designs: Designs, units: Units) -> tuple[Designs, Units]:
    """Leave out the class-aware kind where all tasks have the same classes, and say why."""
    design = designs.get(CLASS_AWARE)
    if design is None or design.obstacle is None:
        return designs, units
    rest = {kind: other for kind, other in designs.items() if kind != CLASS_AWARE}
    return rest, replace(units, missing={CLASS_AWARE: design.obstacle, **units.missing})


def left_out_design(release: Release, info: TaskSetInfo) -> Design:
    """Make the design of a set of uniform tasks that reuse images.

    A `pooled` set draws only from its pool; groups of images, where there are any, are left out as
    wholes.
    """
    classes = release.classes(info.dataset)
    if info.name.varies:
        return _episodes(release, info)
    sizes = classes.column("n_images").to_numpy()
    groups = release.groups(info.dataset)
    owner = classes_of_images(sizes, info.dataset)
    if info.name.suite == "pooled":
        owner = _pooled_owner(release, info, sizes, owner, groups)
    if info.name.whole:
        return _all_ways(release, info, sizes, groups)
    tasks = release.task_set(info.dataset, str(info.name))
    names = release.superclasses(info.dataset)
    superclasses = None if names is None else np.unique(names, return_inverse=True)[1]
    labels = classes.column("class_name").to_pylist()
    query = by_class(tasks.query, tasks.query_label).reshape(*tasks.class_ids.shape, -1)
    images, shots = np.concatenate([tasks.support, query], axis=2), info.protocol.shot
    return TaskDesign.of(tasks.class_ids, images, owner, groups, superclasses, labels, shots)


def _all_ways(
    release: Release, info: TaskSetInfo, sizes: NDArray[Any], groups: Ints | None
) -> AllWayDesign:
    """Make the design of tasks of all classes; each takes few images of a class for support.

    A log may say how many images support is drawn from, and its draws may leave out different ones.
    """
    how = release.provenance(info)
    if "seed" not in how:
        queries = padded_lists(release.task_table(info).column("query"))
        overlap = info.protocol.shot / how["pool"] if how.get("pool") else 0.0
        return AllWayDesign.of(queries, classes_of_images(sizes, info.dataset), overlap)
    tasks = release.task_set(info.dataset, str(info.name))
    test = str(how.get("test") or "")
    paths, seed = release.paths(info.dataset) if test else None, int(how["seed"])
    options: dict[str, Any] = {"seed": seed, "groups": groups, "paths": paths, "test": test}
    parts = Parts.of(Wanted(info.dataset, info.name, sizes.tolist(), **options))
    overlap = info.protocol.shot / float(parts.sizes.mean())
    query = by_class(tasks.query, tasks.query_label)
    return AllWayDesign.of(query, parts.class_of, overlap, f"{parts.unit}s")


def _episodes(release: Release, info: TaskSetInfo) -> EpisodeDesign:
    """Make the design of episodes, which differ in their numbers of classes and images."""
    classes = release.classes(info.dataset)
    tasks = cast("Episodes", release.task_set(info.dataset, str(info.name)))
    owner = classes_of_images(classes.column("n_images").to_numpy(), info.dataset)
    ids, n_support = tasks.class_ids, tasks.support.shape[1]
    images = np.concatenate([tasks.support, tasks.query], axis=1)
    labels = np.concatenate([tasks.support_label, tasks.query_label], axis=1)
    task, place = np.nonzero(images >= 0)
    cell = task * ids.shape[1] + labels[task, place]  # a class of a task
    order = np.argsort(cell, kind="stable")
    drawn = padded(images[task, place][order], np.bincount(cell, minlength=ids.size))
    shots = np.bincount(cell[place < n_support], minlength=ids.size)
    names = classes.column("class_name").to_pylist()
    class_shots = shots.reshape(ids.shape) if shots.any() else None  # a log may name no support
    return EpisodeDesign.of(ids, drawn.reshape(*ids.shape, -1), owner, names, class_shots)


def _pooled_owner(
    release: Release,
    info: TaskSetInfo,
    sizes: NDArray[Any],
    owner: NDArray[Any],
    groups: Ints | None,
) -> NDArray[Any]:
    """Return the class of each image that a pooled set may draw, and -1 for other images."""
    seed = int(release.provenance(info)["seed"])
    grouped = groups if groups is not None and (groups >= 0).any() else None
    pool = Pool.of(sizes.tolist(), dataset=info.dataset, seed=seed, groups=grouped)
    drawable = np.zeros(sizes.size, np.bool_)
    drawable[pool.eligible(info.protocol, info.dataset)] = True
    kept = np.zeros(owner.size, np.bool_)
    kept[pool.images] = True
    return np.where(kept & drawable[owner], owner, -1)
