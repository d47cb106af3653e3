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
from collections.abc import Sequence

import numpy as np

from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import LeaveOneOut, leave_one_out
from benchmark_spec.protocol import Protocol
from builders.baselines.heads import Predictor
from fslbench_data.release.release import load_release
from studies.common import LEVEL, Array, accuracies, image_owners, pooled_tasks, printed

DATASET, FEATURES = "groceries", "efficientnet_lite0-pca128"
METHODS = ("NCC", "MatchingNet", "LR")


def split(groups: Array, rng: np.random.Generator) -> Array:
    """Say of each image whether it is in the first half; images of a group stay together."""
    names, which = np.unique(groups, return_inverse=True)
    first = rng.permutation(names.size) < names.size // 2
    return np.asarray(first[which])


def on_half(
    inside: Array, owner: Array, groups: Array, methods: Sequence[Predictor], seed: int,
    options: argparse.Namespace,
) -> LeaveOneOut:  # fmt: skip
    """Draw tasks of the images of one half, answer them, and compute the intervals."""
    protocol = options.protocol
    class_ids, images, pool = pooled_tasks(
        np.where(inside, owner, -1), protocol, owner.max() + 1, dataset="half", seed=seed,
        tasks=options.tasks, groups=groups,
    )  # fmt: skip
    eligible = inside & np.isin(owner, pool.eligible(protocol, "half"))
    design = TaskDesign.of(class_ids, images, np.where(eligible, owner, -1), groups)
    return leave_one_out(design, accuracies(methods, images, protocol), LEVEL)


def counted(halves: Sequence[LeaveOneOut], kind: str) -> Array:
    """Count the pairs of methods contradicted and reversed, verdicts of both halves, and pairs."""
    mean = np.array([half.mean for half in halves])
    width = np.array([getattr(half, kind).halfwidth for half in halves])
    pairs = np.triu_indices(len(METHODS), 1)
    mean, width = mean[:, *pairs], width[:, *pairs]
    sides = np.sign(mean) * (np.abs(mean) > width)
    apart = np.abs(mean[0] - mean[1]) > np.hypot(*width)
    reversed_ = sides[0] * sides[1] < 0
    return np.array([apart.sum(), reversed_.sum(), np.abs(sides).sum(), apart.size], int)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=600)
    parser.add_argument("--protocol", type=Protocol.parse, default=Protocol(5, 5, 5))
    options = parser.parse_args()
    release = load_release()
    owner, groups = image_owners(release, DATASET)
    features = np.asarray(release.features(DATASET, FEATURES))
    methods = [Predictor(name, features) for name in METHODS]
    counts = {kind: np.zeros(4, int) for kind in ("images", "classes")}
    for number in range(options.splits):
        inside = split(groups, np.random.default_rng(number))
        halves = [
            on_half(half, owner, groups, methods, number, options) for half in (inside, ~inside)
        ]
        for kind in counts:
            counts[kind] += counted(halves, kind)
    print(
        f"{DATASET}, {options.protocol}, {options.splits} splits, {options.tasks} tasks a half, "
        f"{', '.join(METHODS)} on {FEATURES}"
    )
    printed(
        "interval | pairs | conclusive, of both halves | contradicted | reversed",
        (
            (f"new {kind}", total, f"{conclusive} of {2 * total}",
             f"{apart} ({100 * apart / total:.1f} %)", reversed_)
            for kind, (apart, reversed_, conclusive, total) in counts.items()
        ),
    )  # fmt: skip


if __name__ == "__main__":
    main()
