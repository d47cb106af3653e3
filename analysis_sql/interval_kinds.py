"""Every kind of interval: what it is about, what it is called, and how it is computed.

A task set *carries* one kind, ``open`` or ``closed``, made of moments alone
(:mod:`analysis_sql.intervals.intervals`).  Other kinds stand beside it where images do not recur;
each is a module of its own and a row here, from which every table, file, p-value and ranking takes
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import method_halfwidths
from analysis_sql.class_aware.p_values import one_sided_p_new_classes, p_values
from analysis_sql.class_aware.pairs import ForNewClasses
from analysis_sql.comparison.verdicts import PairInterval
from analysis_sql.intervals.arrays import Floats
from analysis_sql.intervals.counts import Counts
from benchmark_spec.protocol import IntervalKind

Positions = NDArray[np.int64]
Codes = NDArray[np.int8]


class PairMaker(Protocol):
    """Compares the methods of a task set by one kind of interval; made once a task set."""

    def compare(self, method: int, versus: Positions) -> list[PairInterval]:
        """Compare a method with others (P,), by their positions in the counts."""

    def arrays(self, method: int, versus: Positions) -> tuple[Floats, Codes, Codes]:
        """Return half-widths of the differences, verdicts and direct verdicts, each (P,)."""


@dataclass(frozen=True)
class Beside:
    """How a kind is computed that stands beside the one which a task set carries.

    Attributes
    ----------
    about
        What a verdict holds for, in a few words: the heading of its column in tables.
    key
        Its name in JSON, and at the end of the names that it has there for every kind.
    legend
        A sentence on its column.
    halfwidths
        Of some methods' means, or of some pairs' mean differences (N,), percentage points; NaN
        where there is no interval.
    pairs
        Makes what compares the methods of a task set.
    p_values
        Two-sided, of the pairs of methods at two lists of positions.
    one_sided_p
        Of "the leader is better", by how much it is ahead.
    """

    about: str
    key: str
    legend: str
    halfwidths: Callable[[ClassDesign, Counts, float], Floats]
    pairs: Callable[[ClassDesign, Counts, float], PairMaker]
    p_values: Callable[[ClassDesign, Counts, Positions, Positions], Floats]
    one_sided_p: Callable[[ClassDesign, Counts], Floats]


BESIDE: Mapping[IntervalKind, Beside] = MappingProxyType(
    {
        "class-aware": Beside(
            about="new classes",
            key="new_classes",
            legend="as paired, with the class-aware interval, which counts the classes as a sample "
            "too; its half-width stands in brackets.",
            halfwidths=method_halfwidths,
            pairs=ForNewClasses,
            p_values=p_values,
            one_sided_p=one_sided_p_new_classes,
        ),
    }
)
"""Kinds that stand beside the carried one, in the order in which outputs show them."""

ESTIMANDS: Mapping[IntervalKind, str] = MappingProxyType(
    {
        "closed": "new tasks of these images",
        "open": "new images of these classes, each class weighted as often as the set uses it",
        **{kind: row.about for kind, row in BESIDE.items()},
    }
)
"""What each kind is about: what another experiment would draw anew."""


def kinds_of(carried: IntervalKind, design: ClassDesign | None) -> tuple[IntervalKind, ...]:
    """Return the kinds of interval that a task set has: the one that it carries, and others."""
    return (carried, *(BESIDE if design is not None else ()))
