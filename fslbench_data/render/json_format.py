"""JSON: everything a report holds, for machines; byte-identical for the same inputs."""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import Any

from analysis_sql.comparison.verdicts import Comparison
from analysis_sql.interval_kinds import BESIDE, ESTIMANDS
from analysis_sql.intervals.intervals import INDEPENDENT_TASKS
from analysis_sql.intervals.saturation import unseen_bound
from analysis_sql.ranking.evidence import Evidence
from analysis_sql.ranking.ties_with_best import Ties
from fslbench_data.render.limits_text import unseen_text
from fslbench_data.render.sentences import sentence
from fslbench_data.render.table import json_text
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import Score


def _score(score: Score) -> dict[str, object]:
    values = {field.name: getattr(score, field.name) for field in fields(score)}
    del values["interval_kind"], values["intervals"]
    head = {name: values.pop(name) for name in ("dataset", "task_set", "method", "is_reference")}
    beside = {
        row.key: _plain(score.intervals[kind]) if kind in score.intervals else None
        for kind, row in BESIDE.items()
    }
    rest = {name: _plain(value) for name, value in values.items()}
    parts = {"run_error": score.run_error}
    return {**head, "accuracy": _plain(score.accuracy), **rest, **parts, **beside}


def _comparison(c: Comparison, evidence: Evidence) -> dict[str, object]:
    beside = {
        row.key: _plain(c.intervals[kind]) if kind in c.intervals else None
        for kind, row in BESIDE.items()
    }
    return {
        "dataset": c.dataset,
        "task_set": c.task_set,
        "method": c.method,
        "versus": c.versus,
        **_plain(c.intervals[c.interval_kind]),
        "verdict_closed": c.verdict_closed,
        **beside,
        "run_error": c.run_error,
        "of_one_model": list(c.of_one_model),
        "reason": c.reason,
        "evidence": _plain(evidence),
        "sentence": sentence(c),
    }


def _ties(ties: Ties) -> dict[str, object]:
    letters = None if ties.letters is None else dict(zip(ties.methods, ties.letters, strict=True))
    tied = [*ties.tied.values()]
    beside = {f"tied_{row.key}": ties.tied.get(kind) for kind, row in BESIDE.items()}
    head = {name: getattr(ties, name) for name in ("methods", "adjustment", "family", "best")}
    return {**head, "tied": tied[0], **beside, "letters": letters}


def _plain(value: Any) -> Any:
    """A dataclass as a dictionary, as deep as it goes; anything else as it is."""
    names = _names(value.__class__)
    return value if names is None else {name: _plain(getattr(value, name)) for name in names}


@cache
def _names(kind: type) -> tuple[str, ...] | None:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None


def render_json(report: Report) -> str:
    """The signature (as text and in parts), scores and comparisons, in percentage points."""
    signature = {"text": str(report.signature), **asdict(report.signature)}
    kinds = sorted({kind for each in report.sets if each.scores for kind in each.kinds})
    content = {
        "signature": signature,
        "estimands": {
            **{str(kind): ESTIMANDS[kind] for kind in kinds},
            "p_sign_flip": INDEPENDENT_TASKS,
            "bootstrap": INDEPENDENT_TASKS,
        },
        "scores": [_score(score) for each in report.sets for score in each.scores],
        "comparisons": [
            _comparison(c, beside)
            for each in report.sets
            for row in range(len(each.asked))
            for c, beside in zip(each.comparisons_of(row), each.evidence_of(row), strict=True)
        ],
        "ties": [
            {"dataset": each.scored.dataset, "task_set": each.scored.task_set, **_ties(each.ties)}
            for each in report.sets
            if each.ties is not None
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
        "verdict_counts_where_reused": {
            k: asdict(count) for k, count in report.counts_where_reused.items()
        },
    }
    if report.log is not None:
        content["log"] = asdict(report.log)
    return json_text(content)
