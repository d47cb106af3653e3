"""What results leave open, in plain words: bounds where nothing was seen."""

from __future__ import annotations

from collections.abc import Sequence

from analysis_sql.comparison.verdicts import Comparison
from analysis_sql.intervals.bounds import ABOVE, Saturation, unseen_bound
from analysis_sql.ranking.evidence import Evidence
from fslbench_data.scoring.scores import Score


def unseen_text(classes: int, level: float) -> str:
    """What verdicts for new classes cannot know of: kinds of classes that the set has none of."""
    bound = unseen_bound(classes, level)
    return (
        f"New classes: up to {bound:.2g} % of all may be of a kind that none of these {classes} is "
        f"({100 * level:.8g} %)."
    )


def near_perfect_text(scores: Sequence[Score]) -> list[str]:
    """Exact bounds of accuracies above 98 %."""
    return [
        f"{s.method}, above {ABOVE:g} %, where ± covers too little: {s.near_perfect.low:.2f} to "
        f"{s.near_perfect.high:.2f} (exact bounds of {s.near_perfect.effective:.0f} effective "
        f"queries, {100 * s.near_perfect.level:.8g} %)."
        for s in scores
        if s.near_perfect is not None
    ]


def zeros_text(scores: Sequence[Score], pairs: Sequence[tuple[Comparison, Evidence]]) -> list[str]:
    """What results without any error or difference leave open; nothing where there are none."""
    sentences = [
        f"{s.method} makes no error on {s.faultless.tasks} tasks: it may on up to "
        f"{_bounds(s.faultless)}."
        for s in scores
        if s.faultless is not None
    ]
    sentences += [
        f"{c.method} and {c.versus} are alike on {e.identical.tasks} tasks: they may differ on up "
        f"to {_bounds(e.identical)}."
        for c, e in pairs
        if e.identical is not None
    ]
    return sentences


def _bounds(saturation: Saturation) -> str:
    return (
        f"{saturation.bound:.2g} % of others, and on {saturation.new_classes_bound:.2g} % of those "
        f"with new classes ({100 * saturation.level:.8g} %)"
    )
