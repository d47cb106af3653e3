"""The evidence for a chosen number of queries, kept with its task sets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from msgspec import ValidationError, convert

from analysis_sql.planning.query_size import (
    COMPARISON_CRITERION,
    CRITERION,
    Covariance,
    Estimate,
    best_query,
    choose_for_comparisons,
    width_factors,
)
from benchmark_spec.errors import FSLBenchError
from builders.query_size.draws import Draws, tasks_of_each_query
from builders.query_size.sweep import QuerySweep

MOST_SEEDS = 1000
"""The largest number of seeds, since their tasks are counted again."""

Images = Literal["these", "others"]
"""The images of the evidence: those of the task sets themselves, or others."""

Rule = Literal["comparisons", "accuracy"]
"""The intervals that Q is to make narrow: of differences, or of one method's accuracy."""


@dataclass(frozen=True)
class PairEvidence:
    """α and w of the difference of two methods, in fractions squared, with their covariance."""

    methods: tuple[str, str]
    alpha: float
    w: float
    covariance: Covariance
    freedom: float


@dataclass(frozen=True)
class QueryEvidence:
    """Why a protocol has its number of queries.

    `low` and `high` are the confidence interval of Q* (None is undetermined); Q minimises
    `criterion` over the task sets of `suite`, `seeds` and `level`.  α and w, in fractions squared,
    were estimated on `dataset` and `method` at the Q `swept`, on ``these`` images, which the task
    sets are drawn from, or on ``others``; `pairs` has those of differences, and is empty if the
    `rule` is ``accuracy``.
    """

    query: int
    low: int | None
    high: int | None
    suite: str
    seeds: int
    level: float
    criterion: str
    images: Images
    dataset: str
    method: str
    swept: tuple[int, ...]
    alpha: float
    w: float
    covariance: Covariance
    freedom: float
    rows: tuple[dict[str, Any], ...]
    rule: Rule
    pairs: tuple[PairEvidence, ...]

    @classmethod
    def of(cls, sweep: QuerySweep, draws: Draws) -> QueryEvidence:
        """Choose Q for the task sets of `draws` from a sweep, perhaps of other images.

        The rule is ``comparisons`` where the sweep compared methods, else ``accuracy``.
        """
        swept = tuple(row.query for row in sweep.rows if row.accuracy is not None)
        evidence = cls(
            query=0,
            low=None,
            high=None,
            suite=draws.suite,
            seeds=sweep.seeds,
            level=sweep.level,
            criterion=COMPARISON_CRITERION if sweep.pairs else CRITERION,
            images="these" if sweep.dataset == draws.dataset else "others",
            dataset=sweep.dataset,
            method=sweep.method,
            swept=swept,
            **_fitted(sweep.estimate),
            rows=tuple(asdict(row) for row in sweep.rows if row.query in swept),
            rule="comparisons" if sweep.pairs else "accuracy",
            pairs=tuple(PairEvidence(pair, **_fitted(fit)) for pair, fit in sweep.pairs.items()),
        )
        query, low, high = evidence._choose(draws)
        return replace(evidence, query=query, low=low, high=high)

    @classmethod
    def parse(cls, content: Mapping[str, Any]) -> QueryEvidence:
        """Read what :meth:`as_json` wrote; raises a ValueError for anything else."""
        try:
            evidence = convert(content, cls)
        except ValidationError as error:
            raise ValueError(f"no evidence for a number of queries: {error!r}") from None
        if not (1 <= evidence.seeds <= MOST_SEEDS and min(evidence.swept, default=0) >= 1):
            raise ValueError(f"evidence of {evidence.seeds} seeds, Q = {evidence.swept}")
        return evidence

    def as_json(self) -> dict[str, Any]:
        """Return plain values for a manifest."""
        values: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return values

    def problems(self, draws: Draws) -> Iterator[str]:
        """Choose again from the estimates and the class sizes, and yield what differs."""
        try:
            again = self._choose(draws)
        except (FSLBenchError, ValueError, TypeError) as error:
            yield f"its number of queries cannot be chosen again: {error}"
            return
        if again != (self.query, self.low, self.high):
            yield (
                f"its evidence gives {again[0]} queries, {self.level:.0%} interval {again[1]} to "
                f"{again[2]}, not {self.query}, {self.low} to {self.high}"
            )

    def _choose(self, draws: Draws) -> tuple[int, int | None, int | None]:
        """Choose from the estimates and the class sizes: Q and the ends of its interval."""
        tasks, more = tasks_of_each_query(draws, max(self.swept), self.seeds)
        fits = self.pairs if self.rule == "comparisons" else [self]
        estimates = [Estimate(draws.way, **_fitted(fit)) for fit in fits]
        choice = choose_for_comparisons(estimates, tasks, self.level, more=more)
        best = choice.best
        if best is None:  # no estimate of α is positive: take α = 0
            best = best_query(float("inf"), width_factors(tasks, choice.level))
        return best, choice.low, choice.high


def _fitted(fit: Estimate | PairEvidence | QueryEvidence) -> dict[str, Any]:
    return {name: getattr(fit, name) for name in ("alpha", "w", "covariance", "freedom")}
