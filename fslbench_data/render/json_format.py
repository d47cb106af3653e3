"""JSON: everything a report holds, for machines; byte-identical for the same inputs."""

from __future__ import annotations

import json
from dataclasses import asdict

from analysis_sql.intervals import ESTIMANDS
from fslbench_data.render.wording import sentence
from fslbench_data.report import Report


def render_json(report: Report) -> str:
    """The signature (as text and in parts), scores and comparisons, in percentage points."""
    signature = {"text": str(report.signature), **asdict(report.signature)}
    kinds = sorted(
        {
            interval.kind
            for score in report.scores
            for interval in (score.accuracy, score.new_classes)
            if interval is not None
        }
    )
    content = {
        "signature": signature,
        "estimands": {kind: ESTIMANDS[kind] for kind in kinds},
        "scores": [asdict(score) for score in report.scores],
        "comparisons": [{**asdict(c), "sentence": sentence(c)} for c in report.comparisons],
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
