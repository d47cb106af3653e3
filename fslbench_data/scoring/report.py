"""The result of scoring: all scores and comparisons, with their signature."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from analysis_sql.interval_kinds import ADDITIONAL_KINDS
from analysis_sql.multiple_comparisons import VerdictCounts, count_verdicts
from benchmark_spec.errors import many
from fslbench_data.scoring.dataset_means import DatasetMean, dataset_means
from fslbench_data.scoring.own_release import LogFacts
from fslbench_data.scoring.scores import Signature
from fslbench_data.scoring.task_set_report import (
    MOST_COUNTED,
    Comparisons,
    Scores,
    TaskSetReport,
)

HEADINGS = ("paired", *(kind.heading for kind in ADDITIONAL_KINDS.values()), "direct", "closed")
"""Kinds of comparison whose verdicts are counted."""


class Report(Struct, frozen=True, dict=True):
    """All scores and comparisons of a submission.

    Attributes
    ----------
    sets
        In the release's order of task sets; methods in the order of the submission, then of the
        release.
    left_out
        Task sets made with attributes of images, as ``dataset/task_set``, that are answered but not
        requested (:mod:`fslbench_data.scoring.bias`).
    against
        Methods that the others were to be compared with; empty for all.
    logs
        Facts of a log of one's own tasks, by data set.
    """

    as_text: ClassVar[Callable[[Report], str] | None] = None
    """Writes a report as text; the package sets it, since scoring does not import rendering."""

    as_html: ClassVar[Callable[[Report], str] | None] = None
    """Writes a report for notebooks."""

    as_json: ClassVar[Callable[[Report], str] | None] = None
    """Writes a report for machines."""

    signature: Signature
    sets: tuple[TaskSetReport, ...]
    left_out: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    logs: Mapping[str, LogFacts] = field(default_factory=dict)

    @property
    def log(self) -> LogFacts | None:
        """Facts of a log that has one data set, else None."""
        return next(iter(self.logs.values())) if len(self.logs) == 1 else None

    @property
    def averaged(self) -> list[TaskSetReport]:
        """Task sets that means over data sets are taken of; of a log, its first of each."""
        if self.log is not None:
            return []
        return [s for s in self.sets if not self.logs or s.scored.dataset in self.logs]

    @cached_property
    def verdict_counts(self) -> dict[str, VerdictCounts]:
        """Verdicts by kind of comparison over the task sets that reuse no image."""
        return verdict_counts([s for s in self.sets if s.interval_kind == "open"])

    @cached_property
    def counts_where_reused(self) -> dict[str, VerdictCounts]:
        """Verdicts by kind of comparison over the task sets whose intervals leave images out."""
        return counts_where_reused([task_set for task_set in self.sets if task_set.leaves_out])

    @property
    def scores(self) -> Scores:
        """The scores of all task sets."""
        return Scores(score for task_set in self.sets for score in task_set.scores)

    @property
    def comparisons(self) -> Comparisons:
        """The comparisons of all task sets."""
        return Comparisons(self.sets)

    @cached_property
    def dataset_means(self) -> list[DatasetMean]:
        """Means over data sets of the same ways and shots, of methods and of pairs.

        A log of one data set has none.
        """
        return dataset_means(self.averaged)

    @cached_property
    def harmonic_means(self) -> list[DatasetMean]:
        """Harmonic means over data sets, by which papers average base and new classes."""
        return dataset_means(self.averaged, harmonic=True)

    def __str__(self) -> str:
        """Return the report as the terminal prints it; its repr if no writer is set."""
        write = type(self).as_text
        return repr(self) if write is None else write(self)

    def _repr_html_(self) -> str | None:
        write = type(self).as_html
        return None if write is None else write(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, as ``fslbench score --format json`` writes them."""
        write = type(self).as_json
        assert write is not None, "the package sets it"  # noqa: S101
        content: dict[str, Any] = json.loads(write(self))
        return content

    def __repr__(self) -> str:
        on = many(len(self.sets), "task set")
        return f"<Report: {many(len(self.comparisons), 'comparison')} on {on}>"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Report)
            and self.signature == other.signature
            and self.scores == other.scores
            and self.comparisons == other.comparisons
        )

    __hash__ = None  # type: ignore[assignment]


def counts_where_reused(sets: Sequence[TaskSetReport]) -> dict[str, VerdictCounts]:
    """Count verdicts on task sets that reuse images, by kind of interval.

    ``closed`` are the paired verdicts by the primary interval of these sets.
    """
    counts = verdict_counts(sets)
    names = {heading: heading for heading in HEADINGS[:-2]} | {"paired": "closed"}
    return {name: counts[heading] for heading, name in names.items() if heading in counts}


def verdict_counts(sets: Sequence[TaskSetReport]) -> dict[str, VerdictCounts]:
    """Count verdicts by kind of comparison: paired, new classes, direct, closed.

    Comparisons on a prefix that its submitter chose do not count.  Of more than
    :data:`MOST_COUNTED` comparisons, only the paired and direct verdicts are counted.
    """
    few = sum(int(task_set.requested.sum()) for task_set in sets) <= MOST_COUNTED
    parts: dict[str, list[NDArray[np.int8]]] = {heading: [] for heading in HEADINGS}
    for task_set in sets:
        by_heading = {"paired": task_set.pairs.verdict, "direct": task_set.pairs.direct}
        if few:
            by_heading["closed"] = task_set.closed_verdicts
            for kind in task_set.kinds[1:]:
                by_heading[ADDITIONAL_KINDS[kind].heading] = task_set.pairs_of(kind).verdict
        for heading, verdicts in by_heading.items():
            parts[heading].append(verdicts[task_set.counted & (verdicts >= 0)])
    codes = {heading: np.concatenate(of_sets) for heading, of_sets in parts.items() if of_sets}
    return count_verdicts({heading: found for heading, found in codes.items() if found.size})
