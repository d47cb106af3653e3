"""Which of many methods differ, and which are not significantly different from the best.

**Confidence set of the best** (Hsu, Annals of Statistics 1981; Mogstad, Romano, Shaikh & Wilhelm,
Review of Economic Studies 2024): the *leader* has the highest mean of M methods, and another method
is excluded if the leader is significantly better in the one-sided paired test at
(1 - level)/(M - 1).  With confidence `level` a method with the highest expected accuracy is in the
set.  It is not claimed that all of several best methods are, or that excluded methods are worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from analysis_sql.class_aware.design import ClassDesign
from analysis_sql.comparisons import VERDICTS, conclusive, holm, paired_p
from analysis_sql.interval_kinds import ADDITIONAL_KINDS, Designs, pair_p
from analysis_sql.intervals.arrays import Bools, Ints
from analysis_sql.intervals.counts import Counts, RunTerms, subtract
from analysis_sql.intervals.intervals import Saturation, zero_bound
from analysis_sql.intervals.power import detectable_difference
from analysis_sql.intervals.sign_flip import sign_flips
from benchmark_spec.protocol import IntervalKind

FEW_TASKS = 50
"""With fewer tasks the sign-flip test is reported beside Student's interval."""

POWER = 0.8
"""Power of the detectable difference, which does not exist at levels of at most 20 %."""


class Evidence(Struct, frozen=True):
    """The statistics that accompany the interval of a paired difference."""

    p: float | None
    """Two-sided, of the test that the interval inverts; None where T < 2."""
    p_sign_flip: float | None
    """The exact sign-flip test of fewer than :data:`FEW_TASKS` tasks, about new images of these
    classes, tasks taken as independent; None where training runs of one of the two differ, which it
    does not count."""
    detectable: float | None
    """The smallest true difference that these tasks would show four times in five, for new images
    of these classes, the tasks' standard deviation taken as true (percentage points); None where it
    is unknown."""
    identical: Saturation | None
    """Bounds on the share of other tasks on which two methods differ that agree on all of these."""


def evidence(
    differences: Counts, kind: IntervalKind, level: float, design: ClassDesign | None
) -> list[Evidence]:
    """Gather the evidence of P pairs of methods from their differences on T tasks, T at least 1."""
    correct, tasks = differences.correct, differences.correct.shape[1]
    moments = differences.moments()
    few_tasks = design is not None and 2 <= tasks < FEW_TASKS
    without_runs = few_tasks & (differences.run_variance == 0)
    p = np.asarray(paired_p(moments, kind), float)
    detectable = np.full(p.shape, np.nan)
    if 1.0 - level < POWER:
        detectable[:] = detectable_difference(moments, level)
    p_sign_flip = np.full(p.shape, np.nan)
    p_sign_flip[without_runs] = sign_flips(correct[without_runs])
    identical = np.asarray(moments.all_zero)
    bound = saturation(design, tasks, level) if identical.any() else None
    return [
        Evidence(
            p=_or_none(p[i]),
            p_sign_flip=_or_none(p_sign_flip[i]),
            detectable=_or_none(detectable[i]),
            identical=bound if identical[i] else None,
        )
        for i in range(len(correct))
    ]


NO_EVIDENCE = Evidence(None, None, None, None)
"""The evidence of results that a stopping rule ended."""


def _or_none(value: float) -> float | None:
    return None if isnan(value) else float(value)


def saturation(design: ClassDesign | None, tasks: int, level: float) -> Saturation | None:
    """Bound the share of tasks with an error or difference, given none on T tasks.

    None for closed sets, which have no design.
    """
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
        """Comparisons with a significant difference."""
        return self.better + self.worse

    @property
    def compared(self) -> int:
        """Comparisons that could be made; identical methods count."""
        return self.conclusive + self.inconclusive + self.identical

    @property
    def share(self) -> float | None:
        """Share of conclusive comparisons among those that could be made."""
        return self.conclusive / self.compared if self.compared else None


def count_verdicts(verdicts: Mapping[str, NDArray[np.int8]]) -> dict[str, VerdictCounts]:
    """Count verdicts (positions or -1) by kind, as in Figure 6 of Lafargue et al. (TMLR 2024)."""
    return {
        kind: VerdictCounts(*(int((codes == code).sum()) for code in range(len(VERDICTS))))
        for kind, codes in verdicts.items()
    }


MOST_PAIRED = 100
"""Methods up to which all pairs are compared by every kind of interval."""


class AdjustedPairs(Struct, frozen=True, eq=False):
    """Pairs of M methods with p-values adjusted for all pairs, for every level."""

    methods: int
    first: Ints
    second: Ints
    """int (P,): positions of the methods of each pair."""
    p: NDArray[np.float64]
    """float (P,): adjusted p-values."""
    family: int
    """Number of pairs that can be compared, for which p-values are adjusted."""
    by_holm: bool
    """Whether by Holm's procedure; else by Bonferroni's, which is never more powerful."""

    def differing_from(self, method: int, level: float) -> Bools:
        """Return which methods differ significantly from a method, (M,)."""
        differing = np.zeros(self.methods, np.bool_)
        with_method = (self.first == method) | (self.second == method)
        others = (self.first + self.second - method)[with_method]
        differing[others] = conclusive(self.p, level)[with_method]
        return differing


