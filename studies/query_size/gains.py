"""What the optimal number of queries gains: ``python -m studies.query_size.gains FEATURES...``.

Each FEATURES is a folder that ``fslbench-build features`` has written of a data set of the embedded
release; the digits need none.  For 1, 5 and 10 shots, 5 ways, the nearest class mean: Q* as a
release chooses it (task sets of seeds 0 to 19), then open task sets of every Q from 1 to 15 and of
Q* are drawn again with seeds from 1000 on, and the half-widths that they report are averaged.  A
ratio is of two such means; in brackets its standard error over the redraws, by the delta method.
They are redraws of the same images, so they say what Q does to this data, not to other images.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analysis_sql.intervals.counts import Moments
from analysis_sql.intervals.intervals import halfwidths
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, Protocol
from builders.features.precomputed import read_precomputed
from builders.query_size.draws import Draws
from builders.query_size.evidence import QueryEvidence
from builders.query_size.sweep import QuerySets, sweep
from builders.release.queries import SWEPT
from fslbench_data.release.release import Release, load_release

FIRST_SEED = 1000
NAMES = (
    "collection", "S", "Q\\* (95 % interval)", "T", "half-width at Q\\*", "the paper's Q",
    "Q\\* over the paper's", "least of the redraws", "Q\\* over the least",
)  # fmt: skip
HEAD = f"| {' | '.join(NAMES)} |\n|---{'|---:' * (len(NAMES) - 1)}|"


def sets_of(release: Release, folders: list[Path], paper: Protocol) -> Iterator[QuerySets]:
    """Give the digits', then each folder's, at the ways and shots of a protocol."""
    way, shot = paper.way, paper.shot
    yield QuerySets.of(release, "digits", "pixels", "NCC", way=way, shot=shot, suite="open")
    for folder in folders:
        extracted = read_precomputed(folder)
        dataset, backbone = extracted.datasets[0], extracted.backbone
        sizes = tuple(release.classes(dataset).column("n_images").to_pylist())
        draws = Draws(dataset, "open", way, shot, sizes)
        features = extracted.features(dataset)
        yield QuerySets(draws, "NCC", features, f"{backbone}/NCC", str(release))


def widths_of(sets: QuerySets, query: int, redraws: int) -> NDArray[np.float64]:
    """Compute the half-widths (redraws,) that open task sets of one Q report, percentage points."""
    seeds = range(FIRST_SEED, FIRST_SEED + redraws)
    drawn = (sets.sums(sets.draws.draw(query, seed)) for seed in seeds)
    counts = (sums[sets.head,][0].sum(axis=1) for sums in drawn)
    n_query = sets.draws.way * query
    return np.array([float(halfwidths(Moments.of(x, n_query), "open", 0.95)) for x in counts])


def ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> tuple[float, float]:
    """Divide two means of independent redraws; the ratio and its standard error."""
    value = above.mean() / below.mean()
    shares = [w.std(ddof=1) / w.mean() / np.sqrt(w.size) for w in (above, below)]
    return float(value), float(value * np.hypot(*shares))


def row_of(sets: QuerySets, paper: Protocol, redraws: int) -> str:
    """Measure one collection at one number of shots: a row of the table."""
    draws = sets.draws
    swept = [query for query in SWEPT if draws.tasks(query, 0) > 1]
    evidence = QueryEvidence.of(sweep(sets, swept), draws)
    best = evidence.query
    queries = sorted({*swept, best, paper.query})
    widths = {query: widths_of(sets, query, redraws) for query in queries}
    least = min(queries, key=lambda query: widths[query].mean())
    gain, error = ratio(widths[best], widths[paper.query])
    cost, cost_error = ratio(widths[best], widths[least])
    tasks = np.mean([draws.tasks(best, seed) for seed in range(20)])
    ends = [
        str(end) if end is not None else "undetermined" for end in (evidence.low, evidence.high)
    ]
    return (
        f"| {draws.dataset} | {draws.shot} | {best} ({ends[0]} to {ends[1]}) | {tasks:.0f} "
        f"| {widths[best].mean():.2f} | {paper.query} "
        f"| {'1' if best == paper.query else f'{gain:.3f} ({error:.3f})'} "
        f"| {least} | {'1' if best == least else f'{cost:.3f} ({cost_error:.3f})'} |"
    )


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", nargs="*", type=Path, metavar="FEATURES")
    parser.add_argument("--redraws", type=int, default=200)
    asked = parser.parse_args(arguments)
    release = load_release()
    print(HEAD, flush=True)
    for paper in PUBLISHED_PROTOCOLS:
        for sets in sets_of(release, asked.features, paper):
            print(row_of(sets, paper, asked.redraws), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
