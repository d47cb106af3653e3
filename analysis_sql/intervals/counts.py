"""Counts of correct queries per task, their moments, and the variance of training runs.

The R runs of a method on the same tasks have R means; with s² their variance, v = s²/R is the
variance of the mean over runs if the method is trained anew. With h the half-width that counts the
tasks alone, and j and k two methods::

    h'² = h² + t(df)² (v_j + v_k)                              Zou & Donner, Stat. Med. 2008
    df  = (v_j + v_k)² / (v_j²/(R_j - 1) + v_k²/(R_k - 1))           Satterthwaite, Biometrics 1946

and df at most 2 (R - 1), R the fewer runs. Two runs may differ little by chance; this must not make
df large, as it would with one df for tasks and runs, or with the df of the other method alone.
Equal runs count as copies of one.

Where every run answered other tasks, h and v both hold the noise c of tasks, the variance of the
mean of tasks that share no image: h'² = h² + t(df)² max(v - c, 0), at least t(df)² v. A method of
one run has no such term: its interval is about this one trained model. *Closed* intervals have none
either, as the field prints them; of runs on different tasks they are about deviations from each
run's mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple, force_setattr, replace
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from analysis_sql.intervals.arrays import Floats, Ints


class RunTerms(NamedTuple):
    """The variance that training runs add to methods or differences: numbers or arrays."""

    variance: Any
    square: Any
    """v_j + v_k, and the denominator of df."""
    of_tasks: Any = 0.0
    """c, the part of `variance` that is also in h."""

    @classmethod
    def joined(cls, *parts: RunTerms) -> RunTerms:
        """Add the terms of methods that are in one difference or sum, elementwise."""
        fields = zip(*parts, strict=True)
        return cls(*(np.stack(np.broadcast_arrays(*values)) for values in fields)).sum()

    def sum(self) -> RunTerms:
        """Add the terms of methods along the first axis.

        df is at most n times the least R - 1 of the n methods whose runs differ, a bound that it
        never exceeds where all have equally many runs.
        """
        methods = np.greater(self.square, 0).sum(axis=0)
        least = _freedom(self.variance, self.square).min(axis=0, initial=np.inf)
        variance = np.sum(self.variance, axis=0)
        bound = variance**2 / (np.maximum(methods, 1) * least)
        square = np.maximum(np.sum(self.square, axis=0), bound)
        return RunTerms(variance, square, np.sum(self.of_tasks, axis=0))


NO_RUNS = RunTerms(0.0, 0.0)


REFERENCE = 0.95
"""The level of the half-width from which p-values are interpolated."""

_STEPS = 40
"""Halvings in the search for a p-value."""


def run_terms(spreads: Sequence[float | None], runs: Sequence[int]) -> RunTerms:
    """Return v and v²/(R-1) of methods (M,) from their s, which is None for one run."""
    number = np.maximum(np.asarray(runs, np.float64), 1.0)
    v = np.array([spread or 0.0 for spread in spreads]) ** 2 / number
    return RunTerms(v, v**2 / np.maximum(number - 1.0, 1.0))


def run_means(y: Floats, run: Ints) -> Floats:
    """Return the mean of every run (M, R), from values (M, B) and the run of each task (B,)."""
    return np.stack([y[:, run == number].mean(axis=1) for number in range(run.max() + 1)], axis=1)


def _lost_with_mean(run: Ints) -> Floats:
    """Return n/(n - 1) for the run of n tasks that each task (B,) is of."""
    tasks = np.bincount(run)[run]
    return np.asarray(tasks / (tasks - 1))


def own_task_terms(means: Floats, run: Ints) -> tuple[Floats, Floats]:
    """Return v and v²/(R-1) of methods, on the diagonal, and of their differences: (M, M) each.

    `means` (M, R), in 0..1, are of runs that each answered other tasks; `run` (B,) is the run of
    each task.  The mean over all tasks weights a run by its tasks, so that v is s² Σ (T_r/B)².
    """
    means = 100.0 * means
    variance = np.stack([(of_method - means).var(axis=1, ddof=1) for of_method in means])
    np.fill_diagonal(variance, means.var(axis=1, ddof=1))
    variance[variance < _ROUNDING**2] = 0.0
    variance *= np.square(np.bincount(run) / run.size).sum()
    return variance, variance**2 / run.max()


def for_new_runs(widths: Any, terms: RunTerms, level: float) -> Any:
    """Widen half-widths (percentage points) to h', elementwise; without runs they stay."""
    v, square, noise = terms
    if not np.any(v):
        return widths
    t = -stdtrit(_freedom(v, square), (1.0 - level) / 2.0)
    widened = np.hypot(widths, t * np.sqrt(np.maximum(v - noise, 0.0)))
    return np.maximum(widened, t * np.sqrt(v))


