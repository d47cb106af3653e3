"""Scoring a submission: from per-task counts to what can be concluded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs
from msgspec.structs import replace
from numpy.typing import NDArray

from analysis_sql.class_aware.kinds import CLASS_AWARE
from analysis_sql.interval_kinds import Designs
from analysis_sql.intervals.bounds import near_perfect
from analysis_sql.intervals.counts import Counts
from analysis_sql.ranking.multiple_comparisons import saturation
from benchmark_spec.errors import SubmissionError, listing, many
from benchmark_spec.protocol import TaskSetName
from fslbench_data.release.release import Release, load_release
from fslbench_data.scoring.designs import NO_UNITS, Units, designs_of
from fslbench_data.scoring.open_log import open_draws, open_log
from fslbench_data.scoring.own_release import OwnLog, OwnRelease
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import (
    Score,
    intervals_by_kind,
    signature_of,
    stopped_run,
)
from fslbench_data.scoring.selection import (
    Names,
    Selected,
    Selection,
    Sources,
    features_in,
    features_of,
    select,
    sets_named,
    whole_name,
)
from fslbench_data.scoring.task_log import as_texts, log_table
from fslbench_data.scoring.task_set_report import TaskSetReport, primary_sets
from fslbench_data.submission.bindings import Method
from fslbench_data.submission.merging import merge, renamed
from fslbench_data.submission.model import Source, Submission
from fslbench_data.submission.reading import is_all_ways, is_log
from fslbench_data.tasks import TaskSetInfo
from fslbench_data.validation.log_source import table_of
from fslbench_data.validation.validate import Validated, counts_on


def score(
    submission: Sources | None = None,
    release: Release | None = None,
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
    """Compare every method of a submission with each other and with the reference methods.

    Parameters
    ----------
    submission, release
        The answers, a file or frame of them, or several, which :func:`fslbench_data.merge` joins;
        and the release whose tasks they answer: None is the one inside the package.  Without
        answers, the reference methods are compared with each other.  A log of one's own tasks
        (:func:`fslbench_data.open_log`) has its tasks with it.
    against, methods, datasets, task_sets, level, allow_unbound, references
        As in :class:`fslbench_data.scoring.selection.Selection`; of the first four one name or
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
    """Compute what new images and new classes might change about means over random tasks.

    It is :func:`fslbench_data.score` of a log.

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


def all_ways(log: object, *, level: float = 0.95, pool: int = 0, against: Names = ()) -> Report:
    """Compute intervals for new test images and new draws of the support.

    It is :func:`fslbench_data.score` of a log of results with all classes at once.

    Parameters
    ----------
    log
        One row a method, draw and test image: method, image, class and predicted (names or
        numbers), draw (of the support; not for methods without any, such as zero-shot ones), and
        shots where several are compared; for intervals for new classes second, the class with the
        highest score but one.  A file, a frame, a mapping of columns or a list of rows.
    level
        Such as 0.95.
    pool
        Training images of a class that support draws are taken from; 0 where they are many.
    against
        Compare only with these methods, by default all pairs.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the log.
    """
    return score(open_draws(log, pool), level=level, against=against)


def score_selected(
    submission: Sources | None,
    release: Release | None,
    selection: Selection,
    *,
    only_compared: bool = False,
    progress: Callable[[str], object] = lambda _: None,
) -> Report:
    """Score a selection; see :func:`score`.

    `progress` is called with the name of each step.
    """
    progress("reading and checking")
    selected = select(submission, load_release() if release is None else release, selection)
    report = report_on(selected, progress=progress)
    if selected.selection.methods:
        report = _report(selected, _some_of(report, selected), selection.level)
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

    `progress` is called with the name of each task set before it is scored. `other` is the report
    at another level, whose designs and adjusted pairs serve for this one too.
    """
    level = selected.selection.level if level is None else level
    sets = []
    for number, info in enumerate(selected.infos):
        progress(str(info))
        sets.append(_set_report(info, selected, level, other.sets[number] if other else None))
    return _report(selected, sets, level)


