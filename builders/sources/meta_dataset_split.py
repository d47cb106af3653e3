"""Which classes of a data set Meta-Dataset tests on (Triantafillou et al., ICLR 2020).

Its splits are drawn with numpy's ``RandomState(22)``, whose stream numpy has frozen: training and
validation classes together first; what is left are the test classes, in the order of the list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_spec.errors import CatalogueError

SEED = 22


@dataclass(frozen=True)
class Split:
    """Numbers of classes for training, validation and test."""

    train: int
    valid: int
    test: int

    @property
    def total(self) -> int:
        """All classes of the data set."""
        return self.train + self.valid + self.test

    def test_positions(self) -> list[int]:
        """Return positions of the test classes in the data set's list of classes, ascending."""
        drawn = np.random.RandomState(SEED).choice(
            self.total, self.train + self.valid, replace=False
        )
        rest: list[int] = np.setdiff1d(np.arange(self.total), drawn).tolist()
        return rest

    def held_out(self, labels: Sequence[str], where: Path) -> list[str]:
        """Return the test classes among those of a data set, which a list at `where` names."""
        if len(labels) != self.total:
            raise CatalogueError(
                f"{len(labels)} classes are listed, so that the split cannot be drawn",
                where=str(where),
                expected=f"{self.total} classes",
                fix="check that the file is whole and of the right version",
            )
        return [labels[position] for position in self.test_positions()]

    def held_out_or_known(
        self, labels: Sequence[str], expected: Mapping[str, int], where: Path
    ) -> list[str]:
        """Return the test classes where they are known only by the files or folders that hold them.

        A raw folder that lacks other classes is no worse for it: there the test classes are
        those of the catalogue, `expected`.
        """
        if len(labels) == self.total:
            return self.held_out(labels, where)
        return [label for label in labels if label in expected]

    def provenance(self) -> dict[str, Any]:
        """Describe it for the record of a release."""
        return {
            "drawn_with": f"numpy.random.RandomState({SEED})",
            "seed": SEED,
            "classes": {"train": self.train, "valid": self.valid, "test": self.test},
        }
