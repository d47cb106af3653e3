"""Print the tables: ``python -m benchmarks.trained RELEASE``, made from ``tasks.toml``.

Accuracies and wAcc are means over tasks and over runs; the intervals of the ladder and of
counterfactual tasks are closed (other tasks of these images), at 95 %, paired task by task.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis_sql.bias.rank_correlation import rank_correlation
from analysis_sql.bias.spurious_bias import interval_of
from analysis_sql.intervals.intervals import Interval
from benchmarks.generators import correlation, printed, signed
from benchmarks.trained import DATASET, METHODS, RESULTS, UNTRAINED
from benchmarks.trained.measured import LEVEL, By, difference, means, read
from fslbench_data.release.release import load_release

OPEN = ("open-5w1s1q", "open-5w5s5q", "open-5w10s7q", "open-20w1s1q", "open-20w5s5q")
LADDERS = ("5w1s15q", "3w5s15q", "3w10s15q")
STEPS = ("support", "intra", "inter", "biased")
TRUTH, TAGGERS = "style", {"20": ("a20", "b20"), "40": ("a40", "b40")}
COUNTERFACTUALS = ("bold-5w1s5q", "bold-5w5s3q", "italic-5w1s5q")
FIVE, ONE = "5w5s", "5w1s"


def named(by: By, trained: str) -> list[tuple[str, str]]:
    """List methods of a kind of training that have answers: name and key, the paper's order."""
    return [(name, f"{name}-{trained}") for name in METHODS if f"{name}-{trained}" in by]


def trained_rows(by: By) -> Iterator[Sequence[str]]:
    """A row a method: accuracy on open sets, and how much the training has brought."""
    for name, key in named(by, FIVE):
        cells = []
        for task_set in OPEN:
            own, start = by[key].get(task_set), by[f"{name}-{UNTRAINED}"].get(task_set)
            if own is None or start is None:
                cells += ["", ""]
                continue
            cells += [f"{own.accuracy.mean():.1f}", signed(difference(own, start, "accuracy"))]
        yield name, str(len(by[key][OPEN[0]].counts)), *cells


def paper_rows(by: By, protocol: str) -> Iterator[Sequence[str]]:
    """A row a method: accuracy, wAcc on random and on biased tasks, and the gap (Table 3)."""
    first, last = f"random_style-{protocol}", f"biased_style-{protocol}"
    for name, key in named(by, FIVE):
        if last not in by[key]:
            continue
        before, after = by[key][first], by[key][last]
        spread = after.spread("worst")
        yield (
            name,
            signed(before.interval(before.accuracy), ""),
            signed(before.interval(before.worst), ""),
            signed(after.interval(after.worst), ""),
            signed(difference(before, after, "worst")),
            "" if spread is None else f"{spread:.2f}",
        )


def rank_rows(by: By) -> Iterator[Sequence[str]]:
    """A row a ladder: how alike metrics rank the methods (Table 4)."""
    for protocol in LADDERS:
        first, last = f"random_style-{protocol}", f"biased_style-{protocol}"
        keys = [key for _, key in named(by, FIVE) if last in by[key]]
        accurate, random = (means(by, keys, first, of) for of in ("accuracy", "worst"))
        worst = means(by, keys, last, "worst")
        yield (
            protocol,
            str(len(keys)),
            *(
                correlation(rank_correlation(one, other, LEVEL))
                for one, other in ((accurate, random), (accurate, worst), (random, worst))
            ),
        )


def step_rows(by: By, protocol: str) -> Iterator[Sequence[str]]:
    """A row a method: wAcc lost from random tasks to each step (Tables 5 and S5)."""
    for name, key in named(by, FIVE):
        sets = [f"{step}_style-{protocol}" for step in STEPS]
        if sets[-1] in by[key]:
            first = by[key][f"random_style-{protocol}"]
            yield name, *(signed(difference(first, by[key][of], "worst")) for of in sets)


def shot_rows(by: By, protocol: str) -> Iterator[Sequence[str]]:
    """A row a method: trained with one shot and with five (Figure 6)."""
    first, last = f"random_style-{protocol}", f"biased_style-{protocol}"
    for name, key in named(by, ONE):
        other = by[f"{name}-{FIVE}"]
        if last not in by[key] or last not in other:
            continue
        gaps = [of[first].worst - of[last].worst for of in (by[key], other)]
        yield (
            name,
            *(f"{of[last].worst.mean():.2f}" for of in (by[key], other)),
            signed(difference(other[last], by[key][last], "worst")),
            *(f"{gap.mean():.2f}" for gap in gaps),
            signed(other[last].interval(gaps[1] - gaps[0])),
        )


def tagger_rows(by: By) -> Iterator[Sequence[str]]:
    """A row an error rate: how alike taggers rank methods on their biased tasks (Tables 6, S11)."""

    def alike(one: str, other: str) -> str:
        sets = [f"biased_{name}-3w5s15q" for name in (one, other)]
        keys = [key for _, key in named(by, FIVE) if all(of in by[key] for of in sets)]
        first, second = (means(by, keys, of, "worst") for of in sets)
        return correlation(rank_correlation(first, second, LEVEL, same_tasks=False))

    for errors, (one, other) in TAGGERS.items():
        yield errors, alike(one, TRUTH), alike(other, TRUTH), alike(one, other)


def counterfactual_rows(by: By) -> Iterator[Sequence[str]]:
    """A row a method: accuracy lost where the style is another class's, all else being equal."""
    for name, key in named(by, FIVE):
        cells: list[str] = []
        for of in COUNTERFACTUALS:
            same, other = (by[key].get(f"{step}_{of}") for step in ("same", "other"))
            if same is None or other is None:
                cells += ["", ""]
                continue
            cells += [f"{same.accuracy.mean():.1f}", signed(difference(same, other, "accuracy"))]
        yield name, *cells


def lost_most(by: By, protocol: str) -> Interval:
    """Compute the mean over methods of what is lost from random to biased tasks."""
    keys = [key for _, key in named(by, FIVE) if f"biased_style-{protocol}" in by[key]]
    first, last = (
        means(by, keys, f"{step}_style-{protocol}", "worst") for step in ("random", "biased")
    )
    return interval_of((first - last).mean(axis=0), "closed", LEVEL)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    by = read(options.results, load_release(options.release), DATASET)
    columns = " | ".join(f"{of.partition('-')[2]}: | brought:" for of in OPEN)
    printed(f"method | runs: | {columns}", trained_rows(by))
    for protocol in LADDERS:
        print(f"{protocol}: mean loss of wAcc {signed(lost_most(by, protocol))}\n")
        columns = "Acc: | wAcc-R: | wAcc-A: | gap: | SD of wAcc-A:"
        printed(f"{protocol} | {columns}", paper_rows(by, protocol))
    columns = "methods: | Acc, wAcc-R: | Acc, wAcc-A: | wAcc-R, wAcc-A:"
    printed(f"ladder | {columns}", rank_rows(by))
    for protocol in LADDERS:
        printed(f"{protocol} | " + " | ".join(f"{of}:" for of in STEPS), step_rows(by, protocol))
    for protocol in LADDERS:
        columns = "wAcc-A, 1 shot: | 5 shots: | 5 over 1: | gap, 1 shot: | 5 shots: | 5 over 1:"
        printed(f"{protocol} | {columns}", shot_rows(by, protocol))
    printed("errors, % | A, truth: | B, truth: | A, B:", tagger_rows(by))
    columns = " | ".join(f"same {of}: | lost:" for of in COUNTERFACTUALS)
    printed(f"method | {columns}", counterfactual_rows(by))


if __name__ == "__main__":
    main()
