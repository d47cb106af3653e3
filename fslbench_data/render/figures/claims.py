"""What is concluded of pairs of methods, from the field's habit to the most careful, and counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analysis_sql.ranking.told_apart import count_verdicts
from benchmark_spec.errors import SubmissionError
from fslbench_data.render.figures.charts import Figure
from fslbench_data.render.figures.rows import on_sets, placed, set_caption
from fslbench_data.render.interval_text import CLAIMS
from fslbench_data.scoring.task_set_report import TaskSetReport

Codes = NDArray[np.int8]

CLOSED_ERROR_BARS, ERROR_BARS = "usual intervals", "separate intervals"


def conclusive(
    sets: Sequence[TaskSetReport], counted: Sequence[NDArray[np.bool_]] | None = None
) -> Figure:
    """How many comparisons each kind of claim calls conclusive, over task sets together.

    Of the task sets that reuse no image; else of those where some can be left out, else of all.
    `counted` says which pairs (F, M) of each task set count, by default its own.
    """
    masks = [each.counted for each in sets] if counted is None else counted
    shown = [(each, mask) for each, mask in zip(sets, masks, strict=True) if mask.any()]
    leading = [each.shown_kinds[0] for each, _ in shown]
    first = next((kind for kind in ("open", "images") if kind in leading), "closed")
    shown = [pair for pair, kind in zip(shown, leading, strict=True) if kind == first]
    # where the field's habit has verdicts, its pairs: shares of others do not belong beside them
    habit = [
        (each, mask & (claims_of(each).get(CLOSED_ERROR_BARS, np.int8(-1)) >= 0))
        for each, mask in shown
    ]
    shown = [(each, mask) for each, mask in habit if mask.any()] or shown
    if not shown:
        raise SubmissionError("there is nothing to compare", expected="two methods on a task set")
    codes: dict[str, list[Codes]] = {}
    for each, mask in shown:
        for claim, verdicts in claims_of(each).items():
            codes.setdefault(claim, []).append(verdicts[mask & (verdicts >= 0)])
    counts = count_verdicts({claim: np.concatenate(parts) for claim, parts in codes.items()})
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
