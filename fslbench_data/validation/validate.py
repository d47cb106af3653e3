"""Checking a submission against a release: every rule, all rows at once.

Nothing is repaired: what does not fit is refused, with the rows, what was expected and how to
mend it.  What passes is, for every method and task set, the counts of its tasks in order.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from analysis_sql.intervals.counts import Counts
from benchmark_spec.errors import (
    CountError,
    FingerprintError,
    MethodNameError,
    MissingTaskError,
    QueryCountError,
    UnboundError,
    UnknownTaskError,
    UnreadableError,
    listing,
    rows,
)
from benchmark_spec.naming import check_method_name
from fslbench_data.release.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.submission.reading import canonical, is_canonical
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.completeness import as_matrix, declared_tasks, dense_counts
from fslbench_data.validation.grouping import Array, Rows, group_rows
from fslbench_data.validation.marks import with_marks
from fslbench_data.validation.predictions import check_answer_lists, check_predictions
from fslbench_data.validation.runs import Group, sum_runs
from fslbench_data.validation.stopping_rules import check_stopping

FINGERPRINT_DIGITS = 12
"""As many of a fingerprint's digits, or more, name a task set; as `fslbench info` prints them."""

_ROWS = 1 << 18
"""Rows whose predictions are counted at once, so that millions take no more memory."""


@dataclass(frozen=True, eq=False)
class Validated:
    """A submission that fits a release.

    Attributes
    ----------
    groups
        What each method answered, in the order of their first row.
    """

    submission: Submission
    groups: tuple[Group, ...]
    are_references: bool = False

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the order of their first row."""
        return tuple(dict.fromkeys(group.method for group in self.groups))

    @cached_property
    def _by_set(self) -> dict[str, list[Group]]:
        found: dict[str, list[Group]] = {}
        for group in self.groups:
            found.setdefault(group.info.text, []).append(group)
        return found

    def is_prefix(self, group: Group) -> bool:
        """Whether a group answers the first tasks of its set, as many as the submitter chose.

        Who looks before choosing how many will find a number that flatters; no rule to stop while
        it runs, and no maker of a release, has seen what comes of it.
        """
        key = (group.method, group.info.dataset, str(group.info.name))
        binding = self.submission.bindings.get(key)
        if binding is not None and (binding.of_release or binding.stopping is not None):
            return False
        return group.tasks < group.info.n_tasks

    def on(self, dataset: str, task_set: str) -> list[Group]:
        """What was answered of a task set, a group a method."""
        return self._by_set.get(f"{dataset}/{task_set}", [])


def counts_on(groups: list[Group]) -> Counts:
    """The counts of some groups on one task set, each in its own unit."""
    units = np.array([group.unit for group in groups], np.int64)
    unit = int(units[0]) if (units == units[0]).all() else units
    return as_matrix([group.counts for group in groups], unit)


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
    if not is_canonical(submission.table):
        table = canonical(submission.table, submission.source)
        submission = replace(submission, table=table)
    if not submission.table.num_rows:
        raise UnreadableError(f"{submission.source} has no rows", fix="record some answers")
    table = group_rows(submission, release)
    _check_declared(submission, table)
    submission = with_marks(submission)
    columns = submission.table.column_names
    _check_names(table, columns, release.methods if taken is None else taken)
    _check_ranges(table)
    bound = _check_bindings(submission, table, allow_unbound)
    check_stopping(submission, table, release)
    counts = dense_counts(table, declared_tasks(submission, table))
    if "class_correct" in columns or "predictions" in columns:
        infos = [key.info for key in table.keys]
        check_answer_lists(submission.table, table.group, infos, table.spell)
    if "predictions" in columns:
        _check_predictions(submission, table, release)
    return Validated(submission, tuple(sum_runs(table, counts, bound)))


def _check_declared(submission: Submission, table: Rows) -> None:
    """Every group that the metadata declares must have rows: none may get lost unnoticed."""
    if not submission.bindings:
        return
    there = {key.bound_by for key in table.keys}
    if lost := [key for key in submission.bindings if key not in there]:
        named = [f"{method} on {dataset}/{task_set}" for method, dataset, task_set in lost]
        raise MissingTaskError(
            f"the metadata declares results that have no rows: {listing(named, 4)}",
            where=table.where,
            expected="rows for everything that is declared",
            fix="write the file again from all its results",
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


def _check_names(table: Rows, columns: Sequence[str], taken: Collection[str]) -> None:
    first: dict[str, int] = {}
    runs: dict[str, int] = {}
    for key, row in zip(table.keys, table.first, strict=True):
        first.setdefault(key.method, row)
        runs.setdefault(key.run, row)
    for method, row in first.items():
        where = f"{table.where}, from {rows([row])}"
        check_method_name(method, where)
        check_not_taken(method, taken, where)
    if "run" in columns:
        for run, row in runs.items():
            check_method_name(run, f"{table.where}, from {rows([row])}", "run")


def _check_ranges(table: Rows) -> None:
    """n_query, task ids and counts, each against the row's own task set."""
    n_query = np.array([key.info.protocol.n_query for key in table.keys], np.int32)
    n_tasks = np.array([key.info.n_tasks for key in table.keys], np.int32)
    for block, group in table.blocks():
        task_id = table.task_id[block]
        n_correct, own = table.n_correct[block], n_query[group]
        if (table.n_query[block] != own).any():
            raise _wrong_n_query(table, np.flatnonzero(table.n_query != n_query[table.group]))
        if ((task_id < 0) | (task_id >= n_tasks[group])).any():
            outside = (table.task_id < 0) | (table.task_id >= n_tasks[table.group])
            raise _unknown_task(table, np.flatnonzero(outside))
        if ((n_correct < 0) | (n_correct > own)).any():
            outside = (table.n_correct < 0) | (table.n_correct > n_query[table.group])
            raise _wrong_count(table, np.flatnonzero(outside))


