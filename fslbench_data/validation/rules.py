"""The rules that a submission must meet, in order; nothing is repaired.

Rules about numbers are SQL (``analysis_sql/queries/rules``), rules about lists of queries numpy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis_sql.engine import broken
from analysis_sql.intervals.arrays import Bools, Ints
from analysis_sql.intervals.stopping import misleading_capital, tolerable_capital
from benchmark_spec.errors import (
    ContradictionError,
    CountError,
    DoubledTaskError,
    DriftError,
    FingerprintError,
    MethodNameError,
    MissingTaskError,
    PredictionError,
    QueryCountError,
    UnboundError,
    UnknownTaskError,
    listing,
    rows,
)
from benchmark_spec.naming import check_method_name
from benchmark_spec.protocol import TaskSetName
from fslbench_data.release.release import Release
from fslbench_data.submission.columns import marks, where_true
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.predictions import Lists
from fslbench_data.validation.rows import Rows

Rules = tuple[Callable[[Rows], None], ...]

FINGERPRINT_DIGITS = 12
"""Digits of a fingerprint that identify a task set, as `fslbench info` prints them."""


def _declared_rows(table: Rows) -> None:
    """Check that every group that the metadata declares has rows."""
    with_rows = {key.without_run for key in table.keys}
    if missing := [key for key in table.submission.bindings if key not in with_rows]:
        names = [f"{method} on {dataset}/{task_set}" for method, dataset, task_set in missing]
        raise MissingTaskError(
            f"the metadata declares results that have no rows: {listing(names, 4)}",
            where=table.where,
            expected="rows for everything that is declared",
            fix="write the file again from all its results",
        )


def _marks(table: Rows) -> None:
    """Check that all rows of a method and its metadata have the same marks."""
    for mark in ("transductive", "inductive"):
        declared = {
            name: value
            for name, method in table.submission.methods.items()
            if (value := getattr(method, mark)) is not None
        }
        _check_mark(table, mark, declared)


def _check_mark(table: Rows, mark: str, declared: Mapping[str, bool]) -> None:
    pairs = marks(table.submission.table, mark)
    for method, value in pairs:
        if value is None:
            continue
        by_rows = (method, not value) in pairs
        if by_rows or declared.get(method, value) != value:
            names = table.submission.table["method"].cast("string")
            column = table.submission.table[mark]
            bad = pc.and_(pc.equal(names, method), pc.equal(column, value))
            others = "other rows" if by_rows else "the file's metadata"
            raise ContradictionError(
                f"{mark} of {method} is {str(value).lower()}, and {others} say otherwise",
                where=f"{table.where}, {rows(where_true(pc.fill_null(bad, False)))}",
                expected="the same in all rows of a method, and in its metadata",
                fix="write what is true of the method, or leave it empty",
            )


def check_not_taken(method: str, taken: Collection[str], where: str = "") -> None:
    """Refuse the name of a reference method."""
    if method in taken:
        raise MethodNameError(
            f"a reference method of the release is already called {method!r}",
            where=where,
            expected=f"a name other than {listing(sorted(taken))}",
            fix="rename your method",
        )


def _names(table: Rows) -> None:
    """Check that names are valid, and that no name of a method is taken."""
    methods: dict[str, int] = {}
    runs: dict[str, int] = {}
    for key, row in zip(table.keys, table.first, strict=True):
        methods.setdefault(key.method, row)
        if key.run is not None:
            runs.setdefault(key.run, row)
    for method, row in methods.items():
        where = f"{table.where}, from {rows([row])}"
        check_method_name(method, where)
        check_not_taken(method, table.taken, where)
    for run, row in runs.items():
        check_method_name(run, f"{table.where}, from {rows([row])}", "run")


def _runs(table: Rows) -> None:
    """Check that all results of a method on a task set are in named runs, or none is."""
    for members in table.results.values():
        unnamed = next((group for group in members if table.keys[group].run is None), None)
        if len(members) > 1 and unnamed is not None:
            raise DoubledTaskError(
                f"{table.keys[unnamed]} has rows without a run beside its runs",
                where=f"{table.where}, from {rows([table.first[unnamed]])}",
                expected="a run in every row of a method and task set, or in none",
                fix="name the run of these rows, or leave them out",
            )


def _numbers(table: Rows) -> None:
    """Check numbers of queries, tasks and counts, in SQL."""
    found = broken(table.database, "numbers")
    if not (bad := found["row"]).size:
        return
    n_query, queries, rule = (found[name][0] for name in ("n_query", "queries", "rule"))
    info = table.keys[table.groups[bad[0]]].info
    if rule == 1:
        protocol = info.protocol
        raise table.error(
            QueryCountError,
            f"n_query is {n_query}",
            bad,
            f"{queries}, the queries of task {found['task_id'][0]}"
            if info.name.varies
            else f"{queries}, since a task of {info.name} has {protocol.way} ways with "
            f"{protocol.query} queries each",
            "answer every query of the task set named in the row",
        )
    if rule == 2:
        raise table.error(
            UnknownTaskError,
            f"there is no task {listing(np.unique(found['task_id']).tolist())}",
            bad,
            f"task_id 0..{info.n_tasks - 1}",
            "number tasks from 0 in the release's order, and leave out any others",
        )
    raise table.error(
        CountError,
        f"n_correct is {listing(found['n_correct'].tolist())}, out of range",
        bad,
        f"0..{queries}, the number of queries answered rightly",
        "give counts of correct queries, not percentages",
    )


def check_fingerprints(table: Rows) -> None:
    """Raise a FingerprintError if a fingerprint is not that of the release's task set.

    Results without a fingerprint are accepted.
    """
    for key in table.keys:
        binding = table.binding(key)
        if binding is not None and not fits(binding.fingerprint, key.info):
            what, expected, fix = _other_tasks(binding.fingerprint, key.info)
            where = f"{table.where}, metadata of {key}"
            raise FingerprintError(what, where=where, expected=expected, fix=fix)
    with_text = {group for group, text in table.fingerprints if text is not None}
    wrong = [
        (group, text)
        for group, text in table.fingerprints  # a null does not fit either
        if group in with_text and not fits(text, table.keys[group].info)
    ]
    if wrong:
        bad = table.rows_with({*wrong})
        group, text = min(wrong, key=lambda pair: table.fingerprints[pair])
        what, expected, fix = _other_tasks(text, table.keys[group].info)
        raise table.error(FingerprintError, what, bad, expected, fix)


def _bound(table: Rows) -> None:
    """Check that fingerprints are there if required, rules to stop, and numbers of tasks."""
    if not table.allow_unbound and not all(table.bound):
        groups = zip(table.keys, table.bound, strict=True)
        unbound = [str(key) for key, is_bound in groups if not is_bound]
        raise UnboundError(
            "the submission does not say which tasks it was made on",
            where=f"{table.where}: {listing(unbound, 4)}",
            expected="the task set's fingerprint, in a column `fingerprint` or in the metadata "
            "that Submission.write leaves (pandas drops it)",
            fix="add the column (fslbench info lists the fingerprints); with --unbound, score and "
            "others take the results on your word, and say so",
        )
    for key in table.keys:
        binding = table.binding(key)
        if binding is not None and binding.stopping is not None:
            where = f"{table.where} ({key})"
            check_may_stop(key.info, table.release, binding.stopping.level, where)
    for key, expected in zip(table.keys, table.expected, strict=True):
        if expected > key.info.n_tasks:
            raise UnknownTaskError(
                f"the metadata declares {expected} tasks",
                where=f"{table.where} ({key})",
                expected=f"at most {key.info.n_tasks}, the tasks of the set",
            )


def fits(fingerprint: str | None, info: TaskSetInfo) -> bool:
    """Return whether a fingerprint, or its first twelve or more digits, is the task set's."""
    return (
        fingerprint is not None
        and len(fingerprint) >= FINGERPRINT_DIGITS
        and info.fingerprint.startswith(fingerprint.lower())
    )


