"""What the report page shows, as plain values that its script reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.pairs import KIND
from analysis_sql.comparison.verdicts import NOT_ESTIMABLE, VERDICTS, Comparison, direct_verdicts
from analysis_sql.interval_kinds import ESTIMANDS
from analysis_sql.intervals.intervals import Interval
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.version import __version__
from fslbench_data.render.csv_format import COLUMNS
from fslbench_data.render.figures import rows
from fslbench_data.render.figures.rows import Figure
from fslbench_data.render.figures.style import VERDICT_NAMES
from fslbench_data.render.limits_text import unseen_text
from fslbench_data.render.page.encoding import Encoded, counts, floats
from fslbench_data.scoring.bias import BiasReport
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import no_results, report_on
from fslbench_data.scoring.scores import PREFIX
from fslbench_data.scoring.selection import Selected
from fslbench_data.scoring.task_set_report import TaskSetReport

MOST_CHOSEN = 50
"""Methods whose pairs and tasks a page holds."""

LEVELS = (0.9, 0.95, 0.99)
"""Levels that can be chosen on a page, beside the one it was made with."""

Values = dict[str, Any]


def page_content(
    selected: Selected,
    *,
    ladders: BiasReport | None = None,
    queries: Figure | None = None,
    arguments: str = "",
) -> Values:
    """What a page shows.

    Parameters
    ----------
    selected
        At its level the page opens.  Its methods are those whose pairs and tasks the page holds; by
        default those of the submission, then the reference methods, of these the ones with the
        highest means, :data:`MOST_CHOSEN` in all.
    ladders, queries
        What there is of attribute-biased tasks, and of sweeps of the number of queries.
    arguments
        Of the command that made the page, for the commands that it shows.

    Raises
    ------
    SubmissionError
        If none of its methods has results there.
    """
    level = selected.selection.level
    levels = sorted({*LEVELS, level})
    reports = {each: report_on(selected, each) for each in levels}
    main = reports[level]
    answered = {method for each in main.sets for method in each.methods}
    names = tuple(name for name in selected.methods if name in answered)
    wanted = selected.selection.methods or _chosen(selected, main)
    chosen = tuple(name for name in wanted if name in answered)
    shown = [i for i, each in enumerate(main.sets) if {*chosen} & {*each.methods}]
    if not shown:
        raise no_results(wanted, selected)
    with ThreadPoolExecutor() as pool:  # most of it is arithmetic on large arrays
        by_level = [{at: reports[at].sets[i] for at in levels} for i in shown]
        sets = list(pool.map(lambda each: _set(each, level, names, chosen), by_level))
    of_release = set(selected.references.methods) if selected.references else set()
    return {
        "version": __version__,
        "release": main.signature.release,
        "signature": {str(at): str(report.signature) for at, report in reports.items()},
        "unbound": bool(main.signature.unbound),
        "arguments": arguments,
        "level": level,
        "levels": levels,
        "estimands": dict(ESTIMANDS),
        "verdicts": VERDICT_NAMES,
        "prefix": PREFIX,
        "columns": list(COLUMNS),
        "methods": list(names),
        "reference": [name in of_release for name in names],
        "chosen": [names.index(name) for name in chosen],
        "files": bool(selected.references),
        "sets": sets,
        "ladders": _ladders(ladders),
        "queries": None if queries is None else _figure(queries),
    }


def _chosen(selected: Selected, report: Report) -> tuple[str, ...]:
    """The submission's methods, then the references, the highest means first if too many."""
    place: dict[str, list[float]] = {}
    for each in report.sets:
        means = np.array([score.accuracy.mean for score in each.scores])
        for name, rank in zip(each.methods, np.argsort(np.argsort(-means)), strict=True):
            place.setdefault(name, []).append(float(rank) / len(means))
    found: list[str] = []
    for part in selected.parts:
        left = MOST_CHOSEN - len(found)
        own = [name for name in part.methods if name in place]
        best = sorted(own, key=lambda name: (np.mean(place[name]), name))[:left]
        found += [name for name in own if name in set(best)]
    return tuple(found)


def _set(
    at: Mapping[float, TaskSetReport], level: float, names: Sequence[str], chosen: Sequence[str]
) -> Values:
    """A task set; `at` are its reports by level."""
    each = at[level]
    name = TaskSetName.parse(each.scored.task_set)
    ties = each.ties
    position = {method: i for i, method in enumerate(each.methods)}
    members = [method for method in chosen if method in position]
    some = {key: report.only(members) for key, report in at.items()}
    return {
        "dataset": each.scored.dataset,
        "task_set": each.scored.task_set,
        "fingerprint": each.scored.fingerprint,
        "T": each.scored.n_tasks,
        "way": name.protocol.way,
        "shot": name.protocol.shot,
        "query": name.protocol.query,
        "kind": each.interval_kind,
        "aware": each.design is not None,
        "unseen": {
            str(key): unseen_text(report.design.classes, report.level)
            for key, report in at.items()
            if report.design is not None
        },
        "closed_set": each.closed_set if each.has_closed else "",
        "members": [names.index(method) for method in each.methods],
        "tasks": [int(score.accuracy.tasks) for score in each.scores],
        "mean": floats(np.array([score.accuracy.mean for score in each.scores])),
        "half": _by_level(at, lambda r: [_half(s.accuracy) for s in r.scores]),
        "half_aware": _by_level(at, lambda r: [_half(s.intervals.get(KIND)) for s in r.scores]),
        "contest": _positions(ties.methods if ties else None, position),
        "best": position[ties.best] if ties else -1,
        "tied": _positions(ties.tied[each.interval_kind] if ties else None, position),
        "tied_aware": _positions(ties.tied.get(KIND) if ties else None, position),
        "chosen": [position[method] for method in members],
        "unit": some[level].counts.queries_per_task.tolist(),
        "counts": counts(_padded(some[level].counts.correct, each.scored.n_tasks)),
        "prefix": [score.prefix for score in each.scores],
        "pairs": _pairs(some),
    }


