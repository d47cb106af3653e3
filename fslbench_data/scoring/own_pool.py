"""What the tasks of a researcher's own log were drawn from: images, their classes and groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import TaskLogError, listing, shown
from fslbench_data.scoring.id_table import numbers_by_id, texts_by_id
from fslbench_data.scoring.own_answers import Answers
from fslbench_data.scoring.own_draws import (
    REFUSED,
    check_even,
    class_draws,
    pair_draws,
    unit_draws,
    unseen_images,
)
from fslbench_data.scoring.task_log import TaskLog
from fslbench_data.tasks.drawn import check_images

UNSEEN_WARNED = 0.02
"""Share of images that no task shows, by estimate, above which sizes of classes are wanted."""

ONCE_REFUSED = 0.1
"""Share of the images seen that were seen once, above which they are."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pool:
    """All that may be drawn.

    Attributes
    ----------
    classes
        Names: those of the log, then others that may be drawn and are in no task.
    class_of_image : int64 (N,)
        The images of the log first, at their positions there; then those that no task shows.
    group_of_image : int64 (N,) or None
    superclasses
        Of each class, by name; None where none are given.
    unseen
        Number of images that no task shows: known, or an estimate.
    sizes_known
        Whether the classes' sizes were given; else the images seen are taken for all.
    warnings
        Sentences.
    """

    classes: tuple[str, ...]
    class_of_image: Ints
    group_of_image: Ints | None
    superclasses: tuple[str, ...] | None
    unseen: float
    sizes_known: bool
    warnings: tuple[str, ...]

    @cached_property
    def order(self) -> Ints:
        """Positions of images (N,) in the order of their classes."""
        return np.argsort(self.class_of_image, kind="stable")


def pool_of(
    log: TaskLog,
    answers: list[Answers],
    class_sizes: object = None,
    groups: object = None,
    superclasses: object = None,
) -> Pool:
    """Return what a log's tasks were drawn from; the arguments are those of :func:`interval`.

    Raises
    ------
    TaskLogError
        If sizes, groups or superclasses do not fit the log, too many images may never have been
        seen, or tasks were not drawn uniformly.
    """
    class_of, times = _seen(log, answers)
    owner, unseen = class_of, 0.0
    warnings: list[str] = []
    grouped, classes = None, log.classes
    if groups is not None:
        owner, grouped = _with_groups(
            log, class_of, texts_by_id(groups, "image", "group", "groups")
        )
    if class_sizes is not None:
        sizes = numbers_by_id(class_sizes, "class", "n_images", "class sizes")
        owner, classes = _with_sizes(log, owner, sizes)
        unseen = float(len(owner) - len(class_of))
        if grouped is not None and len(owner) > len(grouped):
            raise TaskLogError(
                f"of {len(owner) - len(grouped)} images that the class sizes count no group is "
                "known, since no task shows them",
                where=log.source,
                fix="list these images' groups together with images that tasks show, or leave the "
                "class sizes out",
            )
    else:
        unseen = unseen_images(times, class_of)
        warnings += _about_unseen(log, times, unseen)
    for group in answers:
        warnings += _draws(log, group, classes, owner, grouped, class_sizes is not None)
    above = None
    if superclasses is not None:
        named = texts_by_id(superclasses, "class", "superclass", "superclasses")
        above = _superclasses(log, classes, named)
    return Pool(classes, owner, grouped, above, unseen, class_sizes is not None,
                tuple(dict.fromkeys(warnings)))  # fmt: skip


def _seen(log: TaskLog, answers: list[Answers]) -> tuple[Ints, Ints]:
    """The class of each image of the log, and how many different tasks show it (n,)."""
    class_of = np.zeros(len(log.images), np.int64)
    times = np.zeros(len(log.images), np.int64)
    for group in answers:
        class_of[group.image_ids] = group.class_ids[:, :, None]
        times += np.bincount(group.image_ids.ravel(), minlength=len(times))
    return class_of, times


def _with_sizes(log: TaskLog, owner: Ints, sizes: dict[str, int]) -> tuple[Ints, tuple[str, ...]]:
    """Add images that no task shows, and classes; those of too few images are left out."""
    m = log.image_ids.shape[2]
    if missing := [name for name in log.classes if name not in sizes]:
        raise TaskLogError(
            f"the class sizes lack {listing(list(map(shown, missing)))}",
            where=log.source,
            expected="every class of the log, by the name that it has in class_ids",
        )
    seen = set(log.classes)
    idle = [name for name, size in sizes.items() if size >= m and name not in seen]
    classes = (*log.classes, *idle)
    there = np.bincount(owner, minlength=len(classes))
    wanted = np.array([sizes[name] for name in classes])
    if (few := np.flatnonzero(wanted < there)).size:
        raise TaskLogError(
            f"class {shown(log.classes[few[0]])} has {wanted[few[0]]} images by the class sizes, "
            f"and tasks show {there[few[0]]}",
            where=log.source,
            expected="the number of images that the sampler draws from",
            fix="log an image under one id only, whatever its crop or augmentation",
        )
    check_images(wanted, f"{log.source}, class sizes")
    return np.concatenate([owner, np.repeat(np.arange(len(wanted)), wanted - there)]), classes


