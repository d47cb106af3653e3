"""Planning: what results on a release's data sets will be able to show, from a pilot's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.power import check_power
from analysis_sql.planning.class_sequences import PLANNED_SUITES
from analysis_sql.planning.planning import Planned
from analysis_sql.planning.planning import plan as plan_queries
from analysis_sql.planning.query_choice import QueryChoice, choose
from benchmark_spec.errors import SubmissionError, UnknownNameError, listing
from benchmark_spec.protocol import Protocol
from fslbench_data.release.release import Release, load_release
from fslbench_data.scoring.pilot import Pilot, Results, check_runs, open_sets
from fslbench_data.scoring.signature import Signature
from fslbench_data.submission.merging import merge
from fslbench_data.submission.streaming import Source
from fslbench_data.tasks import TaskSetInfo, names_of


@dataclass(frozen=True)
class DatasetPlan:
    """The plan of one data set.

    Attributes
    ----------
    classes, images
        Of the data set.
    rows
        Ascending in Q; a Q that no task can be drawn with is not among them.
    choice
        Q*, for the pilot's shots and this data set's T.
    """

    dataset: str
    classes: int
    images: int
    pilot: Pilot
    rows: tuple[Planned, ...]
    choice: QueryChoice

    @property
    def shown(self) -> Planned:
        """The row that a budget is told of: of Q*, or if that is undetermined, the pilot's Q.

        If that was not planned either, the first row that is as high, or the last.
        """
        wanted = self.choice.best or self.pilot.info.protocol.query
        return next((row for row in self.rows if row.query >= wanted), self.rows[-1])


@dataclass(frozen=True, repr=False)
class Plan:
    """Plans of data sets, and what was asked for."""

    signature: Signature
    suite: str
    way: int
    shot: int
    power: float
    sets: tuple[DatasetPlan, ...]

    def __repr__(self) -> str:
        about = f"{self.suite} tasks of {self.way} ways, {self.shot} shots"
        return f"<Plan of {about}, on {len(self.sets)} data sets, power {self.power:g}>"

    @property
    def level(self) -> float:
        """Confidence level of every interval."""
        return self.signature.level


def plan(
    pilot: Source | None = None,
    release: Release | None = None,
    *,
    method: str = "",
    versus: str = "",
    datasets: str | Sequence[str] = (),
    way: int = 5,
    shot: int = 5,
    queries: Sequence[int] = range(1, 16),
    suite: str = "open",
    runs: int | None = None,
    level: float = 0.95,
    power: float = 0.8,
    allow_unbound: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Plan an experiment on a release's data sets.

    Parameters
    ----------
    pilot
        Results to estimate variances from, besides the release's reference results; or a file or
        frame of them.
    release
        None is the one inside the package.
    method
        Whose results; by default the pilot's only method, or the first reference method.
    versus
        Plan the paired difference from this method, of the pilot or a reference method.
    datasets
        By default all that there are such results of.
    way, shot, queries, suite
        What to plan; `suite` is `open` or `balanced`.
    runs
        Training runs of every method that has several in the pilot; by default as many as there.
    level, power
        Of intervals, and of the smallest detectable difference.
    allow_unbound
        Accept a pilot that does not say which tasks it was made on.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the arguments or the pilot.
    """
    check_power(power, check_level(level))
    check_runs(runs)
    if suite not in PLANNED_SUITES:
        raise UnknownNameError("suite to plan", suite, PLANNED_SUITES)
    for query in queries:
        Protocol(way, shot, query)
    release = load_release() if release is None else release
    read = None if pilot is None else merge(pilot)
    open_ones = open_sets(release, way, shot)
    results = Results.of(read, release, allow_unbound=allow_unbound, only=open_ones)
    method = results.check_method(method) if method else results.only_method()
    if versus and results.check_method(versus) == method:
        raise SubmissionError(f"{method} does not differ from itself", fix="name another method")
    infos = _pilot_sets(results, (method, versus), names_of(datasets), way, shot, suite)
    sets = []
    for info in infos:
        progress(info.dataset)
        sizes: list[int] = release.classes(info.dataset).column("n_images").to_pylist()
        estimates = results.pilot(info, method, versus, runs)
        rows = plan_queries(
            estimates.components,
            sizes,
            way=way,
            shot=shot,
            queries=queries,
            suite=suite,
            level=level,
            power=power,
            likely=estimates.likely,
        )
        if not versus:
            rows = [row.of_an_accuracy() for row in rows]
        if estimates.runs.terms[0]:
            rows = [row.for_new_runs(estimates.runs.terms, level) for row in rows]
        choice = choose(estimates.estimate, shot, {row.query: row.tasks for row in rows}, level)
        sets.append(
            DatasetPlan(info.dataset, len(sizes), sum(sizes), estimates, tuple(rows), choice)
        )
    pilots = [planned.pilot for planned in sets]
    unbound = [f"{pilot.name} on {pilot.info}" for pilot in pilots if not pilot.bound]
    signature = Signature.of(release, [pilot.info for pilot in pilots], level, unbound)
    return Plan(signature, suite, way, shot, power, tuple(sets))


def _pilot_sets(
    results: Results,
    pair: tuple[str, str],
    datasets: tuple[str, ...],
    way: int,
    shot: int,
    suite: str,
) -> list[TaskSetInfo]:
    """One task set of each data set: of the suite that is planned, or else the first there is."""
    methods = [name for name in pair if name]
    there = results.pilot_sets(methods, way, shot)
    by_dataset: dict[str, TaskSetInfo] = {}
    for info in sorted(there, key=lambda info: info.name.suite != suite):
        by_dataset.setdefault(info.dataset, info)
    release = results.release
    for name in datasets:
        if name not in release.datasets:
            raise UnknownNameError("data set", name, release.datasets, where=f"release {release}")
    missing = [name for name in datasets if name not in by_dataset]
    if missing or not by_dataset:
        raise SubmissionError(
            f"no results of {listing(methods)} to plan {listing(missing) or 'anything'} with",
            expected=f"results with class_correct (for --versus, predictions) on a {way}-way "
            f"{shot}-shot task set whose images do not recur, with at least 2 queries per class: "
            "with one, the luck of queries cannot be told from that of images",
            fix="run the method on such a task set and give the file: --pilot FILE; there are "
            f"such results of {listing(list(by_dataset)) or 'no data set'}",
        )
    return [by_dataset[d] for d in release.datasets if d in (datasets or by_dataset)]