def p_for_new_runs(
    p: Any, mean: Any, widths: Any, terms: RunTerms, *, bends: bool = True, constant: Any = False
) -> Any:
    """Raise two-sided p-values to 1 minus the level at which h' ends at 0, elementwise.

    `p` are p-values without runs, `widths` half-widths h at :data:`REFERENCE`; NaN stays NaN.
    Between that level and the level at which h ends at 0, h is taken for Student's, with the df
    that both half-widths imply, or (h/z)² for linear in z² unless h `bends`. Where differences are
    `constant`, h is 0 at every level.
    """
    p, mean, widths, constant, *all_terms = np.broadcast_arrays(p, mean, widths, constant, *terms)
    variance, square, noise = all_terms
    rows = np.array((variance > 0) & (p < 1.0) & (np.isfinite(widths) | constant))  # 1 and NaN stay
    if not rows.any():
        return p
    size, v = np.abs(mean[rows]), variance[rows]
    df = _freedom(v, square[rows])
    raised = p.astype(np.float64)
    raised[rows] = np.maximum(p[rows], 2.0 * stdtr(df, -size / np.sqrt(v)))  # of the runs alone
    added = np.maximum(v - noise[rows], 0.0)
    with_both = ~constant[rows] & (added > 0)
    rows[rows] = with_both
    size, added, df = size[with_both], added[with_both], df[with_both]
    end = -ndtri(p[rows] / 2.0)  # infinite where p underflows
    squared_ratio = _interpolated(np.abs(widths[rows]), size, end, bends)

    low, high = np.zeros_like(size), np.clip(end, 0.0, 37.0)  # beyond, probabilities underflow
    for _ in range(_STEPS):
        z = (low + high) / 2.0
        rest = np.maximum(size**2 - z**2 * squared_ratio(z), 0.0)
        outside = stdtr(df, -np.sqrt(rest / added)) < ndtr(-z)  # h' at z is less than the mean
        low, high = np.where(outside, z, low), np.where(outside, high, z)
    raised[rows] = np.maximum(2.0 * ndtr(-low), raised[rows])
    return raised


def _freedom(variance: Any, square: Any) -> Floats:
    """Return df from v_j + v_k and its denominator; infinite where runs do not differ."""
    v = np.asarray(variance, np.float64)
    infinite = np.full(v.shape, np.inf)
    freedom: Floats = np.divide(v**2, square, out=infinite, where=np.greater(square, 0))
    return freedom


def _interpolated(
    widths: Floats, size: Floats, end: Floats, bends: bool
) -> Callable[[Floats], Floats]:
    """Return (h/z)² as a function of z, from h = `widths` at the reference, `size` at z = `end`.

    Student's h² is about proportional to exp(b z²) - 1, with b = 1/df.  Where h² grows by less
    than z² does, and where it does not bend, (h/z)² is linear in z².
    """
    reference = -ndtri((1.0 - REFERENCE) / 2.0)
    at_reference = np.square(widths / reference)
    far = np.isfinite(end) & (np.abs(end - reference) > 1e-3) & (end > 1e-3)
    last = np.where(far, end, reference + 1.0) ** 2  # an end near the reference is uninformative
    at_last = np.where(far, np.square(size) / last, at_reference)
    slope = (at_last - at_reference) / (last - reference**2)
    low, high = np.minimum(last, reference**2), np.maximum(last, reference**2)
    grown = np.where(last > reference**2, at_last, at_reference) * high
    before = np.where(last > reference**2, at_reference, at_last) * low
    ratio = np.divide(grown, before, out=np.ones_like(size), where=before > 0)
    bent = far & bends & (ratio > high / low * (1.0 + 1e-9))
    unused = 1.0 / high  # where it does not bend
    log_ratio = np.log(np.where(bent, ratio, 1.0))
    least, most = np.zeros_like(size), np.where(bent, log_ratio / (high - low), unused)
    for _ in range(_STEPS):
        b = (least + most) / 2.0
        short = np.expm1(b * high) < ratio * np.expm1(b * low)
        least, most = np.where(short, b, least), np.where(short, most, b)
    b = np.where(bent, (least + most) / 2.0, unused)
    unit = np.divide(before, np.expm1(b * low), out=np.zeros_like(size), where=bent)

    def squared_ratio(z: Floats) -> Floats:
        square = np.maximum(np.square(z), 1e-12)
        inside = np.minimum(square, high)  # where it is evaluated
        straight = np.maximum(at_reference + slope * (square - reference**2), 0.0)
        return np.asarray(np.where(bent, unit * np.expm1(b * inside) / inside, straight))

    return squared_ratio


