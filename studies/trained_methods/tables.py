"""Rows of the tables: open task sets, ladders, taggers that err and counterfactual tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis_sql.bias import (
    ClassSpread,
    contrast,
    gap,
    gap_of,
    rank_correlation,
    step_score,
    worst_class,
)
from analysis_sql.intervals.arrays import AnyInts, Floats
from analysis_sql.intervals.intervals import Interval
from fslbench_data.scoring.bias import Key, Ladder
from fslbench_data.scoring.report import Report
from fslbench_data.submission.model import Submission
from studies.bias.generators import whole_gap
from studies.common import correlation, signed
from studies.trained_methods import FIVE, MANY, MEANS, ONE, OPEN, TRAININGS, TUNED, UNTRAINED, named

HEADS = (
    ("open-5w1s1q", "NCC", f"-{MEANS}/NCC"),
    *(("open-5w1s1q", head, f"/{head}") for head in ("NCC", "LR")),
    *((TUNED, head, f"/{head}") for head in ("NCC", "MatchingNet", "LR", "FT")),
)
"""Task set, head, and how methods end on it; with one shot MatchingNet is NCC."""


def training_rows() -> Iterator[Sequence[str]]:
    """Yield a row per training's seeds: steps, and the step and validation of the kept weights."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(TRAININGS.glob("*/trained.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        found.setdefault(path.parent.name.rpartition("-")[0], []).append(about)
    for name, seeds in found.items():
        how = seeds[0]["settings"]["training"]
        drawn = f"{how['steps']:,}" + (f" x {how['episodes']}" if how["episodes"] > 1 else "")
        kept = (f"{about['step']:,}" for about in seeds)
        best = (f"{about['accuracy']:.2f}" for about in seeds)
        yield name, drawn, " / ".join(kept), " / ".join(best)


def brought_rows(report: Report) -> Iterator[Sequence[str]]:
    """Yield a row per method: accuracy on open sets, and how far it is above the untrained one.

    The latter's interval is for new classes: for other characters of these scripts.
    """
    accuracy = accuracies(report)
    brought = differences(report)
    for name, key in named({method for _, method in accuracy}, FIVE):
        cells = []
        for task_set in OPEN:
            if (task_set, key) in accuracy:
                cells += [accuracy[task_set, key], brought[task_set, key, f"{name}-{UNTRAINED}"]]
            else:
                cells += ["", ""]
        yield name, *cells


def open_shot_rows(report: Report) -> Iterator[Sequence[str]]:
    """Yield a row per method: by how much training with one shot is above training with five."""
    above, accuracy = differences(report), accuracies(report)
    for name, key in named({method for _, method in accuracy}, ONE):
        yield name, *(above.get((task_set, key, f"{name}-{FIVE}"), "") for task_set in OPEN)


def differences(report: Report) -> dict[tuple[str, str, str], str]:
    """Write by how much one method is above another on a task set, for new classes.

    Where they answer alike there is no interval, and nothing is written.
    """
    found: dict[tuple[str, str, str], str] = {}
    for row in report.comparisons.to_arrow().to_pylist():
        if row["interval"] == "class-aware" and row["halfwidth"] is not None:
            task_set, one, other = row["task_set"], row["method"], row["versus"]
            for sign, pair in ((1, (one, other)), (-1, (other, one))):
                above = sign * row["difference"]
                found[task_set, *pair] = f"{above:+.2f} ± {row['halfwidth']:.2f}"
    return found


def accuracies(report: Report) -> dict[tuple[str, str], str]:
    """Write accuracies by task set and method, with intervals for new images."""
    return {
        (row["task_set"], row["method"]): f"{row['mean']:.2f} ± {row['halfwidth']:.2f}"
        for row in report.scores.to_arrow().to_pylist()
        if row["interval"] == "open"
    }


def seed_rows(answers: Submission) -> Iterator[Sequence[str]]:
    """Yield a row per method of several seeds: each on open sets, and their standard deviation."""
    keys, sums = ["method", "task_set", "run"], [("n_correct", "sum"), ("n_query", "sum")]
    found: dict[tuple[str, str], list[float]] = {}
    rows = answers.table.group_by(keys).aggregate(sums).to_pylist()
    for row in sorted(rows, key=itemgetter("run")):
        share = 100 * row["n_correct_sum"] / row["n_query_sum"]
        found.setdefault((row["method"], row["task_set"]), []).append(share)
    for name, key in named({method for method, _ in found}, FIVE):
        seeds = [found.get((key, task_set), []) for task_set in OPEN]
        if len(seeds[0]) > 1:
            yield name, *(_apart(of) for of in seeds)


