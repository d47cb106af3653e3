"""Populations that the model of class effects does not describe."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from studies.coverage import kinds
from studies.coverage.measure import head, row
from studies.coverage.processes import spread_out


def part(make: Callable[[], list[kinds.Kind]], options: argparse.Namespace) -> int:
    """Print how the class-aware interval holds for populations, for which no limit is set."""
    populations = make()
    jobs = [(kind, error) for kind in populations for error in kinds.ERRORS]
    results = spread_out(partial(kinds.run, options.seed, options.sets), jobs, options.processes)
    columns = [f"{what}, {e:g}" for e in kinds.ERRORS for what in ("holds", "above", "below")]
    print(head("C, N", "T", "of", *columns))
    many = len(kinds.ERRORS)
    for i, kind in enumerate(populations):
        held = results[i * many : (i + 1) * many]
        cells = [x for h in held for x in (h.holds, h.above, h.below)]
        size = f"{kind.classes}, {kind.images}"
        print(row(size, round(held[0].tasks), kind.words, *cells))
    return 0
