"""A report as CSV and JSON, for machines; byte-identical for the same inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import structs

from analysis_sql.comparisons import Comparison
from analysis_sql.interval_kinds import ABOUT, ADDITIONAL_KINDS, ESTIMANDS, about_test_set
from analysis_sql.intervals.intervals import INDEPENDENT_TASKS, zero_bound
from analysis_sql.multiple_comparisons import Evidence, Ties
from benchmark_spec.protocol import IntervalKind
from fslbench_data.render.draws_text import values as draw_values
from fslbench_data.render.interval_text import comparison_text, unseen_text
from fslbench_data.render.log_text import sentence
from fslbench_data.render.table import csv_of_rows, csv_text, json_text, objects
from fslbench_data.scoring.own_release import DrawFacts
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import PREFIX, Score
from fslbench_data.scoring.task_set_report import WHICH_OF_TWO, TaskSetReport, score_batch

COLUMNS = {
    name: {"T": "tasks", "diff": "difference", "diff_halfwidth": "halfwidth"}.get(name, name)
    for name in (
        "dataset", "task_set", "method", "versus", "T", "mean", "mean_halfwidth", "diff",
        "diff_halfwidth", "verdict", "verdict_direct", "verdict_closed", "interval", "level",
        "reason", "trained", "versus_trained", "run_error", "of_one_model", "is_bound",
        "versus_mean", "versus_halfwidth",
    )
}  # fmt: skip
"""Columns and their names in the relation of comparisons."""


def render_csv(report: Report) -> str:
    """Write the signature as a line beginning with ``#``, a header, and the comparisons.

    Each comparison has a line per kind of interval, the primary one first; the column `interval`
    names the kind.  A method without a comparison has lines with an empty `versus`, so that its
    mean is not lost.  Values that are missing or not estimable are empty; `reason` says why nothing
    is concluded although the tasks would allow it.

    A log of all classes at once has a line per method and per pair.
    """
    if isinstance(report.log, DrawFacts):
        return csv_text(draw_values(report, report.log), str(report.signature))
    rows = chain.from_iterable(part for task_set in report.sets for part in _rows(task_set))
    return csv_of_rows(COLUMNS, rows, str(report.signature))


def _rows(task_set: TaskSetReport) -> Iterator[Iterable[Iterable[object]]]:
    """Yield the lines of a task set's comparisons, then of methods without a comparison."""
    for batch in task_set.batches(with_p=False):
        columns = (batch.column(name).to_pylist() for name in COLUMNS.values())
        yield zip(*columns, strict=True)
    yield _uncompared(task_set)


def _uncompared(task_set: TaskSetReport) -> Iterator[list[object]]:
    """Yield the lines of methods without a comparison, one per kind of interval."""
    n_methods = len(task_set.requested)
    compared = task_set.requested.any(axis=1) | task_set.requested[:, :n_methods].any(axis=0)
    scores = [task_set.scores[i] for i in np.flatnonzero(~compared)]
    for row in score_batch(scores).to_pylist():
        row |= {
            "mean_halfwidth": row["halfwidth"],
            "halfwidth": None,
            "reason": PREFIX if row["prefix"] else "",
            "of_one_model": WHICH_OF_TWO[row["of_one_model"], False],
        }
        yield [row.get(name) for name in COLUMNS.values()]


def report_json(report: Report) -> str:
    """Write a report as the command's JSON."""
    return "".join(json_pieces(report))


def json_pieces(report: Report) -> Iterator[str]:
    """Yield a report as JSON, in percentage points, in pieces of some comparisons each.

    There may be very many comparisons.
    """
    comparisons = '\n "comparisons": ['
    before, _, after = json_text(_content(report)).partition(comparisons)
    yield before + comparisons
    separator = ""
    for task_set in report.sets:
        for rows, columns, found in task_set.pairs_at_once():
            pairs = task_set.comparisons_at(rows, columns, [*found.values()])
            evidence = task_set.evidence_at(rows, columns)
            text = msgspec.json.encode([*map(_comparison, pairs, evidence)])
            text = msgspec.json.format(text, indent=1)[1:-2].replace(b"\n", b"\n ")
            yield separator + text.decode()
            separator = ","
    yield ("\n " if separator else "") + after


