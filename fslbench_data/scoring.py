"""Scoring a submission: from per-task counts to what can be concluded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from analysis_sql.comparison import Comparison, PairMoments, compare
from analysis_sql.engine import Engine
from analysis_sql.intervals import Interval, check_level, interval
from analysis_sql.moments import Moments
from benchmark_spec.errors import SubmissionError, UnknownNameError, listing
from benchmark_spec.schemas import SUBMISSION
from benchmark_spec.version import __version__
from fslbench_data.release import Release, load_release
from fslbench_data.report import Report, Score, ScoredSet, Signature
from fslbench_data.submission.checks import Group, Validated, validate
from fslbench_data.submission.model import Submission, merge
from fslbench_data.tasks import TaskSetInfo


def score(
    submission: Submission | str | Path,
    release: Release | None = None,
    *,
    against: str | Sequence[str] = (),
    datasets: str | Sequence[str] = (),
    task_sets: str | Sequence[str] = (),
    level: float = 0.95,
    allow_unbound: bool = False,
) -> Report:
    """Compare every method of a submission with each other and with the reference methods.

    Parameters
    ----------
    submission, release
        The answers, or a file of them, and the release whose tasks they answer; None is the
        one inside the package.
    against
        Names of the methods to compare with, of the submission or reference methods; by default
        all of both.
    datasets, task_sets
        Score only these; by default all that the submission answers.
    level
        Confidence level of every interval.
    allow_unbound
        Accept answers that do not say which tasks they were made on; the report says so.

    Returns
    -------
    Report
        Each unordered pair of methods once per task set, over the tasks that both answered.

    Raises
    ------
    FSLBenchError
        A kind of it for everything that can be wrong with the arguments or the submission.
    """
    check_level(level)
    if not isinstance(submission, Submission):
        submission = Submission.read(submission)
    release = load_release() if release is None else release
    against, datasets, task_sets = _names(against), _names(datasets), _names(task_sets)
    answers = validate(submission, release, allow_unbound=allow_unbound)
    references = _references(release)
    _check_against(against, answers, release)
    infos = _chosen(answers, release, datasets, task_sets)
    pairs = _pairs(infos, answers.groups, references.groups if references else (), against)
    if against and not pairs:
        raise SubmissionError(
            f"there is nothing to compare: {listing(against)} has no results on "
            f"{listing(infos, 4)}, or is the only method there",
            where="--against",
            fix="fslbench info lists the reference methods; leave --against away for accuracies",
        )
    tables = {
        "task_sets": _task_set_table(release),
        "results": _results_table(answers, references),
        "pairs": _pair_table(pairs),
    }
    with Engine(tables) as engine:
        scores = _scores(engine.run("method_moments"), release, level)
        moments = {_key(row): _pair_moments(row) for row in engine.run("pair_moments")}
    return Report(
        signature=_signature(release, answers, infos, level),
        scores=_ordered_scores(scores, infos, answers, release),
        comparisons=tuple(
            _comparison(info, names, moments, scores, level) for info, names in pairs
        ),
    )


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _references(release: Release) -> Validated | None:
    submissions = release.references(counts_only=True)
    return validate(merge(submissions), release, taken=()) if submissions else None


def _check_against(against: Sequence[str], answers: Validated, release: Release) -> None:
    known = [*answers.methods, *release.methods]
    for name in against:
        if name not in known:
            raise UnknownNameError(
                "method",
                name,
                known,
                where="--against",
                fix="name methods of the file or reference methods of the release",
            )


def _chosen(
    answers: Validated, release: Release, datasets: Sequence[str], task_sets: Sequence[str]
) -> list[TaskSetInfo]:
    """The answered task sets that are asked for, in the release's order."""
    answered = {str(group.info) for group in answers.groups}
    infos = [info for info in release.task_sets if str(info) in answered]
    for kind, asked, there in (
        ("data set", datasets, dict.fromkeys(info.dataset for info in infos)),
        ("task set", task_sets, dict.fromkeys(str(info.name) for info in infos)),
    ):
        for name in asked:
            if name not in there:
                raise UnknownNameError(kind, name, there, where="what the submission answers")
    chosen = [
        info
        for info in infos
        if (not datasets or info.dataset in datasets)
        and (not task_sets or str(info.name) in task_sets)
    ]
    if not chosen:
        raise SubmissionError(
            "the submission answers no task set of these data sets",
            expected=", ".join(str(info) for info in infos),
        )
    return chosen


