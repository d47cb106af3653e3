"""The second paper's printed tables beside ours: ``python -m studies.trained_methods.printed``.

``printed.csv`` holds figures of FewSTAB (Zheng et al., ECCV 2024), per cent, by data set, shots and
method: accuracy on random tasks and worst-class accuracy on attribute-biased ones (its Table S7),
the latter with attributes of either captioner (S8), and both worst-class accuracies of Table 3.
``printed_steps.csv`` holds worst-class accuracies with 5 shots, on random tasks and on tasks that
are biased in part: in how support (Table S5) or queries (S6) are chosen.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

from scipy.stats import spearmanr

FIGURES = (
    ("accuracy", "worst", "Acc, wAcc-A:"),
    ("worst_random_table3", "worst_table3", "wAcc-R, wAcc-A:"),
    ("worst_vit_gpt2", "worst_blip", "two captioners:"),
)
"""Pairs of columns whose rankings are compared, and the heading of each."""


STEPS = ("intra", "inter", "sc1", "sc2", "biased")
"""Columns of ``printed_steps.csv``: queries as in our step, support as in our suite, and both."""


def printed() -> dict[tuple[str, str], list[dict[str, float]]]:
    """Read the figures of all methods by data set and shots, in the paper's order of both."""
    with (Path(__file__).parent / "printed.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    cells: dict[tuple[str, str], list[dict[str, float]]] = {}
    for row in sorted(rows, key=lambda row: row["shots"]):
        figures = {name: float(row[name]) for pair in FIGURES for name in pair[:2]}
        cells.setdefault((row["dataset"], row["shots"]), []).append(figures)
    return cells


def lines() -> Iterator[str]:
    """Give a Markdown table: how alike print ranks ten methods, and what the worst class loses."""
    headings = " | ".join(heading for *_, heading in FIGURES)
    yield f"| printed | methods: | {headings} | lost by the worst class, least to most: |"
    yield "|---|---:|---:|---:|---:|---:|"
    for (dataset, shots), rows in printed().items():
        alike = [
            float(spearmanr([row[a] for row in rows], [row[b] for row in rows]).statistic)
            for a, b, _ in FIGURES
        ]
        lost = [row["worst_random_table3"] - row["worst_table3"] for row in rows]
        ranks = " | ".join(f"{value:.2f}" for value in alike)
        name = f"{dataset}, {shots} shot{'s' if shots != '1' else ''}"
        yield f"| {name} | {len(rows)} | {ranks} | {min(lost):.1f} to {max(lost):.1f} |"


def step_lines() -> Iterator[str]:
    """Give a Markdown table: what the mean worst class loses from random tasks, part by part."""
    with (Path(__file__).parent / "printed_steps.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    yield f"| printed, 5 shots | {' | '.join(f'`{step}`:' for step in STEPS)} |"
    yield "|---|---:|---:|---:|---:|---:|"
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        own = [row for row in rows if row["dataset"] == dataset]
        random = mean(float(row["random"]) for row in own)
        lost = (random - mean(float(row[step]) for row in own) for step in STEPS)
        yield f"| {dataset} | {' | '.join(f'{value:.2f}' for value in lost)} |"


if __name__ == "__main__":
    print("\n".join([*lines(), "", *step_lines()]))
