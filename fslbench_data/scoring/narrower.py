"""Task sets on which intervals for new images would be narrower than on those that are answered."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from fslbench_data.release.release import Release
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.score import report_on
from fslbench_data.scoring.selection import Selected, Selection, reference_results
from fslbench_data.scoring.summary import PrimarySet, primary_sets
from fslbench_data.scoring.task_set_report import TaskSetReport
from fslbench_data.tasks import TaskSetInfo

LEAST = 0.005
"""Share of a half-width below which another task set is not recommended."""


@dataclass(frozen=True)
class Narrower:
    """A pooled task set that is not answered, where another of its data, ways and shots is.

    Attributes
    ----------
    share
        By how much the reference methods' half-widths for new images are smaller on it, 0 to 1:
        the median of those that answer both.
    more
        How many other such sets there are.
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
