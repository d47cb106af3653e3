"""Fashion-MNIST: the open interval against its own estimand."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np

from studies.coverage import fashion, real
from studies.coverage.measure import head, marked, row
from studies.coverage.processes import spread_out


def part(options: argparse.Namespace) -> int:
    """Print how the open interval holds for new images of the ten classes."""
    population = fashion.population(options.raw)
    print(population.describe(), end="\n\n")
    many = len(fashion.CHOICES)
    jobs: list[Any] = [(shot, k) for shot in fashion.SHOTS for k in range(many)]
    expectation = partial(fashion.accuracies, population, options.seed)
    expectations = spread_out(expectation, jobs, options.processes)
    tables = {
        shot: fashion.by_classes(expectations[i * many : (i + 1) * many])
        for i, shot in enumerate(fashion.SHOTS)
    }
    jobs = [(c, s, options.sets) for c in fashion.CELLS for s in range(real.SEQUENCES)]
    work = partial(fashion.run, population, tables, options.seed)
    results = spread_out(work, jobs, options.processes)
    print(head("C, N", "S, Q", "T", "of", "true sd", "open"))
    missed = 0
    for i, cell in enumerate(fashion.CELLS):
        parts = results[i * real.SEQUENCES : (i + 1) * real.SEQUENCES]
        for which, what in enumerate(("NCC", "difference")):
            errors = np.concatenate([p[1 + which].error for p in parts])
            widths = np.concatenate([p[1 + which].open for p in parts])
            coverage = 100 * float((np.abs(errors) <= widths).mean())
            missed += coverage < 94.0
            print(
                row(
                    f"{cell.classes}, {cell.images}",
                    f"{cell.protocol.shot}, {cell.protocol.query}",
                    round(np.mean([p[0] for p in parts])),
                    what,
                    f"{errors.std():.2f}",
                    marked(coverage, coverage < 94.0),
                )
            )
    return missed
