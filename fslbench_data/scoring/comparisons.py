"""Scores and comparisons of one or several task sets as sequences that give tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
import pyarrow as pa

from analysis_sql.comparison.verdicts import Comparison
from fslbench_data.scoring.result_rows import (
    COMPARISONS,
    SCORES,
    ComparedSet,
    comparison_batches,
    score_batch,
)
from fslbench_data.scoring.scores import Score
from fslbench_data.submission.frames import AsFrame


class Scores(AsFrame, Sequence[Score]):
    """Scores of one or several task sets.

    A table of them has one row a score and kind of interval: the columns of
    :data:`fslbench_data.scoring.result_rows.SCORES`.
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
        if isinstance(index, slice):
            return Scores(self._scores[index])
        return self._scores[index]

    def __iter__(self) -> Iterator[Score]:
        return iter(self._scores)

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
    :data:`fslbench_data.scoring.result_rows.COMPARISONS`.
    """

    def __init__(self, sets: Sequence[ComparedSet]) -> None:
        self._sets = sets
        self._ends = np.cumsum([int(s.asked.sum()) for s in sets], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @overload
    def __getitem__(self, index: int) -> Comparison: ...
    @overload
    def __getitem__(self, index: slice) -> list[Comparison]: ...
    def __getitem__(self, index: int | slice) -> Comparison | list[Comparison]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(index)
        number = int(np.searchsorted(self._ends, at, side="right"))
        compared = self._sets[number]
        if number:
            at -= int(self._ends[number - 1])
        row, column = np.argwhere(compared.asked)[at]
        return compared.comparisons_of(int(row), np.array([column]))[0]

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
