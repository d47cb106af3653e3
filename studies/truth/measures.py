"""The measures that are tested, of a method's correct queries on a ladder and its counterfactuals.

Each is such that more of it means more reliance on the attribute; percentage points.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from scipy.stats import spearmanr, t

from analysis_sql.bias import ClassSpread, excess, worst_class
from benchmark_spec.protocol import Protocol
from builders.sampling.attribute_biased import draw_ladder, image_attributes
from builders.sampling.counterfactual import Versions, draw_counterfactual
from fslbench_data.sampling.draw import DrawnTasks
from studies.common import Array

TASKS = 200
MEASURES = {
    "worst": "-wAcc on biased",
    "accuracy_minus_worst": "accuracy on random - wAcc on biased",
    "gap": "wAcc lost, random to biased",
    "lost": "accuracy lost, random to biased",
    "lost_to_inter": "accuracy lost, support to inter",
    "worst_lost_to_inter": "wAcc lost, support to inter",
    "excess": "excess on biased",
    "excess_gained": "excess gained, random to biased",
    "beyond": "of it beyond the level",
    "same_other": "accuracy lost, same to other",
    "worst_same_other": "wAcc lost, same to other",
    "odds_same_other": "log odds lost, same to other",
}


def ladder_tasks(
    words: list[list[str]], sizes: Array, protocol: Protocol, seed: int, label: str
) -> dict[str, DrawnTasks]:
    """Draw a ladder of images that have these words, in the order of their classes."""
    table = pa.table({"image_id": np.arange(len(words), dtype=np.int32), "attributes": words})
    attributes = image_attributes(table, sizes.tolist(), label)
    ladder = draw_ladder(attributes, protocol, dataset="truth", label=label, seed=seed, tasks=TASKS)
    return ladder.steps


def counterfactual_tasks(
    objects: Versions, protocol: Protocol, seed: int, label: str
) -> dict[str, DrawnTasks]:
    """Draw the steps ``same`` and ``other`` of objects that exist with each value."""
    steps, _ = draw_counterfactual(
        objects, protocol, dataset="truth", label=label, seed=seed, tasks=TASKS
    )
    return {step: steps[step] for step in ("same", "other")}


def in_all_values(sizes: Array, values: int) -> Versions:
    """Make objects that exist in all values: object i of a class has images `values` * i + v."""
    names = tuple(f"value {v}" for v in range(values))
    first = np.cumsum(sizes) - sizes  # an object is a group, and groups are those of all classes
    classes = [
        {int(start + i): values * i + np.arange(values)[None] for i in range(size)}
        for start, size in zip(first, sizes, strict=True)
    ]
    return Versions(names, tuple(classes))


def measures_of(correct: Mapping[str, Array], queries: int) -> dict[str, float]:
    """Compute all measures from correct queries of each class (T, K) by step."""
    right = {step: 100 * float(counts.mean()) / queries for step, counts in correct.items()}
    worst = {step: 100 * float(worst_class(n, queries).mean()) for step, n in correct.items()}
    over = {s: 100 * float(excess(correct[s], queries).mean()) for s in ("random", "biased")}
    spread = ClassSpread.of(correct["random"], queries)
    beyond = np.nan if spread is None else 100 * float(spread.at(correct["biased"]).beyond.mean())
    return {
        "worst": -worst["biased"],
        "accuracy_minus_worst": right["random"] - worst["biased"],
        "gap": worst["random"] - worst["biased"],
        "lost": right["random"] - right["biased"],
        "lost_to_inter": right["support"] - right["inter"],
        "worst_lost_to_inter": worst["support"] - worst["inter"],
        "excess": over["biased"],
        "excess_gained": over["biased"] - over["random"],
        "beyond": beyond,
        "same_other": right["same"] - right["other"],
        "worst_same_other": worst["same"] - worst["other"],
        "odds_same_other": _log_odds(correct["same"], queries)
        - _log_odds(correct["other"], queries),
    }


def _log_odds(counts: Array, queries: int) -> float:
    """Compute the log odds that a query is answered rightly; half a query more of each kind."""
    right = float(counts.sum())
    return float(np.log((right + 0.5) / (counts.size * queries - right + 0.5)))


def ordered(values: Array, truth: Array) -> float:
    """Compute Spearman's correlation over the methods that have a value; 0 where none orders."""
    known = ~np.isnan(values)
    if known.sum() < 3 or np.ptp(values[known]) == 0:
        return 0.0
    return float(spearmanr(values[known], truth[known]).statistic)


def mean_of(values: Array) -> tuple[float, float]:
    """Compute the mean of seeds' values and the half-width of Student's 95 % interval."""
    width = t.ppf(0.975, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size)
    return float(values.mean()), float(width)
