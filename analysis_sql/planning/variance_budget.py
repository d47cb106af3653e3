"""What a mean over tasks varies by: its classes, its images, or its queries.

A task's accuracy (or paired difference) is y_t = θ + Σ_{c in t} b_c + e_t, as in
:mod:`analysis_sql.class_aware.design`; what is beyond its classes varies as in
:mod:`analysis_sql.planning.query_size`::

    Var(b_c) = σ_b²            classes
    Var(e_t) = a + w/Q         images: luck of the support and query images with endless queries, a;
                               queries: that only Q of a class are asked, w/Q

With T tasks, n_c of them with class c, the mean over tasks varies over new classes by the first of
these, and an open interval is expected to be made of the second::

    Var(mean) = σ_b²·V   + (a + w/Q)/T              V = n'n/T²
    E[s²]/T   = σ_b²·R/T + (a + w/Q)/T              R = (TK - n'n/T)/(T-1)

R is what the classes add to the variance *between the tasks of one set*, about K(1 - K/C), and
falls short of V where classes recur: an open interval divides by T what does not fall with T.

Estimates: w^ as there; σ_b²^ by restricted maximum likelihood; and a^ = s² - w^/Q - σ_b²^·R, so
that the parts add up to the variance s² that was observed, and a plan for the pilot's own tasks
says what its report says.  Where one of the parts is larger than what is left of s² by those
before it, in the order classes, queries, images, it is cut to that: a negative a^ is noise, and
so is the excess of w^/Q that makes it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.class_aware.likelihood import variance_components
from analysis_sql.intervals.arrays import AnyInts, Floats, Ints
from analysis_sql.planning.query_size import SetEstimate
from benchmark_spec.errors import SpecError


@dataclass(frozen=True)
class Shares:
    """Parts of a variance that sum to 1; all NaN where nothing varies."""

    classes: float
    images: float
    queries: float


@dataclass(frozen=True)
class Components:
    """Variances of an accuracy or of a paired difference, in fractions squared.

    Attributes
    ----------
    classes, images, queries
        σ_b², of one class's effect on a task's accuracy; a, of a task beyond its classes with
        endless queries; w, of one query per class.
    """

    classes: float
    images: float
    queries: float

    def within(self, query: int) -> float:
        """σ_e² of a task beyond its classes with Q queries per class: a + w/Q."""
        return self.images + self.queries / query

    def variance_of_mean(self, design: ClassDesign, query: int) -> float:
        """Var(mean) over new classes."""
        return self.classes * design.concentration + self.within(query) / design.tasks

    def between_tasks(self, design: ClassDesign, query: int) -> float:
        """E[s²], the expected sample variance between the tasks of a set; NaN for one task."""
        return self.classes * between_classes(design) + self.within(query)

    def budget(self, design: ClassDesign, query: int) -> Shares:
        """Shares of Var(mean) over new classes."""
        return self._shares(self.classes * design.concentration, design.tasks, query)

    def open_budget(self, design: ClassDesign, query: int) -> Shares:
        """Shares of E[s²]/T, the squared width of the open interval."""
        part = self.classes * between_classes(design) / design.tasks
        return self._shares(part, design.tasks, query)

    def _shares(self, classes: float, tasks: int, query: int) -> Shares:
        parts = np.array([classes, self.images / tasks, self.queries / query / tasks])
        total = float(parts.sum())
        shares = (parts / total if total > 0 else np.full(3, np.nan)).tolist()
        return Shares(*shares)


def between_classes(design: ClassDesign) -> float:
    """R: how many times σ_b² the classes add to the variance between a set's tasks."""
    if design.tasks < 2:
        return float("nan")
    own = design.tasks * (design.way - design.concentration)
    return own / (design.tasks - 1)


def components_of(
    design: ClassDesign, sums: AnyInts, estimate: SetEstimate, unit: int = 1
) -> Components:
    """Estimate all three from one task set; see the module's docstring.

    The design is that of the tasks that were answered, and the estimate is of the same results.
    Raises a SpecError if all tasks have the same classes: what these do is then in no variance
    between tasks.

    Parameters
    ----------
    sums : int (T, K)
        Correct queries of each class of each task, or sums of differences Σd.
    unit
        As of :func:`analysis_sql.planning.query_size.estimate_difference`.
    """
    if design.obstacle is not None:
        raise SpecError(
            f"what classes do cannot be told apart from what images do: {design.obstacle}",
            expected="tasks of different classes",
        )
    values, norm2 = task_counts(design, sums)
    estimates = variance_components(design, design.coordinates(values), norm2)
    n_query = design.way * estimate.query * unit
    times = between_classes(design)
    classes = float(estimates.between[0]) / n_query**2 if norm2[0] else 0.0
    classes = min(classes, estimate.variance / times)
    within = max(estimate.variance - classes * times, 0.0)
    queries = min(estimate.w, within * estimate.query)
    return Components(classes, max(within - queries / estimate.query, 0.0), queries)


def task_counts(design: ClassDesign, sums: AnyInts) -> tuple[Ints, Floats]:
    """Counts of the tasks (1, T) and their squares about the mean (1,), exactly 0 if constant."""
    values = np.asarray(sums).sum(axis=1, dtype=np.int64)[None, :]
    scatter = design.tasks * int((values * values).sum()) - int(values.sum()) ** 2
    return values, np.array([scatter / design.tasks])
