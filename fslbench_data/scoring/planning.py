"""Plan experiments on a release's data sets from the results of a pilot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar, cast

import numpy as np
from msgspec import Struct

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.intervals.arrays import Ints
from analysis_sql.intervals.intervals import check_level
from analysis_sql.intervals.power import check_power
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.planning.leave_one_out_plan import (
    LeftOutPilot,
    PlannedWidth,
    UnitsForHalf,
    plan_left_out,
    to_halve,
)
from analysis_sql.planning.planned_runs import PlannedRuns
from analysis_sql.planning.planning import CLOSED_TASKS, PLANNED_SUITES, Planned
from analysis_sql.planning.planning import plan as plan_queries
from analysis_sql.planning.query_size import QueryChoice, SetEstimate, choose, estimate_difference
from analysis_sql.planning.variance_budget import Components, LikelyComponents, components_of
from benchmark_spec.errors import SpecError, SubmissionError, UnknownNameError, listing, many
from benchmark_spec.protocol import Protocol, suite_of
from fslbench_data.release.release import AnyRelease, Release, load_release
from fslbench_data.sampling.draw import enough_tasks, number_of_tasks
from fslbench_data.scoring.designs import left_out_design
from fslbench_data.scoring.own_release import OwnLog
from fslbench_data.scoring.scores import Signature, rule_of
from fslbench_data.scoring.selection import features_in, log_of, reference_results, whole_name
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Source
from fslbench_data.tasks import TaskSetInfo, names_of
from fslbench_data.validation.per_class import by_run, class_counts, class_differences, rows_of
from fslbench_data.validation.rows import Group
from fslbench_data.validation.validate import Validated, counts_on, validate

POOLED = "pooled"
"""The suite of plans for sets that reuse images."""

Found = Sequence[tuple[Validated, Group]]
"""The results of a plan's methods on a task set, in their order, each with all of its file."""

Answered = Mapping[TaskSetInfo, Found]
"""Results by task set that all methods of a plan answered, in the order of the release."""


class Pilot(Struct, frozen=True):
    """Results of a method, or of its difference from `versus` if that is not empty.

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
        """The method, or the difference in words."""
        return f"{self.method} minus {self.versus}" if self.versus else self.method

    @classmethod
    def of(cls, info: TaskSetInfo, found: Found, mean: float, planned: int | None) -> Pilot:
        """Describe a pilot; refuse `planned` runs if no method shows how they differ."""
        groups = [group for _, group in found]
        names = [group.method for group in groups]
        several = [(part, group.method) for part, group in found if len(group.runs) > 1]
        declared = [part.submission.methods.get(method) for part, method in several]
        runs = PlannedRuns(
            tuple(names),
            tuple(max(len(group.runs), 1) for group in groups),
            tuple(map(_spread, groups)),
            planned,
            tuple(group.method for part, group in found if part.of_one_model(group)),
            not any(about is not None and about.trained is False for about in declared),
        )
        if planned is not None and not any(spread is not None for spread in runs.spreads):
            raise SubmissionError(
                f"{listing(names)} {'has' if len(names) == 1 else 'have'} one training run on "
                f"{info}: what runs differ by is unknown, so {planned} of them cannot be planned",
                expected="a pilot with two runs or more, named in the column run",
                fix="add results of other runs, or leave out the number of runs",
            )
        method, versus = (*names, "")[:2]
        return cls(info, method, versus, mean, all(group.bound for group in groups), runs)


def _spread(group: Group) -> float | None:
    """Return the spread of a method's runs, without what runs with tasks of their own add to it."""
    if group.run_spread is None or group.run_of_task is None:
        return group.run_spread
    moments = counts_on([group]).moments()
    noise = len(group.runs) * float(moments.run_terms.of_tasks[0])
    return float(np.sqrt(max(group.run_spread**2 - noise, 0.0)))


class OpenPlan(Struct, frozen=True):
    """The plan of one data set, for sets that reuse no image; variances in fractions squared.

    `rows` ascend in Q; `choice` is Q* for the pilot's shots and this data set's T.
    """

    pilot: Pilot
    classes: int
    images: int
    estimate: SetEstimate
    components: Components
    rows: tuple[Planned, ...]
    choice: QueryChoice

    @property
    def reference_row(self) -> Planned:
        """The first row with Q* queries or more (or the pilot's Q, without Q*), else the last."""
        wanted = self.choice.best or self.pilot.info.protocol.query
        return next((row for row in self.rows if row.query >= wanted), self.rows[-1])


class PooledPlan(Struct, frozen=True):
    """The plan of one data set and protocol, for sets that reuse images.

    `noiseless`, `stable` and `usual` are B0, B1 and the number of tasks of a pooled set; None if no
    pooled set can be drawn.
    """

    pilot: Pilot
    variances: LeftOutPilot
    rows: tuple[PlannedWidth, ...]
    half: tuple[UnitsForHalf, ...]
    noiseless: int | None
    stable: int | None
    usual: int | None

    @property
    def units(self) -> int:
        """Images, or groups of them, that tasks are drawn from."""
        return int(self.variances.sizes.sum())


