"""The scores of a report, one method and task set at a time, and what they rest on."""

from __future__ import annotations

from dataclasses import dataclass

from analysis_sql.intervals.intervals import Interval
from analysis_sql.intervals.near_perfect import NearPerfect
from analysis_sql.intervals.saturation import Saturation
from analysis_sql.intervals.stopping import SequenceInterval
from fslbench_data.tasks import TaskSetInfo


@dataclass(frozen=True)
class ScoredSet:
    """A task set that was scored."""

    dataset: str
    task_set: str
    n_tasks: int
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.dataset}/{self.task_set}"


def scored_set(info: TaskSetInfo) -> ScoredSet:
    """A task set of a release as a report names it."""
    return ScoredSet(info.dataset, str(info.name), info.n_tasks, info.fingerprint)


@dataclass(frozen=True)
class Signature:
    """What a result rests on; ``str`` gives the line that every output starts with.

    Attributes
    ----------
    package_version, release, release_digest, hub, level
        Of this package; name@version and digest of the release; where it comes from the Hub, its
        repository and commit as ``ORG/NAME@COMMIT``; the confidence level.
    sets
        The scored task sets and the closed ones beside them, with their fingerprints.
    unbound
        Methods (on task sets) that did not say which tasks they were made on.
    """

    package_version: str
    release: str
    release_digest: str
    level: float
    sets: tuple[ScoredSet, ...]
    unbound: tuple[str, ...]
    hub: str = ""

    def __str__(self) -> str:
        repo_id, _, commit = self.hub.partition("@")
        parts = [
            f"fslbench:{self.package_version}",
            f"release:{self.release}#{self.release_digest[:12]}",
            *([f"hub:{repo_id}@{commit[:12]}"] if self.hub else []),
            f"level:{self.level!r}",
            "unbound" if self.unbound else "bound",
            "sets:" + ",".join(f"{s}#{s.fingerprint[:12]}" for s in self.sets),
        ]
        return "|".join(parts)


PREFIX = "prefix chosen by the submitter"
"""Why nothing is concluded from the first tasks of a set, as many as a submitter chose."""


@dataclass(frozen=True)
class Stopped:
    """A run that was stopped when it was conclusive, and what holds in spite of that.

    Attributes
    ----------
    versus
        The method it was compared with while it ran.
    estimand
        What the sequence is about.
    level
        That the rule's confidence sequence had: it is the run's own word.
    sequence
        The confidence sequence's interval of the difference after the answered tasks: valid at
        its level however often one looked.  None where the report has no results of `versus`, or
        is of another level.
    """

    versus: str
    estimand: str
    level: float
    sequence: SequenceInterval | None


@dataclass(frozen=True)
class Score:
    """A method's mean accuracy over the tasks of a set that it answered.

    Attributes
    ----------
    runs, run_spread
        Number of runs (training seeds) whose counts were summed, and the sample standard
        deviation between their accuracies, percentage points; None below two.
    faultless
        Where all tasks are answered without an error: on how many others it may make one.
    near_perfect
        Where an open interval's mean is above 98 %: exact bounds, since that interval covers too
        little there.
    stopped
        Where the run had a rule to stop when it was conclusive: its ordinary intervals do not
        hold then, and are left out.
    transductive
        Whether the method says that it uses a task's queries together.
    prefix
        Whether only the first tasks are answered, as many as the submitter chose: intervals are
        shown then, and nothing is concluded from them.
    """

    dataset: str
    task_set: str
    method: str
    is_reference: bool
    accuracy: Interval
    runs: int = 1
    run_spread: float | None = None
    faultless: Saturation | None = None
    stopped: Stopped | None = None
    transductive: bool = False
    prefix: bool = False
    near_perfect: NearPerfect | None = None

    @property
    def ordinary(self) -> bool:
        """Whether the number of tasks was fixed before the results were known.

        Only then do verdicts follow from intervals, and count in summaries and families.
        """
        return self.stopped is None and not self.prefix