Integers = int | NDArray[np.int64]

EXACT = isqrt(2**63 - 1)
"""T times the queries of a task, up to which moments are exact."""

_ROUNDING = 1e-7
"""Floats x that differ by less are equal: the square root of the rounding error of x²."""


def subtract(
    x: NDArray[Any], queries: Integers, y: NDArray[Any], versus_queries: Integers
) -> tuple[NDArray[Any], Integers]:
    """Subtract counts x - y (..., T); return these and their unit, the least common multiple."""
    common = np.lcm(queries, versus_queries)
    a, b = (np.asarray(common // number)[..., None] for number in (queries, versus_queries))
    if (a == 1).all() and (b == 1).all():
        return np.subtract(x, y, dtype=np.result_type(x, y, np.int64)), common
    return a * x - b * y, common


class Moments(Struct, frozen=True, dict=True):
    """Sum and sum of squares of integers x_1..x_T, where x / `queries_per_task` is a share.

    Counts are integers, so that equality and a standard deviation of 0 are exact; division comes
    last. Where counts are unknown, x are accuracies with `queries_per_task` 1, equal where they
    differ by rounding alone. Every attribute may be an array of methods or pairs.
    T·`queries_per_task` is at most :data:`EXACT`.
    """

    tasks: Integers
    total: Integers
    squares: Integers
    """T, Σx and Σx²."""
    queries_per_task: Integers
    """The unit of x: K·Q, times the number of runs; Q where x is of one class."""
    run_variance: float | NDArray[np.float64] = 0.0
    run_square: float | NDArray[np.float64] = 0.0
    """The run terms: :func:`analysis_sql.intervals.counts.run_terms`."""
    own_tasks: bool | NDArray[np.bool_] = False
    """Whether every run answered other tasks."""

    @classmethod
    def of(
        cls, counts: NDArray[Any], queries_per_task: Integers, terms: RunTerms = NO_RUNS
    ) -> Moments:
        """Compute the moments of counts (T,) of runs on the same tasks."""
        x = counts.astype(np.result_type(counts, np.int64))
        sums = x.size, x.sum().item(), (x * x).sum().item()
        return cls(*sums, queries_per_task, terms.variance, terms.square)

    @classmethod
    def join(cls, parts: Iterable[Moments]) -> Moments:
        """Join the moments of several arrays of methods or pairs, at least one."""
        columns = zip(*(part._columns() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    def select(self, rows: Any) -> Moments:
        """Return the moments of some methods or pairs, by positions (of every axis) or a mask."""
        return Moments(*(column[rows] for column in self._columns()))

    def _columns(self) -> list[NDArray[Any]]:
        """Return the attributes in order, broadcast to one shape."""
        return list(np.broadcast_arrays(*astuple(self)))

    def __neg__(self) -> Moments:
        return replace(self, total=-self.total)

    @cached_property
    def mean(self) -> Any:
        """Mean share, in percentage points."""
        return np.true_divide(100.0 * self.total, self.tasks * self.queries_per_task)

    @property
    def deviation(self) -> Any:
        """Sample standard deviation (T - 1) of the shares, in percentage points; 0 where T < 2."""
        freedom = np.maximum(np.subtract(self.tasks, 1), 1)
        return 100.0 * np.sqrt(self.scatter / (self.tasks * freedom)) / self.queries_per_task

    @property
    def run_terms(self) -> RunTerms:
        """The variance that training runs add."""
        noise: Any = 0.0
        if np.any(self.own_tasks):
            noise = np.where(self.own_tasks, np.square(self.deviation) / self.tasks, 0.0)
        return RunTerms(self.run_variance, self.run_square, noise)

    def p_for_new_runs(
        self, p: Any, widths: Callable[[], Any], *, bends: bool = True, constant: Any = None
    ) -> Any:
        """Raise p-values by :func:`p_for_new_runs`; `constant` is by default the attribute."""
        if not np.any(self.run_variance):
            return p
        constant = self.constant if constant is None else constant
        return p_for_new_runs(
            p, self.mean, widths(), self.run_terms, bends=bends, constant=constant
        )

    @property
    def constant(self) -> Any:
        """Whether all x are equal."""
        return self.scatter == 0

    @property
    def all_zero(self) -> Any:
        """Whether all x are 0."""
        return np.less_equal(self.squares, _ROUNDING**2 * self.tasks if self._floats else 0)

    @cached_property
    def scatter(self) -> Any:
        """T Σx² - (Σx)², exact of integers: T times the sum of squares about the mean."""
        scatter = self.tasks * self.squares - self.total * self.total
        if not self._floats:
            return scatter
        return np.where(scatter > _ROUNDING**2 * np.square(self.tasks), scatter, 0.0)

    @property
    def norm2(self) -> Floats:
        """|x - x̄|², the sum of squares about the mean."""
        return np.asarray(self.scatter, np.float64) / self.tasks

    @property
    def _floats(self) -> bool:
        return np.asarray(self.squares).dtype.kind == "f"


class RightQueries(Struct, frozen=True, eq=False):
    """The number of a method's runs that answer each query rightly, or a difference of shares.

    `counts` (B, K·Q) are class by class in the order of the tasks' classes. `regained` (runs, B,
    K·Q), where it is known, is the class without which a wrong answer would be right, else -1.
    """

    counts: NDArray[Any]
    runs: int
    regained: NDArray[np.integer[Any]] | None = None

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def shares(self) -> Floats:
        """The share of runs that answer each query rightly (B, K·Q)."""
        return np.asarray(self.counts / self.runs)

    def first_tasks(self, tasks: int) -> RightQueries | None:
        """Return the right queries of the first tasks; None where not all are answered."""
        if len(self) < tasks:
            return None
        regained = None if self.regained is None else self.regained[:, :tasks]
        return RightQueries(self.counts[:tasks], self.runs, regained)


class Counts(Struct, frozen=True, eq=False):
    """Counts of correct queries of M methods on the T tasks of a set.

    `correct` (M, T) are integers x, where x / `queries_per_task` is the share of a task's queries
    that is right, 0 where a method did not answer; or accuracies of 0 to 1 where counts are
    unknown. Method i answered tasks 0..tasks[i]-1. `run_variance` and `run_square` are those of
    :func:`run_terms`. Where every run answered other tasks, `run_of_task` (T,) is the run of each,
    and `pair_terms` (M, M) are those of differences, which are not sums of the methods' terms.
    """

    correct: NDArray[Any]
    tasks: NDArray[np.int64]
    queries_per_task: Any
    run_variance: Any = 0.0
    run_square: Any = 0.0
    pair_terms: tuple[Floats, ...] | None = None
    run_of_task: NDArray[np.int64] | None = None
    right: tuple[RightQueries | None, ...] = ()
    """The right queries of each method, None where unknown or the method is not inductive."""

    def __post_init__(self) -> None:
        queries = np.asarray(self.queries_per_task, np.int64)
        force_setattr(self, "queries_per_task", np.broadcast_to(queries, len(self)))
        for name in ("run_variance", "run_square"):
            values = np.asarray(getattr(self, name), np.float64)
            force_setattr(self, name, np.broadcast_to(values, len(self)))

    @classmethod
    def of(
        cls,
        counts: Sequence[NDArray[Any]],
        queries_per_task: Sequence[int],
        spreads: Sequence[float | None] = (),
        runs: Sequence[int] = (),
        right: Sequence[RightQueries | None] = (),
    ) -> Counts:
        """Join the counts of at least one method, (tasks,) each, over the first tasks of a set."""
        terms = run_terms(spreads, runs)[:2] if any(spreads) else ()
        known = tuple(right) if any(queries is not None for queries in right) else ()
        tasks = np.array([len(x) for x in counts], np.int64)
        correct = np.zeros((len(counts), int(tasks.max())), np.result_type(*counts))
        for row, x in zip(correct, counts, strict=True):
            row[: len(x)] = x
        return replace(cls(correct, tasks, queries_per_task, *terms), right=known)

    @classmethod
    def of_own_tasks(cls, y: NDArray[np.float64], run: NDArray[np.int64]) -> Counts:
        """Join accuracies y (M, B) of methods whose runs each answered other tasks.

        The deviations of a run of n tasks, at least two, from its mean are scaled by
        √(n/(n - 1) · (B - 1)/B), so that their variance is that within runs.
        """
        means = run_means(y, run)
        terms = own_task_terms(means, run)
        variance, square = map(np.diagonal, terms)
        scale = np.sqrt(_lost_with_mean(run) * (1.0 - 1.0 / run.size))
        centred = (y - means[:, run]) * scale + y.mean(axis=1)[:, None]
        of_each = np.full(len(y), run.size)
        return cls(centred, of_each, 1, variance, square, pair_terms=terms, run_of_task=run)

    def shares(self, tasks: int) -> Floats:
        """Return the share of correct queries (M, tasks), as the jackknife takes it.

        Where runs of n tasks answered other tasks, deviations are n/(n - 1) times those from a
        run's mean: the effect of images that tasks share would otherwise be underestimated.
        """
        y: Floats = self.correct[:, :tasks] / self.queries_per_task[:, None]
        if self.run_of_task is None:
            return y
        scale = np.sqrt(_lost_with_mean(self.run_of_task) / (1.0 - 1.0 / self.run_of_task.size))
        mean = y.mean(axis=1)[:, None]
        return np.asarray((y - mean) * scale + mean)

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def own_tasks(self) -> bool:
        """Whether every run answered other tasks."""
        return self.run_of_task is not None

    def select(self, rows: NDArray[Any] | list[int]) -> Counts:
        """Return the counts of some methods, by their positions or a mask."""
        return Counts(
            self.correct[rows],
            self.tasks[rows],
            self.queries_per_task[rows],
            self.run_variance[rows],
            self.run_square[rows],
            self.pair_terms and tuple(terms[rows][:, rows] for terms in self.pair_terms),
            self.run_of_task,
            tuple(self.right[i] for i in np.arange(len(self))[rows]) if self.right else (),
        )

    def first_tasks(self, tasks: int) -> Counts:
        """Return the counts of the first tasks of a set, which all of the methods answered."""
        return replace(self, correct=self.correct[:, :tasks], tasks=np.full(len(self), tasks))

    def terms_of_pairs(self, methods: Any, versus: Any) -> list[Any]:
        """Return the run variance and run square of the differences of pairs."""
        if self.pair_terms is None:
            both = (RunTerms(self.run_variance[i], self.run_square[i]) for i in (methods, versus))
            return [*RunTerms.joined(*both)[:2]]
        return [terms[methods, versus] for terms in self.pair_terms]

    def differences(self, methods: Any, versus: Any, tasks: int) -> Counts:
        """Subtract the counts of `versus` from those of `methods`, over the first tasks."""
        x, y = (self.correct[rows, :tasks] for rows in (methods, versus))
        queries = self.queries_per_task
        differences, common = subtract(x, queries[methods], y, queries[versus])
        variance, square = self.terms_of_pairs(methods, versus)
        of_each = np.full(len(differences), tasks, np.int64)
        return Counts(differences, of_each, common, variance, square, None, self.run_of_task)

    def moments(self) -> Moments:
        """Return the moments of every method over the tasks that it answered, arrays (M,)."""
        x = self.correct
        wide = np.result_type(x, np.int64)
        total = x.sum(axis=1, dtype=wide)
        squares = np.einsum("mt,mt->m", x, x, dtype=wide)
        terms = self.run_variance, self.run_square, self.own_tasks
        return Moments(self.tasks, total, squares, self.queries_per_task, *terms)