def _padded(correct: NDArray[Any], tasks: int) -> NDArray[Any]:
    """Counts (M, T): 0 for tasks that no method has answered."""
    return np.pad(correct, ((0, 0), (0, tasks - correct.shape[1])))


def _pairs(some: Mapping[float, TaskSetReport]) -> Values:
    """Every pair of the chosen methods, row by row of the upper triangle."""
    any_level = next(iter(some.values()))
    upper = np.triu_indices(len(any_level.scores), 1)
    tasks = np.broadcast_to(any_level.pairs.tasks, any_level.asked.shape)[upper]
    of_first = any_level.counts.tasks[upper[0]]
    found = {key: _pairs_at(report, upper) for key, report in some.items()}
    return {
        "tasks": tasks.tolist() if (tasks != any_level.counts.tasks[0]).any() else None,
        "diff": floats(any_level.pairs.difference[upper]),
        **{name: {str(key): each[name] for key, each in found.items()} for name in _PAIR},
        "reason": {str(key): _reasons(report, upper) for key, report in some.items()},
        "shorter": {
            str(k): {
                str(key): _own(report.comparison(int(upper[0][k]), int(upper[1][k])))
                for key, report in some.items()
            }
            for k in np.flatnonzero(tasks != of_first).tolist()
        },
    }


_PAIR = ("half", "half_aware", "verdict", "direct", "closed", "aware", "aware_direct")
"""What is known of a pair at each level."""


def _pairs_at(report: TaskSetReport, upper: tuple[NDArray[Any], NDArray[Any]]) -> Values:
    """The pairs at one level: what their comparisons say, as arrays and texts of verdicts."""
    pairs = report.pairs
    half, verdict, direct = pairs.halfwidth[upper], pairs.verdict[upper], pairs.direct[upper]
    half_aware, new, new_direct = (np.full(half.shape, none) for none in (nan, -1, -1))
    if KIND in report.kinds:
        aware = report.pairs_of(KIND)
        half_aware, new, new_direct = (
            values[upper] for values in (aware.halfwidth, aware.verdict, aware.direct)
        )
    closed = _closed_verdicts(report)[upper]
    closed[(closed >= 0) & report.of_prefix[upper]] = NOT_ESTIMABLE
    closed[report.of_stopped[upper]] = -1
    codes = (verdict, direct, closed, new, new_direct)
    texts = ("".join(_SIGNS[code] for code in each.tolist()) for each in codes)
    return dict(zip(_PAIR, (floats(half), floats(half_aware), *texts), strict=True))


def _reasons(report: TaskSetReport, upper: tuple[NDArray[Any], NDArray[Any]]) -> dict[str, str]:
    """Why nothing is concluded, by number of the pair; of those where there is a reason."""
    reserved = np.flatnonzero((report.of_stopped | report.of_prefix)[upper]).tolist()
    found = {k: report.reason(int(upper[0][k]), int(upper[1][k])) for k in reserved}
    return {str(k): reason for k, reason in found.items() if reason}


_SIGNS = {-1: " ", **{i: verdict.value for i, verdict in enumerate(VERDICTS)}}


def _closed_verdicts(report: TaskSetReport) -> NDArray[np.int8]:
    """Verdicts of the closed intervals of any two methods (M, M), -1 where there are none."""
    known = [report.closed.get(name) for name in report.methods]
    mean = np.array([nan if each is None else each.mean for each in known])
    half = np.array([_half(each) for each in known])
    found = direct_verdicts(mean[:, None], half[:, None], mean[None], half[None])
    there = np.array([each is not None for each in known])
    return np.where(there[:, None] & there[None], found, -1).astype(np.int8)


def _own(c: Comparison) -> list[float | None]:
    """Mean and half-widths of the first method over the tasks that both answered."""
    aware = c.intervals[KIND].mean.halfwidth if KIND in c.intervals else None
    return [c.mean.mean, c.mean.halfwidth, aware]


def _half(interval: Interval | None) -> float:
    return nan if interval is None or interval.halfwidth is None else interval.halfwidth


def _by_level(found: Mapping[float, Any], widths: Any) -> dict[str, Encoded]:
    return {str(key): floats(np.array(widths(each), np.float64)) for key, each in found.items()}


def _positions(names: Sequence[str] | None, position: Mapping[str, int]) -> list[int] | None:
    return None if names is None else [position[name] for name in names]


def _ladders(report: BiasReport | None) -> list[Values]:
    if report is None:
        return []
    level = report.signature.level
    return [
        {
            "name": f"{each.dataset}/{each.name}",
            "ladder": _figure(rows.ladder(each, level)),
            "worst": _figure(rows.worst(each, level)),
        }
        for each in report.ladders
    ]


def _figure(figure: Figure) -> Values:
    return {"title": figure.title, "caption": figure.caption, "rows": list(figure.rows)}
