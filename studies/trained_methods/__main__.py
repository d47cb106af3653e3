"""Print the tables: ``python -m studies.trained_methods``.

Accuracies and wAcc are means over tasks and over runs.  Intervals are at 95 % and paired task by
task; those of ladders and counterfactual tasks are closed: about other tasks of these images.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from fslbench_data.release.release import load_release
from fslbench_data.scoring.bias import bias
from fslbench_data.scoring.score import score
from fslbench_data.submission.merging import merge
from fslbench_data.submission.model import Submission
from studies.common import printed
from studies.trained_methods import MEANS, OPEN, RELEASE, RESULTS
from studies.trained_methods.tables import (
    COUNTERFACTUALS,
    HEADS,
    LADDERS,
    STEPS,
    brought_rows,
    counterfactual_rows,
    head_rows,
    many_counts,
    many_rank_rows,
    many_rows,
    open_shot_rows,
    paper_rows,
    rank_rows,
    seed_rows,
    shot_rows,
    step_rows,
    support_rows,
    tagger_rows,
    training_rows,
)


def shown(headings: str, rows: Iterator[Sequence[str]]) -> None:
    """Print a table that has rows, without columns that say nothing."""
    lines = [headings.split(" | "), *rows]
    said = [at for at, cells in enumerate(zip(*lines[1:], strict=True)) if any(cells)]
    if said:
        first, *rest = [[line[at] for at in said] for line in lines]
        printed(" | ".join(first), iter(rest))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path, nargs="?", default=RELEASE)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    shown("training | steps: | kept of step: | validation:", training_rows())
    release = load_release(options.release)
    answers = merge([Submission.read(path) for path in sorted(options.results.glob("*.parquet"))])
    report = score(answers, release, task_sets=OPEN)
    columns = " | ".join(f"{of.partition('-')[2]}: | brought:" for of in OPEN)
    shown(f"method | {columns}", brought_rows(report))
    columns = " | ".join(f"{of.partition('-')[2]} (SD):" for of in OPEN)
    shown(f"seeds of | {columns}", seed_rows(answers))
    columns = " | ".join(
        f"{of.partition('-')[2]}, {head}{' of means' * (MEANS in end)}:" for of, head, end in HEADS
    )
    shown(f"network of | {columns}", head_rows(report))
    ladders = {ladder.name: ladder for ladder in bias(answers, release).ladders}
    for protocol in LADDERS:
        columns = "Acc: | wAcc-R: | wAcc-A: | gap: | beyond level: | SD of wAcc-A:"
        shown(f"{protocol} | {columns}", paper_rows(ladders[f"*_style-{protocol}"]))
    columns = "methods: | Acc, wAcc-R: | Acc, wAcc-A: | wAcc-R, wAcc-A:"
    shown(f"ladder | {columns}", rank_rows(ladders))
    for protocol in LADDERS:
        columns = " | ".join(f"to {step}:" for step in STEPS)
        shown(f"{protocol} | {columns}", step_rows(ladders[f"*_style-{protocol}"]))
    columns = " | ".join(f"{of.partition('-')[2]}:" for of in OPEN)
    shown(f"1 shot over 5 | {columns}", open_shot_rows(report))
    for protocol in LADDERS:
        columns = "wAcc-A, 1 shot: | 5 shots: | 5 over 1: | gap, 1 shot: | 5 shots: | 5 over 1:"
        shown(f"{protocol} | {columns}", shot_rows(ladders[f"*_style-{protocol}"]))
    shown("errors, % | A, truth: | B, truth: | A, B:", tagger_rows(ladders))
    columns = " | ".join(f"same {of}: | lost:" for of in COUNTERFACTUALS)
    shown(f"method | {columns}", counterfactual_rows(ladders))
    many = many_counts()
    for protocol in LADDERS[:2]:
        columns = "Acc: | wAcc-R: | wAcc-A: | gap: | beyond level:"
        shown(f"3,000 tasks, {protocol} | {columns}", many_rows(many, protocol))
    columns = "methods: | Acc, wAcc-R: | Acc, wAcc-A: | wAcc-R, wAcc-A:"
    shown(f"3,000 tasks, ladder | {columns}", many_rank_rows(many))
    columns = "to sc1: | to sc2: | to biased: | sc1 to sc2: | sc2 to biased:"
    shown(f"from random | {columns}", support_rows(many))


if __name__ == "__main__":
    main()
