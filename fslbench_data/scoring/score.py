"""Scoring a submission: from per-task counts to what can be concluded.

Task sets on which intervals for new images would be narrower than on those that are answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.kinds import KIND
from analysis_sql.interval_kinds import Designs, kinds_of
from analysis_sql.intervals.bounds import near_perfect
from analysis_sql.intervals.counts import Counts
from benchmark_spec.errors import SubmissionError, listing
from benchmark_spec.protocol import IntervalKind, TaskSetName
from fslbench_data.release.release import Release, load_release
from fslbench_data.scoring.designs import designs_of
from fslbench_data.scoring.own_release import OwnRelease, open_log
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import (
    IntervalsOfMethod,
    Score,
    intervals_by_kind,
    scored_set,
    signature_of,
    stopped_run,
)
from fslbench_data.scoring.selection import (
    Answers,
    Names,
    Selected,
    Selection,
    features_of,
    reference_results,
    select,
)
from fslbench_data.scoring.summary import PrimarySet, primary_sets
from fslbench_data.scoring.task_set_report import TaskSetReport
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.validate import Validated, counts_on


def score(
    submission: Answers | None = None,
    release: Release | None = None,
    *,
    against: Names = (),
    datasets: Names = (),
    task_sets: Names = (),
    level: float = 0.95,
    allow_unbound: bool = False,
    references: bool = True,
    only_compared: bool = False,
) -> Report:
    """Compare every method of a submission with each other and with the reference methods.

    Parameters
    ----------
    submission, release
        The answers, a file or frame of them, or several, which :func:`fslbench_data.merge` joins;
        and the release whose tasks they answer: None is the one inside the package.  Without
        answers, the reference methods are compared with each other.  A log of one's own tasks
        (:func:`fslbench_data.open_log`) has its tasks with it.
    against, datasets, task_sets, level, allow_unbound, references
        As in :class:`fslbench_data.scoring.selection.Selection`; of the first three one name or
        several.
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
    level: float = 0.95,
) -> Report:
    """Compute what new images and new classes might change about means over random tasks.

    It is :func:`fslbench_data.score` of a log.

    Parameters
    ----------
    log, class_sizes, groups, superclasses, trained, inductive
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
    )
    return score(own, level=level)


def score_selected(
    submission: Answers | None,
    release: Release | None,
    selection: Selection,
    *,
    only_compared: bool = False,
    progress: Callable[[str], object] = lambda _: None,
) -> Report:
    """Score what a selection asks for; see :func:`score`.

    `progress` is called with what is done next.
    """
    progress("reading and checking")
    selected = select(submission, load_release() if release is None else release, selection)
    report = report_on(selected, progress=progress)
    compared = [task_set for task_set in report.sets if task_set.asked.any()]
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
) -> Report:
    """Compute scores and comparisons, at the selection's level or another.

    `progress` is called with the name of each task set before it is scored.
    """
    level = selected.selection.level if level is None else level
    sets = []
    for info in selected.infos:
        progress(str(info))
        sets.append(_set_report(info, selected, level))
    return _report(selected, sets, level)


def _report(selected: Selected, sets: Sequence[TaskSetReport], level: float) -> Report:
    used = {str(task_set.scored) for task_set in sets}
    used |= {task_set.scored.closed_twin for task_set in sets if task_set.has_closed}
    signature = signature_of(selected.release, selected.answers, used, level)
    left_out = tuple(str(info) for info in selected.left_out)
    release = selected.release
    log = release.facts if isinstance(release, OwnRelease) else None
    return Report(signature, tuple(sets), left_out, selected.selection.against, log)


def _set_report(info: TaskSetInfo, selected: Selected, level: float) -> TaskSetReport:
    """Scores and pairs on a task set that the submission answers."""
    parts, name = selected.parts, str(info.name)
    designs, units = designs_of(selected.release, info)
    methods = [group.method for part in parts for group in part.on(info.dataset, name)]
    own = len(selected.answers.on(info.dataset, name))
    counts, scores = _scores(parts, info.dataset, info.name, level, designs, units.missing)
    twin = _scores(parts, info.dataset, info.name.closed_twin, level, {}, {})[1]
    return TaskSetReport(
        scored=scored_set(info),
        interval_kind=info.name.interval,
        level=level,
        scores=scores,
        asked=_asked(methods, own, selected.selection.against),
        counts=counts,
        designs=designs,
        units=units,
        closed={
            score.method: replace(score.accuracy, halfwidth=None)
            if score.prefix
            else score.accuracy
            for score in twin
            if score.stopped is None
        },
    )


def _scores(
    parts: Sequence[Validated],
    dataset: str,
    name: TaskSetName,
    level: float,
    designs: Designs,
    why: Mapping[IntervalKind, str],
) -> tuple[Counts, tuple[Score, ...]]:
    """Counts and accuracies of everything that the parts answer of a task set, in order."""
    groups = [(part, group) for part in parts for group in part.on(dataset, str(name))]
    if not groups:
        return Counts(np.zeros((0, 0), np.int16), np.zeros(0, np.int64), 1), ()
    counts = counts_on([group for _, group in groups])
    kind, n_query = name.interval, name.protocol.n_query
    positions = {group.method: i for i, (_, group) in enumerate(groups)}
    kinds, of_all = kinds_of(kind, designs), intervals_by_kind(counts, kind, level, designs)
    scores = []
    for i, (part, group) in enumerate(groups):
        about = part.submission.methods.get(group.method)
        binding = part.submission.bindings.get((group.method, dataset, str(name)))
        stopped = None
        if binding is not None and binding.stopping is not None:
            rule = binding.stopping
            stopped = stopped_run(rule, group.method, counts, positions, kind, level)
        own = IntervalsOfMethod(of_all, kinds, i, why, holds=stopped is None)
        accuracy, prefix = own[kind], part.is_prefix(group)
        faultless = None
        if stopped is None and not prefix and accuracy.constant and accuracy.mean == 100.0:
            from analysis_sql.ranking.evidence import zeros

            faultless = zeros(designs.get(KIND), accuracy.tasks, level)
        scores.append(
            Score(
                dataset,
                str(name),
                group.method,
                part.are_references,
                kind,
                own,
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
                by_queries=_by_queries(designs, counts, i),
            )
        )
    return counts, tuple(scores)


def _by_queries(designs: Designs, counts: Counts, row: int) -> bool | None:
    """Tell whether a method's interval for new images uses which queries were right."""
    tasks = designs.get("images")
    design = tasks and tasks.at(int(counts.tasks[row]), "images")
    if not design or not design.takes_queries:
        return None
    told = bool(counts.right) and counts.right[row] is not None
    return told and design.queries is not None


