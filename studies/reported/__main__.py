"""Coverage of what ``fslbench reported`` says: ``python -m studies.reported --sets 300 --seed 0``.

Two equal methods answer tasks of their own on one data set, made as in
:mod:`studies.coverage.few_appearances`; what would be printed of them, a mean and its usual
half-width with two decimals, is all that is read.  A row gives how often the bound, the typical
width and the printed ± hold the mean over new images (or new classes), and how wide they are over
1.96 true standard deviations; for two methods, how often their difference is called significant.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from fslbench_data.sampling.draw import draw_closed
from fslbench_data.scoring.reported import reported
from studies.common import Array, Z, head, marked, row
from studies.coverage.few_appearances import CENTRES, CROPS, EUROSAT, QUESTIONS, TIERED, Line
from studies.coverage.nearest_means import OF_IMAGES, correct, in_part_own

LIMIT = 93.0
ISIC = (115, 142, 327, 514, 1099, 1113, 6705)
LINES = [
    make(question=question)
    for make in (
        partial(Line, "miniImageNet-like", (600,) * 20, 1, 600),
        partial(Line, "miniImageNet-like", (600,) * 20, 5, 600),
        partial(Line, "CUB-like", (60,) * 50, 5, 600),
        partial(Line, "tieredImageNet-like", TIERED, 5, 600),
        partial(Line, "CropDisease-like", CROPS, 1, 600),
        partial(Line, "EuroSAT-like", EUROSAT, 5, 600),
        partial(Line, "ISIC-like", ISIC, 5, 600),
    )
    for question in QUESTIONS
]


def printed(line: Line, rng: np.random.Generator, seen: Array) -> str:
    """Answer tasks of a method's own, and print the mean with its usual half-width."""
    sizes = np.array(line.sizes)
    seed = int(rng.integers(1 << 31))
    drawn = draw_closed(line.sizes, line.protocol, dataset="p", seed=seed, tasks=line.tasks)
    start = (np.cumsum(sizes) - sizes)[drawn.class_ids][..., None]
    right = correct(seen, drawn.support + start, drawn.query + start)
    values = 100 * right / (line.protocol.way * line.protocol.query)
    return f"{values.mean():.2f} ± {Z * values.std(ddof=1) / np.sqrt(line.tasks):.2f}"


def some(line: Line, seed: int, sets: int, turn: int) -> Array:
    """Draw data sets: errors of the mean, bound, typical and printed width, claim (sets, 5)."""
    rng = np.random.default_rng([seed, LINES.index(line), turn])
    fixed = line.centres(rng) if line.question == "images" else None
    truth = line.truth(rng, None if fixed is None else fixed[0])
    owner = np.repeat(np.arange(len(line.sizes)), line.sizes)
    made = []
    for _ in range(sets):
        centres = line.centres(rng) if fixed is None else fixed
        seen = centres[:, owner] + in_part_own(rng, 2, owner.size, OF_IMAGES)
        found = reported(
            [{"result": printed(line, rng, own)} for own in seen],
            classes=len(line.sizes),
            images=min(line.sizes),
            ways=5,
            shots=line.shot,
            queries=line.protocol.query,
            tasks=line.tasks,
        )
        first, _ = found.results
        widths = [getattr(first, name + line.question) for name in ("", "typical_")]
        claim = found.differences[0].significant[line.question]
        made.append([first.mean - truth, *widths, first.tasks, claim])
    return np.array(made, dtype=float)


def rows(line: Line, made: Array) -> Iterator[tuple[str, int]]:
    """Yield the row of a line, and how many of its limits are missed."""
    error, *widths, claims = made.T
    cells: list[str] = []
    missed = 0
    for width in widths:
        holds = 100 * float((np.abs(error) <= width).mean())
        below = not cells and holds < LIMIT
        missed += below
        cells += [marked(holds, below), f"{width.mean() / (Z * error.std()):.2f}"]
    yield row(line.name, line.shot, line.question, *cells, f"{100 * claims.mean():.1f}"), missed


def main() -> int:
    """Print the table; return how many limits are missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    print(head("data set", "shots", "new", "bound holds", "width", "typical holds", "width",
               "printed ± holds", "width", "equal, told apart"))  # fmt: skip
    total = 0
    with ProcessPoolExecutor(options.processes) as pool:
        for line in LINES:
            work = partial(some, line, options.seed, options.sets // CENTRES)
            for text, missed in rows(line, np.concatenate([*pool.map(work, range(CENTRES))])):
                print(text, flush=True)
                total += missed
    print(f"\nlimits missed: {total}")
    return total


if __name__ == "__main__":
    main()
