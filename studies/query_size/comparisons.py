"""Whether the Q* of comparisons is best for them: ``python -m studies.query_size.comparisons``.

For the collections of the embedded release with features, and the pixels of Fashion-MNIST (its
package is fetched), 5 ways, and 1, 5 and 10 shots: Q* by both rules as a release chooses it (task
sets of seeds 0 to 19), then open task sets are drawn again, with seeds from 1000 on, and the
half-widths of all differences of the compared heads are averaged.  Every Q from 1 to 15 is drawn 25
times; the Q of a rule, the paper's and those that may be the best are drawn until the standard
error of the mean half-width is below `--error` of it, at most `--redraws` times.  ``--only
openclipart/5`` measures some rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from analysis_sql.intervals.counts import Moments
from analysis_sql.intervals.intervals import halfwidths
from benchmark_spec.protocol import PUBLISHED_PROTOCOLS, Protocol
from builders.features import pixel_features
from builders.query_size.draws import Draws
from builders.query_size.sweep import COMPARED, Heads, QuerySets, sweep
from builders.release.queries import SWEPT
from builders.sources.source import read_source
from fslbench_data.release.release import load_release
from studies.checks._packages import fetched
from studies.query_size.gains import FIRST_SEED

COLLECTIONS = {
    "digits": "pixels",
    "groceries": "efficientnet_lite0-pca128",
    "openclipart": "efficientnet_lite0-pca128",
    "glyphs_sample": "efficientnet_lite0-pca128",
    "fashion_mnist": "pixels",
}
"""Features by collection."""

SCREENED = 25
NAMES = (
    "collection", "S", "one method's Q\\*: ±", "the paper's Q: ±", "Q\\* of comparisons: ±",
    "least of the redraws: ±", "Q\\* of comparisons over the least",
)  # fmt: skip
HEAD = f"| {' | '.join(NAMES)} |\n|---{'|---:' * (len(NAMES) - 1)}|"


@dataclass
class Redraws:
    """Mean half-widths over the pairs that differ, percentage points, one a redraw."""

    sets: QuerySets
    pairs: Collection[Heads]
    query: int
    widths: list[float] = field(default_factory=list)

    def more(self, number: int) -> None:
        """Draw until there are so many."""
        for seed in range(FIRST_SEED + len(self.widths), FIRST_SEED + number):
            task_set = self.sets.draws.draw(self.query, seed)
            found = self.sets.sums(task_set)
            n_query = self.sets.draws.way * self.query
            moments = [Moments.of(found[pair][0].sum(axis=1), n_query) for pair in self.pairs]
            widths = [float(halfwidths(each, "open", 0.95)) for each in moments]
            self.widths.append(float(np.mean(widths)))

    @property
    def mean(self) -> float:
        """The mean half-width."""
        return float(np.mean(self.widths))

    @property
    def error(self) -> float:
        """Its standard error, relative."""
        return float(np.std(self.widths, ddof=1) / np.sqrt(len(self.widths)) / self.mean)

    def __str__(self) -> str:
        return f"{self.query}: {self.mean:.3f} ({self.mean * self.error:.3f})"


def row_of(sets: QuerySets, paper: Protocol, most: int, error: float) -> str:
    """Measure one collection at one number of shots: a row of the table."""
    draws = sets.draws
    swept = [query for query in SWEPT if draws.tasks(query, 0) > 2]
    found = sweep(sets, swept)
    assert found.comparisons is not None
    ours, old = found.comparisons.best, found.choice.best
    assert ours is not None
    assert old is not None
    asked = sorted({*swept, ours, old, paper.query})
    tried = {query: Redraws(sets, found.pairs, query) for query in asked}
    for one in tried.values():
        one.more(SCREENED)
    while True:
        least = min(tried.values(), key=lambda one: one.mean)
        far = (one for one in tried.values() if one.mean * (1 - 2 * one.error) < least.mean)
        wanted = {one.query for one in far} | {ours, old, paper.query}
        short = [tried[q] for q in wanted if tried[q].error > error and len(tried[q].widths) < most]
        if not short:
            break
        for one in short:
            one.more(min(most, 2 * len(one.widths)))
    ratio = tried[ours].mean / least.mean
    of_ratio = ratio * np.hypot(tried[ours].error, least.error)
    over = "1" if ours == least.query else f"{ratio:.3f} ({of_ratio:.3f})"
    shown = " | ".join(map(str, (tried[old], tried[paper.query], tried[ours], least)))
    return f"| {draws.dataset} | {draws.shot} | {shown} | {over} |"


def sets_of(dataset: str, paper: Protocol) -> QuerySets:
    """Take a collection at the ways and shots of a protocol."""
    release = load_release()
    backbone = COLLECTIONS[dataset]
    draws = Draws.of(release, dataset, "open", paper.way, paper.shot)
    if dataset == "fashion_mnist":
        images = read_source(dataset, fetched(dataset), name=dataset, options={"part": "test"})
        (features,), _ = pixel_features(images)
    else:
        features = release.features(dataset, backbone)
    return QuerySets(draws, "NCC", features, f"{backbone}/NCC", str(release), COMPARED)


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--redraws", type=int, default=3200)
    parser.add_argument("--error", type=float, default=0.005)
    parser.add_argument("--only", action="append", default=[], metavar="COLLECTION/SHOT")
    asked = parser.parse_args(arguments)
    print(HEAD, flush=True)
    for paper in PUBLISHED_PROTOCOLS:
        for dataset in COLLECTIONS:
            if not asked.only or f"{dataset}/{paper.shot}" in asked.only:
                print(
                    row_of(sets_of(dataset, paper), paper, asked.redraws, asked.error), flush=True
                )


if __name__ == "__main__":
    main(sys.argv[1:])
