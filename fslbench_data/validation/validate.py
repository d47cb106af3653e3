"""Check a submission against a release, by every rule."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from analysis_sql.intervals.counts import Counts
from benchmark_spec.errors import FSLBenchError, UnreadableError, many
from fslbench_data.release.release import AnyRelease, Release, load_release
from fslbench_data.submission.columns import marks
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Method, Source, Submission, open_all
from fslbench_data.submission.reading import is_by_image
from fslbench_data.validation.by_image import by_task
from fslbench_data.validation.rows import Group, Rows, numbered, sum_runs
from fslbench_data.validation.rules import RULES, Rules


class Validated(Struct, frozen=True, eq=False, dict=True):
    """A valid submission, and its results by method and task set, in the order of first rows."""

    submission: Submission
    groups: tuple[Group, ...]
    are_references: bool = False

    def __repr__(self) -> str:
        task_sets = len({group.info.text for group in self.groups})
        about = f"{many(len(self.methods), 'method')} on {many(task_sets, 'task set')}"
        return f"<Validated {self.submission.source}: {about}>"

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the order of their first row."""
        return tuple(dict.fromkeys(group.method for group in self.groups))

    @cached_property
    def _by_set(self) -> dict[str, list[Group]]:
        groups: dict[str, list[Group]] = {}
        for group in self.groups:
            groups.setdefault(group.info.text, []).append(group)
        return groups

    def is_prefix(self, group: Group) -> bool:
        """Return whether the submitter chose how many of the first tasks a group has.

        A number chosen after seeing results biases them. A rule to stop, the maker of a release,
        and a suite that declares half of its set choose without seeing them.
        """
        key = (group.method, group.info.dataset, str(group.info.name))
        binding = self.submission.bindings.get(key)
        if binding is not None and (binding.of_release or binding.stopping is not None):
            return False
        return group.tasks not in group.info.name.declared_tasks(group.info.n_tasks)

    def of_one_model(self, group: Group) -> bool:
        """Return whether a group is a single run of a method that may differ from run to run."""
        method = self.submission.methods.get(group.method)
        return len(group.runs) < 2 and (method is None or method.trained is not False)

    def on(self, dataset: str, task_set: str) -> list[Group]:
        """Return the groups on a task set, one for each method."""
        return self._by_set.get(f"{dataset}/{task_set}", [])


def counts_on(groups: list[Group]) -> Counts:
    """Join the counts of groups on one task set."""
    run_of_task = groups[0].run_of_task if groups else None
    if run_of_task is not None:
        return Counts.of_own_tasks(np.stack([group.counts for group in groups]), run_of_task)
    return Counts.of(
        [g.counts for g in groups],
        [g.queries_per_task for g in groups],
        [g.run_spread for g in groups],
        [len(g.runs) for g in groups],
        [g.right for g in groups],
    )


def validate(
    submission: Source | Sequence[Source],
    release: AnyRelease = None,
    *,
    taken: Collection[str] | None = None,
    allow_unbound: bool = False,
    rules: Rules = RULES,
) -> Validated:
    """Check a submission, or several as one, against a release, by `rules`.

    The other parameters are those of :func:`fslbench_data.validate`, which also takes logs of one's
    own tasks.  Raises a SubmissionError, whose subclass says which rule is broken.
    """
    release = load_release(release)
    names = release.methods if taken is None else taken

    def checked(one: Submission) -> Validated:
        if not one.table.num_rows:
            raise UnreadableError(f"{one.source} has no rows", fix="record some answers")
        table = numbered(one, release, names, allow_unbound=allow_unbound)
        try:
            for rule in rules:
                rule(table)
            groups = tuple(sum_runs(table))
            return Validated(replace(one, methods=_marked(table)), groups)
        finally:
            table.close()

    parts = open_submissions(submission, release)
    merged = merge(parts)
    try:
        return checked(merged)
    except (FSLBenchError, pa.ArrowException, OSError):
        for part in parts if len(parts) > 1 else ():
            checked(merge(part))  # names the part at fault, if it is wrong by itself
        raise


def _marked(table: Rows) -> dict[str, Method]:
    """Return the metadata of methods, completed by the column `transductive`.

    Raises a SpecError if one of them is also inductive.
    """
    methods = dict(table.submission.methods)
    for name, value in marks(table.submission.table, "transductive"):
        if value is not None:
            methods.setdefault(name, Method(name, transductive=value))
    for name in sorted(table.inductive & methods.keys()):
        replace(methods[name], inductive=True)  # a transductive one raises an error
    return methods


def open_submissions(sources: Source | Sequence[Source], release: Release) -> list[Submission]:
    """Read submissions as :func:`open_all` does, also those with a row per image."""
    several: Any = sources if isinstance(sources, list | tuple) else [sources]
    return open_all([by_task(each, release) if is_by_image(each) else each for each in several])