def adjusted_pairs(
    counts: Counts,
    kind: IntervalKind,
    design: Any = None,
    *,
    only: int | None = None,
    rows: Sequence[int] | None = None,
) -> AdjustedPairs:
    """Compare all pairs of M methods on the same tasks, with p-values adjusted for all pairs.

    `design` is the one of the kind, None for the primary kind.  The methods are those at `rows` of
    the counts, or all.  With `only`, pairs with that method are enough: of more than
    :data:`MOST_PAIRED` methods these alone are compared, by Bonferroni's procedure.
    """
    positions = np.arange(len(counts)) if rows is None else np.array(rows, np.int64)
    methods = positions.size
    by_holm = only is None or methods <= MOST_PAIRED
    if only is None or by_holm:
        first, second = np.triu_indices(methods, 1)
    else:
        first, second = np.full(methods - 1, only), np.delete(np.arange(methods), only)
    p = pair_p(counts, positions[first], positions[second], kind, design)
    family = int((~np.isnan(p)).sum()) if by_holm else methods * (methods - 1) // 2
    adjusted = holm(p) if by_holm else p * family
    return AdjustedPairs(methods, first, second, adjusted, family, by_holm)


class Ties(Struct, frozen=True):
    """Ties among M methods on a task set, after an adjustment over all their pairs."""

    methods: tuple[str, ...]
    family: int
    """Number of pairs."""
    best: str
    """The method with the highest mean."""
    tied: Mapping[IntervalKind, tuple[str, ...]]
    """By kind of interval, the primary kind first: the best method and those that do not differ
    significantly from it, by descending mean."""


class PairwiseTests(Struct, frozen=True, eq=False):
    """All pairs of M methods on a task set, by kind of interval, for every level."""

    methods: tuple[str, ...]
    means: NDArray[np.float64]
    pairs: Mapping[IntervalKind, AdjustedPairs]

    def at(self, level: float) -> Ties:
        """Return which methods do not differ significantly from the best at a level."""
        order = np.argsort(-self.means, kind="stable").tolist()
        best = order[0]
        primary, *_ = self.pairs.values()
        tied: dict[IntervalKind, tuple[str, ...]] = {}
        for kind, pairs in self.pairs.items():
            differing = pairs.differing_from(best, level)
            tied[kind] = tuple(self.methods[i] for i in order if not differing[i])
        return Ties(self.methods, primary.family, self.methods[best], tied)


def pairwise_tests(
    names: tuple[str, ...],
    counts: Counts,
    interval_kind: IntervalKind,
    designs: Designs,
    rows: Sequence[int] | None = None,
) -> PairwiseTests:
    """Compare all pairs of at least two methods, by the primary kind and those with designs.

    `names` are of the methods at `rows` of the counts, or of all methods.
    """
    pairs = {interval_kind: adjusted_pairs(counts, interval_kind, rows=rows)}
    if len(names) <= MOST_PAIRED:
        for kind, design in designs.items():
            pairs[kind] = adjusted_pairs(counts, kind, design, rows=rows)
    means = np.asarray(counts.moments().mean, float)
    return PairwiseTests(names, means if rows is None else means[list(rows)], pairs)


def claim(level: float) -> str:
    """Return the sentence on what a confidence set of the best claims."""
    return (
        f"with {100 * level:.8g} % confidence a best method is among those marked yes, and for "
        "each of the others there is a method that is at least as good; that they are worse than "
        "the best is not claimed: of several equally good methods some one is marked no in more "
        f"than {100 * (1 - level):.6g} % of tables"
    )


def leader_of(means: Any, tasks: NDArray[np.int64], ordinary: Bools) -> int:
    """Return the first row with the highest mean, among ordinary methods with most tasks."""
    eligible = ordinary & (tasks == tasks[ordinary].max())
    return int(np.argmax(np.where(eligible, np.asarray(means, float), -np.inf)))


def lead(leader: Counts, others: Counts) -> Counts:
    """Subtract the counts of other methods from the leader's, over the tasks that both answered."""
    width = others.correct.shape[1]
    ahead = leader.correct[0, :width]
    difference, common = subtract(
        ahead, leader.queries_per_task, others.correct, others.queries_per_task
    )
    difference[np.arange(width) >= others.tasks[:, None]] = 0
    both = (RunTerms(counts.run_variance, counts.run_square) for counts in (leader, others))
    variance, square, _ = RunTerms.joined(*both)
    return Counts(difference, others.tasks, common, variance, square)


def ahead_p(ahead: Counts, kind: IntervalKind, design: Any = None) -> NDArray[np.float64]:
    """Compute one-sided p-values (P,) of the leader's lead; 1 where it is not ahead.

    They are half of the two-sided ones.  `design` is the one of the kind, None for a primary kind.
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