def _other_tasks(fingerprint: str | None, info: TaskSetInfo) -> tuple[str, str, str]:
    """Return a wrong fingerprint's error, what was expected, and the fix."""
    if fingerprint is None:
        return (
            "the fingerprint is left out of some rows",
            f"{info.fingerprint} in all rows of {info}, or in none",
            "fill the column",
        )
    if not re.fullmatch(rf"[0-9a-fA-F]{{{FINGERPRINT_DIGITS},64}}", fingerprint):
        return (
            f"{fingerprint!r:.80} is not a fingerprint",
            f"{FINGERPRINT_DIGITS} to 64 hexadecimal digits: that of {info} is {info.fingerprint}",
            "copy it from fslbench info",
        )
    return (
        f"the answers were made on other tasks than the release's {info}",
        f"fingerprint {info.fingerprint}, found {fingerprint}",
        "run the method on this release's tasks, or score with the release it was run on "
        "(--release)",
    )


def check_may_stop(info: TaskSetInfo, release: Release, level: float, where: str = "") -> None:
    """Refuse a rule to stop early on a task set whose classes drift along it.

    In closed and balanced sets every task has a class with the same probability, whatever its
    position; others are judged by their tasks (:mod:`analysis_sql.intervals.stopping`).  Raises a
    DriftError that names the balanced set of the same data and protocol, if there is one.
    """
    if info.name.varies or info.name.whole:
        raise DriftError(
            f"tasks of {info} differ in queries, or are few",
            where=where,
            expected="a rule to stop on many tasks of one size",
            fix="answer all tasks without a rule",
        )
    if info.name.interval == "closed" or info.name.suite == "balanced":
        return
    ids = np.ascontiguousarray(release.class_ids(info), np.int32)
    if _capital(ids.tobytes(), ids.shape[1]) < tolerable_capital(level):
        return
    balanced = TaskSetName("balanced", info.protocol)
    exists = any(i.dataset == info.dataset and i.name == balanced for i in release.task_sets)
    expected, fix = "a rule to stop on a set without drift", "answer all tasks without a rule"
    raise DriftError(
        f"classes drift along {info}: it uses some classes up before others, so that a run which "
        "stops early concludes wrongly too often",
        where=where,
        expected=f"{expected}, such as {info.dataset}/{balanced}"
        if exists
        else f"{expected}; the release has no balanced set of this data and protocol",
        fix=f"stop early on {info.dataset}/{balanced}, or {fix}" if exists else fix,
    )