def _pairs(
    infos: Sequence[TaskSetInfo],
    groups: Sequence[Group],
    references: Sequence[Group],
    against: Sequence[str],
) -> list[tuple[TaskSetInfo, tuple[str, str]]]:
    """Every unordered pair once: each method with the later ones, then with the references."""
    pairs: list[tuple[TaskSetInfo, tuple[str, str]]] = []
    for info in infos:
        own = [group.method for group in groups if group.info == info]
        others = [group.method for group in references if group.info == info]
        seen: set[frozenset[str]] = set()
        for method in own:
            for versus in [*own, *others]:
                pair = frozenset((method, versus))
                if len(pair) < 2 or pair in seen or (against and versus not in against):
                    continue
                seen.add(pair)
                pairs.append((info, (method, versus)))
    return pairs


def _task_set_table(release: Release) -> pa.Table:
    infos = release.task_sets
    return pa.table(
        {
            "dataset": [info.dataset for info in infos],
            "task_set": [str(info.name) for info in infos],
            "n_tasks": pa.array([info.n_tasks for info in infos], pa.int32()),
            "n_query": pa.array([info.protocol.n_query for info in infos], pa.int32()),
        }
    )


def _results_table(answers: Validated, references: Validated | None) -> pa.Table:
    parts = []
    for part, is_reference in ((answers, False), (references, True)):
        if part is not None:
            table = part.submission.table.select(SUBMISSION.names)
            flag = pa.array([is_reference]).take(pa.array([0] * table.num_rows, pa.int32()))
            parts.append(table.append_column("is_reference", flag))
    return pa.concat_tables(parts).unify_dictionaries()


def _pair_table(pairs: Sequence[tuple[TaskSetInfo, tuple[str, str]]]) -> pa.Table:
    columns = {
        "dataset": [info.dataset for info, _ in pairs],
        "task_set": [str(info.name) for info, _ in pairs],
        "method": [method for _, (method, _) in pairs],
        "versus": [versus for _, (_, versus) in pairs],
    }
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def _key(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return row["dataset"], row["task_set"], row["method"], row["versus"]


def _pair_moments(row: Mapping[str, Any]) -> PairMoments:
    def moments(prefix: str) -> Moments:
        return Moments(row["tasks"], row[f"{prefix}total"], row[f"{prefix}squares"], row["n_query"])

    return PairMoments(moments(""), moments("versus_"), moments("difference_"))


def _scores(
    rows: Sequence[Mapping[str, Any]], release: Release, level: float
) -> dict[tuple[str, str, str], Score]:
    kinds = {(info.dataset, str(info.name)): info.name.interval for info in release.task_sets}
    found = {}
    for row in rows:
        dataset, task_set, method = row["dataset"], row["task_set"], row["method"]
        moments = Moments(row["tasks"], row["total"], row["squares"], row["n_query"])
        accuracy = interval(moments, kinds[dataset, task_set], level)
        found[dataset, task_set, method] = Score(
            dataset, task_set, method, row["is_reference"], accuracy
        )
    return found


def _ordered_scores(
    scores: Mapping[tuple[str, str, str], Score],
    infos: Sequence[TaskSetInfo],
    answers: Validated,
    release: Release,
) -> tuple[Score, ...]:
    keys = (
        (info.dataset, str(info.name), method)
        for info in infos
        for method in [*answers.methods, *release.methods]
    )
    return tuple(scores[key] for key in keys if key in scores)


def _comparison(
    info: TaskSetInfo,
    names: tuple[str, str],
    moments: Mapping[tuple[str, str, str, str], PairMoments],
    scores: Mapping[tuple[str, str, str], Score],
    level: float,
) -> Comparison:
    dataset, task_set = info.dataset, str(info.name)
    twin = str(info.name.closed_twin)
    closed: list[Interval] = [
        scores[dataset, twin, name].accuracy for name in names if (dataset, twin, name) in scores
    ]
    return compare(
        dataset,
        task_set,
        names,
        moments[dataset, task_set, *names],
        kind=info.name.interval,
        level=level,
        closed=(closed[0], closed[1]) if len(closed) == 2 else None,
    )


def _signature(
    release: Release, answers: Validated, infos: Sequence[TaskSetInfo], level: float
) -> Signature:
    chosen = {str(info) for info in infos}
    return Signature(
        package_version=__version__,
        release=str(release),
        release_digest=release.manifest.digest,
        level=level,
        sets=tuple(
            ScoredSet(info.dataset, str(info.name), info.n_tasks, info.fingerprint)
            for info in infos
        ),
        unbound=tuple(
            f"{group.method} on {group.info}"
            for group in answers.groups
            if not group.bound and str(group.info) in chosen
        ),
    )