def _apart(seeds: Sequence[float]) -> str:
    """Write what seeds have, and their standard deviation."""
    each = " / ".join(f"{of:.2f}" for of in seeds)
    return f"{each} ({np.std(seeds, ddof=1):.2f})" if seeds else ""


def head_rows(report: Report) -> Iterator[Sequence[str]]:
    """Yield a row per method: accuracy of heads on the maps of the network that it trained."""
    accuracy = accuracies(report)
    for name, key in named({method for _, method in accuracy}, FIVE):
        cells = [accuracy.get((of, f"{key}{end}"), "") for of, _, end in HEADS]
        yield name, *cells


LADDERS = ("5w1s15q", "3w5s15q", "3w10s15q")
STEPS = ("support", "intra", "inter", "biased")
TAGGERS = {"20": ("a20", "b20"), "40": ("a40", "b40")}
COUNTERFACTUALS = ("bold-5w1s5q", "bold-5w5s3q", "italic-5w1s5q")
LEVEL = 0.95

Ladders = Mapping[str, Ladder]
"""By name, such as ``*_style-5w1s15q``."""


def paper_rows(ladder: Ladder) -> Iterator[Sequence[str]]:
    """Yield a row per method: accuracy, wAcc on random and on biased tasks, and the gap (Table 3).

    Then what of the gap lies beyond the level of accuracy; empty where it cannot be told.
    """
    scores = ladder.scores(ladder.level)
    for name, key in named(scores, FIVE):
        steps, lost = scores[key], whole_gap(ladder, key)
        yield (
            name,
            signed(steps["random"].accuracy, ""),
            signed(steps["random"].worst, ""),
            signed(steps["biased"].worst, ""),
            signed(lost.worst),
            _perhaps(lost.beyond_level),
            spread(ladder, key, "biased"),
        )


def spread(ladder: Ladder, method: str, step: str) -> str:
    """Write the standard deviation of wAcc between runs; empty below two."""
    counts, queries = ladder.by_method[method][step], ladder.queries
    if counts.ndim == 2:
        return ""
    means = [worst_class(run, queries).mean() for run in np.moveaxis(counts, 2, 0)]
    return f"{100 * np.std(means, ddof=1):.2f}"


def rank_rows(ladders: Ladders) -> Iterator[Sequence[str]]:
    """Yield a row a ladder: how alike metrics rank methods (Table 4); none below three methods."""
    for protocol in LADDERS:
        ladder = ladders[f"*_style-{protocol}"]
        steps, queries = ladder.by_method, ladder.queries
        keys = [key for _, key in named(ladder.last, FIVE)]
        if len(keys) < 3:
            continue
        first, last = (
            np.array([worst_class(steps[key][step], queries) for key in keys])
            for step in ("random", "biased")
        )
        accurate = np.array([_accuracies(steps[key]["random"]) for key in keys])
        pairs = ((accurate, first), (accurate, last), (first, last))
        alike = [correlation(rank_correlation(one, other, LEVEL)) for one, other in pairs]
        yield protocol, str(len(keys)), *alike


def _accuracies(counts: AnyInts) -> Floats:
    """Compute means over classes and runs (T,), up to a factor."""
    means: Floats = counts.reshape(len(counts), -1).mean(axis=1)
    return means


def step_rows(ladder: Ladder) -> Iterator[Sequence[str]]:
    """Yield a row per method: wAcc lost from each step to the next (Tables 5 and S5)."""
    for name, key in named(ladder.by_method, FIVE):
        spans = zip(("random", *STEPS), STEPS, strict=False)
        yield name, *(signed(ladder.values[Key(key, "", *span)].worst) for span in spans)


def shot_rows(ladder: Ladder) -> Iterator[Sequence[str]]:
    """Yield a row per method: trained with one shot and with five (Figure 6)."""
    for name, key in named(ladder.by_method, ONE):
        other = f"{name}-{FIVE}"
        (pair,) = (both for both in ladder.pairs if {*both} == {key, other})
        sign = 1 if pair[0] == other else -1
        *_, last = (of for found, of in ladder.values.items() if found[:2] == pair)
        gains = [ladder.values[Key(*pair, "biased", "")].worst, last.worst]
        yield (
            name,
            *(f"{ladder.values[Key(of, '', 'biased', '')].worst.mean:.2f}" for of in (key, other)),
            f"{sign * gains[0].mean:+.2f} ± {gains[0].halfwidth:.2f}",
            *(f"{whole_gap(ladder, of).worst.mean:.2f}" for of in (key, other)),
            f"{sign * gains[1].mean:+.2f} ± {gains[1].halfwidth:.2f}",
        )


