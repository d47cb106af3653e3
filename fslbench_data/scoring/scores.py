"""The scores of methods on task sets, and the signature of what they rest on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field, structs

from analysis_sql.comparisons import Verdict
from analysis_sql.interval_kinds import ADDITIONAL_KINDS, ESTIMANDS, Designs, kinds_of
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import INDEPENDENT_TASKS, Interval, intervals
from benchmark_spec.errors import NoIntervalError, listing, many, quoted
from benchmark_spec.protocol import IntervalKind
from benchmark_spec.version import __version__
from fslbench_data.release.release import Release
from fslbench_data.scoring.designs import Units
from fslbench_data.submission.model import Stopping
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.rows import Group
from fslbench_data.validation.validate import Validated

if TYPE_CHECKING:
    from analysis_sql.intervals.intervals import NearPerfect, Saturation
    from analysis_sql.intervals.stopping import SequenceInterval

T = TypeVar("T")

PREFIX = "prefix chosen by the submitter"
"""Why nothing is concluded from the first tasks of a set, if the submitter chose their number."""

_NOT_THE_RIVAL = "run to stop when conclusive about another method"
"""Why a run with a rule to stop is not compared with other methods than its rival."""


class Stopped(Struct, frozen=True):
    """A run that was stopped when it was conclusive about `versus`, at the `level` of its rule.

    `sequence` is the confidence sequence's interval of the difference, valid at any stopping time;
    None if there are no results of `versus`, or the report's level differs.
    """

    versus: str
    estimand: str
    level: float
    sequence: SequenceInterval | None


def rule_of(part: Validated, group: Group) -> Stopping | None:
    """Return the rule to stop that the run of a group had, if any."""
    info = group.info
    binding = part.submission.bindings.get((group.method, info.dataset, str(info.name)))
    return None if binding is None else binding.stopping


def stopped_run(
    rule: Stopping,
    method: str,
    counts: Counts,
    positions: Mapping[str, int],
    interval_kind: IntervalKind,
    level: float,
) -> Stopped:
    """Describe a stopped run, with the interval of its confidence sequence at `level`."""
    from analysis_sql.intervals.stopping import ConfidenceSequence

    estimand = ESTIMANDS["closed"] if interval_kind == "closed" else INDEPENDENT_TASKS
    sequence = None
    if rule.versus in positions and rule.level == level:
        row, rival = positions[method], positions[rule.versus]
        common = int(min(counts.tasks[[row, rival]]))
        differences = counts.differences([row], [rival], common)
        running = ConfidenceSequence(int(differences.queries_per_task[0]), level)
        for difference in differences.correct[0].tolist():
            sequence = running.update(difference)
    return Stopped(rule.versus, estimand, rule.level, sequence)


def verdict_by_rule(
    names: tuple[str, str], stopped: tuple[Stopped | None, Stopped | None], level: float
) -> tuple[Verdict, str]:
    """Return the verdict on two methods, one of which had a rule to stop, or why there is none."""
    reason = _NOT_THE_RIVAL
    verdicts = {1: Verdict.BETTER, -1: Verdict.WORSE, 0: Verdict.INCONCLUSIVE}
    for run, rival, sign in ((stopped[0], names[1], 1), (stopped[1], names[0], -1)):
        if run is not None and run.versus == rival:
            if run.sequence is not None:
                return verdicts[sign * run.sequence.sign], ""
            reason = f"run to stop at level {run.level:.8g}, not {level:.8g}"
    return Verdict.NOT_ESTIMABLE, reason


class Score(Struct, frozen=True):
    """A method's mean accuracy over the tasks of a set that it answered.

    Attributes
    ----------
    interval_kind
        The primary kind of interval.
    intervals
        The mean with its interval by kind, the primary one first; others are computed on access.
    runs, run_spread
        Number of runs (training seeds) whose counts were summed, and the sample standard deviation
        between their accuracies in percentage points, None below two runs.
    faultless
        If all tasks are answered without an error, on how many others the method may make one.
    backbone
        The features that the method declares, else its name before the last slash; may be empty.
    near_perfect
        If an open interval's mean is above 98 %, where that interval covers too little: exact
        bounds.
    stopped
        If the run had a rule to stop when it was conclusive: its interval.  Ordinary intervals do
        not hold then, and are left out.
    transductive
        Whether the method says that it uses a task's queries together.
    trained
        Whether something is trained before the tasks; None if that is not known.
    prefix
        Whether only the first tasks are answered, and the submitter chose how many: intervals are
        shown, but nothing is concluded from them.
    run_means
        The mean of each run by its name, percentage points; empty below two runs.
    by_queries
        Whether the interval for new images uses which queries were right, and not tasks as a whole;
        None if these tasks do not allow it, or the method is known to use queries together.
    run_error
        Standard error that training anew adds to the mean, percentage points: 0 of a method that
        trains nothing, None of one trained model.
    """

    dataset: str
    task_set: str
    method: str
    is_reference: bool
    interval_kind: IntervalKind
    intervals: ByKind[Interval]
    runs: int = 1
    run_spread: float | None = None
    faultless: Saturation | None = None
    stopped: Stopped | None = None
    transductive: bool = False
    prefix: bool = False
    near_perfect: NearPerfect | None = None
    backbone: str = ""
    trained: bool | None = None
    run_means: Mapping[str, float] = field(default_factory=dict)
    by_queries: bool | None = None
    run_error: float | None = None

    def __repr__(self) -> str:
        additional = [i for kind, i in self.intervals.items() if kind != self.interval_kind]
        marks = [f"{interval.kind} {interval.width}" for interval in additional]
        flags = ("is_reference", "transductive", "prefix")
        marks += [name for name in flags if getattr(self, name)]
        marks += [f"{self.runs} runs"] if self.runs > 1 else []
        marks += ["stopped by a rule"] if self.stopped else []
        return (
            f"<Score on {self.dataset}/{self.task_set}: {self.method}\n = "
            f"{'; '.join([str(self.accuracy), *marks])}>"
        )

    @property
    def accuracy(self) -> Interval:
        """The mean with the primary interval."""
        return self.intervals[self.interval_kind]

    @property
    def of_one_model(self) -> bool:
        """Whether there is a single run of a method whose runs may differ."""
        return self.runs < 2 and self.trained is not False

    @property
    def ordinary(self) -> bool:
        """Whether the number of tasks was fixed before the results were known.

        Otherwise no verdict follows from its intervals, and none counts in summaries and families.
        """
        return self.stopped is None and not self.prefix


def may_be_training_runs(scores: Iterable[Score]) -> bool:
    """Return whether runs may be training runs: no method of several runs trains nothing."""
    return not any(score.runs > 1 and score.trained is False for score in scores)


class ByKind(Mapping[IntervalKind, T]):
    """The intervals of a method or a pair by kind, each made on access.

    The error for a missing kind says why it is missing, by `units`.
    """

    def __init__(
        self, kinds: Collection[IntervalKind], make: Callable[[IntervalKind], T], units: Units
    ) -> None:
        self._kinds, self._make, self.units = kinds, make, units

    def __getitem__(self, kind: IntervalKind) -> T:
        if kind in self._kinds:
            return self._make(kind)
        why = self.units.missing.get(kind, "these tasks have none")
        raise NoIntervalError(
            f"there is no interval of kind {quoted(kind)}: {why}",
            expected=f"one of {listing(list(self._kinds))}",
            fix="ask with intervals.get(kind), which gives None where there is none",
        )

    def __contains__(self, kind: object) -> bool:
        return kind in self._kinds

    def get(self, kind: IntervalKind, default: Any = None) -> Any:
        """Return the interval of a kind, or the default where there is none."""
        return self._make(kind) if kind in self._kinds else default

    def __iter__(self) -> Iterator[IntervalKind]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def __repr__(self) -> str:
        return repr(dict(self))


def intervals_by_kind(
    counts: Counts, primary: IntervalKind, level: float, designs: Designs, units: Units
) -> Callable[..., ByKind[Interval]]:
    """Return a function from a method's row to its intervals; each kind is computed once for all.

    Without `holds`, as for a run with a rule to stop, intervals have no half-widths.
    """
    moments, kinds = counts.moments(), kinds_of(primary, designs)

    @cache
    def of_all_methods(kind: IntervalKind) -> list[Interval]:
        halfwidths = None
        if kind != primary:
            halfwidths = ADDITIONAL_KINDS[kind].how.method_halfwidths(designs[kind], counts, level)
        return intervals(moments, kind, level, halfwidths)

    def of_method(row: int, *, holds: bool = True) -> ByKind[Interval]:
        def interval(kind: IntervalKind) -> Interval:
            found = of_all_methods(kind)[row]
            return found if holds else structs.replace(found, halfwidth=None)

        return ByKind(kinds, interval, units)

    return of_method


class Signature(Struct, frozen=True):
    """What a result rests on; ``str`` gives the line that every output starts with.

    `hub` is ``ORG/NAME@COMMIT``; `sets` are the scored task sets and their closed twins; `unbound`
    are methods (on task sets) that do not say which tasks they were made on; `log` describes, in
    place of a release, what own tasks are drawn from.
    """

    package_version: str
    release: str
    release_digest: str
    level: float
    sets: tuple[TaskSetInfo, ...]
    unbound: tuple[str, ...]
    hub: str = ""
    log: str = ""

    @classmethod
    def of(
        cls,
        release: Release,
        infos: Iterable[TaskSetInfo],
        level: float,
        unbound: Iterable[str] = (),
    ) -> Signature:
        """Make the signature of results on some task sets of a release."""
        sets = tuple(infos)
        log = release.drawn_from(info.dataset for info in sets)
        name, digest = str(release), release.manifest.digest
        return cls(__version__, name, digest, level, sets, tuple(unbound), release.hub, log)

    def __repr__(self) -> str:
        if self.log:
            return f"<Signature: {self}>"
        unbound = f", {len(self.unbound)} unbound" if self.unbound else ""
        about = f"fslbench {self.package_version}, {self.release}#{self.release_digest[:12]}"
        sets = many(len(self.sets), "task set")
        return f"<Signature: {about}, level {self.level!r}, {sets}{unbound}>"

    def __str__(self) -> str:
        return self._line(",".join(f"{s}#{s.fingerprint[:12]}" for s in self.sets))

    def as_json(self) -> dict[str, Any]:
        """Return the signature as plain values."""
        values = {**structs.asdict(self), "sets": [info.as_json() for info in self.sets]}
        return values if self.log else {k: v for k, v in values.items() if k != "log"}

    @property
    def short(self) -> str:
        """The line with the number of task sets in place of their names and fingerprints."""
        return self._line(str(len(self.sets)))

    def _line(self, sets: str) -> str:
        if self.log:
            return f"fslbench:{self.package_version}|{self.log}|level:{self.level!r}"
        repo_id, _, commit = self.hub.partition("@")
        parts = [
            f"fslbench:{self.package_version}",
            f"release:{self.release}#{self.release_digest[:12]}",
            *([f"hub:{repo_id}@{commit[:12]}"] if self.hub else []),
            f"level:{self.level!r}",
            "unbound" if self.unbound else "bound",
            f"sets:{sets}",
        ]
        return "|".join(parts)


def signature_of(release: Release, results: Validated, used: Set[str], level: float) -> Signature:
    """Make the signature of results; `used` are the scored task sets and their closed twins."""
    unbound = [
        f"{group.method} on {group.info}"
        for group in results.groups
        if not group.bound and group.info.text in used
    ]
    infos = [info for info in release.task_sets if info.text in used]
    return Signature.of(release, infos, level, unbound)
