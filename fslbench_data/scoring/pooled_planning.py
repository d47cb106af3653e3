"""Planning sets that reuse images: what more of their tasks will show, from a pilot's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from analysis_sql.intervals.arrays import Floats
from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.power import check_power
from analysis_sql.planning.leave_one_out_plan import LeftOutPlan, plan_left_out
from analysis_sql.planning.left_out_pilot import LeftOutPilot
from analysis_sql.planning.planned_runs import PlannedRuns
from analysis_sql.planning.planning import CLOSED_TASKS
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError, listing
from benchmark_spec.protocol import Protocol
from benchmark_spec.suites import suite_of
from fslbench_data.release.release import Release, load_release
from fslbench_data.scoring.designs import left_out_design
from fslbench_data.scoring.own_release import OwnLog, log_of
from fslbench_data.scoring.pilot import Results, check_not_stopped, check_runs
from fslbench_data.scoring.signature import Signature
from fslbench_data.submission.merging import merge
from fslbench_data.submission.streaming import Source
from fslbench_data.tasks import TaskSetInfo, names_of
from fslbench_data.tasks.pooled import enough_tasks, number_of_tasks
from fslbench_data.validation.validate import counts_on

SUITE = "pooled"
"""The suite that is planned."""


@dataclass(frozen=True)
class PooledSetPlan:
    """The plan of one data set and protocol.

    Attributes
    ----------
    info
        The task set of the pilot, which reuses images.
    method, versus
        Names; `versus` is empty where it is the accuracy alone.
    mean
        Of the pilot, percentage points.
    unit
        What is left out for new images: `images` or `groups`.
    noiseless, stable, usual
        B0, B1 and the number of tasks of a pooled set (:mod:`fslbench_data.tasks.pooled`); None
        where no pooled set can be drawn.
    bound
        Whether the results say which tasks they were made on.
    runs
        Training runs.
    """

    info: TaskSetInfo
    method: str
    versus: str
    mean: float
    unit: str
    pilot: LeftOutPilot
    plan: LeftOutPlan
    noiseless: int | None
    stable: int | None
    usual: int | None
    bound: bool
    runs: PlannedRuns

    @property
    def name(self) -> str:
        """The method, or both."""
        return f"{self.method} minus {self.versus}" if self.versus else self.method


@dataclass(frozen=True, repr=False)
class PooledPlan:
    """Plans of sets that reuse images, what was asked for, and sets whose pilots say too little."""

    signature: Signature
    way: int
    shot: int
    power: float
    sets: tuple[PooledSetPlan, ...]
    left_out: tuple[str, ...]

    def __repr__(self) -> str:
        about = f"tasks of {self.way} ways, {self.shot} shots, on {len(self.sets)} task sets"
        return f"<PooledPlan of {about}, power {self.power:g}>"

    @property
    def level(self) -> float:
        """Confidence level of every interval."""
        return self.signature.level


def plan_pooled(
    pilot: Source | OwnLog | None = None,
    release: Release | None = None,
    *,
    method: str = "",
    versus: str = "",
    datasets: str | Sequence[str] = (),
    way: int = 5,
    shot: int = 5,
    queries: Sequence[int] = range(1, 16),
    tasks: Sequence[int] = (),
    runs: int | None = None,
    level: float = 0.95,
    power: float = 0.8,
    allow_unbound: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> PooledPlan:
    """Plan pooled sets of a pilot's protocol on a release's data sets.

    Parameters
    ----------
    pilot, release, method, versus, datasets, runs, level, power, allow_unbound
        As of :func:`fslbench_data.scoring.planning.plan`; the pilot answered a closed or pooled
        set, and counts of right answers will do.  A log of one's own tasks has its tasks with it.
    way, shot, queries
        Of the pilot's task sets; those of a log are its own.
    tasks
        Numbers of tasks to plan beside 600, B0, B1 and that of a pooled set.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the arguments or the pilot.
    """
    check_power(power, check_level(level))
    check_runs(runs)
    own = log_of(pilot)
    if own is not None:
        release, protocol = own.release, own.release.task_sets[0].protocol
        way, shot, queries = protocol.way, protocol.shot, [protocol.query]
    else:
        for query in queries:
            Protocol(way, shot, query)
    if any(number < 2 for number in tasks):
        raise SpecError(f"{min(tasks)} tasks cannot be planned", expected="at least 2")
    release = load_release() if release is None else release
    if own is not None:
        results = Results(release, (own.answers,))
    else:
        read = None if pilot is None else merge(cast("Source", pilot))
        results = Results.of(read, release, allow_unbound=allow_unbound, counts_only=True)
    method = results.check_method(method) if method else results.only_method()
    if versus and results.check_method(versus) == method:
        raise SubmissionError(f"{method} does not differ from itself", fix="name another method")
    names = names_of(datasets)
    sets: list[PooledSetPlan] = []
    left_out = []
    infos = _pilot_sets(results, [method, *([versus] if versus else [])], names, way, shot, queries)
    for info in infos:
        progress(info.dataset)
        try:
            sets.append(_planned(results, info, method, versus, tasks, runs, level, power))
        except SpecError as error:
            if info.dataset in names or (info is infos[-1] and not sets):
                raise
            left_out.append(f"{info}: {error.what}")
    unbound = [f"{one.name} on {one.info}" for one in sets if not one.bound]
    signature = Signature.of(release, [one.info for one in sets], level, unbound)
    return PooledPlan(signature, way, shot, power, tuple(sets), tuple(left_out))


def _planned(
    results: Results,
    info: TaskSetInfo,
    method: str,
    versus: str,
    tasks: Sequence[int],
    runs: int | None,
    level: float,
    power: float,
) -> PooledSetPlan:
    values, bound = _values(results, method, info)
    if versus:
        others, both = _values(results, versus, info)
        common = min(len(values), len(others))
        values, bound = values[:common] - others[:common], bound and both
    design = left_out_design(results.release, info).prefix(len(values))
    pilot = LeftOutPilot.of(design, values)
    units = pilot.sizes[pilot.sizes > info.protocol.per_class]
    noiseless = stable = usual = None
    if units.size >= info.protocol.way:
        noiseless, stable = enough_tasks(units, info.protocol)
        usual = number_of_tasks(units, info.protocol)
    numbers = {CLOSED_TASKS, *tasks, *(b for b in (noiseless, stable, usual) if b is not None)}
    trained = results.runs(info, [method, *([versus] if versus else [])], runs)
    plan = plan_left_out(pilot, numbers, level, power if versus else None, trained.terms)
    mean = 100.0 * float(np.mean(values))
    return PooledSetPlan(
        info,
        method,
        versus,
        mean,
        design.unit,
        pilot,
        plan,
        noiseless,
        stable,
        usual,
        bound,
        trained,
    )


def _values(results: Results, method: str, info: TaskSetInfo) -> tuple[Floats, bool]:
    """Return a method's accuracies (B,), the means of its runs, and whether they are bound."""
    part, group = results.answers(method, info)
    check_not_stopped(part, group)
    counts = counts_on([group])
    return np.asarray(counts.correct[0] / counts.queries_per_task[0]), group.bound


