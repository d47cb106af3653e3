"""Checking a submission against a release: every rule, all rows at once.

Nothing is repaired: what does not fit is refused, with the rows, what was expected and how to
mend it.  What passes is one row for every task that each method claims to have answered.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import (
    CountError,
    DoubledTaskError,
    FingerprintError,
    MethodNameError,
    MissingTaskError,
    QueryCountError,
    UnboundError,
    UnknownNameError,
    UnknownTaskError,
    listing,
    rows,
)
from benchmark_spec.naming import check_method_name
from fslbench_data.release import Release
from fslbench_data.submission.answers import check_answer_lists, check_predictions
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo

Array = NDArray[Any]

FINGERPRINT_DIGITS = 12
"""As many of a fingerprint's digits, or more, name a task set; as `fslbench info` prints them."""


@dataclass(frozen=True)
class Group:
    """One method's answers on one task set, found complete.

    Attributes
    ----------
    tasks
        Number of tasks answered: T of the set, or the declared prefix.
    bound
        Whether the answers say, by fingerprint, that they were made on these tasks.
    """

    method: str
    info: TaskSetInfo
    tasks: int
    bound: bool


@dataclass(frozen=True, eq=False)
class Validated:
    """A submission that fits a release; groups are in the order of their first row."""

    submission: Submission
    groups: tuple[Group, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the order of their first row."""
        return tuple(dict.fromkeys(group.method for group in self.groups))


@dataclass(frozen=True, eq=False)
class _Rows:
    """The submission's rows as arrays (N,), and the groups they belong to."""

    where: str
    task_id: Array
    n_correct: Array
    n_query: Array
    group: Array  # index into keys
    keys: Sequence[tuple[str, str, str]]
    first: Array  # first row of each group
    infos: Sequence[TaskSetInfo]  # of each group

    def spell(self, bad: Array) -> str:
        """File, group and rows, for a message about some rows."""
        method, dataset, task_set = self.keys[int(self.group[bad[0]])]
        return f"{self.where}, {rows(bad)} ({method} on {dataset}/{task_set})"


def validate(
    submission: Submission,
    release: Release,
    *,
    taken: Collection[str] | None = None,
    allow_unbound: bool = False,
) -> Validated:
    """Check a submission against a release.

    Parameters
    ----------
    submission
        As read or recorded.
    release
        Whose tasks were answered.
    taken
        Names that a method may not have; by default those of the release's reference methods.
    allow_unbound
        Accept answers without a fingerprint.

    Raises
    ------
    SubmissionError
        Its kind says which rule is broken.
    """
    known = {(info.dataset, str(info.name)): info for info in release.task_sets}
    table = _group(submission, known)
    _check_methods(table, release.methods if taken is None else taken)
    _check_ranges(table)
    bound = _check_bindings(submission, table, allow_unbound)
    tasks = _check_complete(submission, table)
    check_answer_lists(submission.table, table.group, table.infos, table.spell)
    if "predictions" in submission.table.column_names:
        _check_predictions(submission, table, release)
    groups = [
        Group(key[0], info, count, is_bound)
        for key, info, count, is_bound in zip(table.keys, table.infos, tasks, bound, strict=True)
    ]
    return Validated(submission, tuple(groups[i] for i in np.argsort(table.first)))


def _group(submission: Submission, known: dict[tuple[str, str], TaskSetInfo]) -> _Rows:
    """Group rows by method, data set and task set, all of which must exist."""
    table = submission.table
    code = np.zeros(table.num_rows, np.int64)
    labels = []
    for name in ("method", "dataset", "task_set"):
        column = table.column(name).combine_chunks()
        names = column.dictionary.to_pylist()
        labels.append(names)
        code = code * max(len(names), 1) + column.indices.to_numpy()
    found, first, group = np.unique(code, return_index=True, return_inverse=True)
    methods, datasets, sets = labels
    keys = [
        (
            methods[int(c) // (len(datasets) * len(sets))],
            datasets[int(c) // len(sets) % len(datasets)],
            sets[int(c) % len(sets)],
        )
        for c in found
    ]
    for (_, dataset, task_set), row in sorted(zip(keys, first, strict=True), key=lambda k: k[1]):
        if (dataset, task_set) in known:
            continue
        where = f"{submission.source}, from {rows([row])}"
        there = [name for of, name in known if of == dataset]
        if there:
            raise UnknownNameError(f"task set of {dataset}", task_set, there, where=where)
        raise UnknownNameError(
            "data set", dataset, dict.fromkeys(of for of, _ in known), where=where
        )
    return _Rows(
        submission.source,
        table.column("task_id").to_numpy(),
        table.column("n_correct").to_numpy(),
        table.column("n_query").to_numpy(),
        group=group,
        keys=keys,
        first=first,
        infos=[known[dataset, task_set] for _, dataset, task_set in keys],
    )


def _check_methods(table: _Rows, taken: Collection[str]) -> None:
    for (method, _, _), row in zip(table.keys, table.first, strict=True):
        check_method_name(method, f"{table.where}, from {rows([row])}")
        if method in taken:
            raise MethodNameError(
                f"a reference method of the release is already called {method!r}",
                where=f"{table.where}, from {rows([row])}",
                expected=f"a name other than {listing(sorted(taken))}",
                fix="rename your method in the `method` column",
            )


def _check_ranges(table: _Rows) -> None:
    """n_query, task ids and counts, each against the row's own task set."""
    n_query = np.array([info.protocol.n_query for info in table.infos])[table.group]
    n_tasks = np.array([info.n_tasks for info in table.infos])[table.group]
    if (bad := np.flatnonzero(table.n_query != n_query)).size:
        info = table.infos[int(table.group[bad[0]])]
        raise QueryCountError(
            f"n_query is {table.n_query[bad[0]]}",
            where=table.spell(bad),
            expected=f"{info.protocol.n_query}, since a task of {info.name} has "
            f"{info.protocol.way} ways with {info.protocol.query} queries each",
            fix="answer every query of the task set named in the row",
        )
    if (bad := np.flatnonzero((table.task_id < 0) | (table.task_id >= n_tasks))).size:
        raise UnknownTaskError(
            f"there is no task {listing(np.unique(table.task_id[bad]).tolist())}",
            where=table.spell(bad),
            expected=f"task_id 0..{n_tasks[bad[0]] - 1}",
            fix="number tasks from 0 in the release's order, and leave out any others",
        )
    if (bad := np.flatnonzero((table.n_correct < 0) | (table.n_correct > n_query))).size:
        raise CountError(
            f"n_correct is {listing(table.n_correct[bad].tolist())}, out of range",
            where=table.spell(bad),
            expected=f"0..{n_query[bad[0]]}, the number of queries answered rightly",
            fix="give counts of correct queries, not percentages",
        )


def _check_bindings(submission: Submission, table: _Rows, allow_unbound: bool) -> list[bool]:
    """Fingerprints, from the metadata and from the column, against the release's."""
    bound = [key in submission.bindings for key in table.keys]
    for key, info in zip(table.keys, table.infos, strict=True):
        binding = submission.bindings.get(key)
        if binding is not None and not fits(binding.fingerprint, info):
            where = f"{table.where}, metadata of {key[0]} on {info}"
            raise _other_tasks(where, binding.fingerprint, info)
    if "fingerprint" in submission.table.column_names:
        column = submission.table.column("fingerprint").combine_chunks().dictionary_encode()
        given = (
            np.bincount(table.group[column.is_valid().to_numpy(False)], minlength=len(bound)) > 0
        )
        texts = [*column.dictionary.to_pylist(), None]
        text_of = column.indices.fill_null(len(texts) - 1).to_numpy()
        # which text fits which group: a small table, looked up for every row
        good = np.array([[fits(text, info) for text in texts] for info in table.infos])
        if (bad := np.flatnonzero(given[table.group] & ~good[table.group, text_of])).size:
            found = texts[int(text_of[bad[0]])]
            raise _other_tasks(table.spell(bad), found, table.infos[int(table.group[bad[0]])])
        bound = [a or bool(b) for a, b in zip(bound, given, strict=True)]
    if not allow_unbound and not all(bound):
        loose = [
            f"{k[0]} on {k[1]}/{k[2]}" for k, b in zip(table.keys, bound, strict=True) if not b
        ]
        raise UnboundError(
            "the submission does not say which tasks it was made on",
            where=f"{table.where}: {listing(loose, 4)}",
            expected="the task set's fingerprint, in a column `fingerprint` or in the metadata "
            "that Submission.write leaves (pandas drops it)",
            fix="add the column (fslbench info lists the fingerprints), or pass --unbound to "
            "score on your word; the output then says `unbound`",
        )
    return bound


def _check_predictions(submission: Submission, table: _Rows, release: Release) -> None:
    """Count the predictions, one task set after another."""
    sets = {str(info): info for info in table.infos}
    of_row = np.array([list(sets).index(str(info)) for info in table.infos])[table.group]
    for index, info in enumerate(sets.values()):
        at = np.flatnonzero(of_row == index)
        label = release.task_set(info.dataset, str(info.name)).query_label
        check_predictions(
            submission.table, at, table.task_id[at], label, info.protocol.query, table.spell
        )


def fits(found: str | None, info: TaskSetInfo) -> bool:
    """Whether a fingerprint, or its first twelve or more digits, is the task set's."""
    return (
        found is not None
        and len(found) >= FINGERPRINT_DIGITS
        and info.fingerprint.startswith(found.lower())
    )


def _other_tasks(where: str, found: str | None, info: TaskSetInfo) -> FingerprintError:
    if found is None:
        return FingerprintError(
            "the fingerprint is left out of some rows",
            where=where,
            expected=f"{info.fingerprint} in all rows of {info}, or in none",
            fix="fill the column",
        )
    if not re.fullmatch(rf"[0-9a-fA-F]{{{FINGERPRINT_DIGITS},64}}", found):
        return FingerprintError(
            f"{found!r:.80} is not a fingerprint",
            where=where,
            expected=f"{FINGERPRINT_DIGITS} to 64 hexadecimal digits: that of {info} is "
            f"{info.fingerprint}",
            fix="copy it from fslbench info",
        )
    return FingerprintError(
        f"the answers were made on other tasks than the release's {info}",
        where=where,
        expected=f"fingerprint {info.fingerprint}, found {found}",
        fix="run the method on this release's tasks, or score with the release it was run on "
        "(--release)",
    )


def _check_complete(submission: Submission, table: _Rows) -> list[int]:
    """Every task of each group exactly once; returns the number of tasks of each."""
    tasks = []
    for key, info in zip(table.keys, table.infos, strict=True):
        binding = submission.bindings.get(key)
        declared = info.n_tasks if binding is None or binding.tasks is None else binding.tasks
        if declared > info.n_tasks:
            raise UnknownTaskError(
                f"the metadata declares {declared} tasks",
                where=f"{table.where} ({key[0]} on {info})",
                expected=f"at most {info.n_tasks}, the tasks of the set",
            )
        tasks.append(declared)
    offset = np.cumsum([0, *(info.n_tasks for info in table.infos)])
    slot = offset[table.group] + table.task_id
    seen = np.bincount(slot, minlength=int(offset[-1]))
    if (seen > 1).any():
        bad = np.flatnonzero(seen[slot] > 1)
        here = bad[table.group[bad] == table.group[bad[0]]]
        raise DoubledTaskError(
            f"task {listing(np.unique(table.task_id[here]).tolist())} is answered more than once",
            where=table.spell(here),
            expected="one row for each task",
            fix="keep one answer; several methods in one file need different names",
        )
    for index, (key, info) in enumerate(zip(table.keys, table.infos, strict=True)):
        answered = seen[offset[index] : offset[index + 1]] > 0
        wanted = np.arange(info.n_tasks) < tasks[index]
        group = f"{table.where} ({key[0]} on {info})"
        if (missing := np.flatnonzero(wanted & ~answered)).size:
            raise MissingTaskError(
                f"{missing.size} of {tasks[index]} tasks are missing: "
                f"task_id {listing(missing.tolist())}",
                where=group,
                expected=f"every task_id 0..{tasks[index] - 1} once",
                fix="run the missing tasks; a file of only the first m tasks must declare so, as "
                "Parquet files do that Recorder wrote (CSV and JSON Lines cannot)",
            )
        if (beyond := np.flatnonzero(~wanted & answered)).size:
            raise UnknownTaskError(
                f"task_id {listing(beyond.tolist())} lies beyond the {tasks[index]} tasks "
                "that the metadata declares",
                where=group,
                expected=f"task_id 0..{tasks[index] - 1}",
                fix="declare the number of tasks that were really answered",
            )
    return tasks
