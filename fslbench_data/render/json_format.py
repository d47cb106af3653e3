"""JSON: everything a report holds, for machines; byte-identical for the same inputs."""

from __future__ import annotations

import json
from dataclasses import asdict

from analysis_sql.intervals.intervals import ESTIMANDS, INDEPENDENT_TASKS
from analysis_sql.intervals.saturation import unseen_bound
from benchmark_spec.version import OUTPUT_SCHEMA
from fslbench_data.render.sentences import sentence, unseen_text
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.task_set_report import SetReport


def _ties(each: SetReport) -> dict[str, object]:
    found = each.contest
    assert found is not None  # noqa: S101
    letters = (
        None if found.letters is None else dict(zip(found.methods, found.letters, strict=True))
    )
    return {**asdict(found), "letters": letters}


def render_json(report: Report) -> str:
    """The signature (as text and in parts), scores and comparisons, in percentage points."""
    signature = {"text": str(report.signature), **asdict(report.signature)}
    kinds = sorted(
        {
            interval.kind
            for each in report.sets
            for interval in (*(score.accuracy for score in each.scores), *each.new_classes)
            if interval is not None
        }
    )
    content = {
        "schema": OUTPUT_SCHEMA,
        "signature": signature,
        "estimands": {
            **{str(kind): ESTIMANDS[kind] for kind in kinds},
            "p_sign_flip": INDEPENDENT_TASKS,
            "bootstrap": INDEPENDENT_TASKS,
        },
        "scores": [
            {**asdict(score), "new_classes": None if aware is None else asdict(aware)}
            for each in report.sets
            for score, aware in zip(each.scores, each.new_classes, strict=True)
        ],
        "comparisons": [
            {**asdict(c), "evidence": asdict(beside), "sentence": sentence(c)}
            for each in report.sets
            for row in range(len(each.asked))
            for c, beside in zip(each.comparisons_of(row), each.evidence_of(row), strict=True)
        ],
        "ties": [
            {"dataset": each.scored.dataset, "task_set": each.scored.task_set, **_ties(each)}
            for each in report.sets
            if each.contest is not None
        ],
        "new_classes": [
            {
                "dataset": each.scored.dataset,
                "task_set": each.scored.task_set,
                "level": each.level,
                "classes": each.design.classes,
                "unseen_bound": unseen_bound(each.design.classes, each.level),
                "sentence": unseen_text(each.design.classes, each.level),
            }
            for each in report.sets
            if each.design is not None
        ],
        "verdict_counts": {k: asdict(count) for k, count in report.verdict_counts.items()},
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