def _pilot_sets(
    results: Results,
    methods: Sequence[str],
    datasets: tuple[str, ...],
    way: int,
    shot: int,
    queries: Sequence[int],
) -> list[TaskSetInfo]:
    """One task set of each data set and protocol: the pooled one, or else the closed one."""
    release = results.release
    for name in datasets:
        if name not in release.datasets:
            raise UnknownNameError("data set", name, release.datasets, where=f"release {release}")
    chosen: dict[tuple[str, Protocol], TaskSetInfo] = {}
    for info in sorted(release.task_sets, key=lambda info: info.name.suite != SUITE):
        suite, protocol = suite_of(info.name.suite), info.protocol
        if (
            suite.interval == "closed"
            and suite.uniform
            and (protocol.way, protocol.shot) == (way, shot)
            and protocol.query in queries
            and all(results.find(method, info) is not None for method in methods)
        ):
            chosen.setdefault((info.dataset, protocol), info)
    there = {name for name, _ in chosen}
    missing = [name for name in datasets if name not in there]
    if missing or not there:
        raise SubmissionError(
            f"no results of {listing(methods)} to plan {listing(missing) or 'anything'} with",
            expected=f"results on a {way}-way {shot}-shot task set of the suites closed or pooled, "
            "with as many queries per class as are asked for",
            fix="run the method on such a task set and give the file: --pilot FILE; there are "
            f"such results of {listing(sorted(there)) or 'no data set'}",
        )
    order = release.task_sets
    asked = datasets or there
    return sorted((info for info in chosen.values() if info.dataset in asked), key=order.index)