def _wrong_n_query(table: Rows, bad: Array) -> QueryCountError:
    info = table.keys[int(table.group[bad[0]])].info
    return QueryCountError(
        f"n_query is {table.n_query[bad[0]]}",
        where=table.spell(bad),
        expected=f"{info.protocol.n_query}, since a task of {info.name} has "
        f"{info.protocol.way} ways with {info.protocol.query} queries each",
        fix="answer every query of the task set named in the row",
    )


def _unknown_task(table: Rows, bad: Array) -> UnknownTaskError:
    info = table.keys[int(table.group[bad[0]])].info
    return UnknownTaskError(
        f"there is no task {listing(np.unique(table.task_id[bad]).tolist())}",
        where=table.spell(bad),
        expected=f"task_id 0..{info.n_tasks - 1}",
        fix="number tasks from 0 in the release's order, and leave out any others",
    )


def _wrong_count(table: Rows, bad: Array) -> CountError:
    info = table.keys[int(table.group[bad[0]])].info
    return CountError(
        f"n_correct is {listing(table.n_correct[bad].tolist())}, out of range",
        where=table.spell(bad),
        expected=f"0..{info.protocol.n_query}, the number of queries answered rightly",
        fix="give counts of correct queries, not percentages",
    )


def _check_bindings(submission: Submission, table: Rows, allow_unbound: bool) -> list[bool]:
    """Fingerprints, from the metadata and from the column, against the release's."""
    bound = [False] * len(table.keys)
    for index, key in enumerate(table.keys if submission.bindings else ()):
        binding = submission.bindings.get(key.bound_by)
        if binding is not None and not fits(binding.fingerprint, key.info):
            where = f"{table.where}, metadata of {key}"
            raise _other_tasks(where, binding.fingerprint, key.info)
        bound[index] = binding is not None
    if "fingerprint" in submission.table.column_names:
        column = submission.table.column("fingerprint").unify_dictionaries().combine_chunks()
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        given = np.bincount(table.group[valid], minlength=len(bound)) > 0
        texts = [*column.dictionary.to_pylist(), None]
        text_of = column.indices.fill_null(len(texts) - 1).to_numpy()
        # which text fits which task set: a small table, looked up for every row
        good = np.array([[fits(text, info) for text in texts] for info in table.infos])
        if (bad := np.flatnonzero(given[table.group] & ~good[table.info_of_row, text_of])).size:
            info = table.keys[int(table.group[bad[0]])].info
            raise _other_tasks(table.spell(bad), texts[int(text_of[bad[0]])], info)
        bound = [a or bool(b) for a, b in zip(bound, given, strict=True)]
    if not allow_unbound and not all(bound):
        loose = [str(key) for key, is_bound in zip(table.keys, bound, strict=True) if not is_bound]
        raise UnboundError(
            "the submission does not say which tasks it was made on",
            where=f"{table.where}: {listing(loose, 4)}",
            expected="the task set's fingerprint, in a column `fingerprint` or in the metadata "
            "that Submission.write leaves (pandas drops it)",
            fix="add the column (fslbench info lists the fingerprints), or pass --unbound to "
            "score on your word; the output then says `unbound`",
        )
    return bound


def _check_predictions(submission: Submission, table: Rows, release: Release) -> None:
    """Count the predictions, one task set after another."""
    for index, info in enumerate(table.infos):
        rows_of_set = np.flatnonzero(table.info_of_row == index)
        label = release.task_set(info.dataset, str(info.name)).query_label
        for at in np.split(rows_of_set, range(_ROWS, len(rows_of_set), _ROWS)):
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