SetPlan = OpenPlan | PooledPlan


class Plan(Struct, frozen=True):
    """Plans of data sets, all of one kind; `left_out` are task sets with an insufficient pilot."""

    signature: Signature
    suite: str
    way: int
    shot: int
    power: float
    sets: tuple[SetPlan, ...]
    left_out: tuple[str, ...] = ()
    as_text: ClassVar[Callable[[Plan], str] | None] = None

    def __str__(self) -> str:
        """Return the plan as the terminal shows it, by `as_text` where it is set."""
        write = type(self).as_text
        return repr(self) if write is None else write(self)

    def __repr__(self) -> str:
        about = f"{self.suite} tasks of {self.way} ways, {many(self.shot, 'shot')}"
        return f"<Plan of {about}, on {many(len(self.sets), 'data set')}, power {self.power:g}>"

    @property
    def level(self) -> float:
        """Confidence level of every interval."""
        return self.signature.level


def plan(
    pilot: Source | OwnLog | None = None,
    release: AnyRelease = None,
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
        Results, or a file or frame of them, to estimate variances from, besides the release's
        reference results; or a log of one's own tasks, for which `pooled` sets are planned.
    release
        Or what :func:`fslbench_data.load_release` opens; None is the one inside the package.
    method
        The method to plan for; by default the pilot's only one, or the first reference method.
    versus
        Plan the paired difference from this method, of the pilot or a reference method.
    datasets
        By default all with such results.
    way, shot, queries, suite
        What to plan, by default 5, 5, 1 to 15 and `open`; `suite` is `open` or `balanced`, or
        `pooled` for tasks that reuse images, whose pilot must reuse images, too, and have these
        ways, shots and queries.  With a log the suite is `pooled`, and `way` and `shot` choose
        among its tasks, by default those of 5 shots, else the first.
    tasks
        Numbers of tasks of `pooled` sets to plan besides 600, B0, B1 and that of a pooled set.
    runs
        Number of training runs of every method that has several in the pilot; by default the
        pilot's.
    level, power
        Confidence level of intervals, and power for the smallest detectable difference.
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
        if any(info.name.whole for info in release.task_sets):
            raise SubmissionError(
                "results with all classes at once are no pilot: they have no random tasks",
                where=release.source,
                expected="a log of random tasks, with the column class_ids",
            )
    suites, suite = (*PLANNED_SUITES, POOLED), "open" if suite is None else suite
    if suite not in suites:
        raise UnknownNameError("suite to plan", suite, suites)
    requested_way, requested_shot = way, shot
    way, shot = 5 if way is None else way, 5 if shot is None else shot
    queries = range(1, 16) if queries is None else queries
    for query in queries:
        Protocol(way, shot, query)
    pooled = suite == POOLED
    if tasks and not pooled:
        fix = "plan pooled ones: --suite pooled"
        raise SpecError(f"{suite} sets have as many tasks as there are", fix=fix)
    if any(number < 2 for number in tasks):
        raise SpecError(f"{min(tasks)} tasks cannot be planned", expected="at least 2")
    release = load_release(release)
    parts: list[Validated] = []
    if own is not None:
        parts.append(own.answers)
    else:
        if pilot is not None:
            read = merge(cast("Source", pilot))
            parts.append(validate(read, release, allow_unbound=allow_unbound))
        shape = ("closed" if pooled else "open", way, shot)
        alike = [
            info
            for info in release.task_sets
            if (info.name.interval, info.protocol.way, info.protocol.shot) == shape
        ]
        if references := reference_results(release, alike):
            parts.append(references)
    with_results = (name for part in parts for name in part.methods)
    known, chosen = tuple(dict.fromkeys((*with_results, *release.methods))), names_of(datasets)
    method = whole_name(method, known) if method else _default_method(parts, known, chosen, release)
    features = set[str]().union(
        *(features_in(part.submission, [method]) for part in parts if method in part.methods)
    )
    versus = versus and whole_name(versus, known, features)
    methods = [method, *([versus] if versus else [])]
    if versus == method:
        raise SubmissionError(f"{method} does not differ from itself", fix="name another method")
    answered = _answered(parts, release, methods)
    if own is not None:
        answered = {
            info: groups for info, groups in answered.items() if info.name.suite != "own_open"
        }
        if not answered:
            raise SubmissionError(
                "a pilot must reuse images: without reuse the images fix the number of tasks",
                where=own.release.source,
                expected="a log of tasks that reuse images",
                fix="draw the tasks with images reused, or make a release: --suite open",
            )
        protocol = _logged_protocol(own, answered, methods, chosen, requested_way, requested_shot)
        way, shot, queries = protocol.way, protocol.shot, [protocol.query]
    infos = _pilot_sets(release, answered, methods, chosen, way, shot, queries, suite)
    sets: list[SetPlan] = []
    left_out: list[str] = []
    if own is not None:
        for info in answered:
            if info not in infos:
                dataset = f"--dataset {info.dataset} " if len(own.release.facts) > 1 else ""
                left_out.append(f"{info}: planned with {dataset}--shots {info.protocol.shot}")
    for info in infos:
        progress(info.dataset)
        found = answered[info]
        try:
            _refuse_stopped(info, found)
            if pooled:
                sets.append(_pooled_plan(info, found, release, tasks, runs, level, power))
            else:
                sets.append(_open_plan(info, found, release, queries, suite, runs, level, power))
        except SpecError as error:
            if not pooled or info.dataset in chosen or (info is infos[-1] and not sets):
                raise
            left_out.append(f"{info}: {error.what}")
    pilots = [set_plan.pilot for set_plan in sets]
    unbound = [f"{used.name} on {used.info}" for used in pilots if not used.bound]
    signature = Signature.of(release, [used.info for used in pilots], level, unbound)
    return Plan(signature, suite, way, shot, power, tuple(sets), tuple(left_out))


def _default_method(
    parts: Sequence[Validated], known: Sequence[str], datasets: Sequence[str], release: Release
) -> str:
    """Return the method to plan with if none is named: the file's, or the first reference method.

    A reference method with results on the data sets is preferred.
    """
    if not parts:
        raise SubmissionError(
            f"release {release} has no reference results to plan with",
            expected="results of a pilot",
            fix="give a submission with class_correct or predictions: --pilot FILE",
        )
    methods = parts[0].methods
    if len(methods) > 1 and not parts[0].are_references:
        raise SubmissionError(
            f"{parts[0].submission.source} has results of {len(methods)} methods",
            expected=f"one of {listing(methods)}",
            fix="name the one to plan with: --pilot FILE::METHOD",
        )
    groups = parts[0].groups
    wanted = [group.method for group in groups if group.info.dataset in datasets]
    return next((name for name in methods if name in wanted), known[0])


def _answered(parts: Sequence[Validated], release: Release, methods: Sequence[str]) -> Answered:
    """Return the methods' results by task set; of several files the first with results counts."""
    answered = {}
    for info in release.task_sets:
        found = {
            group.method: (part, group)
            for part in reversed(parts)
            for group in part.on(info.dataset, str(info.name))
        }
        if all(method in found for method in methods):
            answered[info] = [found[method] for method in methods]
    return answered


def _logged_protocol(
    own: OwnLog,
    answered: Answered,
    methods: Sequence[str],
    datasets: Collection[str],
    way: int | None,
    shot: int | None,
) -> Protocol:
    """Return a log's protocol as requested: the one of 5 shots, else that of the first tasks."""
    all_sets = own.release.task_sets
    sets = [info for info in all_sets if not datasets or info.dataset in datasets] or all_sets
    protocols = [info.protocol for info in [i for i in sets if i in answered] or sets]
    requested = [p for p in protocols if way in (None, p.way) and shot in (None, p.shot)]
    if not requested:
        wanted = [f"{n} {what}" for n, what in ((way, "ways"), (shot, "shots")) if n is not None]
        raise SpecError(
            f"{' and '.join(methods)} answered no tasks of {' and '.join(wanted)}",
            where=own.release.source,
            expected=listing([*dict.fromkeys(map(str, protocols))], 12),
            fix="leave shots and ways out, or choose one of these",
        )
    return next((protocol for protocol in requested if protocol.shot == 5), requested[0])


def _refuse_stopped(info: TaskSetInfo, found: Found) -> None:
    """Raise a SubmissionError for a run that had a rule to stop."""
    for part, group in found:
        if rule_of(part, group) is not None:
            raise SubmissionError(
                f"{group.method} on {info} was run until it was conclusive, which makes its "
                "tasks no fair sample to plan from",
                fix="plan from a run of a fixed number of tasks",
            )


def _open_plan(
    info: TaskSetInfo,
    found: Found,
    release: Release,
    queries: Sequence[int],
    suite: str,
    runs: int | None,
    level: float,
    power: float,
) -> OpenPlan:
    """Plan sets that reuse no image; refuse a pilot that does not tell the variances."""
    tasks, tables = release.task_set(info.dataset, str(info.name)), []
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
    several = len(tables) > 1 or len(tables[0]) > 1  # methods or runs
    answers: tuple[Ints, Ints, int] | None = None
    if several:
        answers = class_differences(tables, tasks)
    elif (counts := class_counts(tables[0][0], tasks)) is not None:
        answers = counts, counts, 1
    if answers is None:
        lacking, column = "how many queries of each class are right", "class_correct, "
        if several:
            lacking, column = "which queries each is right on", ""
        raise SubmissionError(
            f"the results of {' and '.join(group.method for _, group in found)} on {info} do not "
            f"say {lacking}",
            expected=f"the column {column}predictions or correct in every row",
            fix="record the answers with fslbench evaluate or the recorder, which write it",
        )
    sums, squares, unit = answers
    estimate = estimate_difference(sums, squares, info.protocol.query, unit)
    mean = 100.0 * int(sums.sum()) / (len(sums) * info.protocol.n_query * unit)
    pilot = Pilot.of(info, found, mean, runs)
    design = ClassDesign.of(tasks.class_ids).prefix(len(sums))
    components = components_of(design, sums, estimate, unit)
    sizes: list[int] = release.classes(info.dataset).column("n_images").to_pylist()
    rows = plan_queries(
        components,
        sizes,
        way=info.protocol.way,
        shot=info.protocol.shot,
        queries=queries,
        suite=suite,
        level=level,
        power=power if pilot.versus else None,
        likely=LikelyComponents.of(design, sums, estimate, unit),
    )
    if pilot.runs.variance:
        rows = [row.with_runs(pilot.runs, level) for row in rows]
    choice = choose(estimate, info.protocol.shot, {row.query: row.tasks for row in rows}, level)
    return OpenPlan(pilot, len(sizes), sum(sizes), estimate, components, tuple(rows), choice)


def _pooled_plan(
    info: TaskSetInfo,
    found: Found,
    release: Release,
    tasks: Sequence[int],
    runs: int | None,
    level: float,
    power: float,
) -> PooledPlan:
    """Plan sets that reuse images, from a pilot whose tasks reuse images."""
    by_method = [counts_on([group]) for _, group in found]
    accuracies = [counts.correct[0] / counts.queries_per_task[0] for counts in by_method]
    common = min(map(len, accuracies))
    y = accuracies[0]
    if len(accuracies) > 1:
        y = accuracies[0][:common] - accuracies[1][:common]
    design = left_out_design(release, info)
    if not isinstance(design, TaskDesign):
        raise SpecError(
            "the pilot's tasks differ in their numbers of classes and images",
            where=str(info),
            expected="a pilot whose tasks are all of the size that is planned",
        )
    variances = LeftOutPilot.of(design.prefix(common), y)
    pilot = Pilot.of(info, found, 100.0 * float(np.mean(y)), runs)
    sizes = variances.sizes[variances.sizes > info.protocol.per_class]
    noiseless = stable = usual = None
    numbers = {CLOSED_TASKS, *tasks}
    if sizes.size >= info.protocol.way:
        noiseless, stable = enough_tasks(sizes, info.protocol)
        usual = number_of_tasks(sizes, info.protocol)
        numbers |= {noiseless, stable, usual}
    rows = plan_left_out(variances, numbers, level, power if pilot.versus else None, pilot.runs)
    half = tuple(to_halve(variances, kind, level) for kind in variances.parts)
    return PooledPlan(pilot, variances, rows, half, noiseless, stable, usual)


def _pilot_sets(
    release: Release,
    answered: Answered,
    methods: Sequence[str],
    datasets: tuple[str, ...],
    way: int,
    shot: int,
    queries: Sequence[int],
    suite: str,
) -> list[TaskSetInfo]:
    """Choose a task set of each data set, preferably of the suite; if pooled, of each protocol."""
    pooled = suite == POOLED
    for name in datasets:
        if name not in release.datasets:
            raise UnknownNameError("data set", name, release.datasets, where=f"release {release}")
    usable = [
        info
        for info in answered
        if (info.protocol.way, info.protocol.shot) == (way, shot)
        and info.name.interval == ("closed" if pooled else "open")
        and not info.name.whole
        and (suite_of(info.name.suite).uniform if pooled else info.protocol.query > 1)
        and (not pooled or info.protocol.query in queries)
    ]
    chosen: dict[tuple[str, object], TaskSetInfo] = {}
    for info in sorted(usable, key=lambda info: info.name.suite != suite):
        chosen.setdefault((info.dataset, info.protocol if pooled else None), info)
    having = {dataset for dataset, _ in chosen}
    known = [name for name in release.datasets if name in having]
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
            fix=f"{'' if pooled else 'plan from closed or pooled sets with --suite pooled; or '}"
            "run the method on such a task set and give the file: --pilot FILE; there are such "
            f"results of {listing(known) or 'no data set'}; of other tasks with --ways and --shots",
        )
    wanted = {info for info in chosen.values() if info.dataset in (datasets or known)}
    by_dataset = sorted(usable, key=lambda info: release.datasets.index(info.dataset))
    return [info for info in by_dataset if info in wanted]
