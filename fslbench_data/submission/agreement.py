"""Whether several submissions can be one: none may say twice, or otherwise, what another says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from benchmark_spec.errors import (
    ContradictionError,
    DoubledTaskError,
    FingerprintError,
    shown,
)
from fslbench_data.submission.bindings import Binding, GroupKey, Method, Stopping
from fslbench_data.submission.model import Submission

_ABOUT = ("backbone", "description", "link")


class _Answer(NamedTuple):
    """What a group of rows says: every column that is the same in all of them."""

    method: str
    dataset: str
    task_set: str
    run: str | None = None
    fingerprint: str | None = None
    transductive: bool | None = None

    @property
    def key(self) -> GroupKey:
        return self[:3]

    def __str__(self) -> str:
        run = f" (run {self.run})" if self.run is not None else ""
        return f"{self.method}{run} answers {self.dataset}/{self.task_set}"


class _Bound(NamedTuple):
    """Which tasks a part says that a method answered, in its metadata or in a column."""

    fingerprint: str | None
    tasks: int | None
    stopping: Stopping | None


def check_agreement(parts: Sequence[Submission]) -> None:
    """Raise an error that names two submissions which cannot stand in one file, and why.

    Raises
    ------
    DoubledTaskError, ContradictionError, FingerprintError
        As :func:`fslbench_data.merge` says.
    """
    runs: dict[GroupKey, dict[str | None, int]] = {}
    bound: dict[GroupKey, tuple[_Bound, str]] = {}
    tasks: dict[tuple[str, str], tuple[str, str]] = {}
    marks: dict[str, tuple[bool, str]] = {}
    for number, part in enumerate(parts):
        for answer in _answers(part):
            there = runs.setdefault(answer.key, {})
            others = {run: parts[n].source for run, n in there.items() if n != number}
            _check_once(answer, others, part.source)
            there[answer.run] = number
            claim = _bound(part, answer)
            _check_bound(answer, claim, *bound.setdefault(answer.key, (claim, part.source)), part)
            if claim.fingerprint is not None:
                first = tasks.setdefault(answer.key[1:], (claim.fingerprint, part.source))
                _check_tasks(answer, claim.fingerprint, *first, part.source)
            if (mark := _mark(part, answer)) is not None:
                value, source = marks.setdefault(answer.method, (mark, part.source))
                _check_same(answer.method, "transductive", (value, source), (mark, part.source))
    merged_methods(parts)


def merged_methods(parts: Sequence[Submission]) -> dict[str, Method]:
    """What all say of their methods; a text that one leaves empty is that of another.

    Raises a ContradictionError, which names two submissions, if they say different things.
    """
    methods: dict[str, Method] = {}
    sources: dict[tuple[str, str], str] = {}
    for part in parts:
        for name, about in part.methods.items():
            before = methods.setdefault(name, about)
            texts: dict[str, Any] = {}
            for field in _ABOUT:
                old, new = getattr(before, field), getattr(about, field)
                source = sources.get((name, field), "")
                if old and new:
                    _check_same(name, field, (old, source), (new, part.source))
                if new:
                    sources.setdefault((name, field), part.source)
                texts[field] = old or new
            if about.trained is not None:
                source = sources.setdefault((name, "trained"), part.source)
                if before.trained is not None:
                    said = (before.trained, source), (about.trained, part.source)
                    _check_same(name, "trained", *said)
            texts["trained"] = about.trained if before.trained is None else before.trained
            methods[name] = replace(before, **texts)
    return methods


def merged_bindings(parts: Sequence[Submission]) -> dict[GroupKey, Binding]:
    """All bindings; where runs of a method stand in several submissions, they are equal."""
    bindings: dict[GroupKey, Binding] = {}
    for part in parts:
        for key, binding in part.bindings.items():
            bindings.setdefault(key, binding)
    return bindings


def _answers(part: Submission) -> Iterator[_Answer]:
    """What the groups of rows of a submission say, some perhaps several times."""
    names = [name for name in _Answer._fields if name in part.columns]
    for batch in part.batches(names):
        codes, values = [], []
        for name in names:
            column = batch.column(name)
            encoded = column if name != "transductive" else column.dictionary_encode()
            values.append([*encoded.dictionary.to_pylist(), None])
            null = len(values[-1]) - 1
            codes.append(encoded.indices.fill_null(null).to_numpy(zero_copy_only=False))
        is_new = np.ones(len(batch), np.bool_)
        is_new[1:] = np.any([code[1:] != code[:-1] for code in codes], axis=0)
        at = np.flatnonzero(is_new)
        group = np.zeros(len(at), np.int64)
        for code, texts in zip(codes, values, strict=True):
            group = np.unique(group * len(texts) + code[at], return_inverse=True)[1]
        for row in at[np.unique(group, return_index=True)[1]].tolist():
            said = [texts[code[row]] for texts, code in zip(values, codes, strict=True)]
            yield _Answer(**dict(zip(names, said, strict=True)))


def _check_once(answer: _Answer, others: Mapping[str | None, str], source: str) -> None:
    """Refuse a method's answers in two submissions, unless they are runs, each in one of them.

    `others` are the sources of the runs that other submissions have of it.
    """
    if not others or (answer.run is not None and not {answer.run, None} & set(others)):
        return
    raise DoubledTaskError(
        f"{answer} in two submissions",
        where=f"{others.get(answer.run, next(iter(others.values())))} and {source}",
        expected="a method's answers to a task set in one of them, or runs of it that are named, "
        "each in one",
        fix="leave one of them out; give the methods different names; or name the runs of one "
        "method in a column `run`",
    )


def _bound(part: Submission, answer: _Answer) -> _Bound:
    binding = part.bindings.get(answer.key)
    if binding is None:
        return _Bound(answer.fingerprint, None, None)
    return _Bound(binding.fingerprint, binding.tasks, binding.stopping)


def _check_bound(
    answer: _Answer, claim: _Bound, first: _Bound, source: str, part: Submission
) -> None:
    """Refuse runs of which one is bound and another is not, or to other numbers of tasks.

    A file says so of a method and task set, not of a run: one would speak for the other.
    """
    if (claim.fingerprint is None) != (first.fingerprint is None):
        loose = part.source if claim.fingerprint is None else source
        raise ContradictionError(
            f"{answer} and does not say by fingerprint which tasks these are in {loose}, but does "
            "in the other submission",
            where=f"{source} and {part.source}",
            expected="all runs of a method to say so, or none",
            fix=f"add the column `fingerprint` to {loose}",
        )
    if claim[1:] != first[1:]:
        raise ContradictionError(
            f"{answer} and declares {claim.tasks or 'all'} tasks in one run, "
            f"{first.tasks or 'all'} in another, or another rule to stop",
            where=f"{source} and {part.source}",
            expected="the same tasks in every run of a method",
            fix="answer the same tasks in all runs",
        )


def _check_tasks(answer: _Answer, fingerprint: str, first: str, before: str, source: str) -> None:
    one, other = fingerprint.lower(), first.lower()
    if not (one.startswith(other) or other.startswith(one)):
        raise FingerprintError(
            f"{answer.dataset}/{answer.task_set} is not the same tasks in two submissions",
            where=f"{before} (fingerprint {first[:12]}) and {source} ({fingerprint[:12]})",
            expected="answers to the tasks of one release",
            fix="score each with the release that it was made on, or run a method again",
        )


def _mark(part: Submission, answer: _Answer) -> bool | None:
    """Whether the method uses a task's queries together, as the part says; None if it does not."""
    about = part.methods.get(answer.method)
    return answer.transductive if about is None else about.transductive


def _check_same(method: str, what: str, one: tuple[object, str], other: tuple[object, str]) -> None:
    if one[0] != other[0]:
        names = f", such as --name {one[0]}/{method}" if what == "backbone" else ""
        raise ContradictionError(
            f"two submissions say different things of {method}: {what} is {shown(one[0], 60)} and "
            f"{shown(other[0], 60)}",
            where=f"{one[1]} and {other[1]}",
            expected="the same of a method everywhere, or nothing",
            fix="if it is one method, write one of them again with what is true; if they are two, "
            f"give them different names{names}",
        )
