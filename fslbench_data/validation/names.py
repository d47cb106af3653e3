"""The rules about names and metadata: what a submission says of its groups of rows."""

from __future__ import annotations

import re
from collections.abc import Collection

from benchmark_spec.errors import (
    DoubledTaskError,
    FingerprintError,
    MethodNameError,
    MissingTaskError,
    UnboundError,
    UnknownTaskError,
    listing,
    rows,
)
from benchmark_spec.naming import check_method_name
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.rows import Rows, Terms

FINGERPRINT_DIGITS = 12
"""As many of a fingerprint's digits, or more, name a task set; as `fslbench info` prints them."""


def check_declared_rows(answers: Rows, _: Terms) -> None:
    """Every group that the metadata declares must have rows: none may get lost unnoticed."""
    there = {key.bound_by for key in answers.keys}
    if lost := [key for key in answers.submission.bindings if key not in there]:
        named = [f"{method} on {dataset}/{task_set}" for method, dataset, task_set in lost]
        raise MissingTaskError(
            f"the metadata declares results that have no rows: {listing(named, 4)}",
            where=answers.where,
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


def check_names(answers: Rows, terms: Terms) -> None:
    """Methods and runs must have names that can be shown, methods such that are not taken."""
    methods: dict[str, int] = {}
    runs: dict[str, int] = {}
    for key, row in zip(answers.keys, answers.first, strict=True):
        methods.setdefault(key.method, row)
        if key.run is not None:
            runs.setdefault(key.run, row)
    for method, row in methods.items():
        where = f"{answers.where}, from {rows([row])}"
        check_method_name(method, where)
        check_not_taken(method, terms.taken, where)
    for run, row in runs.items():
        check_method_name(run, f"{answers.where}, from {rows([row])}", "run")


def check_runs(answers: Rows, _: Terms) -> None:
    """A method's answers to a task set are all in named runs, or none is."""
    for members in answers.answers.values():
        loose = next((group for group in members if answers.keys[group].run is None), None)
        if len(members) > 1 and loose is not None:
            raise DoubledTaskError(
                f"{answers.keys[loose]} has rows without a run beside its runs",
                where=f"{answers.where}, from {rows([answers.first[loose]])}",
                expected="a run in every row of a method and task set, or in none",
                fix="name the run of these rows, or leave them out",
            )


def check_fingerprints(answers: Rows, _: Terms) -> None:
    """The metadata's fingerprints must be the release's."""
    for key in answers.keys:
        binding = answers.binding(key)
        if binding is not None and not fits(binding.fingerprint, key.info):
            what, expected, fix = other_tasks(binding.fingerprint, key.info)
            where = f"{answers.where}, metadata of {key}"
            raise FingerprintError(what, where=where, expected=expected, fix=fix)


def check_bound(answers: Rows, terms: Terms) -> None:
    """Every group must say which tasks it answers, unless it need not."""
    if not terms.allow_unbound and not all(answers.bound):
        groups = zip(answers.keys, answers.bound, strict=True)
        loose = [str(key) for key, is_bound in groups if not is_bound]
        raise UnboundError(
            "the submission does not say which tasks it was made on",
            where=f"{answers.where}: {listing(loose, 4)}",
            expected="the task set's fingerprint, in a column `fingerprint` or in the metadata "
            "that Submission.write leaves (pandas drops it)",
            fix="add the column (fslbench info lists the fingerprints), or pass --unbound to "
            "score on your word; the output then says `unbound`",
        )


def check_declared_tasks(answers: Rows, _: Terms) -> None:
    """The metadata may not declare more tasks than the set has."""
    for key, expected in zip(answers.keys, answers.expected, strict=True):
        if expected > key.info.n_tasks:
            raise UnknownTaskError(
                f"the metadata declares {expected} tasks",
                where=f"{answers.where} ({key})",
                expected=f"at most {key.info.n_tasks}, the tasks of the set",
            )


def fits(fingerprint: str | None, info: TaskSetInfo) -> bool:
    """Whether a fingerprint, or its first twelve or more digits, is the task set's."""
    return (
        fingerprint is not None
        and len(fingerprint) >= FINGERPRINT_DIGITS
        and info.fingerprint.startswith(fingerprint.lower())
    )


def other_tasks(fingerprint: str | None, info: TaskSetInfo) -> tuple[str, str, str]:
    """What is wrong with a fingerprint that does not fit, what was expected and how to mend it."""
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