def _content(report: Report) -> dict[str, Any]:
    """Return everything but the comparisons."""
    kinds = sorted({kind for each in report.sets if each.scores for kind in each.kinds})
    names = [{"dataset": s.scored.dataset, "task_set": s.scored.task_set} for s in report.sets]
    named_sets = list(zip(report.sets, names, strict=True))

    def reasons(field: Literal["bounded", "missing"]) -> list[dict[str, str]]:
        return [
            name | {"interval": kind, "reason": reason}
            for task_set, name in named_sets
            for kind, reason in getattr(task_set.units, field).items()
        ]

    content = {
        "signature": {"text": str(report.signature), **report.signature.as_json()},
        "estimands": {
            **{str(kind): _estimand(kind, report.sets) for kind in kinds},
            "p_sign_flip": INDEPENDENT_TASKS,
        },
        "scores": [_score(score) for task_set in report.sets for score in task_set.scores],
        "comparisons": [],
        "ties": [name | _ties(each.ties) for each, name in named_sets if each.ties is not None],
        "new_classes": [
            name
            | {
                "level": each.level,
                "classes": each.design.classes,
                "unseen_bound": zero_bound(each.design.classes, each.level),
                "sentence": unseen_text(each.design.classes, each.level),
            }
            for each, name in named_sets
            if each.design is not None
        ],
        "bounds": reasons("bounded"),
        "verdict_counts": report.verdict_counts,
        "verdict_counts_where_reused": report.counts_where_reused,
    }
    if report.log is None:
        return content | ({"logs": report.logs} if report.logs else {})
    if isinstance(report.log, DrawFacts):
        values = objects(draw_values(report, report.log))
        return content | {"all_classes": values, "log": report.log}
    log = {"missing": reasons("missing"), "sentence": sentence(report, report.log)}
    return content | {"log": structs.asdict(report.log) | log}


def _estimand(kind: IntervalKind, sets: Sequence[TaskSetReport]) -> str:
    """Return what a kind of interval is about, in full."""
    if kind == "closed" or not all(each.scored.name.whole for each in sets):
        return ESTIMANDS[kind]
    draws = max(each.scored.n_tasks for each in sets)
    shots = max(each.scored.protocol.shot for each in sets)
    images = f"{about_test_set(draws, shots)}, all answers weighted equally"
    return images if kind == "images" else f"{ABOUT[kind]}, {images}"


def _score(score: Score) -> dict[str, object]:
    values = structs.asdict(score)
    del values["interval_kind"], values["intervals"], values["run_means"]
    first = {name: values.pop(name) for name in ("dataset", "task_set", "method", "is_reference")}
    first["accuracy"] = score.intervals[score.interval_kind]
    additional = {row.key: score.intervals.get(kind) for kind, row in ADDITIONAL_KINDS.items()}
    return {**first, **values, **additional}


def _ties(ties: Ties) -> dict[str, object]:
    return {
        "methods": ties.methods,
        "adjustment": "holm",
        "family": ties.family,
        "best": ties.best,
        "tied": next(iter(ties.tied.values())),
        **{f"tied_{row.key}": ties.tied.get(kind) for kind, row in ADDITIONAL_KINDS.items()},
    }


def _comparison(pair: Comparison, evidence: Evidence) -> dict[str, Any]:
    primary = pair.intervals[pair.interval_kind]
    return {
        "dataset": pair.dataset,
        "task_set": pair.task_set,
        "method": pair.method,
        "versus": pair.versus,
        **structs.asdict(primary),
        "verdict_closed": pair.verdict_closed,
        **{row.key: pair.intervals.get(kind) for kind, row in ADDITIONAL_KINDS.items()},
        "run_error": pair.run_error,
        "of_one_model": pair.of_one_model,
        "reason": pair.reason,
        "evidence": evidence,
        "sentence": comparison_text(pair),
    }
