"""The interval for new superclasses: how it holds, and what it costs."""

from __future__ import annotations

import argparse

import numpy as np

from studies.coverage.measure import Z, head, marked, row
from studies.coverage.processes import spread_out
from studies.coverage.superclasses import LEAST, cells, run


def part(options: argparse.Namespace) -> int:
    """Print coverage and widths of each cell, and what intervals for new classes cover."""
    jobs = list(cells(options.seed, options.sets))
    print(
        head(
            "superclasses of C, N",
            "T",
            "process",
            "common",
            "true sd",
            "new classes",
            "new superclasses",
            "width",
            "over new classes'",
        )
    )
    missed = 0
    for cell, results in zip(jobs, spread_out(run, jobs, options.processes), strict=True):
        for what, parts in results:
            error, wide, narrow = (
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("error", "superclasses", "classes")
            )
            deviation = float(error.std())
            of_classes, covered = (100 * float((abs(error) <= h).mean()) for h in (narrow, wide))
            allowed = LEAST - 200 * (LEAST / 100 * (1 - LEAST / 100) / error.size) ** 0.5
            missed += covered < allowed
            print(
                row(
                    cell.words,
                    round(np.mean([part.tasks for part in parts])),
                    cell.process if what == "effects" else f"{cell.process}, {what}",
                    f"{100 * cell.common:.0f} %",
                    f"{deviation:.2f}",
                    of_classes,
                    marked(covered, covered < allowed),
                    f"{wide.mean() / (Z * deviation):.2f}",
                    f"{wide.mean() / narrow.mean():.2f}",
                )
            )
    return missed