def _with_groups(log: TaskLog, class_of: Ints, groups: dict[str, str]) -> tuple[Ints, Ints]:
    """Return class and group of the images of the log, and of others in a group of theirs."""
    if missing := [name for name in log.images if name not in groups]:
        raise TaskLogError(
            f"the groups lack {len(missing)} images of the log: "
            f"{listing(list(map(shown, missing)), 4)}",
            where=log.source,
            expected="the group of every image; one of its own for an image that is in no group",
        )
    seen = [groups[name] for name in log.images]
    class_of_group: dict[str, int] = {}
    for image, group, label in zip(log.images, seen, class_of.tolist(), strict=True):
        if (first := class_of_group.setdefault(group, label)) != label:
            raise TaskLogError(
                f"group {shown(group)} has images of class {shown(log.classes[first])} and, such "
                f"as {shown(image)}, of class {shown(log.classes[label])}",
                where=f"{log.source}, groups",
                expected="groups of images of one class each",
                fix="where groups are numbered within a class, name the class too, as in "
                "'cat/3'; for images of several classes that depend on one another there is no "
                "such interval",
            )
    known = set(log.images)
    more = [g for name, g in groups.items() if name not in known and g in class_of_group]
    number = {name: position for position, name in enumerate(sorted(class_of_group))}
    owner = np.concatenate([class_of, np.array([class_of_group[g] for g in more], np.int64)])
    return owner, np.array([number[g] for g in [*seen, *more]], np.int64)


def _superclasses(log: TaskLog, classes: tuple[str, ...], above: dict[str, str]) -> tuple[str, ...]:
    if missing := [name for name in classes if name not in above]:
        raise TaskLogError(
            f"the superclasses lack classes of the log: {listing(list(map(shown, missing)))}",
            where=log.source,
            expected="a superclass for every class",
        )
    return tuple(above[name] for name in classes)


def _about_unseen(log: TaskLog, times: Ints, unseen: float) -> list[str]:
    once, share = float((times == 1).mean()), unseen / (len(times) + unseen)
    remedy = "give the sizes of the classes: --class-sizes FILE, or class_sizes="
    if once > ONCE_REFUSED:
        raise TaskLogError(
            f"{100 * once:.0f} % of the {len(times):,} images were seen once only: there are "
            f"others that no task shows, about {100 * share:.0f} % of all",
            where=log.source,
            expected=f"at most {100 * ONCE_REFUSED:g} % where the images seen are taken for all",
            fix=f"{remedy}; or log more tasks",
        )
    if share > UNSEEN_WARNED:
        return [
            f"about {100 * share:.1f} % of the images are in no task, by estimate, and the images "
            f"seen are taken for all: intervals for new images are somewhat off; {remedy}"
        ]
    return []


def _draws(
    log: TaskLog,
    group: Answers,
    names: tuple[str, ...],
    owner: Ints,
    grouped: Ints | None,
    sizes_known: bool,
) -> list[str]:
    """Test that tasks were drawn uniformly: classes, then images, or groups where one of each."""
    where = f"{log.source}, {listing(group.methods, 4)}"
    classes = class_draws(group.class_ids, len(names))
    pairs = pair_draws(group.class_ids, len(names))
    first, second = (names[i[pairs.worst]] for i in np.triu_indices(len(names), 1))
    if min(classes.p, pairs.p) < REFUSED:
        _check_repeated(group, where)
    warnings = check_even(classes, f"class {shown(names[classes.worst])}", where, all_known=True)
    together = f"{shown(first)} and {shown(second)} together"
    warnings += check_even(pairs, together, where, all_known=False)
    units, what, class_of = group.image_ids, "images", owner
    if grouped is not None and _one_of_a_group(grouped[units]) and len(set(grouped)) < len(grouped):
        units, what = grouped[units], "groups"
        class_of = np.zeros(int(grouped.max()) + 1, np.int64)
        class_of[grouped] = owner
    test = unit_draws(group.class_ids, units, class_of, what)
    if test.p < REFUSED:
        _check_repeated(group, where)
    known = test.worst < len(log.images) and what == "images"
    name = f"image {shown(log.images[test.worst])}" if known else f"one of the {what}"
    return warnings + check_even(test, name, where, all_known=sizes_known)


def _check_repeated(group: Answers, where: str) -> None:
    """Refuse tasks that are there twice under different names."""
    tasks = np.sort(group.image_ids.reshape(len(group.image_ids), -1), axis=1)
    order = np.lexsort(tasks.T[::-1])
    alike = np.flatnonzero((tasks[order][1:] == tasks[order][:-1]).all(axis=1))
    if alike.size:
        one, other = min(sorted(order[at : at + 2].tolist()) for at in alike.tolist())
        raise TaskLogError(
            f"tasks {shown(group.tasks[one])} and {shown(group.tasks[other])} are the same, as are "
            f"{alike.size} of {len(tasks)} tasks another one"
            if alike.size > 1
            else f"tasks {shown(group.tasks[one])} and {shown(group.tasks[other])} are the same",
            where=where,
            expected="every task once: a task that is there again tells nothing new",
            fix="leave repetitions out; of several training runs on the same tasks, give a task "
            "one name in all of them, and name the run in a column `run`",
        )


def _one_of_a_group(groups: Ints) -> bool:
    """Whether no task has two images of one group; groups (B, K, m)."""
    ordered = np.sort(groups.reshape(len(groups), -1), axis=1)
    return not (ordered[:, 1:] == ordered[:, :-1]).any()
