"""Plan what results on a release's data sets will be able to show, from a pilot's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.power import check_power
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.planning.leave_one_out_plan import (
    LeftOutPilot,
    PlannedWidth,
    UnitsForHalf,
    plan_left_out,
    units_for_half,
)
from analysis_sql.planning.planned_runs import PlannedRuns, WithRuns
from analysis_sql.planning.planning import (
    CLOSED_TASKS,
    PLANNED_SUITES,
    Planned,
)
from analysis_sql.planning.planning import plan as plan_queries
from analysis_sql.planning.query_size import (
    QueryChoice,
    SetEstimate,
    choose,
    estimate_difference,
    estimate_set,
)
from analysis_sql.planning.variance_budget import Components, LikelyComponents, components_of
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError, listing, many
from benchmark_spec.protocol import Protocol, suite_of
from fslbench_data.release.release import Release, load_release
from fslbench_data.scoring.designs import left_out_design
from fslbench_data.scoring.open_log import log_of
from fslbench_data.scoring.own_release import OwnLog
from fslbench_data.scoring.scores import Signature
from fslbench_data.scoring.selection import features_in, reference_results, whole_name
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Source
from fslbench_data.tasks import TaskSetInfo, names_of
from fslbench_data.tasks.draw import enough_tasks, number_of_tasks
from fslbench_data.validation.per_class import (
    by_run,
    class_counts,
    class_differences,
    rows_of,
)
from fslbench_data.validation.rows import Group
from fslbench_data.validation.validate import Validated, counts_on, validate


class Pilot(Struct, frozen=True):
    """Results of a method, or of its difference from `versus` where that is not empty.

    `mean` is in percentage points; `bound` says whether the results name their tasks.
    """

    info: TaskSetInfo
    method: str
    versus: str
    mean: float
    bound: bool
    runs: PlannedRuns

    @property
    def name(self) -> str:
        """The method, or both."""
        return f"{self.method} minus {self.versus}" if self.versus else self.method


class OpenPilot(Pilot, frozen=True):
    """Variances estimated from tasks that reuse no image, in fractions squared.

    `likely` are the components that they leave likely; None where all tasks are alike.
    """

    estimate: SetEstimate
    components: Components
    likely: LikelyComponents | None


class PooledPilot(Pilot, frozen=True):
    """Variances estimated from tasks that reuse images."""

    variances: LeftOutPilot


class Results(Struct, frozen=True, eq=False):
    """Results to take a pilot from: those of a submission, then the reference methods'."""

    release: Release
    parts: tuple[Validated, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of all methods, the submission's first."""
        own = (name for part in self.parts for name in part.methods)
        return tuple(dict.fromkeys((*own, *self.release.methods)))

    def find(self, methods: Sequence[str], info: TaskSetInfo) -> list[tuple[Validated, Group]]:
        """Return the results on a task set, each with its part, of those methods that have any."""
        found = {
            group.method: (part, group)
            for part in reversed(self.parts)
            for group in part.on(info.dataset, str(info.name))
        }
        return [found[method] for method in methods if method in found]

    def only_method(self) -> str:
        """Return the method to plan with if none is named: the file's, or the first reference."""
        if not self.parts:
            raise SubmissionError(
                f"release {self.release} has no reference results to plan with",
                expected="results of a pilot",
                fix="give a submission with class_correct or predictions: --pilot FILE",
            )
        first = self.parts[0]
        if len(first.methods) > 1 and not first.are_references:
            raise SubmissionError(
                f"{first.submission.source} has results of {len(first.methods)} methods",
                expected=f"one of {listing(first.methods)}",
                fix="name the one to plan with: --pilot FILE::METHOD",
            )
        return self.methods[0]

    def pilot(self, info: TaskSetInfo, names: Sequence[str], planned: int | None) -> OpenPilot:
        """Estimate the variances on one task set; `planned` is a number of training runs.

        Raises a SubmissionError or SpecError if the results do not have them.
        """
        tasks = self.release.task_set(info.dataset, str(info.name))
        found = self._usable(info, names)
        tables = []
        for part, group in found:
            about = part.submission.methods.get(group.method)
            if about is not None and about.transductive:
                raise SubmissionError(
                    f"{group.method} is transductive: its answers to the queries of a task are not "
                    "independent of each other",
                    expected="a method that answers each query by itself",
                    fix="plan with another method's results",
                )
            tables.append(by_run(rows_of(part.submission, group.method, info), group.runs))
        query, unit = info.protocol.query, 1
        if len(names) > 1 or len(tables[0]) > 1:
            differences = class_differences(tables, tasks)
            if differences is None:
                raise _lacks(" and ".join(names), info, "which queries each is right on")
            sums, squares, unit = differences
            estimate = estimate_difference(sums, squares, query, unit)
        else:
            counts = class_counts(tables[0][0], tasks)
            if counts is None:
                raise _lacks(names[0], info, "how many queries of each class are right")
            sums, estimate = counts, estimate_set(counts, query)
        design = ClassDesign.of(tasks.class_ids).prefix(len(sums))
        mean = 100.0 * int(sums.sum()) / (len(sums) * info.protocol.n_query * unit)
        return OpenPilot(
            *_common(info, names, mean, found, planned),
            estimate,
            components_of(design, sums, estimate, unit),
            LikelyComponents.of(design, sums, estimate, unit),
        )

    def pooled_pilot(
        self, info: TaskSetInfo, names: Sequence[str], planned: int | None
    ) -> PooledPilot:
        """Estimate the variances on one task set that reuses images, from counts."""
        found = self._usable(info, names)
        counted = [counts_on([group]) for _, group in found]
        values = [counts.correct[0] / counts.queries_per_task[0] for counts in counted]
        common = min(map(len, values))
        y = values[0] if len(names) == 1 else values[0][:common] - values[1][:common]
        design = left_out_design(self.release, info)
        if not isinstance(design, TaskDesign):
            raise SpecError(
                "the pilot's tasks differ in their numbers of classes and images",
                where=str(info),
                expected="a pilot whose tasks are all of the size that is planned",
            )
        variances = LeftOutPilot.of(design.prefix(common), y)
        mean = 100.0 * float(np.mean(y))
        return PooledPilot(*_common(info, names, mean, found, planned), variances)

    def _usable(self, info: TaskSetInfo, names: Sequence[str]) -> list[tuple[Validated, Group]]:
        """Return the results of one or two methods; refuse runs that a rule stopped."""
        found = self.find(names, info)
        for part, group in found:
            bound_to = part.submission.bindings.get((group.method, info.dataset, str(info.name)))
            if bound_to is not None and bound_to.stopping is not None:
                raise SubmissionError(
                    f"{group.method} on {info} was run until it was conclusive, which makes its "
                    "tasks no fair sample to plan from",
                    fix="plan from a run of a fixed number of tasks",
                )
        return found


def _spread(group: Group) -> float | None:
    """Return s of a method's runs, less what their tasks make of it where each had its own."""
    if group.run_spread is None or group.run_of_task is None:
        return group.run_spread
    counts = counts_on([group]).moments()
    noise = len(group.runs) * float(counts.run_terms.of_tasks[0])
    return float(np.sqrt(max(group.run_spread**2 - noise, 0.0)))


def _common(
    info: TaskSetInfo,
    names: Sequence[str],
    mean: float,
    found: Sequence[tuple[Validated, Group]],
    planned: int | None,
) -> tuple[TaskSetInfo, str, str, float, bool, PlannedRuns]:
    """Return what every :class:`Pilot` has; SubmissionError if no method shows how runs differ."""
    runs = PlannedRuns(
        tuple(names),
        tuple(max(len(group.runs), 1) for _, group in found),
        tuple(_spread(group) for _, group in found),
        planned,
        tuple(group.method for part, group in found if part.of_one_model(group)),
        not any(
            len(group.runs) > 1 and about is not None and about.trained is False
            for part, group in found
            for about in [part.submission.methods.get(group.method)]
        ),
    )
    if planned is not None and not any(spread is not None for spread in runs.spreads):
        raise SubmissionError(
            f"{listing(names)} {'has' if len(names) == 1 else 'have'} one training run on "
            f"{info}: what runs differ by is unknown, so {planned} of them cannot be planned",
            expected="a pilot with two runs or more, named in the column run",
            fix="add results of other runs, or leave out the number of runs",
        )
    method, versus = (*names, "")[:2]
    return info, method, versus, mean, all(group.bound for _, group in found), runs


def _lacks(who: str, info: TaskSetInfo, what: str) -> SubmissionError:
    counts = "" if what.startswith("which") else "class_correct, "
    return SubmissionError(
        f"the results of {who} on {info} do not say {what}",
        expected=f"the column {counts}predictions or correct in every row",
        fix="record the answers with fslbench evaluate or the recorder, which write it",
    )


POOLED = "pooled"
"""The suite of plans for sets that reuse images."""


class DatasetPlan(Struct, frozen=True):
    """The plan of one data set, for sets that reuse no image.

    `rows` ascend in Q; `choice` is Q* for the pilot's shots and this data set's T.
    """

    dataset: str
    classes: int
    images: int
    pilot: OpenPilot
    rows: tuple[Planned, ...]
    choice: QueryChoice

    @property
    def reference_row(self) -> Planned:
        """The row of Q*, or of the pilot's Q, or the first as high, or the last."""
        wanted = self.choice.best or self.pilot.info.protocol.query
        return next((row for row in self.rows if row.query >= wanted), self.rows[-1])

    def with_runs(self, level: float) -> tuple[WithRuns | None, str]:
        """Return the effect of runs on the open interval at one Q, and the interval's name."""
        row = self.reference_row
        effect = None if row.open_of_tasks is None else self.pilot.runs.of(row.open_of_tasks, level)
        return effect, f"the open interval at Q = {row.query}"


class PooledSetPlan(Struct, frozen=True):
    """The plan of one data set and protocol, for sets that reuse images.

    `noiseless`, `stable` and `usual` are B0, B1 and the number of tasks of a pooled set; None where
    no pooled set can be drawn.
    """

    pilot: PooledPilot
    rows: tuple[PlannedWidth, ...]
    half: tuple[UnitsForHalf, ...]
    noiseless: int | None
    stable: int | None
    usual: int | None

    @property
    def units(self) -> int:
        """Images, or groups of them, that tasks are drawn from."""
        return int(self.pilot.variances.sizes.sum())

    def with_runs(self, level: float) -> tuple[WithRuns | None, str]:
        """Return the effect of runs on new images of the usual number of tasks, and the name."""
        tasks = self.usual or CLOSED_TASKS
        of_tasks = {row.tasks: row.of_tasks for row in self.rows if row.kind == "images"}
        width, least = of_tasks.get(tasks), of_tasks.get(None)
        effect = None if width is None else self.pilot.runs.of(width, level, least or 0.0)
        return effect, f"the interval for new images of {tasks:,} tasks"


class Plan(Struct, frozen=True):
    """Plans of data sets, the request, and sets whose pilots do not suffice.

    The plans are each a :class:`DatasetPlan`, or a :class:`PooledSetPlan` of the suite `pooled`.
    """

    signature: Signature
    suite: str
    way: int
    shot: int
    power: float
    sets: tuple[Any, ...]
    left_out: tuple[str, ...] = ()

    def __repr__(self) -> str:
        about = f"{self.suite} tasks of {self.way} ways, {many(self.shot, 'shot')}"
        return f"<Plan of {about}, on {many(len(self.sets), 'data set')}, power {self.power:g}>"

    @property
    def level(self) -> float:
        """Confidence level of every interval."""
        return self.signature.level


def plan(
    pilot: Source | OwnLog | None = None,
    release: Release | None = None,
    *,
    method: str = "",
    versus: str = "",
    datasets: str | Sequence[str] = (),
    way: int | None = None,
    shot: int | None = None,
    queries: Sequence[int] | None = None,
    suite: str | None = None,
    tasks: Sequence[int] = (),
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
        frame of them; or a log of one's own tasks, whose plan is that of `pooled` sets.
    release
        None is the one inside the package.
    method
        Whose results; by default the pilot's only method, or the first reference method.
    versus
        Plan the paired difference from this method, of the pilot or a reference method.
    datasets
        By default all that there are such results of.
    way, shot, queries, suite
        What to plan, by default 5, 5, 1 to 15 and `open`; `suite` is `open` or `balanced`, or
        `pooled` for tasks that reuse images, as those of their pilot do, which has these ways,
        shots and queries.  A log says them itself, and its suite is `pooled`: `way` and `shot`
        choose among its tasks, by default those of 5 shots, or else the first.
    tasks
        Numbers of tasks of `pooled` sets to plan besides 600, B0, B1 and that of a pooled set.
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
    if runs is not None and runs < 2:
        raise SpecError(
            f"{runs} training runs cannot be planned",
            expected="at least 2: one says nothing of what others would differ by",
        )
    own = log_of(pilot)
    if own is not None:
        if queries is not None or suite not in (None, POOLED):
            raise SpecError(
                "a log is planned with the queries and draws that it has: only other numbers of "
                "tasks follow from it",
                where=own.release.source,
                fix="leave queries and suite out; tasks says for how many",
            )
        release, suite = own.release, POOLED
        if any(suite_of(info.name.suite).whole for info in release.task_sets):
            raise SubmissionError(
                "results with all classes at once are no pilot: they have no random tasks",
                where=release.source,
                expected="a log of random tasks, with the column class_ids",
            )
    suites, suite = (*PLANNED_SUITES, POOLED), "open" if suite is None else suite
    if suite not in suites:
        raise UnknownNameError("suite to plan", suite, suites)
    wanted = way, shot
    way, shot = (5 if number is None else number for number in wanted)
    queries = range(1, 16) if queries is None else queries
    for query in queries:
        Protocol(way, shot, query)
    pooled = suite == POOLED
    if tasks and not pooled:
        raise SpecError(f"{suite} sets have as many tasks as there are", fix="plan pooled ones")
    if any(number < 2 for number in tasks):
        raise SpecError(f"{min(tasks)} tasks cannot be planned", expected="at least 2")
    release = load_release() if release is None else release
    if own is not None:
        parts = [own.answers]
    else:
        parts = []
        if pilot is not None:
            read = merge(cast("Source", pilot))
            parts.append(validate(read, release, allow_unbound=allow_unbound))
        shape = ("closed" if pooled else "open", way, shot)
        some = [
            info
            for info in release.task_sets
            if (info.name.interval, info.protocol.way, info.protocol.shot) == shape
        ]
        if references := reference_results(release, some):
            parts.append(references)
    results = Results(release, tuple(parts))
    method = whole_name(method, results.methods) if method else results.only_method()
    having = [part for part in results.parts if method in part.methods]
    features = {each for part in having for each in features_in(part.submission, [method])}
    versus = versus and whole_name(versus, results.methods, features)
    methods, names = [method, *([versus] if versus else [])], names_of(datasets)
    if versus == method:
        raise SubmissionError(f"{method} does not differ from itself", fix="name another method")
    if own is not None:
        way, shot, queries = _logged(own, results, methods, names, *wanted)
    infos = _pilot_sets(results, methods, names, way, shot, queries, suite)
    sets: list[DatasetPlan | PooledSetPlan] = []
    left_out: list[str] = []
    if own is not None:
        several = len(own.release.facts) > 1
        left_out = [
            f"{info}: planned with {f'--dataset {info.dataset} ' * several}--shots "
            f"{info.protocol.shot}"
            for info in release.task_sets
            if info not in infos and len(results.find(methods, info)) == len(methods)
        ]
    for info in infos:
        progress(info.dataset)
        try:
            if pooled:
                of_images = results.pooled_pilot(info, methods, runs)
                sets.append(_pooled_plan(of_images, tasks, level, power))
            else:
                of_open = results.pilot(info, methods, runs)
                sets.append(_open_plan(of_open, release, shot, queries, suite, level, power))
        except SpecError as error:
            if not pooled or info.dataset in names or (info is infos[-1] and not sets):
                raise
            left_out.append(f"{info}: {error.what}")
    pilots = [planned.pilot for planned in sets]
    unbound = [f"{one.name} on {one.info}" for one in pilots if not one.bound]
    signature = Signature.of(release, [one.info for one in pilots], level, unbound)
    return Plan(signature, suite, way, shot, power, tuple(sets), tuple(left_out))


def _logged(
    own: OwnLog,
    results: Results,
    methods: Sequence[str],
    datasets: Collection[str],
    way: int | None,
    shot: int | None,
) -> tuple[int, int, list[int]]:
    """Return ways, shots and queries of a log: as requested, else of 5 shots or the first tasks."""
    every = results.release.task_sets
    sets = [info for info in every if not datasets or info.dataset in datasets] or every
    answered = [info for info in sets if len(results.find(methods, info)) == len(methods)]
    protocols = [info.protocol for info in answered or sets]
    requested = [p for p in protocols if way in (None, p.way) and shot in (None, p.shot)]
    if not requested:
        of = [f"{n} {what}" for n, what in ((way, "ways"), (shot, "shots")) if n is not None]
        raise SpecError(
            f"{' and '.join(methods)} answered no tasks of {' and '.join(of)}",
            where=own.release.source,
            expected=listing([*dict.fromkeys(map(str, protocols))], 12),
            fix="leave shots and ways out, or choose one of these",
        )
    found = next((each for each in requested if each.shot == 5), requested[0])
    return found.way, found.shot, [found.query]


def _open_plan(
    pilot: OpenPilot,
    release: Release,
    shot: int,
    queries: Sequence[int],
    suite: str,
    level: float,
    power: float,
) -> DatasetPlan:
    dataset = pilot.info.dataset
    sizes: list[int] = release.classes(dataset).column("n_images").to_pylist()
    rows = plan_queries(
        pilot.components,
        sizes,
        way=pilot.info.protocol.way,
        shot=shot,
        queries=queries,
        suite=suite,
        level=level,
        power=power if pilot.versus else None,
        likely=pilot.likely,
    )
    if pilot.runs.variance:
        rows = [row.with_runs(pilot.runs, level) for row in rows]
    choice = choose(pilot.estimate, shot, {row.query: row.tasks for row in rows}, level)
    return DatasetPlan(dataset, len(sizes), sum(sizes), pilot, tuple(rows), choice)


def _pooled_plan(
    pilot: PooledPilot, tasks: Sequence[int], level: float, power: float
) -> PooledSetPlan:
    protocol, sizes = pilot.info.protocol, pilot.variances.sizes
    units = sizes[sizes > protocol.per_class]
    noiseless = stable = usual = None
    if units.size >= protocol.way:
        noiseless, stable = enough_tasks(units, protocol)
        usual = number_of_tasks(units, protocol)
    numbers = {CLOSED_TASKS, *tasks, *(b for b in (noiseless, stable, usual) if b is not None)}
    of_difference = power if pilot.versus else None
    planned = plan_left_out(pilot.variances, numbers, level, of_difference, pilot.runs)
    half = tuple(units_for_half(pilot.variances, kind, level) for kind in pilot.variances.parts)
    return PooledSetPlan(pilot, planned, half, noiseless, stable, usual)


def _pilot_sets(
    results: Results,
    methods: Sequence[str],
    datasets: tuple[str, ...],
    way: int,
    shot: int,
    queries: Sequence[int],
    suite: str,
) -> list[TaskSetInfo]:
    """Choose a task set of each data set (of pooled ones, protocol), of the suite or the first."""
    release, pooled = results.release, suite == POOLED
    for name in datasets:
        if name not in release.datasets:
            raise UnknownNameError("data set", name, release.datasets, where=f"release {release}")
    there = [
        info
        for info in release.task_sets
        if (info.protocol.way, info.protocol.shot) == (way, shot)
        and info.name.interval == ("closed" if pooled else "open")
        and not suite_of(info.name.suite).whole
        and (suite_of(info.name.suite).uniform if pooled else info.protocol.query > 1)
        and (not pooled or info.protocol.query in queries)
        and len(results.find(methods, info)) == len(methods)
    ]
    chosen: dict[tuple[str, object], TaskSetInfo] = {}
    for info in sorted(there, key=lambda info: info.name.suite != suite):
        chosen.setdefault((info.dataset, info.protocol if pooled else None), info)
    known = [name for name in release.datasets if any(name == has for has, _ in chosen)]
    missing = [name for name in datasets if name not in known]
    if missing or not known:
        expected = (
            f"results on a {way}-way {shot}-shot task set of the suites closed or pooled, with as "
            "many queries per class as are asked for"
            if pooled
            else "results with class_correct (for --versus, predictions or correct) on a "
            f"{way}-way {shot}-shot task set whose images do not recur, with at least 2 queries "
            "per class: with one, the luck of queries cannot be told from that of images"
        )
        raise SubmissionError(
            f"no results of {listing(methods)} to plan {listing(missing) or 'anything'} with",
            expected=expected,
            fix="run the method on such a task set and give the file: --pilot FILE; there are "
            f"such results of {listing(known) or 'no data set'}"
            f"{'' if pooled else '; closed and pooled sets are planned with --suite pooled'}",
        )
    order = {info: place for place, info in enumerate(release.task_sets)}
    wanted = [info for info in chosen.values() if info.dataset in (datasets or known)]
    return sorted(wanted, key=lambda info: (release.datasets.index(info.dataset), order[info]))
