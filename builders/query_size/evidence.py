"""What a number of queries was chosen on: kept with the task sets that it serves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from msgspec import ValidationError, convert

from analysis_sql.planning.query_size import (
    CRITERION,
    Covariance,
    Estimate,
    QueryChoice,
    best_query,
    width_factors,
)
from benchmark_spec.errors import FSLBenchError
from builders.query_size.draws import Draws, choose_query
from builders.query_size.sweep import QuerySweep

MOST_SEEDS = 1000
"""More than anybody draws, and few enough to be counted again."""

Images = Literal["these", "others"]
"""Whether a number was chosen on the images that its task sets are drawn from."""


@dataclass(frozen=True)
class QueryEvidence:
    """Why a protocol has so many queries.

    `low` and `high` are the confidence interval of Q* (None is undetermined); `criterion` is least
    at Q among the task sets of `suite`, `seeds` and `level`.  α and w, in fractions squared, were
    estimated on `dataset`, `release` (empty for the release itself) and `method` at the Q `swept`,
    on ``these`` images, which the task sets are drawn from, or on ``others``.
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
    release: str
    method: str
    swept: tuple[int, ...]
    alpha: float
    w: float
    covariance: Covariance
    freedom: float
    rows: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, sweep: QuerySweep, draws: Draws, release: str = "") -> QueryEvidence:
        """Choose Q for the task sets of `draws` from a sweep, perhaps of other images."""
        estimate = sweep.estimate
        swept = tuple(row.query for row in sweep.rows if row.accuracy is not None)
        choice, tasks = choose_query(estimate, draws, max(swept), sweep.seeds, sweep.level)
        same = not release and sweep.dataset == draws.dataset
        return cls(
            query=_chosen(choice, tasks),
            low=choice.low,
            high=choice.high,
            suite=draws.suite,
            seeds=sweep.seeds,
            level=sweep.level,
            criterion=CRITERION,
            images="these" if same else "others",
            dataset=sweep.dataset,
            release=release,
            method=sweep.method,
            swept=swept,
            alpha=estimate.alpha,
            w=estimate.w,
            covariance=estimate.covariance,
            freedom=estimate.freedom,
            rows=tuple(asdict(row) for row in sweep.rows if row.query in swept),
        )

    @classmethod
    def parse(cls, content: Mapping[str, Any]) -> QueryEvidence:
        """Read what :meth:`as_json` wrote; a ValueError if it is none."""
        try:
            evidence = convert(content, cls)
        except ValidationError as error:
            raise ValueError(f"no evidence for a number of queries: {error!r}") from None
        if not (1 <= evidence.seeds <= MOST_SEEDS and min(evidence.swept, default=0) >= 1):
            raise ValueError(f"evidence of {evidence.seeds} seeds, Q = {evidence.swept}")
        return evidence

    def as_json(self) -> dict[str, Any]:
        """Give plain values for a manifest."""
        values: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return values

    def problems(self, draws: Draws) -> Iterator[str]:
        """Choose again from the estimates and the class sizes; say what comes out otherwise."""
        estimate = Estimate(draws.way, self.alpha, self.w, self.covariance, self.freedom)
        try:
            choice, tasks = choose_query(estimate, draws, max(self.swept), self.seeds, self.level)
            again = (_chosen(choice, tasks), choice.low, choice.high)
        except (FSLBenchError, ValueError, TypeError) as error:
            yield f"its number of queries cannot be chosen again: {error}"
            return
        if again != (self.query, self.low, self.high):
            yield (
                f"its evidence gives {again[0]} queries, {self.level:.0%} interval {again[1]} to "
                f"{again[2]}, not {self.query}, {self.low} to {self.high}"
            )


def _chosen(choice: QueryChoice, tasks: Mapping[int, list[int]]) -> int:
    """Q*, or where the estimate of α is not positive that of α = 0."""
    if choice.best is not None:
        return choice.best
    return best_query(float("inf"), width_factors(tasks, choice.level))
