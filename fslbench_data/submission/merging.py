"""Merge submissions into one that holds every result once."""

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
from fslbench_data.submission.columns import TEXTS, TYPES, canonical
from fslbench_data.submission.model import Binding, GroupKey, Method, Source, Submission, open_all


def merge(sources: Source | Sequence[Source], source: str = "") -> Submission:
    """Merge several submissions, files or frames of them; the metadata of each is kept.

    Rows keep the order of the sources and of their rows.  A column that a source lacks is null in
    its rows.  A name on other features in another source is another method, and renamed
    (:func:`_named_by_features`).

    Parameters
    ----------
    sources
        Results of different methods, or of one method on different task sets, or different runs of
        one.
    source
        Name of the merged submission in messages; by default the names of all.

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
    for part in parts:
        for key, binding in part.bindings.items():  # all runs of a method have equal ones
            bindings.setdefault(key, binding)
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


class _Declared(NamedTuple):
    """A value, and the submission that declares it."""

    value: Any
    source: str


def _check_agreement(parts: Sequence[Submission]) -> None:
    """Raise an error that names two submissions, and says why, if these cannot be merged."""
    part_of_run: dict[GroupKey, dict[str | None, int]] = {}
    bindings: dict[GroupKey, _Declared] = {}
    fingerprints: dict[tuple[str, str], _Declared] = {}
    marks: dict[str, _Declared] = {}
    for number, part in enumerate(parts):
        names = [name for name in _Group._fields if name in part.columns]
        groups = part.table.select(names).group_by(names, use_threads=False).aggregate([])
        for group in (_Group(**row) for row in groups.to_pylist()):
            key = group[:3]
            runs = part_of_run.setdefault(key, {})
            others = {run: parts[other].source for run, other in runs.items() if other != number}
            if others and (group.run is None or {group.run, None} & set(others)):
                raise DoubledTaskError(
                    f"{group} in two submissions",
                    where=f"{others.get(group.run, next(iter(others.values())))} and {part.source}",
                    expected="a method's answers to a task set in one of them, or runs of it that "
                    "are named, each in one",
                    fix="leave one of them out; give the methods different names; or name the runs "
                    "of one method: evaluate --run R, run= in Python, or a column `run`",
                )
            runs[group.run] = number
            binding = part.bindings.get(key) or Binding(group.fingerprint or "")
            bound = _Declared(binding, part.source)
            _check_bound(group, bindings.setdefault(key, bound), bound)
            if binding.fingerprint:
                of_tasks = _Declared(binding.fingerprint, part.source)
                _check_fingerprints(group, fingerprints.setdefault(key[1:], of_tasks), of_tasks)
            method = part.methods.get(group.method)
            transductive = group.transductive if method is None else method.transductive
            if transductive is not None:
                mark = _Declared(transductive, part.source)
                first = marks.setdefault(group.method, mark)
                _check_same(group.method, "transductive", first, mark)


def _merged_methods(parts: Sequence[Submission]) -> dict[str, Method]:
    """Merge the metadata of methods; a field that is empty in one submission is taken from another.

    A method is not inductive if one of its runs is not.  Raises a ContradictionError, which names
    two submissions, if they differ.
    """
    methods: dict[str, Method] = {}
    declared: dict[tuple[str, str], _Declared] = {}
    for part in parts:
        for name, method in part.methods.items():
            flags = methods.setdefault(name, method).inductive, method.inductive
            inductive = False if False in flags else True if True in flags else None
            methods[name] = replace(methods[name], inductive=inductive)
            for field in ("backbone", "description", "link", "trained"):
                new = _Declared(getattr(method, field), part.source)
                if new.value not in ("", None):
                    _check_same(name, field, declared.setdefault((name, field), new), new)
    for (name, field), (value, _) in declared.items():
        methods[name] = replace(methods[name], **{field: value})
    return methods


def _check_bound(group: _Group, first: _Declared, new: _Declared) -> None:
    """Refuse runs of which only one is bound, or with different numbers of tasks.

    A file binds a method and task set, not a run: one run's binding would be the other's.
    """
    where = f"{first.source} and {new.source}"
    if bool(new.value.fingerprint) != bool(first.value.fingerprint):
        unbound = first.source if new.value.fingerprint else new.source
        raise ContradictionError(
            f"{group} and does not say by fingerprint which tasks these are in {unbound}, but does "
            "in the other submission",
            where=where,
            expected="all runs of a method to say so, or none",
            fix=f"add the column `fingerprint` to {unbound}",
        )
    if (new.value.tasks, new.value.stopping) != (first.value.tasks, first.value.stopping):
        raise ContradictionError(
            f"{group} and declares {new.value.tasks or 'all'} tasks in one run, "
            f"{first.value.tasks or 'all'} in another, or another rule to stop",
            where=where,
            expected="the same tasks in every run of a method",
            fix="answer the same tasks in all runs",
        )


def _check_fingerprints(group: _Group, first: _Declared, new: _Declared) -> None:
    """Refuse fingerprints that differ in the digits that both have."""
    digits = min(len(first.value), len(new.value))
    if first.value[:digits].lower() != new.value[:digits].lower():
        raise FingerprintError(
            f"{group.dataset}/{group.task_set} is not the same tasks in two submissions",
            where=f"{first.source} (fingerprint {first.value[:12]}) and {new.source} "
            f"({new.value[:12]})",
            expected="answers to the tasks of one release",
            fix="score each with the release that it was made on, or run a method again",
        )


def _check_same(method: str, what: str, first: _Declared, new: _Declared) -> None:
    if first.value != new.value:
        names = f", such as --name {first.value}/{method}" if what == "backbone" else ""
        raise ContradictionError(
            f"two submissions say different things of {method}: {what} is "
            f"{quoted(first.value, 60)} and {quoted(new.value, 60)}",
            where=f"{first.source} and {new.source}",
            expected="the same of a method everywhere, or nothing",
            fix="if it is one method, write one of them again with what is true; if they are two, "
            f"give them different names{names}",
        )


def renamed(submission: Submission, names: Mapping[str, str]) -> Submission:
    """Return a submission in which some methods have other names; `names` are new by old."""
    if not names:
        return submission
    table = submission.table
    column = [names.get(name, name) for name in table.column("method").to_pylist()]
    index = table.column_names.index("method")
    methods = {}
    for old, method in submission.methods.items():
        new = names.get(old, old)
        methods[new] = replace(method, name=new)
    bindings = {}
    for (old, dataset, task_set), binding in submission.bindings.items():
        bindings[names.get(old, old), dataset, task_set] = binding
    return replace(
        submission,
        table=table.set_column(index, "method", pa.array(column, TEXTS)),
        methods=methods,
        bindings=bindings,
    )


def _named_by_features(parts: Sequence[Submission]) -> list[Submission]:
    """Rename methods on several features: ``nearest`` on pixels becomes ``pixels/nearest``.

    One name on two features is two methods; a warning names them.  A name stays if one of its new
    names is taken.
    """
    source_of: dict[str, dict[str, str]] = {}  # by method and features
    for part in parts:
        for name, method in part.methods.items():
            if method.backbone:
                source_of.setdefault(name, {}).setdefault(method.backbone, part.source)
    taken = {name for part in parts for name in part.methods}
    ambiguous = set()
    for name, sources in source_of.items():
        new = [f"{features}/{name}" for features in sources]
        if len(new) > 1 and not taken & {*new}:
            ambiguous.add(name)
            warnings.warn(
                f"{name} rests on other features in each of {listing([*sources.values()], 4)}: "
                f"these are methods of their own, {listing(new, 4)}",
                FSLBenchWarning,
                stacklevel=3,
            )
    named = []
    for part in parts:
        backbones = {n: part.methods[n].backbone for n in ambiguous & part.methods.keys()}
        new_names = {name: f"{features}/{name}" for name, features in backbones.items() if features}
        named.append(renamed(part, new_names))
    return named
