"""Hangul syllables in many fonts as the population of classes."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np

from studies.coverage import hangul, real
from studies.coverage.measure import Summary, head, marked, row, together
from studies.coverage.processes import spread_out


def part(options: argparse.Namespace) -> int:
    """Print how open and class-aware intervals hold for new syllables."""
    population = hangul.population(options.raw)
    print(population.describe(), end="\n\n")
    shots = sorted({cell.protocol.shot for cell in hangul.CELLS})
    jobs: list[Any] = [(shot, part) for shot in shots for part in range(real.TRUTH_PARTS)]
    parts = spread_out(partial(population.truth, options.seed), jobs, options.processes)
    means = np.reshape(parts, (len(shots), real.TRUTH_PARTS, 2)).mean(axis=1)
    truths = dict(zip(shots, map(tuple, means.tolist()), strict=True))
    jobs = [(c, s, options.sets) for c in hangul.CELLS for s in range(real.SEQUENCES)]
    work = partial(real.run, population, truths, options.seed)
    results = spread_out(work, jobs, options.processes)
    print(head("C, N", "S, Q", "T", "of", "truth", "true sd", "open", "class-aware", "width"))
    missed = 0
    for i, cell in enumerate(hangul.CELLS):
        parts = results[i * real.SEQUENCES : (i + 1) * real.SEQUENCES]
        one, other = truths[cell.protocol.shot]
        for what, which, true in (("NCC", 1, one), ("difference", 2, one - other)):
            s = Summary.of(together(p[which] for p in parts))
            missed += s.aware < 93.0
            print(
                row(
                    f"{cell.classes}, {cell.images}",
                    f"{cell.protocol.shot}, {cell.protocol.query}",
                    round(np.mean([p[0] for p in parts])),
                    what,
                    f"{100 * true:.2f}",
                    f"{s.deviation:.2f}",
                    s.open,
                    marked(s.aware, s.aware < 93.0),
                    f"{s.width:.2f}",
                )
            )
    return missed
