"""Do verdicts hold on other photos?  ``python -m studies.halves``.

The photos of groceries are split into two halves, burst by burst, many times.  On each half tasks
are drawn as in a `pooled` set, three heads answer them on the features inside the package, and
intervals for new images (bursts left out) and for new classes are computed.  Two questions:

contradicted
    How often the two halves' estimates of a difference lie further apart than both intervals
    together reach, √(h1² + h2²): at 95 % at most 5 times in 100, if intervals are right; fewer, if
    they are wide.  The classes are the same in both halves, so only the intervals for new images
    are put to the test by their level; those for new classes must be contradicted less.
reversed
    How often a verdict of one half (better, worse) is met by the opposite one on the other.

The halves of one split share no photo, but splits share photos with each other: the share over
splits has the expectation of one split, and its error is not that of independent splits.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import LeaveOneOut, leave_one_out
from benchmark_spec.protocol import Protocol
from builders.baselines.heads import Predictor
from fslbench_data.release.release import load_release
from fslbench_data.tasks.drawn import groups_of
from fslbench_data.tasks.pooled import draw_pooled

DATASET, FEATURES, LEVEL = "groceries", "efficientnet_lite0-pca128", 0.95
METHODS = ("NCC", "MatchingNet", "LR")


def split(groups: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Say of each image whether it is in the first half; images of a group stay together."""
    names, which = np.unique(groups, return_inverse=True)
    first = rng.permutation(names.size) < names.size // 2
    return np.asarray(first[which])


def on_half(
    inside: NDArray[np.bool_],
    owner: NDArray[np.int64],
    groups: NDArray[np.int64],
    predictors: dict[str, Predictor],
    protocol: Protocol,
    tasks: int,
    seed: int,
) -> LeaveOneOut:
    """Draw tasks of the images of one half, answer them, and compute the intervals."""
    images = np.flatnonzero(inside)
    sizes = np.bincount(owner[images], minlength=owner.max() + 1)
    drawn, pool = draw_pooled(
        sizes.tolist(), protocol, dataset="half", seed=seed, tasks=tasks, groups=groups[images]
    )
    first = (np.cumsum(sizes) - sizes)[drawn.class_ids][..., None]
    chosen = images[first + np.concatenate([drawn.support, drawn.query], axis=2)]
    eligible = np.isin(owner, pool.eligible(protocol, "half"))
    design = TaskDesign.of(drawn.class_ids, chosen, np.where(inside & eligible, owner, -1), groups)
    support, query = chosen[..., : protocol.shot], chosen[..., protocol.shot :]
    label = np.repeat(np.arange(protocol.way), protocol.query)
    y = [
        (predictor(support, query.reshape(tasks, -1)) == label).mean(axis=1)
        for predictor in predictors.values()
    ]
    return leave_one_out(design, np.array(y), LEVEL)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=600)
    parser.add_argument("--protocol", type=Protocol.parse, default=Protocol(5, 5, 5))
    options = parser.parse_args()
    release = load_release()
    owner = release.images(DATASET).column("class_id").to_numpy().astype(np.int64)
    groups = groups_of(release.images(DATASET))
    alone = groups < 0
    groups = np.where(alone, groups.max() + 1 + np.arange(groups.size), groups)
    features = np.asarray(release.features(DATASET, FEATURES))
    predictors = {name: Predictor(name, features) for name in METHODS}
    pairs = list(combinations(range(len(METHODS)), 2))
    counts = {kind: np.zeros(4, int) for kind in ("images", "classes")}
    for number in range(options.splits):
        inside = split(groups, np.random.default_rng(number))
        halves = [
            on_half(half, owner, groups, predictors, options.protocol, options.tasks, number)
            for half in (inside, ~inside)
        ]
        for kind, tally in counts.items():
            spreads = [getattr(half, kind) for half in halves]
            for i, j in pairs:
                gap = abs(halves[0].mean[i, j] - halves[1].mean[i, j])
                widths = [spread.halfwidth[i, j] for spread in spreads]
                sides = [
                    int(np.sign(half.mean[i, j])) * (abs(half.mean[i, j]) > width)
                    for half, width in zip(halves, widths, strict=True)
                ]
                tally += [
                    gap > np.hypot(*widths),
                    sides[0] * sides[1] < 0,
                    sum(map(abs, sides)),
                    1,
                ]
    print(
        f"{DATASET}, {options.protocol}, {options.splits} splits, {options.tasks} tasks a half, "
        f"{', '.join(METHODS)} on {FEATURES}"
    )
    print("| interval | pairs | conclusive, of both halves | contradicted | reversed |")
    print("|---|---|---|---|---|")
    for kind, (apart, reversed_, conclusive, total) in counts.items():
        print(
            f"| new {kind} | {total} | {conclusive} of {2 * total} | {apart} "
            f"({100 * apart / total:.1f} %) | {reversed_} |"
        )


if __name__ == "__main__":
    main()
