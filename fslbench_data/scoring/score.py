"""Score submissions: compare methods on every task set that they answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.class_aware.kinds import CLASS_AWARE
from analysis_sql.interval_kinds import Designs
from analysis_sql.intervals.counts import Counts
from analysis_sql.intervals.intervals import near_perfect
from analysis_sql.multiple_comparisons import saturation
from benchmark_spec.errors import SubmissionError, listing
from benchmark_spec.protocol import TaskSetName
from fslbench_data.release.release import AnyRelease, Release, load_release
from fslbench_data.scoring.designs import NO_UNITS, Units, designs_of, estimable
from fslbench_data.scoring.open_log import open_log
from fslbench_data.scoring.own_release import OwnRelease
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import (
    Score,
    intervals_by_kind,
    rule_of,
    signature_of,
    stopped_run,
)
from fslbench_data.scoring.selection import (
    Names,
    Selected,
    Selection,
    Sources,
    features_of,
    select,
)
from fslbench_data.scoring.task_set_report import TaskSetReport, primary_sets
from fslbench_data.submission.model import Method
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.validate import Validated, counts_on


def score(
    submission: Sources | None = None,
    release: AnyRelease = None,
    *,
    against: Names = (),
    methods: Names = (),
    datasets: Names = (),
    task_sets: Names = (),
    level: float = 0.95,
    allow_unbound: bool = False,
    references: bool = True,
    only_compared: bool = False,
) -> Report:
    """Compare the methods of a submission with each other and with the reference methods.

    Parameters
    ----------
    submission, release
        The answers, a file or frame of them, or several, which :func:`fslbench_data.merge` joins;
        and the release whose tasks they answer, or what :func:`fslbench_data.load_release` opens:
        None is the one inside the package.  Without answers, the reference methods are compared
        with each other.  A log of one's own tasks (:func:`fslbench_data.open_log`) brings its
        tasks.
    against
        Methods to compare with, one name or several, of the submission or of the references, whole
        or as outputs print them; by default all of both.
    methods
        The only methods to show, and to compare with each other or `against`; by default all.
    datasets, task_sets
        The only ones to use; by default all that the submission answers, except those made with
        attributes of images (:func:`fslbench_data.scoring.bias.bias` reads them together).
    level
        Confidence level of every interval.
    allow_unbound
        Accept answers that do not name their tasks by fingerprint; the report says so.
    references
        Whether the release's reference methods take part; without them, the submission may use
        their names.
    only_compared
        Leave out task sets on which nothing is compared.

    Returns
    -------
    Report
        Each unordered pair of methods once per task set, over the tasks that both answered.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the arguments or the submission.
    """
    selection = Selection.of(
        against=against,
        methods=methods,
        datasets=datasets,
        task_sets=task_sets,
        level=level,
        allow_unbound=allow_unbound,
        references=references,
    )
    return score_selected(submission, release, selection, only_compared=only_compared)


def interval(
    log: object,
    *,
    class_sizes: Mapping[object, int] | str | Path | None = None,
    groups: object = None,
    superclasses: object = None,
    trained: bool | None = None,
    inductive: bool | None = None,
    pool: int | None = None,
    level: float = 0.95,
) -> Report:
    """Compute intervals for new images and new classes: :func:`fslbench_data.score` of a log.

    Parameters
    ----------
    log, class_sizes, groups, superclasses, trained, inductive, pool
        As of :func:`fslbench_data.open_log`.
    level
        Such as 0.95.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the log, or with how tasks were drawn.
    """
    own = open_log(
        log,
        class_sizes=class_sizes,
        groups=groups,
        superclasses=superclasses,
        trained=trained,
        inductive=inductive,
        pool=pool,
    )
    return score(own, level=level)


def score_selected(
    submission: Sources | None,
    release: AnyRelease,
    selection: Selection,
    *,
    only_compared: bool = False,
    progress: Callable[[str], object] = lambda _: None,
) -> Report:
    """Score a selection as :func:`score` does; `progress` is called with the name of each step."""
    progress("reading and checking")
    selected = select(submission, load_release(release), selection)
    report = report_on(selected, progress=progress)
    if selected.selection.methods:
        report = _report(selected, _with_selected_methods(report, selected), selection.level)
    compared = [task_set for task_set in report.sets if task_set.requested.any()]
    if selection.against and not compared:
        raise SubmissionError(
            f"there is nothing to compare: {listing(selected.selection.against)} has no results on "
            f"{listing(selected.infos, 4)}, or is the only method there",
            fix="choose methods that answered the same task sets",
        )
    return _report(selected, compared, selection.level) if only_compared else report


def report_on(
    selected: Selected,
    level: float | None = None,
    progress: Callable[[str], object] = lambda _: None,
    other: Report | None = None,
) -> Report:
    """Compute scores and comparisons, at the selection's level or another.

    `progress` is called with the name of each task set before it is scored.  `other` is the report
    at another level, whose designs and adjusted pairs are used again.
    """
    level = selected.selection.level if level is None else level
    sets = []
    for number, info in enumerate(selected.infos):
        progress(str(info))
        sets.append(_set_report(info, selected, level, other.sets[number] if other else None))
    return _report(selected, sets, level)


def _report(selected: Selected, sets: Sequence[TaskSetReport], level: float) -> Report:
    used = {str(task_set.scored) for task_set in sets}
    twins = [task_set.scored for task_set in sets if task_set.has_closed]
    used |= {f"{info.dataset}/{info.name.closed_twin}" for info in twins}
    signature = signature_of(selected.release, selected.results, used, level)
    left_out = tuple(str(info) for info in selected.left_out)
    release = selected.release
    logs = release.facts if isinstance(release, OwnRelease) else {}
    return Report(signature, tuple(sets), left_out, selected.selection.against, logs)


def _set_report(
    info: TaskSetInfo, selected: Selected, level: float, other: TaskSetReport | None
) -> TaskSetReport:
    """Return scores and pairs on a task set that the submission answers."""
    parts, name = selected.parts, str(info.name)
    groups = [group for part in parts for group in part.on(info.dataset, name)]
    methods = [group.method for group in groups]
    if other:
        designs, units = other.designs, other.units
    else:
        designs, units = designs_of(selected.release, info, (group.right for group in groups))
        if isinstance(selected.release, OwnRelease):
            designs, units = estimable(designs, units)
    n_own = len(selected.results.on(info.dataset, name))
    counts, scores = _scores(parts, info.dataset, info.name, level, designs, units)
    twin = _scores(parts, info.dataset, info.name.closed_twin, level, {}, NO_UNITS)[1]
    return TaskSetReport(
        scored=info,
        interval_kind=info.name.interval,
        level=level,
        scores=scores,
        requested=_requested_pairs(methods, n_own, selected.selection.against),
        counts=counts,
        designs=designs,
        units=units,
        closed={
            s.method: replace(s.accuracy, halfwidth=None) if s.prefix else s.accuracy
            for s in twin
            if s.stopped is None
        },
        at_other_level=other,
    )


def _scores(
    parts: Sequence[Validated],
    dataset: str,
    name: TaskSetName,
    level: float,
    designs: Designs,
    units: Units,
) -> tuple[Counts, tuple[Score, ...]]:
    """Return the counts and scores of all methods that answered a task set, in order."""
    groups = [(part, group) for part in parts for group in part.on(dataset, str(name))]
    if not groups:
        return Counts(np.zeros((0, 0), np.int16), np.zeros(0, np.int64), 1), ()
    counts = counts_on([group for _, group in groups])
    kind, n_query = name.interval, name.protocol.n_query
    positions = {group.method: row for row, (_, group) in enumerate(groups)}
    intervals_of = intervals_by_kind(counts, kind, level, designs, units)
    scores = []
    for row, (part, group) in enumerate(groups):
        about = part.submission.methods.get(group.method)
        stopped = None
        if (rule := rule_of(part, group)) is not None:
            stopped = stopped_run(rule, group.method, counts, positions, kind, level)
        intervals = intervals_of(row, holds=stopped is None)
        accuracy, prefix = intervals[kind], part.is_prefix(group)
        faultless = None
        if stopped is None and not prefix and accuracy.constant and accuracy.mean == 100.0:
            faultless = saturation(designs.get(CLASS_AWARE), accuracy.tasks, level)
        scores.append(
            Score(
                dataset,
                str(name),
                group.method,
                part.are_references,
                kind,
                intervals,
                faultless=faultless,
                stopped=stopped,
                runs=max(len(group.runs), 1),
                run_spread=group.run_spread,
                run_means=group.run_means,
                transductive=about is not None and about.transductive,
                trained=None if about is None else about.trained,
                prefix=prefix,
                near_perfect=near_perfect(accuracy, n_query),
                backbone=features_of(group.method, about),
                by_queries=_by_queries(designs, counts, row, about),
                run_error=None if part.of_one_model(group) else sqrt(counts.run_variance[row]),
            )
        )
    return counts, tuple(scores)


def _by_queries(designs: Designs, counts: Counts, row: int, about: Method | None) -> bool | None:
    """Return whether a method's interval for new images uses which queries were right.

    None where it cannot: these tasks do not allow it, runs have tasks of their own, or the method
    uses queries together.
    """
    if about is not None and about.inductive is False:
        return None
    tasks = designs.get("images")
    design = tasks and tasks.at(int(counts.tasks[row]), "images")
    if not design or not design.takes_queries or counts.own_tasks:
        return None
    known = bool(counts.right) and counts.right[row] is not None
    return known and design.queries is not None


def _requested_pairs(
    methods: Sequence[str], n_own: int, against: Sequence[str]
) -> NDArray[np.bool_]:
    """Return which pairs (n_own, methods) to compare: every unordered pair once.

    Each of the submission's methods is compared with the later ones and the references, or only
    with those in `against`.
    """
    row, column = np.arange(n_own)[:, None], np.arange(len(methods))
    if not against:
        return np.asarray(column > row)
    baseline = np.array([method in against for method in methods])
    twice = baseline[:n_own, None] & baseline & (column < n_own)  # requested in both orders
    return np.asarray(baseline & (column != row) & ~(twice & (column < row)))


def _with_selected_methods(report: Report, selected: Selected) -> list[TaskSetReport]:
    """Keep the selection's methods, and those that they are to be compared with."""
    chosen, against = selected.selection.methods, selected.selection.against
    sets = []
    for task_set in report.sets:
        kept = task_set.only([m for m in task_set.methods if m in chosen or m in against])
        if any(method in chosen for method in kept.methods):
            requested = _requested_pairs(kept.methods, len(kept.methods), against)
            sets.append(replace(kept, requested=requested))
    if not sets:
        raise no_results(chosen, selected)
    return sets