def tagger_rows(ladders: Ladders) -> Iterator[Sequence[str]]:
    """Yield a row an error rate: how alike taggers rank methods on biased tasks (Tables 6, S11)."""

    def alike(one: str, other: str) -> str:
        last = [ladders[f"*_{tagger}-3w5s15q"].last for tagger in (one, other)]
        keys = [key for _, key in named(last[0], FIVE) if key in last[1]]
        first, second = (np.array([of[key] for key in keys]) for of in last)
        return correlation(rank_correlation(first, second, LEVEL, same_tasks=False))

    for errors, (one, other) in TAGGERS.items():
        yield errors, alike(one, "style"), alike(other, "style"), alike(one, other)


def counterfactual_rows(ladders: Ladders) -> Iterator[Sequence[str]]:
    """Yield a row per method: accuracy lost where the style is another class's, all else equal."""
    reports = [ladders[f"*_{of} counterfactual"] for of in COUNTERFACTUALS]
    for name, key in named(reports[0].by_method, FIVE):
        cells: list[str] = []
        for of in reports:
            if key in of.by_method:
                same = of.values[Key(key, "", "same", "")].accuracy
                cells += [f"{same.mean:.1f}", signed(whole_gap(of, key).accuracy)]
            else:
                cells += ["", ""]
        yield name, *cells


Counts = Mapping[str, Mapping[str, AnyInts]]
"""By task set and method, the correct queries of each class of each task, (T, K)."""
QUERIES = 15


def many_counts() -> Counts:
    """Read the answers to 3,000 tasks a set."""
    counts: dict[str, dict[str, AnyInts]] = {}
    for path in sorted(MANY.glob("*.parquet")):
        table = pq.read_table(path)
        for name in sorted(set(table["task_set"].to_pylist())):
            rows = table.filter(pc.equal(table["task_set"], name)).sort_by("task_id")
            of_set = np.array(rows["class_correct"].to_pylist())
            counts.setdefault(name, {})[rows["method"][0].as_py()] = of_set
    return counts


def many_rows(counts: Counts, protocol: str) -> Iterator[Sequence[str]]:
    """Yield a row per method, as :func:`paper_rows`, of tasks that one seed answered."""
    first, last = (counts[f"{step}_style-{protocol}"] for step in ("random", "biased"))
    for name, key in named(first, FIVE):
        parts = [(1, first[key]), (-1, last[key])]
        spread_of = ClassSpread.of(first[key], QUERIES)
        beyond = (None, spread_of.at(last[key])) if spread_of else ()
        lost = gap_of(contrast(parts, QUERIES, "closed", LEVEL, beyond, methods=(0, 0)))
        random, biased = (step_score(of, QUERIES, "closed", LEVEL) for _, of in parts)
        accuracy, *worst = (signed(of, "") for of in (random.accuracy, random.worst, biased.worst))
        yield name, accuracy, *worst, signed(lost.worst), _perhaps(lost.beyond_level)


def _perhaps(value: Interval | None) -> str:
    return "" if value is None else signed(value)


def many_rank_rows(counts: Counts) -> Iterator[Sequence[str]]:
    """Yield a row per ladder, as :func:`rank_rows`."""
    for protocol in LADDERS[:2]:
        first, last = (counts[f"{step}_style-{protocol}"] for step in ("random", "biased"))
        keys = [key for _, key in named(first, FIVE)]
        accurate = np.array([first[key].mean(axis=1) for key in keys])
        before, worst = (
            np.array([worst_class(of[key], QUERIES) for key in keys]) for of in (first, last)
        )
        pairs = ((accurate, before), (accurate, worst), (before, worst))
        alike = [correlation(rank_correlation(one, other, LEVEL)) for one, other in pairs]
        yield protocol, str(len(keys)), *alike


def support_rows(counts: Counts) -> Iterator[Sequence[str]]:
    """Yield a row per method, and their mean: wAcc lost as support is chosen (Table S5).

    From random tasks to `sc1`, whose support is random, to `sc2`, whose support has the attribute,
    and to biased ones; then from the first to the second of these, and on to the third.
    """
    steps = [counts[f"{step}_style-3w5s15q"] for step in ("random", "sc1", "sc2", "biased")]
    means = []
    for name, key in named(steps[0], FIVE):
        random, sc1, sc2, biased = (step[key] for step in steps)
        pairs = (random, sc1), (random, sc2), (random, biased), (sc1, sc2), (sc2, biased)
        lost = [gap(before, after, QUERIES, "closed", LEVEL).worst for before, after in pairs]
        means.append([of.mean for of in lost])
        yield name, *map(signed, lost)
    yield "mean", *(f"{of:+.2f}" for of in np.mean(means, axis=0))
