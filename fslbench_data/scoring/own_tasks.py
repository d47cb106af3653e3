"""Check a log's tasks: which methods share them, and how they were drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

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
from benchmark_spec.protocol import EPISODES, OWN, OWN_OPEN, LoggedProtocol, Suite, TaskSetName
from fslbench_data.release.release import load_release, split_of
from fslbench_data.scoring.own_release import OwnTasks, Pool, digest_of, numbered
from fslbench_data.scoring.task_log import TaskLog
from fslbench_data.tasks import TaskSetInfo, check_images
from fslbench_data.validation.log_source import numbers_by_id, texts_by_id
from fslbench_data.validation.rows import Group

REFUSED, DOUBTFUL = 1e-6, 1e-3
"""p-values of uniform drawing below which a log is refused, or warned of."""

UNIFORM_DRAWING = (
    "each task drawn anew: K of the classes, all equally likely, then of each class m of its "
    "images, all equally likely"
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Evenness(Struct, frozen=True):
    """A chi-square test of how often classes, or images within classes, were drawn.

    `statistic` is Pearson's, scaled for drawing without replacement; with a `df` of 0 there is no
    test.  `worst` was drawn `times` instead of `expected`.  `rare` is the mean of 1/expected: the
    square of a count of small expectation μ has variance 2 + 1/μ, not 2.  Of the `units`, `never`
    many were not drawn at all.
    """

    what: str
    statistic: float = 0.0
    df: int = 0
    worst: int = 0
    times: int = 0
    expected: float = 0.0
    rare: float = 0.0
    never: int = 0
    units: int = 0

    @property
    def p(self) -> float:
        """The p-value: how often uniform drawing gives counts at least as uneven."""
        share = 2.0 / (2.0 + self.rare)  # a chi-square law with the same mean and variance
        return float(chdtrc(share * self.df, share * self.statistic)) if self.df else 1.0


def class_draws(class_ids: Ints, n_classes: int) -> Evenness:
    """Test whether all C classes were in a task with the same chance; class_ids (B, K).

    Counts have covariance Σ_b K_b(C-K_b)/(C(C-1)) · (I - 11'/C), hence C-1 degrees of freedom:
    classes are drawn from all classes as images are from a class.
    """
    one_class, class_of_unit = (
        np.zeros((len(class_ids), 1), np.int64),
        np.zeros(n_classes, np.int64),
    )
    return unit_draws(one_class, class_ids[:, None], class_of_unit, "classes")


def pair_draws(class_ids: Ints, n_classes: int) -> Evenness:
    """Test whether all pairs of classes were in a task with the same chance; class_ids (B, K).

    Without what single classes explain, counts of pairs have variance B(π2 - 2 π3 + π4) each, where
    πj is the chance that j given classes are in a task, and C(C-3)/2 degrees of freedom.
    """
    tasks, way = class_ids.shape
    no_test = Evenness("pairs of classes")  # where K differs, for one
    if (class_ids < 0).any() or way < 2 or n_classes < 4:
        return no_test
    chances = np.cumprod([(way - j) / (n_classes - j) for j in range(4)])
    variance = tasks * float(chances[1] - 2 * chances[2] + chances[3])
    if variance <= 1e-9 * tasks:
        return no_test
    member = np.zeros((tasks, n_classes))
    np.put_along_axis(member, class_ids, 1.0, axis=1)
    counts = member.T @ member
    np.fill_diagonal(counts, 0.0)
    of_class = counts.sum(axis=1)
    of_class -= of_class.mean()
    expected = float(counts.sum() / (n_classes * (n_classes - 1)))
    residuals = counts - expected - (of_class[:, None] + of_class) / (n_classes - 2)
    upper = np.triu_indices(n_classes, 1)
    worst = int(np.abs(residuals[upper]).argmax())
    statistic = float((residuals[upper] ** 2).sum() / variance)
    df, times = n_classes * (n_classes - 3) // 2, int(counts[upper][worst])
    return Evenness(no_test.what, statistic, df, worst, times, expected, 1.0 / expected)


def unit_draws(class_ids: Ints, units: Ints, class_of_unit: Ints, what: str) -> Evenness:
    """Test whether units (B, K, m), images or groups, were drawn from their class uniformly."""
    sizes = np.bincount(class_of_unit, minlength=int(class_of_unit.max()) + 1).astype(np.float64)
    present = class_ids >= 0
    drawn_from = class_ids[present]
    drawn = (units >= 0).sum(axis=2)[present].astype(np.float64)
    expected = np.asarray(np.bincount(drawn_from, drawn, sizes.size) / sizes, np.float64)
    spread = np.bincount(drawn_from, drawn * (sizes[drawn_from] - drawn), sizes.size)
    variance = np.asarray(spread / (sizes * np.maximum(sizes - 1.0, 1.0)), np.float64)
    times = np.bincount(units[units >= 0], minlength=len(class_of_unit))
    expected, variance = expected[class_of_unit], variance[class_of_unit]
    varies = variance > 1e-9
    squares = np.where(varies, (times - expected) ** 2 / np.where(varies, variance, 1.0), 0.0)
    df = int(varies.sum()) - len(np.unique(class_of_unit[varies]))
    worst = int(squares.argmax())
    rare = float((1.0 / expected[varies]).mean()) if df else 0.0
    counts = int(times[worst]), float(expected[worst])
    never = int((times == 0).sum())
    return Evenness(what, float(squares.sum()), df, worst, *counts, rare, never, len(times))


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
            expected=UNIFORM_DRAWING,
            fix=f"give the sizes of the split that tasks are drawn from: {test.never:,} of its "
            f"{test.units:,} {test.what} are in no task"
            if test.never > test.units // 2
            else "sample so: random.sample(classes, K), then random.sample(images of the class, m)"
            "; sizes of classes must count the images that the sampler draws from, no others",
        )
    if test.p < DOUBTFUL:
        return [f"the tasks may not have been drawn uniformly ({text})"]
    return []


def unseen_images(times: Ints, class_of_image: Ints) -> float:
    """Estimate how many images no task shows; `times` (N,) are numbers of tasks of each seen image.

    Chao's bias-corrected estimator, f1(f1-1)/(2(f2+1)) of each class with f1 images seen once and
    f2 seen twice (Scandinavian Journal of Statistics 11, 1984).
    """
    once = np.bincount(class_of_image[times == 1], minlength=1).astype(np.float64)
    twice = np.bincount(class_of_image[times == 2], minlength=len(once)).astype(np.float64)
    return float((once * (once - 1) / (2 * (twice[: len(once)] + 1))).sum())


UNSEEN_WARNED = 0.02
"""Estimated share of images in no task above which a log without class sizes is warned of."""

ONCE_REFUSED = 0.1
"""Share of images seen only once above which a log without class sizes is refused."""


class Answers(NamedTuple):
    """A method's rows of the log: (runs, B), or (1, B) if runs have their own tasks; and by run."""

    method: str
    rows: Ints
    by_run: list[Ints]


def groups_of(log: TaskLog, given: object) -> Mapping[str, str] | None:
    """Return the groups by image, as far as they are given; None without groups."""
    return None if given is None else texts_by_id(given, *_GROUPS, log.dataset)


def task_sets(
    log: TaskLog, *, trained: bool, inductive: bool, groups: Mapping[str, str] | None
) -> tuple[list[OwnTasks], Ints, Ints]:
    """Group methods that answered the same tasks, after :func:`check_rows`.

    Tasks are the same if name, classes and images are, in order; if runs have tasks of their own,
    each run of a method needs a run of the other with the same tasks.  If nothing is `trained`,
    seeds that drew tasks of their own are no training runs.  `groups` are those of images.
    Returns also for each row (R,) the number of its set, and of its task in the set.
    """
    by_tasks: dict[tuple[bytes, ...], list[Answers]] = {}
    for name, rows in zip(log.methods, _rows_by_method(log), strict=True):
        by_run = np.split(rows, np.flatnonzero(np.diff(log.run[rows])) + 1)
        keys = [_tasks_key(log, of_run) for of_run in by_run]
        if len({*keys}) == 1:  # all runs answered the same tasks
            by_tasks.setdefault(keys[0], []).append(Answers(name, np.stack(by_run), by_run))
            continue
        for first, other in combinations(by_run, 2):
            names = [_run_name(log, name, of_run) for of_run in (first, other)]
            _check_common_tasks(log, first, other, *names)
        members = by_tasks.setdefault(tuple(map(b"".join, sorted(keys))), [])
        if members:  # in the order of the first method's runs
            by_run = [by_run[keys.index(_tasks_key(log, run))] for run in members[0].by_run]
        members.append(Answers(name, np.concatenate(by_run)[None], by_run))
    for a, b in combinations(by_tasks.values(), 2):
        for left, right in product(_tasks_once(log, a[0]), _tasks_once(log, b[0])):
            _check_common_tasks(log, left[1], right[1], left[0], right[0])
    sets, (set_of_row, task_of_row) = [], np.zeros((2, len(log.method)), np.int64)
    for number, members in enumerate(by_tasks.values()):
        how = {"trained": trained, "inductive": inductive}
        sets.append(_task_set(log, members, number, image_groups=groups, **how))
        for _, rows, _ in members:
            set_of_row[rows], task_of_row[rows] = number, np.arange(rows.shape[1])
    return sets, set_of_row, task_of_row


def _tasks_once(log: TaskLog, answers: Answers) -> Iterator[tuple[str, Ints]]:
    """Yield a method's name and rows of each task once, or by run if runs share names of tasks."""
    rows = answers.rows[0]
    if np.unique(log.task[rows]).size == rows.size:
        yield answers.method, rows
    else:
        for of_run in answers.by_run:
            yield _run_name(log, answers.method, of_run), of_run


def _run_name(log: TaskLog, method: str, rows: Ints) -> str:
    return f"run {quoted(log.runs[log.run[rows[0]]])} of {method}"


def _tasks_key(log: TaskLog, rows: Ints) -> tuple[bytes, ...]:
    """Return a key that is equal only for rows with the same tasks."""
    return tuple(ids[rows].tobytes() for ids in (log.task, log.class_ids, log.image_ids))


def _task_set(
    log: TaskLog,
    members: Sequence[Answers],
    number: int,
    *,
    image_groups: Mapping[str, str] | None,
    trained: bool,
    inductive: bool,
) -> OwnTasks:
    """Make a set of tasks with the results of methods: counts if all tasks have as many queries."""
    first, by_run = members[0].rows[0], members[0].by_run
    apart = len(first) > len(by_run[0])  # every run has tasks of its own
    run_of_task = None
    if apart and trained:
        run_of_task = np.repeat(np.arange(len(by_run)), list(map(len, by_run)))
    is_open = _share_no_image(log, first, image_groups)
    info = _info(log, first, number, OWN_OPEN if is_open else OWN)
    tasks, queries = len(first), info.protocol.n_query
    most_runs = max(len(answers.rows) for answers in members)
    exact = log.queries == queries and tasks * queries * most_runs**2 <= EXACT
    groups = []
    for method, rows, runs in members:
        counts, totals = log.y[rows].mean(axis=0), log.y[rows].mean(axis=1) * tasks
        if exact and run_of_task is None:
            counts = np.rint(counts * queries * len(rows)).astype(np.int64)
            totals = np.rint(totals * queries).astype(np.int64)
        right = None
        if inductive and log.right is not None and run_of_task is None:
            right = RightQueries(log.right[rows].sum(axis=0, dtype=np.uint16), len(rows))
        named = log.runs and (trained or not apart)
        run_names = tuple(log.runs[log.run[of_run[0]]] for of_run in runs) if named else ()
        groups.append(Group(method, info, counts, True, run_names, totals, run_of_task, right))
    ids = log.class_ids[first], log.image_ids[first], log.shots[first]
    names = tuple(log.tasks[task] for task in log.task[first].tolist())
    return OwnTasks(info, names, *ids, tuple(groups))


def _share_no_image(log: TaskLog, rows: Ints, groups: Mapping[str, str] | None) -> bool:
    """Return whether several tasks have no image, or group of images, in common."""
    images = log.image_ids[rows]
    if len(images) < 2 or np.unique(images).size < images.size:
        return False
    if groups is None:
        return True
    names = [[log.images[i] for i in ids.reshape(-1).tolist()] for ids in images]
    by_task = [{groups.get(name, name) for name in of_task} for of_task in names]
    return len(set().union(*by_task)) == sum(map(len, by_task))


def _info(log: TaskLog, rows: Ints, number: int, suite: Suite) -> TaskSetInfo:
    """Describe the tasks of rows, with 0 shots if the log does not say which images are support."""
    images, shots = log.image_ids[rows], log.shots[rows]
    tasks, way, per_class = images.shape
    shot = int(shots.max())
    if (images < 0).any() or (shots != shots[0, 0]).any():
        suite, query = EPISODES, int(((images >= 0).sum(axis=2) - shots).max())
    elif log.roles:
        query = per_class - shot
    else:
        query = log.queries // way if log.queries and log.queries % way == 0 else per_class
        shot = per_class - query
    name = TaskSetName(suite.name, LoggedProtocol(way, shot, query))
    digest = digest_of(log.classes, log.images, log.class_ids[rows], images)
    return TaskSetInfo(numbered(log.name, number), name, tasks, digest)


FEWEST = 10
"""Fewest tasks of its own that a run may have: fewer do not tell how much they vary."""


def check_tasks_of_runs(log: TaskLog, task_set: OwnTasks) -> list[str]:
    """Refuse runs of fewer tasks of their own than :data:`FEWEST`; warn of unequal numbers."""
    first = task_set.groups[0]
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
        f"runs of {listing(task_set.methods, 4)} have {tasks.min()} to {tasks.max()} tasks, by "
        "which they count; see that all are complete"
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
    owner, present = np.zeros(len(log.images), np.int64), images >= 0
    owner[images[present]] = class_of[present]
    wrong = present & (owner[images] != class_of)
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
        both = sorted(order[doubled[0] : doubled[0] + 2].tolist())
        method, task = log.methods[log.method[both[0]]], log.tasks[log.task[both[0]]]
        raise DoubledTaskError(
            f"{method} answers task {quoted(task)} twice",
            where=f"{log.source}, {log.rows(both)}",
            expected="one row per method, run and task",
            fix="name training runs in a column `run`, and data sets in a column `dataset`; number "
            "tasks through, over epochs and batches",
        )
    return np.split(order, np.cumsum(np.bincount(log.method))[:-1])


def _check_common_tasks(log: TaskLog, rows: Ints, other_rows: Ints, name: str, other: str) -> None:
    """Refuse two methods, or runs, that have some, but not all, of their tasks in common."""
    _, in_rows, in_other = np.intersect1d(
        log.task[rows], log.task[other_rows], assume_unique=True, return_indices=True
    )
    left, right = rows[in_rows], other_rows[in_other]
    same: NDArray[np.bool_] = (log.class_ids[left] == log.class_ids[right]).all(axis=1)
    same &= (log.image_ids[left] == log.image_ids[right]).all(axis=(1, 2))
    if not same.any():
        return
    if not same.all():
        bad = right[~same]
        raise TaskLogError(
            f"{other} answers {len(bad)} of its {len(other_rows)} tasks with other classes or "
            f"images, or in another order, than {name} answers tasks of the same name: "
            f"{listing([log.tasks[task] for task in log.task[bad].tolist()], 4)}",
            where=f"{log.source}, {log.rows(bad)}",
            expected="the same classes and images in every task of the same name, or in none",
            fix="draw the tasks once and give them to all methods",
        )
    for complete, complete_rows, lacking, lacking_rows in (
        (name, rows, other, other_rows),
        (other, other_rows, name, rows),
    ):
        missing = np.setdiff1d(log.task[complete_rows], log.task[lacking_rows])
        if missing.size:
            raise MissingTaskError(
                f"{lacking} lacks tasks that {complete} answers: "
                f"{listing([log.tasks[task] for task in missing.tolist()])}",
                where=log.source,
                expected="all of the same tasks, so that methods are compared task by task",
                fix="run the missing tasks; leaving out those that failed would flatter",
            )


def _left_out(tasks: Sequence[str]) -> list[str]:
    """Warn of tasks that are numbered through, but for some that are not there."""
    if not all(map(str.isdecimal, tasks)):
        return []
    numbers = {*map(int, tasks)}
    first, last = min(numbers), max(numbers)
    missing = last - first + 1 - len(numbers)
    if not 0 < missing < len(numbers) // 2:
        return []
    return [
        f"tasks are numbered {first} to {last}, and {missing:,} of these numbers are missing: "
        "leaving out tasks that failed would flatter"
    ]


def pool_of(
    log: TaskLog,
    sets: Sequence[OwnTasks],
    class_sizes: object,
    groups: Mapping[str, str] | None,
    above: object,
) -> Pool:
    """Return what a log's tasks were drawn from; `above` are superclasses."""
    warnings = _left_out(log.tasks)
    seen_class, times = np.zeros((2, len(log.images)), np.int64)
    for task_set in sets:
        present = task_set.image_ids >= 0
        images = task_set.image_ids[present]
        seen_class[images] = task_set.class_ids[np.nonzero(present)[:2]]
        times += np.bincount(images, minlength=len(times))
    owner, classes, grouped = seen_class, log.classes, None
    if groups is not None:
        owner, grouped = _with_groups(log, seen_class, groups)
    if class_sizes is not None:
        owner, classes = _with_sizes(log, owner, _sizes(log, class_sizes))
        unseen = float(len(owner) - len(seen_class))
        if grouped is not None and len(owner) > len(grouped):
            raise TaskLogError(
                f"of {len(owner) - len(grouped)} images that the class sizes count no group is "
                "known, since no task shows them",
                where=log.source,
                fix="list these images' groups together with images that tasks show, or leave the "
                "class sizes out",
            )
    elif all(task_set.is_open for task_set in sets):
        unseen = 0.0
        if sum(len(task_set.tasks) for task_set in sets) > 1:
            warnings.append(
                "no image is in two tasks: if each task is drawn anew, ids are places in a task or "
                "batch, not images, and ± is too narrow (--class-sizes, class_sizes=, would tell)"
            )
    else:
        unseen = unseen_images(times, seen_class)
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
    for task_set in sets:
        if not task_set.is_open:
            warnings += _check_draws(log, task_set, classes, owner, grouped)
    superclasses: tuple[str, ...] | None = None
    if above is not None:
        by_class = texts_by_id(above, *_SUPERCLASSES, log.dataset)
        _check_all(log, classes, by_class, _SUPERCLASSES, "a superclass for every class")
        superclasses = tuple(by_class[name] for name in classes)
    found = tuple(dict.fromkeys(warnings))
    return Pool(classes, log.images, owner, grouped, superclasses, unseen, found)


Words = tuple[str, str, str]
"""What a table given beside a log is called: its two columns, and as a whole."""

_SIZES: Words = ("class", "n_images", "class sizes")
_GROUPS: Words = ("image", "group", "groups")
_SUPERCLASSES: Words = ("class", "superclass", "superclasses")


def _check_all(
    log: TaskLog, names: Sequence[str], values: Mapping[str, object], words: Words, wanted: str
) -> None:
    """Refuse values by id that some of the log's names lack."""
    key, value, what = words
    of_all = {"class": "classes", "image": "images"}[key]
    if missing := [name for name in names if name not in values]:
        raise TaskLogError(
            f"the {what} lack {len(missing)} {of_all} of the log: "
            f"{listing(list(map(quoted, missing)), 4)}",
            where=log.source,
            expected=wanted,
            fix=f"they name {listing(list(map(quoted, values)), 4) or 'none'}: give {key} and "
            f"{value} of all {of_all}, under the names of the log",
        )


def _sizes(log: TaskLog, given: object) -> dict[str, int]:
    """Return the number of images of each class, as given or by the known split that is named."""
    apart = log.of_several
    if isinstance(given, Mapping) and log.dataset:
        of_dataset = {str(name): sizes for name, sizes in given.items()}.get(log.dataset)
        if isinstance(of_dataset, str | Path):
            given, apart = of_dataset, False
    if not isinstance(given, str | Path) or Path(given).suffix or Path(given).exists():
        return numbers_by_id(given, *_SIZES, log.dataset, apart=apart)
    split = split_of(str(given))
    if split is None or not split.known:
        fix = "or give a file with the columns class and n_images"
        raise unknown_split(str(given), fix, load_release().datasets)
    return split.sizes_of(log.classes)


def _with_sizes(log: TaskLog, owner: Ints, sizes: dict[str, int]) -> tuple[Ints, tuple[str, ...]]:
    """Add images, and classes with enough images, that no task shows."""
    wanted = "every class of the log, by the name that it has in class_ids"
    _check_all(log, log.classes, sizes, _SIZES, wanted)
    drawn = (log.image_ids >= 0).sum(axis=2)
    seen, fewest = set(log.classes), drawn[drawn > 0].min()
    unseen = [name for name, size in sizes.items() if size >= fewest and name not in seen]
    classes = (*log.classes, *unseen)
    shown = np.bincount(owner, minlength=len(classes))
    size = np.array([sizes[name] for name in classes])
    if (few := np.flatnonzero(size < shown)).size:
        raise TaskLogError(
            f"class {quoted(log.classes[few[0]])} has {size[few[0]]} images by the class sizes, "
            f"and tasks show {shown[few[0]]}",
            where=log.source,
            expected="the number of images that the sampler draws from",
            fix="log an image under one id only, whatever its crop or augmentation",
        )
    check_images(size, f"{log.source}, class sizes")
    return np.concatenate([owner, np.repeat(np.arange(len(size)), size - shown)]), classes


def _with_groups(log: TaskLog, class_of: Ints, groups: Mapping[str, str]) -> tuple[Ints, Ints]:
    """Return classes and groups of the log's images, then of other images of the same groups."""
    wanted = "the group of every image; one of its own for an image that is in no group"
    _check_all(log, log.images, groups, _GROUPS, wanted)
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
    unseen = [g for image, g in groups.items() if image not in known and g in class_of_group]
    number = {group: position for position, group in enumerate(sorted(class_of_group))}
    owner = np.concatenate([class_of, np.array([class_of_group[g] for g in unseen], np.int64)])
    return owner, np.array([number[g] for g in [*seen, *unseen]], np.int64)


def _check_draws(
    log: TaskLog,
    task_set: OwnTasks,
    names: Sequence[str],
    owner: Ints,
    grouped: Ints | None,
) -> list[str]:
    """Test whether tasks were drawn uniformly: classes, then images, or groups if one of each."""
    where = f"{log.source}, {listing(task_set.methods, 4)}"
    units, what, class_of = task_set.image_ids, "images", owner
    if task_set.info.name.varies and grouped is not None:
        raise TaskLogError(
            "groups of images, and tasks of different numbers of classes or images",
            where=where,
            expected="with groups, as many classes, and images of each, in every task",
            fix="leave the groups out; a group of images then counts as so many images",
        )
    if grouped is not None and len(set(grouped)) < len(grouped):
        in_task = np.sort(grouped[units].reshape(len(units), -1), axis=1)
        if not (in_task[:, 1:] == in_task[:, :-1]).any():
            units, what = grouped[units], "groups"
            class_of = np.zeros(int(grouped.max()) + 1, np.int64)
            class_of[grouped] = owner
    classes = class_draws(task_set.class_ids, len(names))
    pairs = pair_draws(task_set.class_ids, len(names))
    images = unit_draws(task_set.class_ids, units, class_of, what)
    if min(test.p for test in (classes, pairs, images)) < REFUSED:
        _check_repeated(task_set, where)
    pair = [i[pairs.worst] if pairs.df else 0 for i in np.triu_indices(len(names), 1)]
    together = " and ".join(quoted(names[i]) for i in pair)
    image = f"one of the {what}"
    if images.worst < len(log.images) and what == "images":
        image = f"image {quoted(log.images[images.worst])}"
    return [
        *check_even(classes, f"class {quoted(names[classes.worst])}", where),
        *check_even(pairs, f"{together} together", where),
        *check_even(images, image, where),
    ]


def _check_repeated(task_set: OwnTasks, where: str) -> None:
    """Refuse tasks that occur twice under different names."""
    images = np.sort(task_set.image_ids.reshape(len(task_set.image_ids), -1), axis=1)
    order = np.lexsort(images.T[::-1])
    alike = np.flatnonzero((images[order][1:] == images[order][:-1]).all(axis=1))
    if alike.size:
        pairs = [sorted(order[place : place + 2].tolist()) for place in alike.tolist()]
        one, other = (quoted(task_set.tasks[task]) for task in min(pairs))
        more = f", as are {alike.size} of {len(images)} tasks another one" if alike.size > 1 else ""
        raise TaskLogError(
            f"tasks {one} and {other} are the same{more}",
            where=where,
            expected="every task once: a task that is there again tells nothing new",
            fix="leave repetitions out; of several training runs on the same tasks, give a task "
            "one name in all of them, and name the run in a column `run`",
        )
