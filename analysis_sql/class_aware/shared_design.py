"""What comparisons need of a design, whatever it is that its tasks share."""

from __future__ import annotations

from typing import Any, Protocol, Self

from numpy.typing import NDArray

from analysis_sql.intervals.arrays import Floats


class SharedDesign(Protocol):
    """What the tasks of a set share with one another: classes, or superclasses, too."""

    @property
    def tasks(self) -> int:
        """T, the number of tasks."""

    @property
    def disjoint_tasks(self) -> int:
        """Tasks that share nothing with one another: as many as are found."""

    def prefix(self, tasks: int) -> Self:
        """Return the design of the first tasks."""

    def coordinates(self, values: NDArray[Any]) -> Floats:
        """Compute coordinates (M, k) of values (M, T), linear in these."""
