"""The model itself on the published class sequences."""

from __future__ import annotations

import argparse

from studies.coverage import published
from studies.coverage.measure import head, marked, row
from studies.coverage.processes import spread_out


def part(options: argparse.Namespace) -> int:
    """Print how the class-aware interval holds at each strength of class effects."""
    names = published.task_sets()
    jobs = [(*name, s, options.sets, options.seed) for name in names for s in published.STRENGTHS]
    results = spread_out(_published_job, jobs, options.processes)
    print(head("task set", *(f"λ̄g = {s:g}" for s in published.STRENGTHS)))
    many = len(published.STRENGTHS)
    for i, (dataset, name) in enumerate(names):
        cells = [
            f"{marked(coverage, coverage < 92.5)} ({width:.2f})"
            for coverage, width in results[i * many : (i + 1) * many]
        ]
        print(row(f"{dataset}/{name}", *cells))
    return sum(coverage < 92.5 for coverage, _ in results)


def _published_job(job: tuple[str, str, float, int, int]) -> tuple[float, float]:
    return published.run(*job)
