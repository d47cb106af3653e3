"""Which of many methods differ, and which are not significantly different from the best.

**Confidence set of the best** (Hsu, Annals of Statistics 1981; Mogstad, Romano, Shaikh & Wilhelm,
Review of Economic Studies 2024): the *leader* has the highest mean of M methods, and another is
excluded if the leader is significantly better in the one-sided paired test at (1 - level)/(M - 1).
With confidence `level` a method of the highest expected accuracy is in the rest; that all of
several best methods are, or that those excluded are worse, is not claimed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.comparison.verdicts import VERDICTS, conclusive, holm, paired_p
from analysis_sql.interval_kinds import ADDITIONAL_KINDS, Designs, pair_p
from analysis_sql.intervals.arrays import Bools, Ints
from analysis_sql.intervals.bounds import Saturation, zero_bound
from analysis_sql.intervals.counts import Counts, RunTerms, subtract
from analysis_sql.intervals.power import detectable_difference
from analysis_sql.intervals.sign_flip import sign_flips
from benchmark_spec.protocol import IntervalKind

FEW_TASKS = 50
"""Below so many tasks the sign-flip test is reported with Student's interval."""

POWER = 0.8
"""Power of the detectable difference; at levels of at most 20 % there is none."""


class Evidence(Struct, frozen=True):
    """The statistics that accompany the interval of a paired difference."""

    p: float | None
    """Two-sided, of the test that the interval inverts; None where T < 2."""
    p_sign_flip: float | None
    """Of few tasks only (below :data:`FEW_TASKS`): the exact sign-flip test, about new images of
    these classes, tasks taken as independent; None where training runs of one of the two differ, of
    which it knows nothing."""
    detectable: float | None
    """The smallest true difference that these tasks would show four times in five, for new images
    of these classes, the tasks' standard deviation taken as true (percentage points); None where it
    is unknown."""
    identical: Saturation | None
    """Where the two agree on every task: bounds on how many others they may differ."""


def evidence(
    differences: Counts, kind: IntervalKind, level: float, design: ClassDesign | None
) -> list[Evidence]:
    """Gather the evidence of P pairs of methods from their differences on T tasks, T at least 1."""
    correct, tasks = differences.correct, differences.correct.shape[1]
    moments = differences.moments()
    few = design is not None and 2 <= tasks < FEW_TASKS
    alone = few & (differences.run_variance == 0)
    shares = np.asarray(paired_p(moments, kind), float)
    detectable = np.full(shares.shape, np.nan)
    if 1.0 - level < POWER:
        detectable[:] = detectable_difference(moments, level)
    exact = np.full(shares.shape, np.nan)
    exact[alone] = sign_flips(correct[alone])
    identical = np.asarray(moments.all_zero)
    bound = zeros(design, tasks, level) if identical.any() else None
    return [
        Evidence(
            p=_or_none(shares[i]),
            p_sign_flip=_or_none(exact[i]),
            detectable=_or_none(detectable[i]),
            identical=bound if identical[i] else None,
        )
        for i in range(len(correct))
    ]


NO_EVIDENCE = Evidence(None, None, None, None)
"""Of results that were stopped by what they showed."""


def _or_none(value: float) -> float | None:
    return None if isnan(value) else float(value)


def zeros(design: ClassDesign | None, tasks: int, level: float) -> Saturation | None:
    """Bound the errors, or differences, of others, given none on T tasks; None for closed sets."""
    if design is None or tasks < 1:
        return None
    disjoint = design.prefix(tasks).disjoint_tasks
    return Saturation(level, tasks, zero_bound(tasks, level), disjoint, zero_bound(disjoint, level))


class VerdictCounts(Struct, frozen=True):
    """Numbers of comparisons by verdict, of one kind of interval."""

    better: int
    worse: int
    inconclusive: int
    identical: int
    not_estimable: int

    @property
    def conclusive(self) -> int:
        """Comparisons that found a difference."""
        return self.better + self.worse

    @property
    def compared(self) -> int:
        """Comparisons that could be made; identical methods count."""
        return self.conclusive + self.inconclusive + self.identical

    @property
    def share(self) -> float | None:
        """Conclusive ones among those that could be made."""
        return self.conclusive / self.compared if self.compared else None


def count_verdicts(verdicts: Mapping[str, NDArray[np.int8]]) -> dict[str, VerdictCounts]:
    """Count verdicts, positions or -1, by kind, as Figure 6 of Lafargue et al. (TMLR 2024) does."""
    return {
        kind: VerdictCounts(*(int((codes == code).sum()) for code in range(len(VERDICTS))))
        for kind, codes in verdicts.items()
    }


MOST_PAIRED = 100
"""Methods up to which all pairs are compared by every kind of interval."""


class AdjustedPairs(Struct, frozen=True, eq=False):
    """Pairs of M methods with p-values adjusted for all of them, at whatever level."""

    methods: int
    first: Ints
    second: Ints
    """int (P,): positions of the methods of each pair."""
    p: NDArray[np.float64]
    """float (P,): adjusted."""
    family: int
    """For how many pairs it is: all that can be compared, whether they are here or not."""
    by_holm: bool
    """Whether by Holm's procedure; else by Bonferroni's, which finds no more."""

    def of(self, method: int, level: float) -> Bools:
        """Return which methods differ significantly from a method, (M,)."""
        significant = np.zeros(self.methods, np.bool_)
        with_it = (self.first == method) | (self.second == method)
        others = (self.first + self.second - method)[with_it]
        significant[others] = conclusive(self.p, level)[with_it]
        return significant


