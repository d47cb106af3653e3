"""Scores and comparisons as tables for SQL, every kind of interval: those that `score` makes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from analysis_sql.queries.limits import memory_bytes
from benchmark_spec.errors import QueryError
from fslbench_data.scoring.result_rows import (
    COMPARISONS,
    SCORES,
    comparison_batches,
    score_batch,
)
from fslbench_data.scoring.task_set_report import TaskSetReport

Reports = Callable[[], Sequence[TaskSetReport]]
"""The reports on all task sets, made when they are asked for."""


@dataclass(frozen=True)
class MadeWhenRead:
    """A table that is made each time that it is read, a batch at a time."""

    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)


def result_tables(reports: Reports) -> dict[str, MadeWhenRead]:
    """Return the tables `scores` and `comparisons` of reports that are made when one is read."""
    return {
        "scores": MadeWhenRead(SCORES, partial(_scores, reports)),
        "comparisons": MadeWhenRead(COMPARISONS, partial(_comparisons, reports)),
    }


def _scores(reports: Reports) -> Iterator[pa.RecordBatch]:
    return (score_batch(report.scores) for report in reports())


def _comparisons(reports: Reports) -> Iterator[pa.RecordBatch]:
    return comparison_batches(reports())


def only_named(
    tables: Mapping[str, pa.Table | MadeWhenRead], sql: str, *, seconds: float, memory: str
) -> dict[str, pa.Table]:
    """Make those tables that a query may read, and leave out the others that are made.

    Parameters
    ----------
    seconds, memory
        Limits of the query, which hold for the tables too.

    Raises
    ------
    QueryError
        If they take longer, or more.
    """
    made: dict[str, pa.Table] = {}
    end, left = time.monotonic() + seconds, memory_bytes(memory)
    for name, table in tables.items():
        if isinstance(table, pa.Table):
            made[name] = table
        elif re.search(rf"\b{name}\b", sql, re.IGNORECASE):
            batches = []
            for batch in table.batches():
                batches.append(batch)
                left -= batch.nbytes
                if left < 0 or time.monotonic() > end:
                    raise QueryError(
                        f"the table {name} takes more than {memory}"
                        if left < 0
                        else f"making the table {name} took more than {seconds:g} seconds",
                        fix="name fewer submissions, or allow more with --seconds and --memory",
                    )
            made[name] = pa.Table.from_batches(batches, table.schema)
    return made