def _asked(methods: Sequence[str], own: int, against: Sequence[str]) -> NDArray[np.bool_]:
    """Which pairs to compare, (own, methods): every unordered pair once.

    Each method with the later ones and the references; with `against`, only with those.
    """
    row, column = np.arange(own)[:, None], np.arange(len(methods))[None, :]
    if not against:
        return np.asarray(column > row)
    chosen = np.array([method in against for method in methods])
    both = chosen[:own, None] & chosen[None, :] & (column < own)
    return np.asarray(chosen[None, :] & (column != row) & ~(both & (column < row)))


def sets_of(selected: Selected) -> list[TaskSetReport]:
    """Report on all task sets, with every pair of the selection's methods.

    Without such, as :func:`fslbench_data.score` compares: the files' methods with all others.

    Raises
    ------
    SubmissionError
        If none of the methods has results there.
    """
    report, methods = report_on(selected), selected.selection.methods
    if not methods:
        return list(report.sets)
    sets = [some for task_set in report.sets if (some := task_set.only(methods)).scores]
    if not sets:
        raise no_results(methods, selected)
    return sets


def no_results(methods: Sequence[str], selected: Selected) -> SubmissionError:
    """Return the error of methods that have none on the chosen task sets."""
    return SubmissionError(
        f"{listing(methods)}: no results on {listing(selected.infos, 4)}",
        fix="choose other methods, or another data set",
    )


LEAST = 0.005
"""Share of a half-width below which another task set is not recommended."""


@dataclass(frozen=True)
class Narrower:
    """A pooled task set that is not answered, where another of its data, ways and shots is.

    `share` is by how much the references' half-widths for new images are smaller on it, the median.
    """

    info: TaskSetInfo
    share: float
    more: int


def narrower(report: Report, release: Release) -> Narrower | None:
    """Find the first pooled set that would give narrower intervals, if the references show it.

    Only one is looked at: to score a file shall not take much longer for it.
    """
    answered = {str(each.scored) for each in report.sets}
    pooled = {
        (info.dataset, info.protocol.way, info.protocol.shot): info
        for info in reversed(release.task_sets)
        if info.name.suite == "pooled" and str(info) not in answered
    }
    instead = []
    for each in primary_sets(report.sets):
        primary = PrimarySet.of(each)
        protocol = primary.name.protocol
        info = pooled.get((each.scored.dataset, protocol.way, protocol.shot))
        if info is not None and primary.images != "closed":
            instead.append((info, each))
    if not instead:
        return None
    info, each = instead[0]
    references = reference_results(release, [info])
    if references is None or not references.on(info.dataset, str(info.name)):
        return None
    selection = Selection(level=report.signature.level)
    (there,) = report_on(Selected(release, selection, references, None, (info,))).sets
    before, after = _widths(each), _widths(there)
    ratios = [after[name] / before[name] for name in before if name in after]
    share = 1.0 - median(ratios) if ratios else 0.0
    return Narrower(info, share, len(instead) - 1) if share >= LEAST else None


def _widths(each: TaskSetReport) -> dict[str, float]:
    """Half-widths for new images of the reference methods, where they are above 0."""
    kind = PrimarySet.of(each).images
    intervals = {s.method: s.intervals.get(kind) for s in each.scores if s.is_reference}
    return {name: i.halfwidth for name, i in intervals.items() if i is not None and i.halfwidth}
