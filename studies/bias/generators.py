"""The paper's and the released code's biased tasks: ``python -m studies.bias.generators RELEASE``.

RELEASE is made from the specification ``fewstab``.  Beside `biased` (after section 4 of FewSTAB;
Zheng et al., ECCV 2024) stands `released` (after its released code), at each number of shots: how
often queries are inter-class, what methods lose from random tasks of the same classes, how far the
two losses differ, and how alike both rank the methods; then the paper's support ablation, and
counterfactual tasks, where there are any.  Intervals are those of `fslbench compare --bias`; of a
difference between the generators, whose tasks are independent, the root of the sum of squares.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from math import hypot

import numpy as np

from analysis_sql.bias import Contrast, rank_correlation
from fslbench_data.release.release import load_release
from fslbench_data.scoring.bias import Key, Ladder, bias
from fslbench_data.scoring.selection import Selection
from studies.common import correlation, printed, signed

PAPER, CODE, ABLATION, STYLES = "", " fewstab", " ablation", " counterfactual"


def whole_gap(ladder: Ladder, method: str) -> Contrast:
    """Give what a method loses from the first step to the last."""
    first, *_, last = ladder.by_method[method]
    return ladder.values[Key(method, "", first, last)]


def short(method: str) -> str:
    """Leave the head's name out: there is one."""
    return method.removesuffix("/NCC")


def ladder_rows(protocols: Sequence[str], by: dict[str, Ladder]) -> Iterator[Sequence[str]]:
    """Yield a row per protocol, generator and method."""
    for protocol in protocols:
        for family, suite in ((PAPER, "biased"), (CODE, "released")):
            report = by.get(f"{protocol}{family}")
            if report is None:
                continue
            share = f"{100 * report.inter_class[suite]:.0f}"
            for method, steps in report.scores(report.level).items():
                first, last = next(iter(steps.values())), steps[suite]
                lost = whole_gap(report, method)
                yield (
                    f"{protocol}, {suite}",
                    share,
                    short(method),
                    f"{first.accuracy.mean:.2f}",
                    f"{last.accuracy.mean:.2f}",
                    signed(lost.accuracy),
                    f"{first.worst.mean:.2f}",
                    f"{last.worst.mean:.2f}",
                    signed(lost.worst),
                    *("" if of is None else signed(of) for of in (lost.excess, lost.beyond_level)),
                )


def difference_rows(protocols: Sequence[str], by: dict[str, Ladder]) -> Iterator[Sequence[str]]:
    """Yield a row per protocol and method: what more is lost on the released code's tasks."""
    for protocol in protocols:
        paper, code = by[f"{protocol}{PAPER}"], by[f"{protocol}{CODE}"]
        for method in code.by_method:
            here, there = whole_gap(code, method), whole_gap(paper, method)
            cells = []
            for a, b in ((here.accuracy, there.accuracy), (here.worst, there.worst)):
                assert a.halfwidth is not None
                assert b.halfwidth is not None
                cells.append(f"{a.mean - b.mean:+.2f} ± {hypot(a.halfwidth, b.halfwidth):.2f}")
            yield protocol, short(method), *cells


def rank_rows(
    protocols: Sequence[str], by: dict[str, Ladder], level: float
) -> Iterator[Sequence[str]]:
    """Yield a row per protocol: how alike the two rank the methods, and either and random tasks."""
    for protocol in protocols:
        paper, code = by[f"{protocol}{PAPER}"], by[f"{protocol}{CODE}"]
        one, other = (np.array([report.last[m] for m in paper.last]) for report in (paper, code))
        between = correlation(rank_correlation(one, other, level, same_tasks=False))
        within = [correlation(report.rankings[-1].found) for report in (paper, code)]
        yield protocol, between, *within


def ablation_rows(protocols: Sequence[str], by: dict[str, Ladder]) -> Iterator[Sequence[str]]:
    """Yield a row per protocol and method: wAcc with each support set, and what each step loses."""
    for protocol in protocols:
        ladder = by[f"{protocol}{ABLATION}"]
        for method, steps in ladder.scores(ladder.level).items():
            yield (
                protocol,
                short(method),
                *(signed(score.worst, "") for score in steps.values()),
                *(
                    signed(ladder.values[Key(method, "", *pair)].worst)
                    for pair in (("sc1", "sc2"), ("sc2", "biased"), ("sc1", "biased"))
                ),
            )


def step_rows(
    protocols: Sequence[str], by: dict[str, Ladder], family: str = PAPER
) -> Iterator[Sequence[str]]:
    """Yield a row per protocol and method: wAcc lost from each step of the ladder to the next."""
    for protocol in protocols:
        ladder = by[f"{protocol}{family}"]
        for method in ladder.by_method:
            lost = (of for key, of in ladder.values.items() if key[:2] == (method, "") and key.to)
            yield protocol, short(method), *(signed(of.worst) for of in lost)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release")
    parser.add_argument("--dataset", default="openclipart", help="Or emoji.")
    options = parser.parse_args()
    release = load_release(options.release)
    asked = Selection(against=tuple(release.methods), datasets=(options.dataset,))
    ladders = bias(None, release, asked).ladders
    by = {ladder.name.partition("-")[2]: ladder for ladder in ladders}
    every = list(dict.fromkeys(name.partition(" ")[0] for name in by))
    protocols = [name for name in every if name in by]
    lost = "Acc | biased: | lost: | wAcc: | biased: | lost: | excess gained: | beyond level:"
    printed(f"tasks | inter-class %: | features | {lost}", ladder_rows(every, by))
    printed("tasks | features | Acc lost more: | wAcc lost more:", difference_rows(protocols, by))
    printed(
        "tasks | `biased` and `released`: | `random` and `biased`: | `matched` and `released`:",
        rank_rows(protocols, by, asked.level),
    )
    printed(
        "tasks | features | random to support: | to intra: | to inter: | to biased: | in all:",
        step_rows(protocols, by),
    )
    if ablated := [name for name in every if f"{name}{ABLATION}" in by]:
        steps = "sc1: | sc2: | biased: | sc1 to sc2: | sc2 to biased: | sc1 to biased:"
        printed(f"tasks | features | {steps}", ablation_rows(ablated, by))
    if styles := [name for name in every if f"{name}{STYLES}" in by]:
        headings = "tasks | features | same to any: | any to other: | same to other:"
        printed(headings, step_rows(styles, by, STYLES))


if __name__ == "__main__":
    main()
