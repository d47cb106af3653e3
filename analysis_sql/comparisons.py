"""Compare methods pairwise: verdicts, and all pairs of a task set at once.

With p_(1) <= ... <= p_(n) the sorted p-values of a family, Holm (Scand. J. Statist. 1979) adjusts
p_(i) to max_{j<=i} min(1, (n - j + 1) p_(j)).  If comparisons at or below 1 - level are called
significant, the chance of any false difference is at most 1 - level.

A comparison that cannot be made (p is NaN) does not belong to the family; a comparison of identical
methods does, with p = 1.

One matrix product gives every covariance.  With X the counts of correct queries (methods x tasks),
X X' holds Σ_t x_it x_jt of every pair, exactly, since counts are integers; so Σ(x_i - x_j)² =
Σx_i² + Σx_j² - 2 Σx_i x_j in one pass.  The unit of a method's counts depends on its runs; each
pair has the least common multiple of its two units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Protocol

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from analysis_sql.intervals.arrays import Floats, Ints
from analysis_sql.intervals.counts import REFERENCE, Counts, Integers, Moments, for_new_runs
from analysis_sql.intervals.intervals import Interval, halfwidths, of_columns, task_halfwidths
from benchmark_spec.protocol import IntervalKind


def conclusive(p: Any, level: float) -> NDArray[np.bool_]:
    """Return which p-values are at most 1 - level, up to rounding; NaN is not."""
    return np.asarray(p <= 1.0 - level + 1e-12)


def constant_p(tasks: Any) -> Any:
    """Return 2^(1-T), the two-sided p-value of T equal differences that are not 0; NaN if T < 2."""
    number = np.asarray(tasks, np.int64)
    return np.where(number < 2, np.nan, np.ldexp(1.0, 1 - number))


def paired_p(difference: Moments, kind: IntervalKind) -> Any:
    """Return two-sided p-values of paired differences, elementwise, of the tests intervals invert.

    They are 1 where methods are identical, those of the sign-flip test where all differences are
    equal, and NaN where T < 2.
    """
    tasks = np.asarray(difference.tasks)
    constant, deviation = np.asarray(difference.constant), np.asarray(difference.deviation)
    error = np.where(constant, 1.0, deviation / np.sqrt(np.maximum(tasks, 1)))
    score = -np.abs(difference.mean) / error
    tail = ndtr(score) if kind == "closed" else stdtr(np.maximum(tasks - 1, 1), score)
    p = np.where(constant, constant_p(tasks), np.minimum(2.0 * tail, 1.0))
    p = np.where(tasks < 2, np.nan, p)
    if kind != "closed":
        p = difference.p_for_new_runs(p, lambda: task_halfwidths(difference, kind, REFERENCE))
    return np.where(np.asarray(difference.all_zero) & (tasks > 0), 1.0, p)


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust the p-values of one family by Holm's procedure; NaN stays NaN."""
    adjusted = np.array(p, float)
    family = adjusted[~np.isnan(adjusted)]
    order = np.argsort(family, kind="stable")
    steps = np.maximum.accumulate(family[order] * np.arange(family.size, 0, -1))
    family[order] = np.minimum(steps, 1.0)
    adjusted[~np.isnan(adjusted)] = family
    return adjusted


class Verdict(StrEnum):
    """The conclusion of a comparison, from the first method's side."""

    BETTER = "+"
    WORSE = "-"
    INCONCLUSIVE = "0"
    IDENTICAL = "="
    NOT_ESTIMABLE = "?"


VERDICTS = tuple(Verdict)
"""Verdicts in the order of the positions that arrays of verdicts hold."""
BETTER, WORSE, INCONCLUSIVE, IDENTICAL, NOT_ESTIMABLE = range(len(VERDICTS))


class PairInterval(Struct, frozen=True):
    """The comparison of two methods by one kind of interval.

    `mean` and `versus_mean` are of each method, over the tasks that both answered; `difference` is
    paired by task; `verdict_direct` is conclusive where the two methods' intervals do not overlap.
    """

    mean: Interval
    versus_mean: Interval
    difference: Interval
    verdict: Verdict
    verdict_direct: Verdict


