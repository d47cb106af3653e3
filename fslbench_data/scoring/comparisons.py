"""Comparisons of one or several task sets as one sequence, each made when it is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from analysis_sql.comparison.verdicts import Comparison


class ComparedSet(Protocol):
    """The methods of a task set, and which of them are compared."""

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Which methods (rows) are compared with which (columns)."""

    def comparisons_of(
        self, row: int, columns: NDArray[np.int64] | None = None
    ) -> list[Comparison]:
        """Return those of one row, or of some columns of it."""


class Comparisons(Sequence[Comparison]):
    """Comparisons of one or several task sets, made when they are looked at."""

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
