"""Gaussian classes: how open, closed and class-aware intervals hold, and how wide they are."""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from studies.coverage import gaussian
from studies.coverage.measure import Summary, head, marked, row
from studies.coverage.processes import spread_out

WIDEST = {7: 2.6, 15: 1.65, 30: 1.3}
"""Limits of the mean half-width, by the number of classes, and otherwise:"""
WIDE = 1.1


def part(options: argparse.Namespace, accuracy: float | None = None) -> int:
    """Print how intervals hold for Gaussian classes, at a given τ or at the τ of an accuracy."""
    cells = []
    for protocol in gaussian.PROTOCOLS:
        spread = options.spread
        if accuracy is not None:
            spread = gaussian.spread_for(protocol.shot, accuracy, options.seed)
        for classes, images in gaussian.SIZES:
            true = gaussian.truth(protocol.shot, spread, options.seed)
            cells.append(
                gaussian.Cell(classes, images, protocol, spread, true, options.seed, options.sets)
            )
    cells.sort(key=lambda c: gaussian.SIZES.index((c.classes, c.images)))
    jobs = [(cell, s) for cell in cells for s in range(gaussian.SEQUENCES)]
    results = spread_out(partial(_gaussian_job, accuracy is None), jobs, options.processes)
    least = 93.0 if accuracy is None else 90.0
    extra = ["closed"] if accuracy is None else ["no interval"]
    print(
        head("C, N", "S, Q", "T", "of", "truth", "true sd", "open", *extra, "class-aware", "width")
    )
    missed = 0
    for i, cell in enumerate(cells):
        parts = results[i * gaussian.SEQUENCES : (i + 1) * gaussian.SEQUENCES]
        method, difference, *closed = gaussian.gathered(parts)
        truths = (cell.truth[0], cell.truth[0] - cell.truth[1])
        for what, judged, expected, of_closed in zip(
            ("NCC", "difference"), (method, difference), truths, closed, strict=True
        ):
            s = Summary.of(judged)
            limit = WIDEST.get(cell.classes, WIDE) if accuracy is None else np.inf
            missed += s.aware < least or s.width > limit
            print(
                row(
                    f"{cell.classes}, {cell.images}",
                    f"{cell.protocol.shot}, {cell.protocol.query}",
                    round(np.mean([p.tasks for p in parts])),
                    what,
                    f"{100 * expected:.2f}",
                    f"{s.deviation:.2f}",
                    s.open,
                    of_closed if accuracy is None else s.none,
                    marked(s.aware, s.aware < least),
                    marked(s.width, s.width > limit, 2),
                )
            )
    return missed


def _gaussian_job(with_closed: bool, job: tuple[gaussian.Cell, int]) -> gaussian.Found:
    return gaussian.run(*job, with_closed)