def _report(selected: Selected, sets: Sequence[TaskSetReport], level: float) -> Report:
    used = {str(task_set.scored) for task_set in sets}
    scored = [task_set.scored for task_set in sets if task_set.has_closed]
    used |= {f"{info.dataset}/{info.name.closed_twin}" for info in scored}
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
    designs, units = (
        (other.designs, other.units)
        if other
        else designs_of(selected.release, info, (group.right for group in groups))
    )
    own = len(selected.results.on(info.dataset, name))
    counts, scores = _scores(parts, info.dataset, info.name, level, designs, units)
    twin = _scores(parts, info.dataset, info.name.closed_twin, level, {}, NO_UNITS)[1]
    return TaskSetReport(
        scored=info,
        interval_kind=info.name.interval,
        level=level,
        scores=scores,
        requested=_requested_pairs(methods, own, selected.selection.against),
        counts=counts,
        designs=designs,
        units=units,
        closed={
            score.method: structs.replace(score.accuracy, halfwidth=None)
            if score.prefix
            else score.accuracy
            for score in twin
            if score.stopped is None
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
    """Compute counts and accuracies of all that the parts answer of a task set, in order."""
    groups = [(part, group) for part in parts for group in part.on(dataset, str(name))]
    if not groups:
        return Counts(np.zeros((0, 0), np.int16), np.zeros(0, np.int64), 1), ()
    counts = counts_on([group for _, group in groups])
    kind, n_query = name.interval, name.protocol.n_query
    positions = {group.method: i for i, (_, group) in enumerate(groups)}
    of_method = intervals_by_kind(counts, kind, level, designs, units)
    scores = []
    for i, (part, group) in enumerate(groups):
        about = part.submission.methods.get(group.method)
        binding = part.submission.bindings.get((group.method, dataset, str(name)))
        stopped = None
        if binding is not None and binding.stopping is not None:
            rule = binding.stopping
            stopped = stopped_run(rule, group.method, counts, positions, kind, level)
        own = of_method(i, holds=stopped is None)
        accuracy, prefix = own[kind], part.is_prefix(group)
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
                by_queries=_by_queries(designs, counts, i, about),
                run_error=None if part.of_one_model(group) else sqrt(counts.run_variance[i]),
            )
        )
    return counts, tuple(scores)


def _by_queries(designs: Designs, counts: Counts, row: int, about: Method | None) -> bool | None:
    """Return whether a method's interval for new images uses which queries were right.

    None where it cannot: these tasks do not allow it, or the method uses queries together.
    """
    if about is not None and about.inductive is False:
        return None
    tasks = designs.get("images")
    design = tasks and tasks.at(int(counts.tasks[row]), "images")
    if not design or not design.takes_queries or counts.own_tasks:
        return None  # or runs have tasks of their own
    known = bool(counts.right) and counts.right[row] is not None
    return known and design.queries is not None


def _requested_pairs(methods: Sequence[str], own: int, against: Sequence[str]) -> NDArray[np.bool_]:
    """Return which pairs to compare, (own, methods): every unordered pair once.

    Each method with the later ones and the references; with `against`, only with those.
    """
    row, column = np.arange(own)[:, None], np.arange(len(methods))[None, :]
    if not against:
        return np.asarray(column > row)
    chosen = np.array([method in against for method in methods])
    both = chosen[:own, None] & chosen[None, :] & (column < own)
    return np.asarray(chosen[None, :] & (column != row) & ~(both & (column < row)))


def _some_of(report: Report, selected: Selected) -> list[TaskSetReport]:
    """Keep the selection's methods, and those that they are to be compared with."""
    chosen, against = selected.selection.methods, selected.selection.against
    names, sets = dict.fromkeys((*chosen, *against)), []
    for each in report.sets:
        some = each.only([name for name in each.methods if name in names])
        if any(name in chosen for name in some.methods):
            requested = _requested_pairs(some.methods, len(some.methods), against)
            sets.append(replace(some, requested=requested))
    if not sets:
        raise no_results(chosen, selected)
    return sets


