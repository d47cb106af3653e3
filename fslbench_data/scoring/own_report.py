"""What a researcher's own random tasks show: means, intervals and verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from analysis_sql.comparison.multiplicity import conclusive
from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.intervals.sign_flip import constant_p
from analysis_sql.intervals.training_runs import for_new_runs, p_for_new_runs
from analysis_sql.leave_one_out.design import LEFT_OUT, LeftOut
from analysis_sql.leave_one_out.leave_one_out import LeaveOneOut
from benchmark_spec.errors import NoIntervalError, listing
from benchmark_spec.version import __version__


@dataclass(frozen=True)
class Width:
    """A leave-one-out interval.

    Attributes
    ----------
    halfwidth
        Percentage points; None where it cannot be estimated, since all tasks have the same value.
    p
        Of a difference, two-sided: 1 minus the largest level whose interval leaves out 0; found by
        search, and so to nine digits.  Of one that is the same on every task, the exact sign
        test's of as many tasks as the pool would make without a unit in common; None of too few.
    df
        Degrees of freedom of Student's t; None for the normal law.
    monte_carlo_share
        The share of the variance that more tasks of these images would take away.
    widened
        Whether the interval is wide because the tasks are few.
    is_bound
        Whether the half-width is an upper bound, and no estimate.
    run_share
        The share of the variance by which training runs differ; 0 where a method has one run, of
        which nothing is known.
    """

    halfwidth: float | None
    p: float | None
    df: float | None
    monte_carlo_share: float
    widened: bool
    is_bound: bool
    run_share: float = 0.0


class Widths(dict[LeftOut, Width]):
    """Intervals by kind; of one that there is not, a NoIntervalError (a KeyError) says why."""

    def __init__(self, widths: Mapping[LeftOut, Width], why: Mapping[LeftOut, str]) -> None:
        super().__init__(widths)
        self.why = why

    def __reduce__(self) -> tuple[Any, ...]:
        return Widths, (dict(self), dict(self.why))

    def __missing__(self, kind: LeftOut) -> Width:
        why = self.why.get(kind, "no such kind is known")
        raise NoIntervalError(
            f"there is no interval for new {kind}: {why}",
            expected=f"one of {listing(list(self))}",
            fix="ask with widths.get(kind), which gives None where there is none",
        )


@dataclass(frozen=True)
class Estimate:
    """A method's mean over tasks, or the paired difference of two methods', percentage points.

    Attributes
    ----------
    method, versus
        `versus` is empty for the method by itself; the difference is `method` minus `versus`.
    tasks
        B.
    mean
        Classes weighted equally.
    widths
        For `images` (new images of these classes), `classes` (new classes) and `superclasses`,
        those that there are; asking for another raises a NoIntervalError, which says why.
    runs
        Number of training runs of the method, or of both.
    level
        Confidence level of the widths.
    """

    method: str
    versus: str
    tasks: int
    mean: float
    widths: Mapping[LeftOut, Width]
    runs: tuple[int, ...]
    level: float

    def verdict(self, kind: LeftOut) -> Verdict:
        """Return what one kind of interval concludes of a difference."""
        width = self.widths.get(kind)
        if width is None or width.halfwidth is None:
            if width is None or width.p is None or not conclusive(width.p, self.level):
                return Verdict.NOT_ESTIMABLE
            return Verdict.BETTER if self.mean > 0 else Verdict.WORSE
        if width.halfwidth == 0 and self.mean == 0:
            return Verdict.IDENTICAL
        if abs(self.mean) <= width.halfwidth:
            return Verdict.INCONCLUSIVE
        return Verdict.BETTER if self.mean > 0 else Verdict.WORSE


@dataclass(frozen=True, eq=False, repr=False)
class OwnTaskSet:
    """Tasks, and the methods that answered exactly these.

    Attributes
    ----------
    methods
        Their names, in the order of the log.
    level
        Confidence level.
    tasks, way, per_class
        B, K, and the images m of each class that a task uses, support and query together.
    digest
        Twelve digits of the tasks' digest, by the names of classes and images.
    unit
        What is left out for new images: `images` or `groups`.
    why, bounded
        For each kind of interval that there is not, and for each that is a bound, the reason.
    result, reference
        Means and intervals of all methods and pairs as if runs did not differ, fractions (M, M): at
        the report's level, and where there are several runs at that from which p-values are found.
    runs
        Number of training runs of each method.
    disjoint_tasks
        By kind, how many tasks without a unit in common the pool would make.
    run_variance, run_square
        What training anew adds, (M, M): :func:`analysis_sql.intervals.training_runs.run_terms`.
    """

    methods: tuple[str, ...]
    level: float
    tasks: int
    way: int
    per_class: int
    digest: str
    unit: str
    why: Mapping[LeftOut, str]
    bounded: Mapping[LeftOut, str]
    result: LeaveOneOut
    reference: LeaveOneOut | None
    runs: tuple[int, ...]
    disjoint_tasks: Mapping[LeftOut, int]
    run_variance: NDArray[np.float64]
    run_square: NDArray[np.float64]

    def __repr__(self) -> str:
        kinds = ", ".join(self.kinds) or "none"
        return (
            f"<OwnTaskSet {self.digest}: {len(self.methods)} methods on {self.tasks} tasks of "
            f"{self.way} classes; intervals for new: {kinds}>"
        )

    @property
    def means(self) -> list[Estimate]:
        """Every method by itself."""
        return [self._estimate(i, i) for i in range(len(self.methods))]

    def pairs(self) -> Iterator[Estimate]:
        """Every pair of methods, the first of the log minus the later."""
        for i in range(len(self.methods)):
            for j in range(i + 1, len(self.methods)):
                yield self._estimate(i, j)

    @property
    def kinds(self) -> tuple[LeftOut, ...]:
        """The kinds of interval that there are."""
        return tuple(kind for kind in LEFT_OUT if getattr(self.result, kind) is not None)

    def _estimate(self, i: int, j: int) -> Estimate:
        versus = "" if i == j else self.methods[j]
        mean = 100 * float(self.result.mean[i, j])
        widths: dict[LeftOut, Width] = {}
        for kind in self.kinds:
            widths[kind] = self._width(kind, i, j, mean, list(widths.values()))
        runs = self.runs[i], self.runs[j]
        about = self.methods[i], versus, self.tasks, mean
        return Estimate(*about, Widths(widths, self.why), runs[: 1 + (i != j)], self.level)

    def _width(self, kind: LeftOut, i: int, j: int, mean: float, before: Sequence[Width]) -> Width:
        """Return one kind of interval, at least as wide as those `before` it."""
        spread = getattr(self.result, kind)
        tasks, df = 100 * float(spread.halfwidth[i, j]), float(spread.df[i, j])
        terms = variance, _ = float(self.run_variance[i, j]), float(self.run_square[i, j])
        halfwidth, p, share = tasks, float(spread.p[i, j]), 0.0
        if variance > 0 and isfinite(tasks):
            z = -float(ndtri((1.0 - self.level) / 2.0))
            halfwidth = float(for_new_runs(tasks, terms, self.level))
            at = 100 * float(getattr(self.reference, kind).halfwidth[i, j])
            p = float(p_for_new_runs(p, mean, at, terms))
            halfwidth = max(halfwidth, *(width.halfwidth or 0.0 for width in before), 0.0)
            p = max(p, *(width.p or 0.0 for width in before), 0.0)
            share = variance / ((tasks / z) ** 2 + variance)
        if not isfinite(tasks):
            p = float(constant_p(self.disjoint_tasks[kind]))
        return Width(
            halfwidth if isfinite(halfwidth) else None,
            None if i == j or isnan(p) else float(f"{p:.9g}"),
            df if isfinite(df) else None,
            float(spread.monte_carlo_share[i, j]),
            bool(spread.widened[i, j]),
            spread.is_bound,
            share,
        )


@dataclass(frozen=True, eq=False, repr=False)
class OwnTasks:
    """What a log of random tasks shows.

    Attributes
    ----------
    source
        The log.
    level
        Confidence level of every interval.
    classes, images
        Numbers of classes, and of images that tasks show.
    unseen
        Images that no task shows: by the classes' sizes, else an estimate.
    sizes_known
        Whether the classes' sizes were given; else the images seen are taken for all.
    roles
        Whether the log says which images are support and which query.
    trained
        False where nothing is trained before the tasks; None where nothing is said of it.
    run_column
        The log's column that names training runs; empty without any.
    superclasses
        Number of superclasses; 0 where none were given.
    sets
        One, or one for each group of methods that answered other tasks.
    warnings
        What weakens the intervals, a sentence each.
    """

    source: str
    level: float
    classes: int
    images: int
    unseen: float
    sizes_known: bool
    roles: bool
    trained: bool | None
    run_column: str
    superclasses: int
    sets: tuple[OwnTaskSet, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        methods = sum(len(group.methods) for group in self.sets)
        tasks = ", ".join(f"{group.tasks}" for group in self.sets)
        return f"<OwnTasks: {methods} methods on {tasks} tasks of {self.source}>"

    @property
    def means(self) -> list[Estimate]:
        """Every method by itself."""
        return [estimate for group in self.sets for estimate in group.means]

    @property
    def pairs(self) -> list[Estimate]:
        """Every two methods that answered the same tasks, the first of the log minus the later."""
        return [estimate for group in self.sets for estimate in group.pairs()]

    @property
    def signature(self) -> str:
        """What the intervals rest on, in one line."""
        sets = ",".join(
            f"{group.tasks}x{group.way}x{group.per_class}#{group.digest}" for group in self.sets
        )
        sizes = "known" if self.sizes_known else "seen"
        return (
            f"fslbench:{__version__}|own-tasks:{sets}|classes:{self.classes}|"
            f"images:{self.images}|sizes:{sizes}|level:{self.level:.8g}"
        )