@lru_cache(maxsize=256)
def _capital(class_ids: bytes, way: int) -> float:
    return misleading_capital(np.frombuffer(class_ids, np.int32).reshape(-1, way))


def _complete(table: Rows) -> None:
    """Check in SQL that every task of the set, or of its declared prefix, is answered once."""
    found = broken(table.database, "incomplete")
    if not found["row"].size:
        return
    group = int(found["group"][0])
    expected, where = table.expected[group], f"{table.where} ({table.keys[group]})"
    tasks, times = np.unique(found["task_id"], return_counts=True)
    if (doubled := tasks[times > 1]).size:
        raise table.error(
            DoubledTaskError,
            f"task {listing(doubled.tolist())} is answered more than once",
            found["row"][np.isin(found["task_id"], doubled)],
            "one row for each task",
            "keep one answer; several methods in one file need different names, and several runs "
            "of one method a column `run`",
        )
    if (missing := np.setdiff1d(np.arange(expected), tasks)).size:
        raise MissingTaskError(
            f"{missing.size} of {expected} tasks are missing: task_id {listing(missing.tolist())}",
            where=where,
            expected=f"every task_id 0..{expected - 1} once",
            fix="run the missing tasks; a file of only the first m tasks must declare so, as "
            "Parquet files do that Recorder wrote (CSV and JSON Lines cannot)",
        )
    raise UnknownTaskError(
        f"task_id {listing(tasks[tasks >= expected].tolist())} lies beyond the {expected} tasks "
        "that the metadata declares",
        where=where,
        expected=f"task_id 0..{expected - 1}",
        fix="declare the number of tasks that were really answered",
    )


class _Expected(NamedTuple):
    """What is expected of each row (N,), and what it means."""

    values: Ints
    meaning: str


def _check_lists(
    table: Rows, name: str, lists: Lists, checked: Bools, length: _Expected, most: _Expected
) -> None:
    """Check the lists of the `checked` rows: nulls, lengths, and values of 0 to `most`."""
    outside, worst = lists.worst(most.values)
    size = f"{{}} ({length.meaning})"
    for wrong, what, found, expected in (
        (lists.nulls, "has a null inside", lists.lengths, ""),
        (lists.lengths != length.values, "has {} entries", lists.lengths, size),
        (outside, "holds {}", worst, most.meaning),
    ):
        if (bad := np.flatnonzero(wrong & checked & ~lists.missing)).size:
            what = f"{name} {what.format(found[bad[0]])}"
            raise table.error(PredictionError, what, bad, expected.format(length.values[bad[0]]))


def _class_counts(table: Rows) -> None:
    """Check the counts of correct queries of each class."""
    if "class_correct" not in table.columns:
        return
    lists = Lists.of(table.submission.table.column("class_correct"))
    ways, n_correct = table.sizes[0], table.column("n_correct")
    per_class = np.array([key.info.protocol.query for key in table.keys])[table.groups]
    length = _Expected(ways, "K, one count for each class of the task")
    most = _Expected(per_class, "0..Q, the class's queries answered rightly")
    _check_lists(table, "class_correct", lists, ~lists.missing, length, most)
    if (bad := np.flatnonzero(((sums := lists.sums()) != n_correct) & ~lists.missing)).size:
        raise table.error(
            ContradictionError,
            f"class_correct sums to {sums[bad[0]]} where n_correct is {n_correct[bad[0]]}",
            bad,
            "the counts of a task's classes to sum to n_correct",
        )


