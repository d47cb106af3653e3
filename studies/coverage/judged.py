"""From simulated task results to coverage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.intervals import mixtures_of
from analysis_sql.intervals.counts import Moments
from analysis_sql.intervals.intervals import halfwidths
from studies.common import LEVEL, Array, Z


@dataclass(frozen=True)
class Judged:
    """Simulated data sets against the truth, percentage points, arrays (sets,).

    `open` and `aware` are half-widths; NaN where there is none, as where all tasks are equal.
    """

    error: Array
    open: Array
    aware: Array


def judge(design: ClassDesign, counts: Array, unit: int, truth: float) -> Judged:
    """Judge the results (sets, T) of data sets whose tasks have the classes of one design.

    `truth` is the mean over new classes, as a fraction of a task's `unit` queries.
    """
    x = counts.astype(np.int64)
    tasks = np.full(len(x), x.shape[1])
    moments = Moments(tasks, x.sum(axis=1), np.einsum("st,st->s", x, x), unit)
    opened = np.where(moments.constant, np.nan, halfwidths(moments, "open", LEVEL))
    aware = mixtures_of(design, design.coordinates(x), moments.norm2).halfwidths(moments, LEVEL)
    return Judged(moments.mean - 100.0 * truth, opened, aware)


def closed(counts: Array, unit: int, truth: float) -> tuple[Array, Array]:
    """Return errors and half-widths (sets,) of closed sets (sets, T)."""
    x = counts.astype(np.int64)
    tasks = np.full(len(x), x.shape[1])
    moments = Moments(tasks, x.sum(axis=1), np.einsum("st,st->s", x, x), unit)
    return moments.mean - 100.0 * truth, halfwidths(moments, "closed", LEVEL)


def together(parts: Iterable[Judged]) -> Judged:
    """Join judged data sets of several designs as one."""
    columns = zip(*((p.error, p.open, p.aware) for p in parts), strict=True)
    return Judged(*(np.concatenate(c) for c in columns))


@dataclass(frozen=True)
class Summary:
    """Of many data sets: how often the intervals hold the truth, in per cent.

    Attributes
    ----------
    deviation
        The true standard deviation of the mean over data sets, percentage points.
    open, aware
        Coverage among the data sets that have such an interval.
    none
        Per cent of data sets without a class-aware interval.
    width
        Mean half-width of the class-aware interval over 1.96 true standard deviations.
    """

    sets: int
    deviation: float
    open: float
    aware: float
    none: float
    width: float

    @classmethod
    def of(cls, judged: Judged) -> Summary:
        """Return the summary of judged data sets."""
        size = np.abs(judged.error)
        has_open, has_aware = ~np.isnan(judged.open), ~np.isnan(judged.aware)
        deviation = float(judged.error.std())
        return cls(
            judged.error.size,
            deviation,
            100 * float((size <= judged.open)[has_open].mean()),
            100 * float((size <= judged.aware)[has_aware].mean()),
            100 * float(1 - has_aware.mean()),
            float(judged.aware[has_aware].mean()) / (Z * deviation),
        )