def sets_of(selected: Selected) -> list[TaskSetReport]:
    """Report on all task sets, with every pair of the selection's methods.

    Without such, as :func:`fslbench_data.score` compares: the files' methods with all others.
    Raises a SubmissionError if none of the methods has results there.
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


def pooled_instead(report: Report, release: Release) -> list[TaskSetInfo]:
    """Return pooled sets that are not answered, where another of their data, ways and shots is."""
    answered = {str(each.scored) for each in report.sets}
    pooled = {
        (info.dataset, info.protocol.way, info.protocol.shot): info
        for info in reversed(release.task_sets)
        if info.name.suite == "pooled" and str(info) not in answered
    }
    instead = []
    for each in primary_sets(report.sets):
        protocol = each.scored.protocol
        info = pooled.get((each.scored.dataset, protocol.way, protocol.shot))
        if info is not None and each.displayed_kinds[0] != "closed":
            instead.append(info)
    return instead


def compare(
    a: Source,
    b: Source,
    release: Release | None = None,
    *,
    datasets: Names = (),
    task_sets: Names = (),
    level: float = 0.95,
    allow_unbound: bool = False,
) -> Report:
    """Compare two methods, A with B, on the task sets that both answered.

    Parameters
    ----------
    a, b
        Results of one method each: a submission, a file, ``FILE::METHOD`` for one of a file's
        methods, a frame, or the name of a reference method, or ``NCC`` for that on the features
        of the other (:mod:`fslbench_data.scoring.selection`).  Of a log of one's own tasks
        ``LOG::METHOD`` and another of its methods.  Two methods of one name get
        the names of their files, or (A) and (B).
    release
        None is the one inside the package.
    datasets, task_sets, level, allow_unbound
        As of :func:`fslbench_data.score`.

    Raises
    ------
    UnknownNameError, SubmissionError
        If there is no such method, more or fewer than two, or nothing that both answered.
    """
    opened = load_release() if release is None else release
    selection = Selection.of(
        datasets=datasets, task_sets=task_sets, level=level, allow_unbound=allow_unbound
    )
    results, selection = find_two([a, b], opened, selection)
    return score_selected(results, opened, selection, only_compared=True)


def find_two(
    names: Sequence[Source], release: Release, selection: Selection, **pool: Any
) -> tuple[Submission | OwnLog, Selection]:
    """Find the results of two methods, and select that the first is compared with the second.

    `names` are submissions, files, ``FILE::METHOD`` and reference methods, which together hold two
    methods, or those of a log; `pool` is what :func:`fslbench_data.open_log` takes besides.
    """
    first = names[0]
    if isinstance(first, str | Path) and is_log(str(first).partition("::")[0]):
        own = _two_of_log(list(map(str, names)), pool)
        return own, replace(selection, against=own.answers.methods[1:])
    parts = _parts(names, release)
    of_parts = [_names(part) for part in parts]
    methods = list(dict.fromkeys(name for part in of_parts for name in part))
    if len(parts) == 2 and of_parts[0] == of_parts[1] and len(methods) == 1:
        methods = _of_files(methods[0], names)
        parts = [
            renamed(part, {old: new})
            for part, (old,), new in zip(parts, of_parts, methods, strict=True)
        ]
    elif len(methods) != 2:
        several = next((n for n, held in zip(names, of_parts, strict=True) if len(held) > 1), None)
        raise SubmissionError(
            f"{listing([*map(_source_text, names)], 4)} hold{'s' if len(names) == 1 else ''} "
            f"{many(len(methods), 'method')}: {listing(methods)}",
            expected="two",
            fix=f"say which: {_source_text(several)}::{methods[0]}"
            if isinstance(several, str | Path)
            else "name another file or a reference method",
        )
    of_methods = [
        merge([selected(part, method) for part in parts if method in _names(part)])
        for method in methods
    ]
    of_methods = [
        _where_both(part, other, release)
        for part, other in zip(of_methods, reversed(of_methods), strict=True)
    ]
    both = merge(of_methods, " and ".join(part.source for part in of_methods))
    return both, replace(selection, against=(methods[1],), references=False)


def _of_files(method: str, names: Sequence[Source]) -> list[str]:
    """Return names for two methods of one name: with those of their files, or with (A) and (B)."""
    files = [
        Path(str(n).partition("::")[0]).stem if isinstance(n, str | Path) else "" for n in names
    ]
    return [f"{method} ({mark})" for mark in (files if files[0] != files[1] else ["A", "B"])]


def _where_both(part: Submission, other: Submission, release: Release) -> Submission:
    """Leave out what a reference method answers besides the task sets of the other, if any."""
    if not part.bindings or not all(bound.of_release for bound in part.bindings.values()):
        return part
    there = _answered(other)
    common = part.on([info for info in release.task_sets if info.text in there])
    return common if common.table.num_rows else part


def _two_of_log(names: Sequence[str], pool: dict[str, Any]) -> OwnLog:
    """Open a log of own tasks, or several, with two methods alone, in the order of their names.

    Two of one name, in different logs, are two methods.
    """
    parts = [name.partition("::") for name in names]
    logs = [*dict.fromkeys(file for file, _, _ in parts if is_log(file))]
    of_logs: dict[str, set[str]] = {}
    for file in logs if len(logs) > 1 else ():
        table = table_of(file, ("method",), file)
        if "method" in table.column_names:  # else reading the log says so
            of_logs[file] = {*as_texts(table.column("method")).to_pylist()}
    if len(logs) == len(parts) == 2 and not any(map(is_all_ways, logs)):
        one, other = ({method} if method else of_logs.get(file) for file, _, method in parts)
        if one and one == other and len(one) == 1:
            (name,) = one
            both = zip(logs, _of_files(name, names), strict=True)
            return open_log(
                [_of_method(log_table(file)[1], name, new) for file, new in both], **pool
            )
    own = open_log(logs, **pool)
    there = own.answers.methods
    named = [method or file for file, _, method in parts if method or file not in logs]
    methods: list[str] = []
    for file, _, method in parts:
        held = [method or file]
        if not method and file in logs:
            own_names = of_logs.get(file, there)
            held = [name for name in there if name in own_names and name not in named]
        methods += held
    if len(methods) != 2:
        raise SubmissionError(
            f"{listing(names, 4)} name{'s' if len(names) == 1 else ''} "
            f"{many(len(methods), 'method')} of {listing(logs)}, which "
            f"{'holds' if len(logs) == 1 else 'hold'} {listing(there)}",
            expected="two",
            fix=f"say which: {logs[0]}::{there[0]} {there[1]}"
            if len(there) > 1
            else "name another log besides",
        )
    return own.only(methods)


def _of_method(log: pa.Table, method: str, name: str) -> pa.Table:
    """Return the rows of a method of a log, under another name."""
    rows = log.filter(pc.equal(as_texts(log.column("method")), method))
    at = rows.column_names.index("method")
    return rows.set_column(at, "method", pa.repeat(name, len(rows)))


def answered_by_one(both: Submission, selection: Selection, release: Release) -> list[str]:
    """Return the chosen task sets that one of two methods answers alone, ``dataset/task_set``."""
    one, other = (_answered(selected(both, method)) for method in _names(both))
    chosen = sets_named(release.task_sets, selection)
    return sorted(info.text for info in chosen if info.text in one ^ other)


def _answered(part: Submission) -> set[str]:
    """Return the task sets that a submission answers, ``dataset/task_set``."""
    there = part.table.select(["dataset", "task_set"]).group_by(["dataset", "task_set"])
    return {f"{row['dataset']}/{row['task_set']}" for row in there.aggregate([]).to_pylist()}


def find_method(text: str, release: Release) -> Submission:
    """Return the results of one method: of a file, or of the release."""
    submission = _methods_of(text, release)
    if len(names := _names(submission)) > 1:
        raise SubmissionError(
            f"{text} holds {len(names)} methods: {', '.join(names)}",
            expected="one",
            fix=f"say which: {text}::{names[0]}",
        )
    return submission


def _source_text(source: Source) -> str:
    """Return the name of a source in messages."""
    if isinstance(source, str | Path):
        return str(source)
    return source.source if isinstance(source, Submission) else "the frame"


def _parts(sources: Sequence[Source], release: Release) -> list[Submission]:
    """Read the sources; a short name means the method on the features of the others."""
    read = [None if _is_name(source) else _methods_of(source, release) for source in sources]
    features = {own for part in read if part is not None for own in features_in(part, _names(part))}
    return [
        _methods_of(source, release, features) if part is None else part
        for source, part in zip(sources, read, strict=True)
    ]


def _is_name(source: Source) -> bool:
    """Return whether something is the name of a reference method, and no file."""
    if not isinstance(source, str | Path):
        return False
    file = Path(str(source).partition("::")[0])
    return not file.suffix and not file.exists()


def _methods_of(
    source: Source, release: Release, features: Collection[str] = frozenset()
) -> Submission:
    """Return the results of a file, of one method of it, or of a reference method."""
    if not isinstance(source, str | Path):
        return merge(source)
    text = str(source)
    if text in release.methods or _is_name(source):
        name = whole_name(
            text,
            release.methods,
            features,
            where=f"release {release}",
            fix="name a submission file, FILE::METHOD, or a reference method",
        )
        return release.reference(name).declare(trained=False)
    file, _, method = text.partition("::")
    submission = Submission.read(file)
    if not method:
        return submission
    return selected(submission, whole_name(method, _names(submission), where=file))


def selected(submission: Submission, method: str) -> Submission:
    """Return the rows of one method of a submission."""
    column = submission.table.column("method").cast(pa.string())
    table = submission.table.filter(pc.equal(column, pa.scalar(method)))
    return replace(
        submission,
        table=table,
        methods={name: about for name, about in submission.methods.items() if name == method},
        bindings={key: bound for key, bound in submission.bindings.items() if key[0] == method},
    )


def _names(submission: Submission) -> list[str]:
    """Return the names of its methods, in the order of their first row."""
    names: list[str] = submission.table.column("method").unique().to_pylist()
    return names