class PairColumns(Struct, frozen=True, eq=False):
    """Comparisons of P pairs of methods by one kind of interval, as columns (P,).

    `mean`, `halfwidth` (NaN without an interval) and `constant` (3, P) are of the method, of the
    other and of the difference; verdicts are positions in :data:`VERDICTS`.
    """

    kind: IntervalKind
    level: float
    tasks: NDArray[np.int64]
    mean: NDArray[np.float64]
    halfwidth: NDArray[np.float64]
    constant: NDArray[np.bool_]
    verdict: NDArray[np.int8]
    direct: NDArray[np.int8]

    @classmethod
    def join(cls, parts: Sequence[PairColumns]) -> PairColumns:
        """Join the columns of at least one part, all of one kind."""
        columns = ([getattr(part, name) for part in parts] for name in _COLUMNS)
        joined = (np.concatenate(column, axis=-1) for column in columns)
        return cls(parts[0].kind, parts[0].level, *joined)

    def select(self, rows: NDArray[Any]) -> PairColumns:
        """Return the comparisons of some pairs, by positions or a mask."""
        columns = (getattr(self, name)[..., rows] for name in _COLUMNS)
        return PairColumns(self.kind, self.level, *columns)

    def intervals(self) -> list[PairInterval]:
        """Return the comparisons as objects, one for each pair."""
        mean, versus_mean, difference = (
            of_columns(self.kind, self.level, self.tasks, *columns)
            for columns in zip(self.mean, self.halfwidth, self.constant, strict=True)
        )
        verdicts, direct = (
            [VERDICTS[code] for code in codes.tolist()] for codes in (self.verdict, self.direct)
        )
        return list(map(PairInterval, mean, versus_mean, difference, verdicts, direct))


_COLUMNS = ("tasks", "mean", "halfwidth", "constant", "verdict", "direct")


class Comparison(Struct, frozen=True):
    """Two methods on the T tasks of a task set that both answered.

    Values of the primary kind of interval are also attributes:
    ``comparison.difference`` is ``comparison.intervals[comparison.interval_kind].difference``.

    Attributes
    ----------
    method, versus
        Names; all signs are from the side of `method`.
    interval_kind
        The primary kind.
    intervals
        By kind, the primary kind first; others where they can be computed (:mod:`interval_kinds`).
    verdict_closed
        The direct verdict of the two methods' closed intervals; None without such results.
    reason
        Why nothing is concluded although the tasks would allow it; else empty.
    run_error
        Standard error of the difference due to training runs, percentage points, which the
        intervals count; None where it is unknown for a method.
    of_one_model
        Which of the two methods have one training run but may vary between runs: verdicts hold for
        these trained models.
    """

    dataset: str
    task_set: str
    method: str
    versus: str
    interval_kind: IntervalKind
    intervals: Mapping[IntervalKind, PairInterval]
    verdict_closed: Verdict | None = None
    reason: str = ""
    run_error: float | None = None
    of_one_model: tuple[str, ...] = ()
    as_text: ClassVar[Callable[[Comparison], str] | None] = None

    def __str__(self) -> str:
        """Return the comparison as a sentence, by `as_text` where it is set."""
        write = type(self).as_text
        return repr(self) if write is None else write(self)

    def __repr__(self) -> str:
        additional = [
            f"{kind} {pair.difference.width} {pair.verdict.value!r}"
            for kind, pair in self.intervals.items()
            if kind != self.interval_kind
        ]
        ending = f"; {', '.join(additional)}" if additional else ""
        return (
            f"<Comparison on {self.dataset}/{self.task_set}: {self.method} minus {self.versus}\n"
            f" = {self.difference}, verdict {self.verdict.value!r}{ending}>"
        )

    @property
    def about_new_images(self) -> Comparison | None:
        """The comparison with the kind about new images as the primary one; None without it.

        Where tasks reuse images that is the kind that leaves images out; `verdict_closed` is then
        the verdict of the paired closed interval.
        """
        if self.interval_kind != "closed":
            return self
        if "images" not in self.intervals:
            return None
        intervals = dict(self.intervals)
        del intervals["closed"]
        return structs.replace(
            self, interval_kind="images", intervals=intervals, verdict_closed=self.verdict
        )

    @property
    def displayed(self) -> Comparison:
        """The comparison for display: about new images, if there is an interval for them."""
        return self.about_new_images or self

    @property
    def _primary(self) -> PairInterval:
        return self.intervals[self.interval_kind]

    @property
    def mean(self) -> Interval:
        """Accuracy of `method` over these T tasks."""
        return self._primary.mean

    @property
    def versus_mean(self) -> Interval:
        """Accuracy of `versus` over these T tasks."""
        return self._primary.versus_mean

    @property
    def difference(self) -> Interval:
        """Paired difference, `method` minus `versus`."""
        return self._primary.difference

    @property
    def verdict(self) -> Verdict:
        """Verdict by the paired difference."""
        return self._primary.verdict

    @property
    def verdict_direct(self) -> Verdict:
        """Verdict by the two methods' own intervals."""
        return self._primary.verdict_direct


