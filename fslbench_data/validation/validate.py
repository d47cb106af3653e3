"""Checking a submission against a release: every rule, all rows at once.

Nothing is repaired: what does not fit is refused, with the rows, what was expected and how to
mend it.  What passes is, for every method and task set, the counts of its tasks in order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from analysis_sql.intervals.counts import Counts
from benchmark_spec.errors import FSLBenchError, UnreadableError
from fslbench_data.release.release import Release, load_release
from fslbench_data.submission.bindings import Method
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Source, Submission
from fslbench_data.validation.by_image import open_answers
from fslbench_data.validation.rows import Group, Rows, Terms, register, sum_runs
from fslbench_data.validation.rules import RULES


@dataclass(frozen=True, eq=False, repr=False)
class Validated:
    """A submission that fits a release, in groups: what each method answered, as first named."""

    submission: Submission
    groups: tuple[Group, ...]
    are_references: bool = False

    def __repr__(self) -> str:
        task_sets = len({group.info.text for group in self.groups})
        about = f"{len(self.methods)} methods on {task_sets} task sets"
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
        """Whether a group answers the first tasks of its set, as many as the submitter chose.

        Who looks before choosing how many finds a number that flatters.  A rule to stop, the maker
        of a release, and a suite that declares half of its set, have not looked.
        """
        key = (group.method, group.info.dataset, str(group.info.name))
        binding = self.submission.bindings.get(key)
        if binding is not None and (binding.of_release or binding.stopping is not None):
            return False
        return group.tasks not in group.info.name.declared_tasks(group.info.n_tasks)

    def of_one_model(self, group: Group) -> bool:
        """Whether a group is one run's of a method that may differ from run to run."""
        about = self.submission.methods.get(group.method)
        return len(group.runs) < 2 and (about is None or about.trained is not False)

    def on(self, dataset: str, task_set: str) -> list[Group]:
        """What was answered of a task set, a group a method."""
        return self._by_set.get(f"{dataset}/{task_set}", [])


def counts_on(groups: list[Group]) -> Counts:
    """Join the counts of some groups on one task set."""
    run = groups[0].run_of_task if groups else None
    if run is not None:
        return Counts.of_own_tasks(np.stack([group.counts for group in groups]), run)
    return Counts.of(
        [g.counts for g in groups],
        [g.queries_per_task for g in groups],
        [g.run_spread for g in groups],
        [len(g.runs) for g in groups],
        [g.right for g in groups],
    )


def validate(
    submission: Source | Sequence[Source],
    release: Release | None = None,
    *,
    taken: Collection[str] | None = None,
    allow_unbound: bool = False,
) -> Validated:
    """Check a submission against a release, or several as one.

    Parameters
    ----------
    submission
        As read or recorded, a file, or a frame of pandas or polars; or several, which
        :func:`fslbench_data.merge` joins.
    release
        Whose tasks were answered; None is the one inside the package.
    taken
        Names that a method may not have; by default those of the release's reference methods.
    allow_unbound
        Accept answers without a fingerprint.

    Raises
    ------
    SubmissionError
        Its kind says which rule is broken; of several, it names the file and its rows.
    """
    release = load_release() if release is None else release
    terms = Terms(release, release.methods if taken is None else taken, allow_unbound)
    parts = open_answers(submission, release)
    together = merge(parts)
    try:
        return _checked(together, terms)
    except (FSLBenchError, pa.ArrowException, OSError):
        for part in parts if len(parts) > 1 else ():
            _checked(merge(part), terms)
        raise


def _checked(submission: Submission, terms: Terms) -> Validated:
    """What was answered, if every rule is met."""
    if not submission.table.num_rows:
        raise UnreadableError(f"{submission.source} has no rows", fix="record some answers")
    answers = register(submission, terms.release)
    try:
        for rule in RULES:
            rule(answers, terms)
        groups = tuple(sum_runs(answers, terms.release))
        return Validated(replace(submission, methods=_marked(answers)), groups)
    finally:
        answers.connection.close()


def _marked(answers: Rows) -> dict[str, Method]:
    """The methods' metadata, and what the column `transductive` says of those without any."""
    methods = dict(answers.submission.methods)
    if "transductive" in answers.columns:
        answers.facts("marks")
        marks = answers.connection.execute("SELECT method, transductive FROM marks ORDER BY row")
        for number, value in marks.fetchall():
            name = answers.methods[number]
            methods.setdefault(name, Method(name, transductive=value))
    return methods