def sets_of(selected: Selected) -> list[TaskSetReport]:
    """Report on all task sets, with every pair of the selection's methods.

    A selection without methods is compared as :func:`fslbench_data.score` does.  Raises a
    SubmissionError if none of the methods has results there.
    """
    report, methods = report_on(selected), selected.selection.methods
    if not methods:
        return list(report.sets)
    kept = [task_set.only(methods) for task_set in report.sets]
    sets = [task_set for task_set in kept if task_set.scores]
    if not sets:
        raise no_results(methods, selected)
    return sets


def no_results(methods: Sequence[str], selected: Selected) -> SubmissionError:
    """Return the error for methods without results on the chosen task sets."""
    return SubmissionError(
        f"{listing(methods)}: no results on {listing(selected.infos, 4)}",
        fix="choose other methods, or another data set",
    )


def pooled_instead(report: Report, release: Release) -> list[TaskSetInfo]:
    """Return pooled sets to answer in place of others of the same data set, ways and shots."""
    answered = {str(task_set.scored) for task_set in report.sets}
    pooled = {
        (info.dataset, info.protocol.way, info.protocol.shot): info
        for info in reversed(release.task_sets)
        if info.name.suite == "pooled" and str(info) not in answered
    }
    instead = []
    for task_set in primary_sets(report.sets):
        protocol = task_set.scored.protocol
        info = pooled.get((task_set.scored.dataset, protocol.way, protocol.shot))
        if info is not None and task_set.displayed_kinds[0] != "closed":
            instead.append(info)
    return instead