def paired_verdicts(
    difference: Moments,
    widths: Any,
    kind: IntervalKind,
    level: float,
    independent: Integers | None = None,
) -> NDArray[np.int8]:
    """Return verdicts of paired differences, as positions in :data:`VERDICTS`, elementwise.

    A difference is conclusive if 0 lies outside its interval, *not estimable* without an interval
    (a half-width of NaN).  Methods whose differences are all 0 are *identical*, unless they answer
    other queries rightly, which gives a half-width.  Where all differences are equal but not 0, the
    exact sign-flip test of the `independent` tasks decides, unless there are 0 of these.
    """
    tasks, mean = np.asarray(difference.tasks), np.asarray(difference.mean)
    better, worse, inconclusive, none = map(np.int8, (BETTER, WORSE, INCONCLUSIVE, NOT_ESTIMABLE))
    claim = np.where(mean > 0, better, worse)
    codes = np.where(np.abs(mean) > widths, claim, inconclusive)
    codes = np.where(np.isnan(widths), none, codes)
    constant = np.asarray(difference.constant)
    if constant.any():  # rare, and it takes longer than all the rest
        enough = conclusive(constant_p(tasks if independent is None else independent), level)
        zeros = np.zeros(mean.shape)
        of_runs = zeros if kind == "closed" else for_new_runs(zeros, difference.run_terms, level)
        beyond = np.abs(mean) > of_runs
        of_constant = np.where(enough, np.where(beyond, claim, inconclusive), none)
        codes = codes if independent == 0 else np.where(constant, of_constant, codes)
        of_zeros = np.where(np.asarray(widths) > 0, inconclusive, np.int8(IDENTICAL))
        codes = np.where(np.asarray(difference.all_zero) & (tasks > 0), of_zeros, codes)
    return np.asarray(codes)


def direct_verdicts(mean: Any, halfwidth: Any, versus_mean: Any, versus_halfwidth: Any) -> Any:
    """Return verdicts of comparing two separate intervals: conclusive where they do not overlap."""
    gap = np.subtract(mean, versus_mean)
    reach = np.add(halfwidth, versus_halfwidth)
    codes = np.where(np.abs(gap) > reach, np.where(gap > 0, BETTER, WORSE), INCONCLUSIVE)
    return np.where(np.isnan(reach), NOT_ESTIMABLE, codes).astype(np.int8)


_EXACT_FLOAT32 = 2**24
_EXACT_FLOAT64 = 2**53
_PAIRS_AT_ONCE = 1 << 15
_NUMBERS_AT_ONCE = 1 << 20
"""Differences of counts that are held at once."""


class PairArrays(Struct, frozen=True, eq=False):
    """Comparisons of F methods with M over their common tasks: arrays (F, M)."""

    tasks: NDArray[np.int64]
    difference: NDArray[np.float64]
    halfwidth: NDArray[np.float64]
    """Mean paired difference and half-width of its interval, percentage points; NaN where T < 2."""
    verdict: NDArray[np.int8]
    direct: NDArray[np.int8]
    """Positions in :data:`analysis_sql.comparisons.VERDICTS`."""


