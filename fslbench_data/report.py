"""The result of scoring: what can be concluded, and from what exactly."""

from __future__ import annotations

from dataclasses import dataclass

from analysis_sql.comparison import Comparison
from analysis_sql.intervals import Interval


@dataclass(frozen=True)
class ScoredSet:
    """A task set that was scored."""

    dataset: str
    task_set: str
    n_tasks: int
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.dataset}/{self.task_set}"


@dataclass(frozen=True)
class Signature:
    """What a result rests on; ``str`` gives the line that every output starts with.

    Attributes
    ----------
    package_version, release, release_digest, level
        Of this package; name@version and digest of the release; the confidence level.
    sets
        The scored task sets, with their fingerprints.
    unbound
        Methods (on task sets) that did not say which tasks they were made on.
    """

    package_version: str
    release: str
    release_digest: str
    level: float
    sets: tuple[ScoredSet, ...]
    unbound: tuple[str, ...]

    def __str__(self) -> str:
        parts = [
            f"fslbench:{self.package_version}",
            f"release:{self.release}#{self.release_digest[:12]}",
            f"level:{self.level:g}",
            "unbound" if self.unbound else "bound",
            "sets:" + ",".join(f"{s}#{s.fingerprint[:12]}" for s in self.sets),
        ]
        return "|".join(parts)


@dataclass(frozen=True)
class Score:
    """A method's mean accuracy over the tasks of a set that it answered."""

    dataset: str
    task_set: str
    method: str
    is_reference: bool
    accuracy: Interval


@dataclass(frozen=True)
class Report:
    """All scores and comparisons of a submission.

    Scores and comparisons are in the release's order of task sets; methods in the order of the
    submission, then of the release.
    """

    signature: Signature
    scores: tuple[Score, ...]
    comparisons: tuple[Comparison, ...]