def _queries(table: Rows) -> None:
    """Check the lists of predictions or right queries; a method has one of them on a task set."""
    if (predictions := table.predictions) is None:
        return
    lists, is_correct = predictions.lists, predictions.is_correct
    twice = predictions.given_twice
    if not twice.any():
        predicted = np.unique(table.groups[~is_correct & ~lists.missing])
        twice = is_correct & np.isin(table.groups, predicted)
    if (bad := np.flatnonzero(twice)).size:
        raise PredictionError(
            "there are both predictions and correct",
            where=f"{table.where}, {rows(bad)}",
            expected="one of them; predictions say more",
            fix="leave the column `correct` out",
        )
    ways, queries = table.sizes
    length = _Expected(queries, "K·Q, one for each query in the frozen order")
    last_class = _Expected(ways - 1, "0..K-1, the position of the class in the task's class_ids")
    _check_lists(table, "predictions", lists, ~is_correct, length, last_class)
    one = _Expected(np.ones_like(ways), "1 where a query is answered rightly, else 0")
    _check_lists(table, "correct", lists, is_correct, length, one)


def _contradictions(table: Rows) -> None:
    """Check that counts are those of the lists of queries, one task set after the other."""
    if (predictions := table.predictions) is None:
        return
    has_classes = "class_correct" in table.columns
    classes = Lists.of(table.submission.table.column("class_correct")) if has_classes else None
    n_correct = table.column("n_correct")
    for info in table.infos:
        wrong_counts: dict[int, int] = {}  # by row
        wrong_classes: dict[int, tuple[list[int], list[int]]] = {}
        for group in (group for group, key in enumerate(table.keys) if key.info is info):
            members = predictions.rows_of(group)
            counted, by_class, ways = predictions.counted(group)
            known = ~predictions.lists.missing[members]
            bad = np.flatnonzero((counted != n_correct[members]) & known)
            wrong_counts |= zip(members[bad].tolist(), counted[bad].tolist(), strict=True)
            if classes is not None:
                declared, ends = classes.of_rows(members, ways), ways.cumsum()
                differs = np.add.reduceat(declared != by_class, ends - ways) > 0
                for task in np.flatnonzero(differs & known & ~classes.missing[members]).tolist():
                    span = slice(ends[task] - ways[task], ends[task])
                    pair = declared[span].tolist(), by_class[span].tolist()
                    wrong_classes[int(members[task])] = pair
        if not (bad := np.sort([*(wrong_counts or wrong_classes)])).size:
            continue
        row = int(bad[0])
        name = "correct" if predictions.is_correct[row] else "predictions"
        if wrong_counts:
            raise table.error(
                ContradictionError,
                f"by the column {name}, {wrong_counts[row]} queries are right where n_correct is "
                f"{n_correct[row]}",
                bad,
                f"counts that follow from the column {name}",
                "predictions are positions 0..K-1 in class_ids, correct is 1 or 0, in the frozen "
                "order of queries; drop the counts' own computation or mend it",
            )
        in_file, from_lists = wrong_classes[row]
        raise table.error(
            ContradictionError,
            f"class_correct is {in_file} where the column {name} gives {from_lists}",
            bad,
            f"counts that follow from the column {name}, by position in class_ids",
        )


def _second_bests(table: Rows) -> None:
    """Check that second-best classes are of tasks of all classes, and not predicted."""
    if "second" not in table.columns:
        return
    predictions = table.predictions
    if predictions is None or predictions.second is None:
        raise PredictionError(
            "there are second-best classes, and no predictions",
            where=table.where,
            expected="a column `predictions` beside `second`",
        )
    second, lists, (ways, queries) = predictions.second, predictions.lists, table.sizes
    given = np.flatnonzero(~second.missing)
    whole = np.array([key.info.name.whole for key in table.keys])[table.groups]
    uneven = (second.lengths != queries) | second.nulls | lists.missing

    def check(bad: NDArray[Any], what: str, expected: str) -> None:
        if bad.size:
            raise PredictionError(
                what,
                where=f"{table.where}, {rows(np.unique(bad))}",
                expected=expected,
                fix="give the position of the class with the highest score but one, or leave the "
                "column `second` out",
            )

    few = "tasks of all classes, or null"
    check(given[~whole[given]], "second is of tasks of a few classes", few)
    beside = given[predictions.is_correct[given]]
    check(beside, "second stands beside correct", "predictions beside second")
    what = "second is not one class for each prediction"
    check(given[uneven[given]], what, "K·Q positions 0..K-1")
    outside, _ = second.worst(ways - 1)
    check(given[outside[given]], "second is no class of the task", "0..K-1")
    if given.size:
        sizes = queries[given]
        same = second.of_rows(given, sizes) == lists.of_rows(given, sizes)
        what = "second is the class that is predicted"
        check(np.repeat(given, sizes)[same], what, "the class with the highest score but one")


RULES: Rules = (
    _declared_rows,
    _marks,
    _names,
    _runs,
    check_fingerprints,  # before numbers: other tasks may have other ones
    _numbers,
    _bound,
    _complete,
    _class_counts,
    _queries,
    _contradictions,
    _second_bests,
)
"""All rules; the first broken one is raised."""
