"""What is found of the tasks behind a submission, in plain words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from analysis_sql.recognition import Finding, Recognition
from benchmark_spec.errors import listing
from fslbench_data.scoring.recognition import Recognised


def conclusion(found: Recognition) -> str:
    """Such as ``tasks recognised, p = 0.0002 (classes 0.0310, references 0.0001)``."""
    if found.p is None:
        return f"tasks not testable{': ' + found.reason if found.reason else ''}"
    said = "tasks recognised" if found.finding is Finding.RECOGNISED else "cannot tell the tasks"
    parts = {"classes": found.by_classes, "references": found.by_references}
    by = ", ".join(f"{name} {p:.4f}" for name, p in parts.items() if p is not None)
    return f"{said}, p = {found.p:.4f} ({by})"


def group_conclusions(found: Recognised) -> list[str]:
    """What is concluded of each group, in their order."""
    lines = []
    for index, recognition in enumerate(found.found.each):
        same = found.same_as.get(index)
        note = f"; equal to {listing(same)} on every task" if same else ""
        lines.append(conclusion(recognition) + note)
    return lines


def together(found: Recognised) -> Iterator[str]:
    """What is concluded of several groups at once, and a summary."""
    methods = Counter(group.info.text for group in found.groups)
    for (dataset, task_set), each in found.found.task_sets.items():
        if (number := methods[f"{dataset}/{task_set}"]) > 1:
            yield f"all {number} methods on {dataset}/{task_set}: {conclusion(each)}"
    counts = Counter(each.finding for each in found.found.each)
    summary = ", ".join(
        f"{counts[finding]} {finding.value}" for finding in Finding if counts[finding]
    )
    if len(found.groups) > 1:
        summary += f"; all together: {conclusion(found.found.together)}"
    yield f"tasks of {len(found.groups)} results: {summary}"
