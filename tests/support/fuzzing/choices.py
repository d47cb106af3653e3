"""Decisions read off the bytes that a fuzzer makes; none left, and every decision is the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Bytes, taken from the front."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def bytes(self, count: int) -> bytes:
        self._at += count
        return self._data[self._at - count : self._at]

    def below(self, most: int) -> int:
        """A number 0..most-1; 0 if there is none."""
        size = 1 if most <= 256 else 2 if most <= 65536 else 4
        return int.from_bytes(self.bytes(size), "little") % max(most, 1)

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def number(self) -> int:
        """Any whole number of at most eight bytes, and numbers around powers of two."""
        kind = self.below(4)
        if kind == 0:
            return self.below(256)
        if kind == 1:
            return -self.below(256)
        if kind == 2:
            return (1 << self.below(65)) - self.below(3)
        return int.from_bytes(self.bytes(8), "little", signed=True)

    def text(self) -> str:
        return self.bytes(self.below(24)).decode("utf-8", "surrogateescape")

    def rest(self) -> bytes:
        return self._data[self._at :]
