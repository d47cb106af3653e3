"""Merge several submissions into one, which has no result twice."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from msgspec.structs import replace

from benchmark_spec.errors import (
    ContradictionError,
    DoubledTaskError,
    FingerprintError,
    FSLBenchWarning,
    SubmissionError,
    listing,
    quoted,
)
from fslbench_data.submission.bindings import Binding, GroupKey, Method
from fslbench_data.submission.columns import TEXTS, TYPES, canonical
from fslbench_data.submission.model import Source, Submission, open_all


def merge(sources: Source | Sequence[Source], source: str = "") -> Submission:
    """Merge several submissions, files or frames of them; the metadata of each is kept.

    Rows stand in the order of the sources, and in each as they were.  A column that one of them has
    not is null in its rows.  A name on other features in another source is another method, and
    renamed (:func:`_named_by_features`).

    Parameters
    ----------
    sources
        Results of different methods, or of one method on different task sets, or different runs of
        one.
    source
        What messages call the whole; by default the names of all.

    Raises
    ------
    DoubledTaskError
        If two of them have results of one method on one task set, in the same run or without naming
        runs.
    ContradictionError
        If they differ in the metadata of a method, or in the number of tasks of its runs.
    FingerprintError
        If they were made on different tasks of the same name.
    SubmissionError, SchemaError
        As :meth:`Submission.read` does, or if there are none.
    """
    opened = open_all(sources)
    parts = [replace(part, table=canonical(part.table, part.source)) for part in opened]
    if not parts:
        raise SubmissionError("there is nothing to merge", expected="files of results")
    if len(parts) == 1:
        return replace(parts[0], source=source) if source else parts[0]
    parts = _named_by_features(parts)
    _check_agreement(parts)
    methods = _merged_methods(parts)
    bindings: dict[GroupKey, Binding] = {}
    for part in parts:  # of runs of a method in several parts they are equal
        bindings |= {key: b for key, b in part.bindings.items() if key not in bindings}
    tables = [part.table for part in parts]
    table = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    table = table.select([name for name in TYPES if name in table.column_names])
    versions = dict.fromkeys(part.package_version for part in parts)
    known = [version for version in versions if version != "unknown"]
    where = source or listing([part.source for part in parts])
    return Submission(table, methods, bindings, where, ", ".join(known) or "unknown")


class _Group(NamedTuple):
    """The columns that are the same in all rows of a group."""

    method: str
    dataset: str
    task_set: str
    run: str | None = None
    fingerprint: str | None = None
    transductive: bool | None = None

    def __str__(self) -> str:
        run = f" (run {self.run})" if self.run is not None else ""
        return f"{self.method}{run} answers {self.dataset}/{self.task_set}"


def _check_agreement(parts: Sequence[Submission]) -> None:
    """Raise an error if two submissions cannot be merged; it names both, and says why."""
    runs: dict[GroupKey, dict[str | None, int]] = {}
    bound: dict[GroupKey, tuple[Binding, str]] = {}
    tasks: dict[tuple[str, str], tuple[str, str]] = {}
    marks: dict[str, tuple[bool, str]] = {}
    for number, part in enumerate(parts):
        names = [name for name in _Group._fields if name in part.columns]
        groups = part.table.select(names).group_by(names, use_threads=False).aggregate([])
        for group in (_Group(**row) for row in groups.to_pylist()):
            key, there = group[:3], runs.setdefault(group[:3], {})
            others = {run: parts[n].source for run, n in there.items() if n != number}
            if others and (group.run is None or {group.run, None} & set(others)):
                raise DoubledTaskError(
                    f"{group} in two submissions",
                    where=f"{others.get(group.run, next(iter(others.values())))} and {part.source}",
                    expected="a method's answers to a task set in one of them, or runs of it that "
                    "are named, each in one",
                    fix="leave one of them out; give the methods different names; or name the runs "
                    "of one method: evaluate --run R, run= in Python, or a column `run`",
                )
            there[group.run] = number
            claim = part.bindings.get(key) or Binding(group.fingerprint or "")
            _check_bound(group, claim, *bound.setdefault(key, (claim, part.source)), part)
            if claim.fingerprint:
                own = claim.fingerprint
                first, before = tasks.setdefault(key[1:], (own, part.source))
                n = min(len(own), len(first))
                if own[:n].lower() != first[:n].lower():
                    raise FingerprintError(
                        f"{group.dataset}/{group.task_set} is not the same tasks in two "
                        "submissions",
                        where=f"{before} (fingerprint {first[:12]}) and {part.source} ({own[:12]})",
                        expected="answers to the tasks of one release",
                        fix="score each with the release that it was made on, or run a method "
                        "again",
                    )
            about = part.methods.get(group.method)
            mark = group.transductive if about is None else about.transductive
            if mark is not None:
                declared = marks.setdefault(group.method, (mark, part.source))
                _check_same(group.method, "transductive", declared, (mark, part.source))


def _merged_methods(parts: Sequence[Submission]) -> dict[str, Method]:
    """Merge the metadata of methods; a field that one submission leaves empty is another's.

    A method is not inductive if it was not in one of its runs.  Raises a ContradictionError, which
    names two submissions, if they differ.
    """
    methods: dict[str, Method] = {}
    declared: dict[tuple[str, str], tuple[Any, str]] = {}
    for part in parts:
        for name, about in part.methods.items():
            both = methods.setdefault(name, about).inductive, about.inductive
            inductive = False if False in both else True if True in both else None
            methods[name] = replace(methods[name], inductive=inductive)
            for field in ("backbone", "description", "link", "trained"):
                new = getattr(about, field), part.source
                if new[0] not in ("", None):
                    _check_same(name, field, declared.setdefault((name, field), new), new)
    for (name, field), (value, _) in declared.items():
        methods[name] = replace(methods[name], **{field: value})
    return methods


def _check_bound(
    group: _Group, claim: Binding, first: Binding, source: str, part: Submission
) -> None:
    """Refuse runs of which only one is bound, or with different numbers of tasks.

    A file binds a method and task set, not a run: one run's binding would be the other's.
    """
    if bool(claim.fingerprint) != bool(first.fingerprint):
        loose = source if claim.fingerprint else part.source
        raise ContradictionError(
            f"{group} and does not say by fingerprint which tasks these are in {loose}, but does "
            "in the other submission",
            where=f"{source} and {part.source}",
            expected="all runs of a method to say so, or none",
            fix=f"add the column `fingerprint` to {loose}",
        )
    if (claim.tasks, claim.stopping) != (first.tasks, first.stopping):
        raise ContradictionError(
            f"{group} and declares {claim.tasks or 'all'} tasks in one run, "
            f"{first.tasks or 'all'} in another, or another rule to stop",
            where=f"{source} and {part.source}",
            expected="the same tasks in every run of a method",
            fix="answer the same tasks in all runs",
        )


def _check_same(method: str, what: str, one: tuple[object, str], other: tuple[object, str]) -> None:
    if one[0] != other[0]:
        names = f", such as --name {one[0]}/{method}" if what == "backbone" else ""
        raise ContradictionError(
            f"two submissions say different things of {method}: {what} is {quoted(one[0], 60)} and "
            f"{quoted(other[0], 60)}",
            where=f"{one[1]} and {other[1]}",
            expected="the same of a method everywhere, or nothing",
            fix="if it is one method, write one of them again with what is true; if they are two, "
            f"give them different names{names}",
        )


def renamed(submission: Submission, names: Mapping[str, str]) -> Submission:
    """Return a submission in which some methods have other names; `names` are new by old."""
    if not names:
        return submission
    names = {name: name for name in submission.methods} | {**names}
    table = submission.table
    column = [names.get(name, name) for name in table.column("method").to_pylist()]
    index = table.column_names.index("method")
    return replace(
        submission,
        table=table.set_column(index, "method", pa.array(column, TEXTS)),
        methods={names[n]: replace(m, name=names[n]) for n, m in submission.methods.items()},
        bindings={(names.get(n, n), *key): b for (n, *key), b in submission.bindings.items()},
    )


def _named_by_features(parts: Sequence[Submission]) -> list[Submission]:
    """Rename methods on several features: ``nearest`` on pixels becomes ``pixels/nearest``.

    Each submission declares the features of its methods; a name on two of them is two methods. A
    warning names them. A name stays if a new one of it is taken.
    """
    sources: dict[str, dict[str, str]] = {}
    for part in parts:
        for name, about in part.methods.items():
            if about.backbone:
                sources.setdefault(name, {}).setdefault(about.backbone, part.source)
    taken = {name for part in parts for name in part.methods}
    several = set()
    for name, of in sources.items():
        new = [f"{features}/{name}" for features in of]
        if len(new) > 1 and not taken & {*new}:
            several.add(name)
            warnings.warn(
                f"{name} rests on other features in each of {listing([*of.values()], 4)}: these "
                f"are methods of their own, {listing(new, 4)}",
                FSLBenchWarning,
                stacklevel=3,
            )
    return [
        renamed(
            part,
            {
                name: f"{about.backbone}/{name}"
                for name, about in part.methods.items()
                if name in several and about.backbone
            },
        )
        for part in parts
    ]