def adjusted_pairs(
    counts: Counts,
    kind: IntervalKind,
    design: Any = None,
    *,
    only: int | None = None,
    rows: Sequence[int] | None = None,
) -> AdjustedPairs:
    """Compare all pairs of M methods that answered the same tasks, adjusted for all of them.

    The design is of the kind, None for the primary kind. Pairs with the method
    `only` are enough: of more than :data:`MOST_PAIRED` methods these alone, by Bonferroni's
    procedure. The methods are those at `rows` of the counts, or all.
    """
    at = np.arange(len(counts)) if rows is None else np.array(rows, np.int64)
    methods = at.size
    first, second = np.triu_indices(methods, 1)
    by_holm = True
    if only is not None and methods > MOST_PAIRED:
        by_holm = False
        first, second = np.full(methods - 1, only), np.delete(np.arange(methods), only)
    p = pair_p(counts, at[first], at[second], kind, design)
    if by_holm:
        family = int((~np.isnan(p)).sum())
        return AdjustedPairs(methods, first, second, holm(p), family, by_holm)
    family = methods * (methods - 1) // 2
    return AdjustedPairs(methods, first, second, p * family, family, by_holm)


class Ties(Struct, frozen=True):
    """Ties among M methods on a task set, after an adjustment over all their pairs."""

    methods: tuple[str, ...]
    family: int
    """How many pairs there are."""
    best: str
    """The method with the highest mean."""
    tied: Mapping[IntervalKind, tuple[str, ...]]
    """By kind of interval, methods that do not differ significantly from it, itself included, from
    the highest mean down; first the primary kind, then others that are computed."""


class PairwiseTests(Struct, frozen=True, eq=False):
    """All pairs of M methods on a task set, by kind, with p-values that serve for every level."""

    methods: tuple[str, ...]
    means: NDArray[np.float64]
    pairs: Mapping[IntervalKind, AdjustedPairs]

    def at(self, level: float) -> Ties:
        """Return which methods do not differ significantly from the best at a level."""
        order = np.argsort(-self.means, kind="stable").tolist()  # of equal means the first first
        primary, *_ = self.pairs.values()
        significant = {kind: pairs.of(order[0], level) for kind, pairs in self.pairs.items()}
        return Ties(
            methods=self.methods,
            family=primary.family,
            best=self.methods[order[0]],
            tied={
                kind: tuple(self.methods[i] for i in order if not differs[i])
                for kind, differs in significant.items()
            },
        )


def pairwise_tests(
    names: tuple[str, ...],
    counts: Counts,
    interval_kind: IntervalKind,
    designs: Designs,
    rows: Sequence[int] | None = None,
) -> PairwiseTests:
    """Compare all pairs of at least two methods, by the primary kind and those with designs.

    `names` are of the methods at `rows` of the counts, or of all.
    """
    pairs = {interval_kind: adjusted_pairs(counts, interval_kind, rows=rows)}
    if len(names) <= MOST_PAIRED:
        pairs |= {
            kind: adjusted_pairs(counts, kind, some, rows=rows) for kind, some in designs.items()
        }
    means = np.asarray(counts.moments().mean, float)
    return PairwiseTests(names, means if rows is None else means[list(rows)], pairs)


def claim(level: float) -> str:
    """Return what a table of such a set claims, and no more."""
    return (
        f"with {100 * level:.8g} % confidence a best method is among those marked yes, and for "
        "each of the others there is a method that is at least as good; that they are worse than "
        "the best is not claimed: of several equally good methods some one is marked no in more "
        f"than {100 * (1 - level):.6g} % of tables"
    )


def leader_of(means: Any, tasks: NDArray[np.int64], ordinary: Bools) -> int:
    """Return the row of the highest mean of the ordinary methods with most tasks, the first one."""
    most = tasks[ordinary].max()
    return int(np.argmax(np.where(ordinary & (tasks == most), np.asarray(means, float), -np.inf)))


def lead(leader: Counts, others: Counts) -> Counts:
    """Return by how much the leader is ahead of each other, over the tasks that both answered."""
    width = others.correct.shape[1]
    ahead = leader.correct[0, :width]
    difference, common = subtract(
        ahead, leader.queries_per_task, others.correct, others.queries_per_task
    )
    difference[np.arange(width) >= others.tasks[:, None]] = 0
    both = (RunTerms(own.run_variance, own.run_square) for own in (leader, others))
    variance, square, _ = RunTerms.joined(*both)
    return Counts(difference, others.tasks, common, variance, square)


def ahead_p(ahead: Counts, kind: IntervalKind, design: Any = None) -> NDArray[np.float64]:
    """Compute p-values (P,) of "the leader is better" from its lead; 1 where it is not ahead.

    One-sided: half of the two-sided ones.  The design is of the kind, None for a primary one.
    """
    moments = ahead.moments()
    if design is None:
        p = np.asarray(paired_p(moments, kind), np.float64)
    else:
        p = ADDITIONAL_KINDS[kind].how.method_p_values(design, ahead)
    return np.where(np.isnan(p) | (np.asarray(moments.total) > 0), p / 2.0, 1.0)


def could_be_best(p: NDArray[np.float64], compared: int, level: float) -> Bools:
    """Return which methods are not excluded: one-sided p above (1 - level)/(M - 1), or NaN."""
    limit = (1.0 - level) / max(compared - 1, 1)
    return np.asarray(~(p <= limit * (1.0 + 1e-12)))