def pair_arrays(
    counts: Counts, requested: NDArray[np.bool_], kind: IntervalKind, level: float
) -> PairArrays:
    """Compare the first F methods with the `requested` ones (F, M), over their common tasks.

    A few rows are computed at a time, so that they stay in the processor's cache.
    """
    shape = requested.shape
    products = _Products(counts)
    own_mean = products.own.mean
    own_width = halfwidths(products.own, kind, level)
    tasks = np.zeros(shape, np.int64) if products.lengths_differ else counts.tasks[:1]
    arrays = PairArrays(
        np.broadcast_to(tasks, shape),
        np.full(shape, np.nan),
        np.full(shape, np.nan),
        np.full(shape, -1, np.int8),
        np.full(shape, -1, np.int8),
    )
    step = max(1, _PAIRS_AT_ONCE // max(len(counts), 1))
    for start in range(0, shape[0], step):
        rows = slice(start, min(start + step, shape[0]))
        wanted = np.flatnonzero(requested[rows].any(axis=0))
        if not wanted.size:
            continue
        block = (rows, slice(int(wanted[0]), int(wanted[-1]) + 1))
        method_moments, versus_moments, difference = products.moments(*block)
        widths = halfwidths(difference, kind, level)
        if products.lengths_differ:
            tasks[block] = difference.tasks
            method = (method_moments.mean, halfwidths(method_moments, kind, level))
            versus = (versus_moments.mean, halfwidths(versus_moments, kind, level))
        else:
            method = (own_mean[rows, None], own_width[rows, None])
            versus = (own_mean[None, block[1]], own_width[None, block[1]])
        verdict = paired_verdicts(difference, widths, kind, level)
        arrays.difference[block] = difference.mean
        arrays.halfwidth[block] = _reported_widths(widths, verdict)
        arrays.verdict[block] = verdict
        arrays.direct[block] = direct_verdicts(*method, *versus)
    return arrays


def _reported_widths(widths: Any, verdict: NDArray[np.int8]) -> Floats:
    """Return half-widths: NaN where equal differences allow no verdict, 0 of identical methods."""
    widths = np.where(verdict == NOT_ESTIMABLE, np.nan, widths)
    return np.where((verdict == IDENTICAL) & np.isnan(widths), 0.0, widths)


Positions = tuple[Ints, Ints]
"""Positions of the first and the second methods of pairs (P,)."""


class Laws(Protocol):
    """The sampling distributions of means or of differences, which depend on their moments too.

    Half-widths are continuous in the level, and p is their inverse: a difference is significant at
    a level exactly where p is below 1 - level, and p is 1 - level where the interval ends at 0
    (nearly, where training runs count, for which p is interpolated).  Both count training runs.
    """

    def halfwidths(self, moments: Moments, level: float) -> Floats:
        """Compute half-widths (P,), percentage points; NaN without an interval."""
        ...

    def p(self, moments: Moments) -> Floats:
        """Compute two-sided p-values (P,) of the hypothesis that a mean is 0; NaN without one."""
        ...


_Compute = Callable[[Laws, Moments], Floats]
"""Computes half-widths or p-values."""


class Kind(Struct, frozen=True):
    """A kind of interval: half-widths and p-values, given the design of a task set.

    An interval is mean ± half-width.  The order of tasks, and the order and names of methods,
    change nothing.  A kind that is not to be narrower than another yields the laws of both: the
    wider half-width and the larger p count.
    """

    name: IntervalKind
    of_queries: ClassVar[bool] = False
    """Whether laws may see which queries were right, so that equal counts are not equal answers."""

    def laws(
        self, design: Any, counts: Counts, tasks: int, pairs: Positions | None, moments: Moments
    ) -> Iterator[tuple[Any, Laws]]:
        """Yield blocks of rows, and their laws, over the first tasks.

        A row is one of the pairs (P,), or if these are None one of all methods (M,); `moments` are
        those of the rows.
        """
        raise NotImplementedError

    def independent(self, design: Any, tasks: int) -> int | None:
        """Count the independent tasks among the first, or return None if all are.

        They decide where all differences are equal.
        """
        return None

    def method_halfwidths(self, design: Any, counts: Counts, level: float) -> Floats:
        """Compute half-widths (M,) of methods' means, each over the tasks that it answered."""
        return self._by_method(design, counts, lambda laws, part: laws.halfwidths(part, level))

    def method_p_values(self, design: Any, counts: Counts) -> Floats:
        """Compute two-sided p-values (M,) of methods' means, or mean differences, being 0."""
        return self._by_method(design, counts, lambda laws, part: laws.p(part))

    def _by_method(self, design: Any, counts: Counts, compute: _Compute) -> Floats:
        values, all_moments = np.full(len(counts), np.nan), counts.moments()
        for tasks, rows in _by_tasks(counts.tasks):
            part = counts if len(rows) == len(counts) else counts.select(rows)
            moments = all_moments.select(rows)
            laws = self.laws(design, part, tasks, None, moments)
            values[rows] = _largest(laws, moments, compute)
        return values

    def pairs(self, design: Any, counts: Counts, level: float) -> Pairs:
        """Return the comparisons of a set's methods."""
        return Pairs(self, design, counts, level)

    def p_values(self, design: Any, counts: Counts, methods: Ints, versus: Ints) -> Floats:
        """Compute two-sided p-values (P,) of pairs of methods, at two arrays of positions."""
        p, differences = np.full(len(methods), np.nan), pair_differences(counts, methods, versus)
        for tasks, rows in _by_tasks(np.minimum(counts.tasks[methods], counts.tasks[versus])):
            moments = differences.select(rows)
            laws = self.laws(design, counts, tasks, (methods[rows], versus[rows]), moments)
            p[rows] = _largest(laws, moments, lambda laws, part: laws.p(part))
        return p


def _by_tasks(tasks: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each number of tasks above 0, and the positions that have it."""
    for number in np.unique(tasks[tasks > 0]).tolist():
        yield number, np.flatnonzero(tasks == number)


def _largest(blocks: Iterable[tuple[Any, Laws]], moments: Moments, compute: _Compute) -> Floats:
    """Compute the largest value (P,) by all laws that a row has; NaN if it has none."""
    values = np.full(np.shape(moments.total), -np.inf)
    for rows, laws in blocks:
        values[rows] = np.maximum(values[rows], compute(laws, moments.select(rows)))
    return np.where(np.isneginf(values), np.nan, values)


class Pairs:
    """The comparisons of a task set's methods by one kind, each pair over its common tasks."""

    def __init__(self, kind: Kind, design: Any, counts: Counts, level: float) -> None:
        self.kind, self.counts, self.level = kind.name, counts, level
        self._kind, self._design = kind, design
        self._own_widths: dict[int, Floats] = {}  # (M,) of means over the first tasks

    def columns(self, methods: int | Ints, versus: Ints) -> PairColumns:
        """Compare one method or several with others (P,), at least one pair, by positions."""
        methods, versus = np.broadcast_arrays(methods, versus)
        common = np.minimum(self.counts.tasks[methods], self.counts.tasks[versus])
        order = np.argsort(common, kind="stable")
        parts = []
        for rows in np.split(order, np.flatnonzero(np.diff(common[order])) + 1):
            tasks = int(common[rows[0]])
            step = max(1, _NUMBERS_AT_ONCE // max(tasks, 1))
            for start in range(0, rows.size, step):
                block = rows[start : start + step]
                parts.append(self._over_first_tasks(tasks, methods[block], versus[block]))
        return PairColumns.join(parts).select(np.argsort(order))

    def _widths(self, tasks: int, pairs: Positions | None, moments: Moments) -> Floats:
        """Compute half-widths of pairs, or of all methods, over the first tasks; NaN without."""
        blocks = self._kind.laws(self._design, self.counts, tasks, pairs, moments)
        return _largest(blocks, moments, lambda laws, part: laws.halfwidths(part, self.level))

    def _over_first_tasks(self, tasks: int, methods: Ints, versus: Ints) -> PairColumns:
        used, position = np.unique([methods, versus], return_inverse=True)
        position = position.reshape(2, -1)
        own = self.counts.select(used).first_tasks(tasks).moments()
        if tasks not in self._own_widths:
            moments = self.counts.first_tasks(tasks).moments()
            self._own_widths[tasks] = self._widths(tasks, None, moments)
        own_widths = self._own_widths[tasks][used]
        difference = self.counts.differences(methods, versus, tasks).moments()
        paired = self._widths(tasks, (methods, versus), difference)
        independent = None
        if np.any(difference.constant):  # the search takes long, and is rarely needed
            independent = self._kind.independent(self._design, tasks)
        verdict = paired_verdicts(difference, paired, self.kind, self.level, independent)
        if isinstance(self._kind, PrimaryKind):
            paired = _reported_widths(paired, verdict)
        if self._kind.of_queries:
            verdict = np.where((verdict == IDENTICAL) & np.isnan(paired), NOT_ESTIMABLE, verdict)
        mean = np.stack([*own.mean[position], difference.mean])
        halfwidth = np.stack([*own_widths[position], paired])
        return PairColumns(
            kind=self.kind,
            level=self.level,
            tasks=np.full(len(methods), tasks),
            mean=mean,
            halfwidth=halfwidth,
            constant=np.stack([*own.constant[position], difference.constant]),
            verdict=verdict,
            direct=direct_verdicts(mean[0], halfwidth[0], mean[1], halfwidth[1]),
        )


class PrimaryLaws(Struct, frozen=True):
    """The laws of a kind that needs moments alone: ``open`` or ``closed``."""

    kind: IntervalKind

    def halfwidths(self, moments: Moments, level: float) -> Floats:
        """Compute half-widths (P,) by :func:`analysis_sql.intervals.intervals.halfwidths`."""
        return np.asarray(halfwidths(moments, self.kind, level))

    def p(self, moments: Moments) -> Floats:
        """Compute p-values (P,) by :func:`analysis_sql.comparisons.paired_p`."""
        return np.asarray(paired_p(moments, self.kind), np.float64)


class PrimaryKind(Kind, frozen=True):
    """A kind that needs no design."""

    def laws(self, *_: Any) -> Iterator[tuple[Any, Laws]]:
        """Yield all rows as one block."""
        yield slice(None), PrimaryLaws(self.name)


def pair_differences(counts: Counts, first: NDArray[Any], second: NDArray[Any]) -> Moments:
    """Compute moments (P,) of differences of pairs of methods, over their common tasks."""
    tasks = counts.tasks
    if first.size < len(counts) and (tasks == tasks[0]).all():  # few pairs: not all are needed
        return counts.differences(first, second, tasks[0]).moments()
    rows, columns = (slice(int(i.min()), int(i.max()) + 1) for i in (first, second))
    moments = _Products(counts).moments(rows, columns)[2]
    return moments.select((first - rows.start, second - columns.start))


class _Products:
    """The sums over common tasks of all pairs, a block of rows and columns at a time.

    Sums of integers are exact, by the fastest type of number that is exact for them.
    """

    def __init__(self, counts: Counts) -> None:
        self._counts, self.own = counts, counts.moments()
        x, tasks = counts.correct, counts.tasks
        self._sum_type: Any = np.float64
        product_type: Any = np.float64
        if x.dtype.kind != "f":
            self._sum_type = np.int64
            largest = max(int(x.max(initial=0)), -int(x.min(initial=0)), 1)
            bound = largest**2 * x.shape[1]
            if bound < _EXACT_FLOAT32:
                product_type = np.float32
            elif bound >= _EXACT_FLOAT64:
                product_type = np.int64
        self._x = x.astype(product_type)
        self.lengths_differ = bool((tasks != tasks[0]).any())
        self._runs = bool(counts.run_variance.any())
        self._units_differ = bool((counts.queries_per_task != counts.queries_per_task[0]).any())
        if self.lengths_differ:
            self._answered = (np.arange(x.shape[1]) < tasks[:, None]).astype(self._x.dtype)
            self._squared = self._x**2

    def moments(self, rows: slice, columns: slice) -> tuple[Moments, Moments, Moments]:
        """Return the moments of methods, of others and of their differences.

        Methods are at `rows` and others at `columns`; all moments broadcast to (rows, columns).
        """

        def times(a: NDArray[Any], b: NDArray[Any], dtype: Any = self._sum_type) -> NDArray[Any]:
            return np.asarray(a[rows] @ b[columns].T).astype(dtype, copy=False)

        counts, units = self._counts, self._counts.queries_per_task
        products = times(self._x, self._x)
        if self.lengths_differ:
            answered = self._answered
            common = times(answered, answered, np.int64)
            total, squares = times(self._x, answered), times(self._squared, answered)
            versus_total, versus_squares = times(answered, self._x), times(answered, self._squared)
        else:
            common = counts.tasks[:1, None]
            totals, all_squares = np.asarray(self.own.total), np.asarray(self.own.squares)
            total, squares = totals[rows, None], all_squares[rows, None]
            versus_total, versus_squares = totals[None, columns], all_squares[None, columns]

        def own(total: Any, squares: Any, index: Any) -> Moments:
            terms = counts.run_variance[index], counts.run_square[index]
            return Moments(common, total, squares, units[index], *terms, counts.own_tasks)

        method = own(total, squares, (rows, None))
        versus = own(versus_total, versus_squares, (None, columns))
        unit: Integers = int(units[0])
        if self._units_differ:
            unit = np.lcm(units[rows, None], units[columns])
            a, b = unit // units[rows, None], unit // units[columns]
            total, squares = a * total, a * a * squares
            versus_total, versus_squares = b * versus_total, b * b * versus_squares
            products *= a * b
        products *= -2
        products += squares
        products += versus_squares
        variance, square = 0.0, 0.0
        if self._runs:
            positions = np.arange(len(counts))
            variance, square = counts.terms_of_pairs(positions[rows, None], positions[columns])
        terms = variance, square, counts.own_tasks
        return method, versus, Moments(common, total - versus_total, products, unit, *terms)
