"""Check the tasks of a log: who answered the same ones, what they were drawn from, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.special import chdtrc

from analysis_sql.intervals.counts import EXACT, RightQueries
from benchmark_spec.catalogue import unknown_split
from benchmark_spec.errors import (
    DoubledTaskError,
    MissingTaskError,
    TaskLogError,
    listing,
    many,
    quoted,
)
from benchmark_spec.protocol import EPISODES, OWN, LoggedProtocol, TaskSetName
from fslbench_data.release.release import load_release, split_of
from fslbench_data.scoring.own_release import OwnTasks, Pool, digest_of, numbered
from fslbench_data.scoring.task_log import TaskLog
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.tasks.draw import check_images
from fslbench_data.validation.log_source import numbers_by_id, texts_by_id
from fslbench_data.validation.rows import Group

REFUSED, DOUBTFUL = 1e-6, 1e-3
"""Chances, were drawing uniform, of counts as uneven as these: refused, and warned of, below."""

HOW = (
    "each task drawn anew: K of the classes, all equally likely, then of each class m of its "
    "images, all equally likely"
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Evenness(Struct, frozen=True):
    """A chi-square test of how often classes, or images within classes, were drawn.

    `statistic` is Pearson's, scaled for drawing without replacement; no test where `df` is 0.
    `worst` was drawn `times` instead of `expected`. `rare` is the mean of 1/expected: the square of
    a count of small expectation μ varies by 2 + 1/μ, not 2. `never` were not drawn at all.
    """

    what: str
    statistic: float = 0.0
    df: int = 0
    worst: int = 0
    times: int = 0
    expected: float = 0.0
    rare: float = 0.0
    never: int = 0

    @property
    def p(self) -> float:
        """How often uniform drawing gives counts that are as uneven, or more so."""
        share = 2.0 / (2.0 + self.rare)  # a chi-square law with the same mean and variance
        return float(chdtrc(share * self.df, share * self.statistic)) if self.df else 1.0


def class_draws(class_ids: Ints, n_classes: int) -> Evenness:
    """Test whether each of C classes was in a task with the same chance; class_ids (B, K).

    Counts have covariance Σ_b K_b(C-K_b)/(C(C-1)) · (I - 11'/C), hence C-1 degrees of freedom:
    classes are drawn from all classes as images are from a class.
    """
    of_task, of_class = np.zeros((len(class_ids), 1), np.int64), np.zeros(n_classes, np.int64)
    return unit_draws(of_task, class_ids[:, None], of_class, "classes")


def pair_draws(class_ids: Ints, n_classes: int) -> Evenness:
    """Test whether classes were together in a task with the same chance; class_ids (B, K).

    Less what single classes explain, counts of pairs have variance B(π2 - 2 π3 + π4) each, where
    πj is the chance that j given classes are in a task, and C(C-3)/2 degrees of freedom.
    """
    tasks, way = class_ids.shape
    none = Evenness("pairs of classes")  # there is no such test where K differs
    if (class_ids < 0).any() or way < 2 or n_classes < 4:
        return none
    chances = np.cumprod([(way - j) / (n_classes - j) for j in range(4)])
    variance = tasks * float(chances[1] - 2 * chances[2] + chances[3])
    if variance <= 1e-9 * tasks:
        return none
    member = np.zeros((tasks, n_classes))
    np.put_along_axis(member, class_ids, 1.0, axis=1)
    counts = member.T @ member
    np.fill_diagonal(counts, 0.0)
    rows = counts.sum(axis=1)
    rows -= rows.mean()
    expected = float(counts.sum() / (n_classes * (n_classes - 1)))
    residuals = counts - expected - (rows[:, None] + rows) / (n_classes - 2)
    upper = np.triu_indices(n_classes, 1)
    worst = int(np.abs(residuals[upper]).argmax())
    statistic = float((residuals[upper] ** 2).sum() / variance)
    df, times = n_classes * (n_classes - 3) // 2, int(counts[upper][worst])
    return Evenness(none.what, statistic, df, worst, times, expected, 1.0 / expected)


def unit_draws(class_ids: Ints, units: Ints, class_of_unit: Ints, what: str) -> Evenness:
    """Test images, or groups (B, K, m), class by class in the same way; `what` names them."""
    sizes = np.bincount(class_of_unit, minlength=int(class_of_unit.max()) + 1).astype(np.float64)
    drawn = (units >= 0).sum(axis=2)
    there = class_ids >= 0
    of, each = class_ids[there], drawn[there].astype(np.float64)
    expected = np.asarray(np.bincount(of, each, sizes.size) / sizes, np.float64)
    spread = np.bincount(of, each * (sizes[of] - each), sizes.size)
    variance = np.asarray(spread / (sizes * np.maximum(sizes - 1.0, 1.0)), np.float64)
    times = np.bincount(units[units >= 0], minlength=len(class_of_unit))
    expected, variance = expected[class_of_unit], variance[class_of_unit]
    varies = variance > 1e-9
    parts = np.where(varies, (times - expected) ** 2 / np.where(varies, variance, 1.0), 0.0)
    df = int(varies.sum()) - len(np.unique(class_of_unit[varies]))
    worst = int(parts.argmax())
    rare = float((1.0 / expected[varies]).mean()) if df else 0.0
    found = int(times[worst]), float(expected[worst])
    return Evenness(what, float(parts.sum()), df, worst, *found, rare, int((times == 0).sum()))


def check_even(test: Evenness, name: str, where: str) -> list[str]:
    """Refuse draws that are too uneven, and return warnings of doubtful ones."""
    p = f"p = {test.p:.1g}" if test.p > 1e-99 else "p < 1e-99"
    text = (
        f"{test.what}{' within classes' if test.what in ('images', 'groups') else ''}: chi-square "
        f"{test.statistic:,.1f} with {test.df:,} degrees of freedom, {p}; {name} is "
        f"in {test.times:,} tasks where {test.expected:,.1f} are expected"
    )
    if test.p < REFUSED:
        if test.what == "classes" and test.never:
            text += f"; {many(test.never, 'class', 'classes')} of --class-sizes in no task"
        raise TaskLogError(
            f"the tasks were not drawn uniformly ({text})",
            where=where,
            expected=HOW,
            fix="sample so: random.sample(classes, K), then random.sample(images of the class, m); "
            "sizes of classes must count the images that the sampler draws from, no others",
        )
    if test.p < DOUBTFUL:
        return [f"the tasks may not have been drawn uniformly ({text})"]
    return []


def unseen_images(times: Ints, class_of_image: Ints) -> float:
    """Estimate how many images no task shows, from the tasks (N,) that each other image is in.

    Chao's bias-corrected estimator, f1(f1-1)/(2(f2+1)) of each class with f1 images seen once and
    f2 seen twice (Scandinavian Journal of Statistics 11, 1984).
    """
    once = np.bincount(class_of_image[times == 1], minlength=1).astype(np.float64)
    twice = np.bincount(class_of_image[times == 2], minlength=len(once)).astype(np.float64)
    return float((once * (once - 1) / (2 * (twice[: len(once)] + 1))).sum())


UNSEEN_WARNED = 0.02
"""Share of images that no task shows, by estimate, above which sizes of classes are wanted."""

ONCE_REFUSED = 0.1
"""Share of the images seen that were seen once, above which they are."""


Answers = tuple[str, Ints, list[Ints]]
"""A method, the rows (runs, B) of its tasks, (1, B) where each run has its own, and its runs'."""


def task_sets(log: TaskLog, *, trained: bool, inductive: bool) -> tuple[list[OwnTasks], Ints, Ints]:
    """Group methods that answered the same tasks, after :func:`check_rows`.

    They are the same if name, classes and images are, in order; where runs have tasks of their own,
    in each run of one method and a run of the other. Where nothing is `trained`, seeds that drew
    tasks of their own are no training runs. Returns also of each row (R,) which of these sets it is
    of, and which of its tasks.
    """
    groups: dict[tuple[bytes, ...], list[Answers]] = {}
    for name, own in zip(log.methods, _rows_by_method(log), strict=True):
        runs = np.split(own, np.flatnonzero(np.diff(log.run[own])) + 1)
        keys = [_key(log, of_run) for of_run in runs]
        if len({*keys}) == 1:  # all runs answered the same tasks
            groups.setdefault(keys[0], []).append((name, np.stack(runs), runs))
            continue
        for first, other in combinations(runs, 2):
            names = [_run_name(log, name, of_run) for of_run in (first, other)]
            _check_common_tasks(log, first, other, *names)
        members = groups.setdefault(tuple(map(b"".join, sorted(keys))), [])
        if members:  # in the order of the first method's runs
            runs = [runs[keys.index(_key(log, of_run))] for of_run in members[0][2]]
        members.append((name, np.concatenate(runs)[None], runs))
    for one, two in combinations(groups.values(), 2):
        for left, right in product(_with_names(log, one[0]), _with_names(log, two[0])):
            _check_common_tasks(log, left[1], right[1], left[0], right[0])
    sets, (set_of_row, task_of_row) = [], np.zeros((2, len(log.method)), np.int64)
    for number, members in enumerate(groups.values()):
        sets.append(_task_set(log, members, number, trained=trained, inductive=inductive))
        for _, rows, _ in members:
            set_of_row[rows], task_of_row[rows] = number, np.arange(rows.shape[1])
    return sets, set_of_row, task_of_row


def _with_names(log: TaskLog, answers: Answers) -> Iterator[tuple[str, Ints]]:
    """Yield the rows of a method, each task once: by run if runs share names of tasks."""
    name, (own, *_), runs = answers
    if np.unique(log.task[own]).size == own.size:
        yield name, own
    else:
        yield from ((_run_name(log, name, of_run), of_run) for of_run in runs)


def _run_name(log: TaskLog, method: str, of_run: Ints) -> str:
    return f"run {quoted(log.runs[log.run[of_run[0]]])} of {method}"


def _key(log: TaskLog, rows_: Ints) -> tuple[bytes, ...]:
    """Return what is equal of rows with the same tasks alone."""
    return tuple(ids[rows_].tobytes() for ids in (log.task, log.class_ids, log.image_ids))


def _task_set(
    log: TaskLog, members: Sequence[Answers], number: int, *, trained: bool, inductive: bool
) -> OwnTasks:
    """Return the tasks and the results of methods: counts where all tasks have as many queries."""
    _, (first, *_), runs = members[0]
    apart = len(first) > len(runs[0])  # every run has tasks of its own
    run = np.repeat(np.arange(len(runs)), list(map(len, runs))) if apart and trained else None
    info = _info(log, first, number)
    tasks, queries = len(first), info.protocol.n_query
    most = max(len(rows) for _, rows, _ in members)
    counted = run is None and log.queries == queries and tasks * queries * most**2 <= EXACT
    groups = []
    for name, rows, runs in members:
        counts, totals = log.y[rows].mean(axis=0), log.y[rows].mean(axis=1) * tasks
        if counted:
            counts = np.rint(counts * queries * len(rows)).astype(np.int64)
            totals = np.rint(totals * queries).astype(np.int64)
        right = None
        if inductive and log.right is not None and run is None:
            right = RightQueries(log.right[rows].sum(axis=0, dtype=np.uint16), len(rows))
        named = log.runs and (trained or not apart)
        names = tuple(log.runs[log.run[of_run[0]]] for of_run in runs) if named else ()
        groups.append(Group(name, info, counts, True, names, totals, run, right))
    of_tasks = log.class_ids[first], log.image_ids[first], log.shots[first]
    names = tuple(log.tasks[task] for task in log.task[first].tolist())
    return OwnTasks(info, names, *of_tasks, tuple(groups))


def _info(log: TaskLog, rows_: Ints, number: int) -> TaskSetInfo:
    """Name the tasks of rows, with 0 shots where nothing says which images are support."""
    images, shots = log.image_ids[rows_], log.shots[rows_]
    tasks, way, per_class = images.shape
    suite, shot = OWN, int(shots.max())
    if (images < 0).any() or (shots != shots[0, 0]).any():
        suite, query = EPISODES, int(((images >= 0).sum(axis=2) - shots).max())
    elif log.roles:
        query = per_class - shot
    else:
        query = log.queries // way if log.queries and log.queries % way == 0 else per_class
        shot = per_class - query
    name = TaskSetName(suite.name, LoggedProtocol(way, shot, query))
    digest = digest_of(log.classes, log.images, log.class_ids[rows_], images)
    return TaskSetInfo(numbered(log.name, number), name, tasks, digest)


FEWEST = 10
"""Tasks of its own that a run answers at least: of fewer, what they vary by is not told."""


def check_tasks_of_runs(log: TaskLog, each: OwnTasks) -> list[str]:
    """Refuse runs of fewer tasks of their own than :data:`FEWEST`; warn of unequal numbers."""
    first = each.groups[0]
    if first.run_of_task is None:
        return []
    tasks = np.bincount(first.run_of_task)
    if tasks.min() < FEWEST:
        name = first.runs[int(tasks.argmin())]
        raise TaskLogError(
            f"run {quoted(name)} of {first.method} has {many(int(tasks.min()), 'task')}, which "
            "no other run has",
            where=f"{log.source}, column {log.run_column}",
            expected=f"runs of the same tasks, or of {FEWEST} tasks or more",
            fix="name training runs there, not tasks or seeds of tasks; if nothing is trained "
            "before the tasks, say so: --no-training, trained=False",
        )
    if tasks.min() == tasks.max():
        return []
    return [
        f"runs of {listing(each.methods, 4)} have {tasks.min()} to {tasks.max()} tasks, and count "
        "by these: is each finished?"
    ]


def check_rows(log: TaskLog) -> None:
    """Refuse tasks with a class or an image twice, and images of two classes."""
    images = log.image_ids.reshape(len(log.method), -1)
    for what, ids, names in (
        ("class", log.class_ids, log.classes),
        ("image", images, log.images),
    ):
        ordered = np.sort(ids, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
        if (bad := np.flatnonzero(twice.any(axis=1))).size:
            name = names[ordered[bad[0], 1:][twice[bad[0]]][0]]
            raise TaskLogError(
                f"a task has {what} {quoted(name)} twice",
                where=f"{log.source}, {log.rows(bad)}",
                expected=f"no {what} twice in a task, in support and query together",
                fix="sample without replacement; log ids, not positions within a class or a batch",
            )
    class_of = np.repeat(log.class_ids, log.image_ids.shape[2], axis=1)
    owner, there = np.zeros(len(log.images), np.int64), images >= 0
    owner[images[there]] = class_of[there]
    wrong = there & (owner[images] != class_of)
    if wrong.any():
        row, place = np.argwhere(wrong)[0].tolist()
        image = images[row, place]
        other = int(np.flatnonzero(((images == image) & ~wrong).any(axis=1))[0])
        raise TaskLogError(
            f"image {quoted(log.images[image])} is of class "
            f"{quoted(log.classes[class_of[row, place]])} in one task and of class "
            f"{quoted(log.classes[owner[image]])} in another",
            where=f"{log.source}, {log.rows([row, other])}",
            expected="ids that tell all images apart, class by class in the order of class_ids",
            fix="number images over the whole data set, not within a class; take class_ids from "
            "the labels of the images as they stand, since loaders may list classes in another "
            "order (easyfsl's episodic_collate_fn does)",
        )


def _rows_by_method(log: TaskLog) -> list[Ints]:
    """Return the rows of each method, in the order of its runs, then of the log's tasks."""
    order = np.lexsort((log.task, log.run, log.method))
    alike = [key[order][1:] == key[order][:-1] for key in (log.method, log.task, log.run)]
    doubled = np.flatnonzero(np.logical_and.reduce(alike))
    if doubled.size:
        at = sorted(order[doubled[0] : doubled[0] + 2].tolist())
        raise DoubledTaskError(
            f"{log.methods[log.method[at[0]]]} answers task {quoted(log.tasks[log.task[at[0]]])} "
            "twice",
            where=f"{log.source}, {log.rows(at)}",
            expected="one row a method, run and task",
            fix="name training runs in a column `run`, and data sets in a column `dataset`; number "
            "tasks through, over epochs and batches",
        )
    return np.split(order, np.cumsum(np.bincount(log.method))[:-1])


def _check_common_tasks(log: TaskLog, first: Ints, own: Ints, name: str, other: str) -> None:
    """Refuse two methods, or runs, that have some, but not all, of their tasks in common."""
    _, left, right = np.intersect1d(
        log.task[first], log.task[own], assume_unique=True, return_indices=True
    )
    same: NDArray[np.bool_] = (log.class_ids[first[left]] == log.class_ids[own[right]]).all(axis=1)
    same &= (log.image_ids[first[left]] == log.image_ids[own[right]]).all(axis=(1, 2))
    if not same.any():
        return
    if not same.all():
        bad = own[right][~same]
        raise TaskLogError(
            f"{other} answers {len(bad)} of its {len(own)} tasks with other classes or images, or "
            f"in another order, than {name} answers tasks of the same name: "
            f"{listing([log.tasks[task] for task in log.task[bad].tolist()], 4)}",
            where=f"{log.source}, {log.rows(bad)}",
            expected="the same classes and images in every task of the same name, or in none",
            fix="draw the tasks once and give them to all methods",
        )
    for lacking, rows_, there, by in ((other, own, first, name), (name, first, own, other)):
        missing = np.setdiff1d(log.task[there], log.task[rows_])
        if missing.size:
            raise MissingTaskError(
                f"{lacking} lacks tasks that {by} answers: "
                f"{listing([log.tasks[task] for task in missing.tolist()])}",
                where=log.source,
                expected="all of the same tasks, so that methods are compared task by task",
                fix="run the missing tasks; leaving out those that failed would flatter",
            )


def pool_of(
    log: TaskLog, sets: Sequence[OwnTasks], class_sizes: object, groups: object, above: object
) -> Pool:
    """Return what a log's tasks were drawn from; `above` are superclasses."""
    warnings: list[str] = []
    class_of, times = np.zeros((2, len(log.images)), np.int64)
    for group in sets:
        there = group.image_ids >= 0
        class_of[group.image_ids[there]] = group.class_ids[np.nonzero(there)[:2]]
        times += np.bincount(group.image_ids[there], minlength=len(times))
    owner, classes, grouped, superclasses = class_of, log.classes, None, None
    if groups is not None:
        owner, grouped = _with_groups(log, class_of, groups)
    if class_sizes is not None:
        owner, classes = _with_sizes(log, owner, _sizes(log, class_sizes))
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
        once, share = float((times == 1).mean()), unseen / (len(times) + unseen)
        remedy = "give the sizes of the classes: --class-sizes FILE, or class_sizes="
        if once > ONCE_REFUSED:
            raise TaskLogError(
                f"{100 * once:.0f} % of the {len(times):,} images were seen once only: there are "
                f"others that no task shows, about {100 * share:.0f} % of all",
                where=log.source,
                expected=f"at most {100 * ONCE_REFUSED:g} % where the images seen are taken for "
                "all",
                fix=f"{remedy}; or log more tasks",
            )
        if share > UNSEEN_WARNED:
            warnings.append(
                f"about {100 * share:.1f} % of the images are in no task, by estimate, and the "
                "images seen are taken for all: intervals for new images are somewhat off; "
                f"{remedy}"
            )
    for group in sets:
        warnings += _check_draws(log, group, classes, owner, grouped)
    if above is not None:
        about = "class", "superclass", "superclasses"
        named = texts_by_id(above, *about, log.dataset)
        _check_all(log, classes, named, *about, "a superclass for every class")
        superclasses = tuple(named[name] for name in classes)
    found = tuple(dict.fromkeys(warnings))
    return Pool(classes, log.images, owner, grouped, superclasses, unseen, found)


def _check_all(
    log: TaskLog,
    names: Sequence[str],
    there: Mapping[str, object],
    key: str,
    value: str,
    what: str,
    wanted: str,
) -> None:
    """Refuse values by id that some of the log's names lack."""
    of = {"class": "classes", "image": "images"}[key]
    if missing := [name for name in names if name not in there]:
        raise TaskLogError(
            f"the {what} lack {len(missing)} {of} of the log: "
            f"{listing(list(map(quoted, missing)), 4)}",
            where=log.source,
            expected=wanted,
            fix=f"they name {listing(list(map(quoted, there)), 4) or 'none'}: give {key} and "
            f"{value} of all {of}, under the names of the log",
        )


SIZES = "class", "n_images", "class sizes"


def _sizes(log: TaskLog, given: object) -> dict[str, int]:
    """Return the images of each class, as given, or of the test split that is named."""
    apart = log.of_several
    if isinstance(given, Mapping) and log.dataset:
        own = {str(name): sizes for name, sizes in given.items()}.get(log.dataset)
        given, apart = (own, False) if isinstance(own, str | Path) else (given, apart)
    if not isinstance(given, str | Path) or Path(given).suffix or Path(given).exists():
        return numbers_by_id(given, *SIZES, log.dataset, apart=apart)
    split = split_of(str(given))
    if split is None or not split.known:
        fix = "or give a file with the columns class and n_images"
        raise unknown_split(str(given), fix, load_release().datasets)
    return split.sizes_of(log.classes)


def _with_sizes(log: TaskLog, owner: Ints, sizes: dict[str, int]) -> tuple[Ints, tuple[str, ...]]:
    """Add images that no task shows, and classes; those of too few images are left out."""
    wanted = "every class of the log, by the name that it has in class_ids"
    _check_all(log, log.classes, sizes, *SIZES, wanted)
    each = (log.image_ids >= 0).sum(axis=2)
    seen, m = set(log.classes), each[each > 0].min()
    idle = [name for name, size in sizes.items() if size >= m and name not in seen]
    classes = (*log.classes, *idle)
    there = np.bincount(owner, minlength=len(classes))
    size = np.array([sizes[name] for name in classes])
    if (few := np.flatnonzero(size < there)).size:
        raise TaskLogError(
            f"class {quoted(log.classes[few[0]])} has {size[few[0]]} images by the class sizes, "
            f"and tasks show {there[few[0]]}",
            where=log.source,
            expected="the number of images that the sampler draws from",
            fix="log an image under one id only, whatever its crop or augmentation",
        )
    check_images(size, f"{log.source}, class sizes")
    return np.concatenate([owner, np.repeat(np.arange(len(size)), size - there)]), classes


def _with_groups(log: TaskLog, class_of: Ints, given: object) -> tuple[Ints, Ints]:
    """Return class and group of the images of the log, and of others in a group of theirs."""
    about = "image", "group", "groups"
    groups = texts_by_id(given, *about, log.dataset)
    wanted = "the group of every image; one of its own for an image that is in no group"
    _check_all(log, log.images, groups, *about, wanted)
    seen = [groups[name] for name in log.images]
    class_of_group: dict[str, int] = {}
    for image, group, label in zip(log.images, seen, class_of.tolist(), strict=True):
        if (first := class_of_group.setdefault(group, label)) != label:
            raise TaskLogError(
                f"group {quoted(group)} has images of class {quoted(log.classes[first])} and, such "
                f"as {quoted(image)}, of class {quoted(log.classes[label])}",
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


def _check_draws(
    log: TaskLog,
    group: OwnTasks,
    names: Sequence[str],
    owner: Ints,
    grouped: Ints | None,
) -> list[str]:
    """Test that tasks were drawn uniformly: classes, then images, or groups where one of each."""
    where = f"{log.source}, {listing(group.methods, 4)}"
    units, what, class_of = group.image_ids, "images", owner
    if group.info.name.varies and grouped is not None:
        raise TaskLogError(
            "groups of images, and tasks of different numbers of classes or images",
            where=where,
            expected="with groups, as many classes, and images of each, in every task",
            fix="leave the groups out; a group of images then counts as so many images",
        )
    if grouped is not None and len(set(grouped)) < len(grouped):
        of_task = np.sort(grouped[units].reshape(len(units), -1), axis=1)
        if not (of_task[:, 1:] == of_task[:, :-1]).any():
            units, what = grouped[units], "groups"
            class_of = np.zeros(int(grouped.max()) + 1, np.int64)
            class_of[grouped] = owner
    classes, pairs = (test(group.class_ids, len(names)) for test in (class_draws, pair_draws))
    images = unit_draws(group.class_ids, units, class_of, what)
    if min(test.p for test in (classes, pairs, images)) < REFUSED:
        _check_repeated(group, where)
    at = [i[pairs.worst] if pairs.df else 0 for i in np.triu_indices(len(names), 1)]
    together = " and ".join(quoted(names[i]) for i in at)
    image = f"one of the {what}"
    if images.worst < len(log.images) and what == "images":
        image = f"image {quoted(log.images[images.worst])}"
    return [
        *check_even(classes, f"class {quoted(names[classes.worst])}", where),
        *check_even(pairs, f"{together} together", where),
        *check_even(images, image, where),
    ]


def _check_repeated(group: OwnTasks, where: str) -> None:
    """Refuse tasks that are there twice under different names."""
    tasks = np.sort(group.image_ids.reshape(len(group.image_ids), -1), axis=1)
    order = np.lexsort(tasks.T[::-1])
    alike = np.flatnonzero((tasks[order][1:] == tasks[order][:-1]).all(axis=1))
    if alike.size:
        one, other = min(sorted(order[at : at + 2].tolist()) for at in alike.tolist())
        more = f", as are {alike.size} of {len(tasks)} tasks another one" if alike.size > 1 else ""
        raise TaskLogError(
            f"tasks {quoted(group.tasks[one])} and {quoted(group.tasks[other])} are the same{more}",
            where=where,
            expected="every task once: a task that is there again tells nothing new",
            fix="leave repetitions out; of several training runs on the same tasks, give a task "
            "one name in all of them, and name the run in a column `run`",
        )
