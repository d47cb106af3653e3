"""What is concluded of pairs of methods, from the field's habit to the most careful, and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from analysis_sql.comparison.ties import count_verdicts
from analysis_sql.interval_kinds import ABOUT
from analysis_sql.intervals.intervals import Interval
from benchmark_spec.errors import SubmissionError
from benchmark_spec.suites import IntervalKind
from fslbench_data.render.figures.rows import Figure, on_sets, placed, set_caption
from fslbench_data.scoring.task_set_report import TaskSetReport

Codes = NDArray[np.int8]

CLOSED_ERROR_BARS, ERROR_BARS = "closed error bars", "error bars"

CLAIMS: Mapping[IntervalKind, str] = MappingProxyType({**ABOUT, "closed": "these images"})
"""What a verdict on a difference is for, by the kind of its interval."""


def conclusive(
    sets: Sequence[TaskSetReport], counted: Sequence[NDArray[np.bool_]] | None = None
) -> Figure:
    """How many comparisons each kind of claim calls conclusive, over task sets together.

    Of the task sets that reuse no image; else of those where some can be left out, else of all.

    Parameters
    ----------
    counted : bool (F, M)
        Which pairs of each task set count, by default its own.

    Raises
    ------
    SubmissionError
        If nothing is compared.
    """
    masks = [each.counted for each in sets] if counted is None else counted
    shown = [(each, mask) for each, mask in zip(sets, masks, strict=True) if mask.any()]
    shown = _of_habit(_alike(shown))
    if not shown:
        raise SubmissionError("there is nothing to compare", expected="two methods on a task set")
    counts = count_verdicts(_codes(shown))
    rows = [
        {
            "kind": claim,
            "share": 100.0 * (number.share or 0.0),
            "shown": f"{number.conclusive} of {number.compared}",
        }
        for claim, number in counts.items()
        if number.compared
    ]
    of = [each for each, _ in shown]
    tasks = [int(t) for each, mask in shown for t in np.unique(each.pairs.tasks[mask])]
    caption = (
        f"{set_caption(of, tasks, lines=False)} Error bars: two intervals do not overlap; closed"
        " ones are of tasks that reuse images. Else 0 lies outside the interval of the difference."
    )
    return Figure("conclusive", on_sets("Conclusive comparisons", of), caption, placed(rows))


Counted = list[tuple[TaskSetReport, NDArray[np.bool_]]]
"""Task sets, and which of their pairs count."""


def _alike(sets: Counted) -> Counted:
    """Those which speak of the same, by the same kinds of interval."""
    leading = [each.shown_kinds[0] for each, _ in sets]
    first = next((kind for kind in ("open", "images") if kind in leading), "closed")
    return [pair for pair, kind in zip(sets, leading, strict=True) if kind == first]


def _of_habit(sets: Counted) -> Counted:
    """Those where the field's habit has a verdict, if there are any, and of these such pairs.

    Shares of different pairs do not belong side by side.
    """
    known = [(each, mask & _habit(each)) for each, mask in sets]
    return [(each, mask) for each, mask in known if mask.any()] or sets


def _habit(each: TaskSetReport) -> NDArray[np.bool_]:
    """Say of which pairs (F, M) closed error bars have a verdict."""
    codes = claims_of(each).get(CLOSED_ERROR_BARS)
    return np.zeros(each.asked.shape, np.bool_) if codes is None else codes >= 0


def _codes(sets: Counted) -> dict[str, Codes]:
    """Verdicts on the pairs that count, by claim, where there are any."""
    codes: dict[str, list[Codes]] = {}
    for each, counted in sets:
        for claim, verdicts in claims_of(each).items():
            codes.setdefault(claim, []).append(verdicts[counted & (verdicts >= 0)])
    joined = {claim: np.concatenate(parts) for claim, parts in codes.items()}
    return {claim: some for claim, some in joined.items() if some.size}


def claims_of(report: TaskSetReport) -> dict[str, Codes]:
    """Verdicts (F, M) by claim, from the field's habit to the most careful; -1 where there is none.

    They are positions in :data:`analysis_sql.comparison.verdicts.VERDICTS`.
    """
    carried, lead = report.interval_kind, report.shown_kinds[0]
    if lead == "closed":
        bars = {CLOSED_ERROR_BARS: report.pairs.direct}
    elif carried == lead:
        bars = {CLOSED_ERROR_BARS: report.closed_verdicts, ERROR_BARS: report.pairs.direct}
    else:
        direct = report.pairs_of(lead).direct
        bars = {CLAIMS[carried]: report.pairs.verdict, ERROR_BARS: direct}
    return bars | {CLAIMS[kind]: report.pairs_of(kind).verdict for kind in report.shown_kinds}


def halfwidth(interval: Interval | None) -> float:
    """Return the half-width, NaN where there is none."""
    return nan if interval is None or interval.halfwidth is None else interval.halfwidth
