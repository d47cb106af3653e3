"""The relations of scores and comparisons, which frames, SQL, CSV and JSON are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis_sql.comparison.verdicts import Comparison
from fslbench_data.scoring.scores import Score
from fslbench_data.submission.frames import AsFrame

_ARROW = {str: pa.string(), bool: pa.bool_(), int: pa.int32(), float: pa.float64()}


def schema(*columns: tuple[str, type]) -> pa.Schema:
    """Make a schema of names, parted by blanks, and their types."""
    return pa.schema([(name, _ARROW[kind]) for names, kind in columns for name in names.split()])


SCORES = schema(
    ("dataset task_set method", str),
    ("is_reference", bool),
    ("interval", str),
    ("tasks", int),
    ("mean halfwidth level", float),
    ("runs", int),
    ("run_spread", float),
    ("transductive prefix trained", bool),
    ("run_error", float),
    ("of_one_model", bool),
)
COMPARISONS = schema(
    ("dataset task_set method versus interval", str),
    ("tasks", int),
    ("mean mean_halfwidth versus_mean versus_halfwidth difference halfwidth level", float),
    ("verdict verdict_direct verdict_closed", str),
    ("p", float),
    ("reason", str),
    ("run_error", float),
    ("of_one_model", str),
)
COMPARED = pa.schema([*COMPARISONS, *schema(("trained versus_trained", bool))])
"""The same, and whether both methods are trained."""


class ComparedSet(Protocol):
    """The methods of a task set, and which of them are compared."""

    @property
    def scores(self) -> Sequence[Score]:
        """Of all methods."""

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Which methods (rows) are compared with which (columns)."""

    def comparisons_of(
        self, row: int, columns: NDArray[np.int64] | None = None
    ) -> list[Comparison]:
        """Return those of one row, or of some columns of it."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Give rows of :data:`COMPARED`, one a comparison and kind of interval."""


def score_batch(scores: Iterable[Score]) -> pa.RecordBatch:
    """Return scores as rows of :data:`SCORES`, one a score and kind of interval."""
    rows = []
    for score in scores:
        of_score = {name: getattr(score, name) for name in SCORES.names if hasattr(score, name)}
        for kind, interval in score.intervals.items():
            of_kind = {name: getattr(interval, name) for name in _OF_INTERVAL}
            rows.append({**of_score, **of_kind, "interval": kind})
    return pa.RecordBatch.from_pylist(rows, SCORES)


_OF_INTERVAL = ("tasks", "mean", "halfwidth", "level")


def comparison_batches(sets: Iterable[ComparedSet]) -> Iterator[pa.RecordBatch]:
    """Give rows of :data:`COMPARISONS`, those of some pairs on one task set at a time."""
    for compared in sets:
        for batch in compared.batches():
            yield batch.select(COMPARISONS.names)


@dataclass(frozen=True)
class MadeWhenRead:
    """A table that is made each time that it is read, a batch at a time."""

    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)


def result_tables(sets: Callable[[], Sequence[ComparedSet]]) -> dict[str, MadeWhenRead]:
    """Return the tables `scores` and `comparisons`, for which `sets` scores when one is read."""
    return {
        "scores": MadeWhenRead(SCORES, lambda: (score_batch(each.scores) for each in sets())),
        "comparisons": MadeWhenRead(COMPARISONS, lambda: comparison_batches(sets())),
    }


class Scores(AsFrame, Sequence[Score]):
    """Scores of one or several task sets.

    A table of them has one row a score and kind of interval: the columns of
    :data:`fslbench_data.scoring.relation.SCORES`.
    """

    def __init__(self, scores: Iterable[Score]) -> None:
        self._scores = tuple(scores)

    def __len__(self) -> int:
        return len(self._scores)

    @overload
    def __getitem__(self, index: int) -> Score: ...
    @overload
    def __getitem__(self, index: slice) -> Scores: ...
    def __getitem__(self, index: int | slice) -> Score | Scores:
        some = self._scores[index]
        return Scores(some) if isinstance(some, tuple) else some

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._scores == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        sets = {(score.dataset, score.task_set) for score in self}
        return f"<Scores: {len(self)} on {len(sets)} task sets; .to_pandas(), .to_arrow()>"

    def to_arrow(self) -> pa.Table:
        """The scores as a table, one row a score and kind of interval."""
        return pa.Table.from_batches([score_batch(self)], SCORES)


class Comparisons(AsFrame, Sequence[Comparison]):
    """Comparisons of one or several task sets, made when they are looked at.

    A table of them has one row a comparison and kind of interval: the columns of
    :data:`fslbench_data.scoring.relation.COMPARISONS`.
    """

    def __init__(self, sets: Sequence[ComparedSet]) -> None:
        self._sets = sets

    def __len__(self) -> int:
        return sum(int(compared.asked.sum()) for compared in self._sets)

    @overload
    def __getitem__(self, index: int) -> Comparison: ...
    @overload
    def __getitem__(self, index: slice) -> list[Comparison]: ...
    def __getitem__(self, index: int | slice) -> Comparison | list[Comparison]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        for compared in self._sets:
            if at < (number := int(compared.asked.sum())):
                row, column = np.argwhere(compared.asked)[at]
                return compared.comparisons_of(int(row), np.array([column]))[0]
            at -= number
        raise IndexError(index)

    def __iter__(self) -> Iterator[Comparison]:
        for compared in self._sets:
            for row in range(len(compared.asked)):
                yield from compared.comparisons_of(row)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        about = f"{len(self)} on {len(self._sets)} task sets"
        return f"<Comparisons: {about}; .to_pandas(), .to_arrow()>"

    def to_arrow(self) -> pa.Table:
        """The comparisons as a table, one row a comparison and kind of interval."""
        return pa.Table.from_batches(comparison_batches(self._sets), COMPARISONS)
