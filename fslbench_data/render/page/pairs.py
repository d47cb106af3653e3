"""What a page shows of pairs of methods, at each of its levels."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.pairs import KIND
from analysis_sql.comparison.verdicts import NOT_ESTIMABLE, VERDICTS, Comparison, direct_verdicts
from analysis_sql.intervals.intervals import Interval
from fslbench_data.render.page.encoding import floats
from fslbench_data.scoring.task_set_report import TaskSetReport

Values = dict[str, Any]


def pairs(some: Mapping[float, TaskSetReport]) -> Values:
    """Every pair of the chosen methods, row by row of the upper triangle."""
    any_level = next(iter(some.values()))
    upper = np.triu_indices(len(any_level.scores), 1)
    tasks = np.broadcast_to(any_level.pairs.tasks, any_level.asked.shape)[upper]
    of_first = any_level.counts.tasks[upper[0]]
    by_level = {key: _pairs_at(report, upper) for key, report in some.items()}
    return {
        "tasks": tasks.tolist() if (tasks != any_level.counts.tasks[0]).any() else None,
        "diff": floats(any_level.pairs.difference[upper]),
        **{name: {str(key): each[name] for key, each in by_level.items()} for name in _PAIR},
        "reason": {str(key): _reasons(report, upper) for key, report in some.items()},
        "shorter": {
            str(k): {
                str(key): _own(report.comparisons_of(int(upper[0][k]), upper[1][[k]])[0])
                for key, report in some.items()
            }
            for k in np.flatnonzero(tasks != of_first).tolist()
        },
    }


_PAIR = ("half", "half_aware", "verdict", "direct", "closed", "aware", "aware_direct")
"""What is known of a pair at each level."""


def _pairs_at(report: TaskSetReport, upper: tuple[NDArray[Any], NDArray[Any]]) -> Values:
    """The pairs at one level: what their comparisons say, as arrays and texts of verdicts."""
    carried = report.pairs
    half, verdict, direct = (
        values[upper] for values in (carried.halfwidth, carried.verdict, carried.direct)
    )
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
    reasons = {k: report.reason(int(upper[0][k]), int(upper[1][k])) for k in reserved}
    return {str(k): reason for k, reason in reasons.items() if reason}


_SIGNS = {-1: " ", **{i: verdict.value for i, verdict in enumerate(VERDICTS)}}


def _closed_verdicts(report: TaskSetReport) -> NDArray[np.int8]:
    """Verdicts of the closed intervals of any two methods (M, M), -1 where there are none."""
    intervals = [report.closed.get(name) for name in report.methods]
    mean = np.array([nan if interval is None else interval.mean for interval in intervals])
    half = np.array([halfwidth(interval) for interval in intervals])
    verdicts = direct_verdicts(mean[:, None], half[:, None], mean[None], half[None])
    answered = np.array([interval is not None for interval in intervals])
    return np.where(answered[:, None] & answered[None], verdicts, -1).astype(np.int8)


def _own(c: Comparison) -> list[float | None]:
    """Mean and half-widths of the first method over the tasks that both answered."""
    aware = c.intervals[KIND].mean.halfwidth if KIND in c.intervals else None
    return [c.mean.mean, c.mean.halfwidth, aware]


def halfwidth(interval: Interval | None) -> float:
    """Return the half-width, NaN where there is none."""
    return nan if interval is None or interval.halfwidth is None else interval.halfwidth
