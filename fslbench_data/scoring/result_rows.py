"""Scores and comparisons as rows, one a kind of interval: of frames, SQL tables and CSV alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis_sql.comparison.verdicts import Comparison, PairInterval
from analysis_sql.intervals.intervals import Interval
from analysis_sql.ranking.evidence import Evidence
from benchmark_spec.suites import IntervalKind
from fslbench_data.scoring.scores import Score

Row = dict[str, Any]

SCORES = pa.schema(
    [
        ("dataset", pa.string()),
        ("task_set", pa.string()),
        ("method", pa.string()),
        ("is_reference", pa.bool_()),
        ("interval", pa.string()),
        ("tasks", pa.int32()),
        ("mean", pa.float64()),
        ("halfwidth", pa.float64()),
        ("level", pa.float64()),
        ("runs", pa.int32()),
        ("run_spread", pa.float64()),
        ("transductive", pa.bool_()),
        ("prefix", pa.bool_()),
        ("trained", pa.bool_()),
        ("run_error", pa.float64()),
        ("of_one_model", pa.bool_()),
    ]
)
COMPARISONS = pa.schema(
    [
        ("dataset", pa.string()),
        ("task_set", pa.string()),
        ("method", pa.string()),
        ("versus", pa.string()),
        ("interval", pa.string()),
        ("tasks", pa.int32()),
        ("mean", pa.float64()),
        ("mean_halfwidth", pa.float64()),
        ("versus_mean", pa.float64()),
        ("versus_halfwidth", pa.float64()),
        ("difference", pa.float64()),
        ("halfwidth", pa.float64()),
        ("level", pa.float64()),
        ("verdict", pa.string()),
        ("verdict_direct", pa.string()),
        ("verdict_closed", pa.string()),
        ("p", pa.float64()),
        ("reason", pa.string()),
        ("run_error", pa.float64()),
        ("of_one_model", pa.string()),
    ]
)


class ComparedSet(Protocol):
    """The methods of a task set, and which of them are compared."""

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Which methods (rows) are compared with which (columns)."""

    def comparisons_of(
        self, row: int, columns: NDArray[np.int64] | None = None
    ) -> list[Comparison]:
        """Return those of one row, or of some columns of it."""

    def evidence_of(self, row: int) -> list[Evidence]:
        """Return what stands beside each of those of one row."""


def score_batch(scores: Iterable[Score]) -> pa.RecordBatch:
    """Return scores as rows of :data:`SCORES`."""
    return pa.RecordBatch.from_pylist([row for s in scores for row in _score_rows(s)], SCORES)


def comparison_batches(sets: Iterable[ComparedSet]) -> Iterator[pa.RecordBatch]:
    """Give rows of :data:`COMPARISONS`, those of one method on one task set at a time."""
    for compared in sets:
        for number in range(len(compared.asked)):
            beside = zip(compared.comparisons_of(number), compared.evidence_of(number), strict=True)
            rows = [row for c, evidence in beside for row in comparison_rows(c, evidence.p)]
            yield pa.RecordBatch.from_pylist(rows, COMPARISONS)


def comparison_rows(comparison: Comparison, p: float | None = None) -> Iterator[Row]:
    """Give the rows of a comparison, first that of the kind that its task set carries.

    `p` and the closed verdict stand there alone.
    """
    about = {name: getattr(comparison, name) for name in ("dataset", "task_set", "method")}
    single = comparison.of_one_model
    for kind, pair in comparison.intervals.items():
        carried = kind == comparison.interval_kind
        yield {
            **about,
            "versus": comparison.versus,
            **_pair(kind, pair),
            "verdict_closed": comparison.verdict_closed if carried else None,
            "p": p if carried else None,
            "reason": comparison.reason,
            "run_error": comparison.run_error,
            "of_one_model": which_of_two(
                *(name in single for name in (comparison.method, comparison.versus))
            ),
        }


def lone_row(score: Score, kind: IntervalKind, reason: str) -> Row:
    """Return the row of a method that is compared with none: without `versus`, and no verdict."""
    interval = score.intervals[kind]
    about = {name: getattr(score, name) for name in ("dataset", "task_set", "method")}
    runs = {"run_error": score.run_error, "of_one_model": which_of_two(score.of_one_model, False)}
    return {**about, "versus": "", **_own(kind, interval), "reason": reason, **runs}


def which_of_two(method: bool, versus: bool) -> str:
    """Say which methods of a row something holds for: `method`, `versus`, `both`, or empty."""
    names = {(True, False): "method", (False, True): "versus", (True, True): "both"}
    return names.get((method, versus), "")


def _score_rows(score: Score) -> Iterator[Row]:
    row = {name: getattr(score, name) for name in SCORES.names if hasattr(score, name)}
    for kind, interval in score.intervals.items():
        of_kind = {name: getattr(interval, name) for name in ("tasks", "mean", "level")}
        yield {**row, **of_kind, "interval": kind, "halfwidth": interval.halfwidth}


def _own(kind: IntervalKind, mean: Interval) -> Mapping[str, Any]:
    return {
        "interval": kind,
        "tasks": mean.tasks,
        "mean": mean.mean,
        "mean_halfwidth": mean.halfwidth,
        "level": mean.level,
    }


def _pair(kind: IntervalKind, pair: PairInterval) -> Mapping[str, Any]:
    return {
        **_own(kind, pair.mean),
        "tasks": pair.difference.tasks,
        "versus_mean": pair.versus_mean.mean,
        "versus_halfwidth": pair.versus_mean.halfwidth,
        "difference": pair.difference.mean,
        "halfwidth": pair.difference.halfwidth,
        "verdict": pair.verdict.value,
        "verdict_direct": pair.verdict_direct.value,
    }
