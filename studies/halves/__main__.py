"""Do verdicts hold on other photos?  ``python -m studies.halves``.

The images of a data set are split into two halves, group by group, many times.  On each half tasks
are drawn as in a `pooled` set, three heads answer them, and intervals for new images (groups left
out) and for new classes are computed; those for new images from the accuracies of whole tasks, and
from which queries were right.  Groceries (bursts of photos) and glyphs (designs of a character)
have features inside the package; of Fashion-MNIST the pixels of all 70,000 images are read from
`--raw`, where they are fetched to.  Two questions:

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
from pathlib import Path

import numpy as np

from analysis_sql.intervals.counts import RightQueries
from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import LeaveOneOut, leave_one_out
from benchmark_spec.protocol import Protocol
from builders.baselines.heads import Predictor
from fslbench_data.release.release import load_release
from studies.common import LEVEL, Array, image_owners, pooled_tasks, printed, right_answers
from studies.coverage import fashion

DATASETS = ("groceries", "glyphs_sample", "fashion_mnist")
FEATURES = "efficientnet_lite0-pca128"
METHODS = ("NCC", "MatchingNet", "LR")
KINDS = {
    "new images, whole tasks": "images",
    "new images, queries known": "images",
    "new classes": "classes",
}


def read(dataset: str, raw: Path) -> tuple[Array, Array, Array]:
    """Read the class and the group of each image (N,), and the features (N, D)."""
    if dataset != "fashion_mnist":
        release = load_release()
        return *image_owners(release, dataset), np.asarray(release.features(dataset, FEATURES))
    images = fashion.population(raw).fine
    owner = np.repeat(np.arange(len(images)), len(images[0]))
    return owner, np.arange(owner.size), images.reshape(owner.size, -1)


def split(groups: Array, rng: np.random.Generator) -> Array:
    """Say of each image whether it is in the first half; images of a group stay together."""
    names, which = np.unique(groups, return_inverse=True)
    first = rng.permutation(names.size) < names.size // 2
    return np.asarray(first[which])


def on_half(
    inside: Array, owner: Array, groups: Array, methods: Sequence[Predictor], seed: int,
    options: argparse.Namespace,
) -> tuple[LeaveOneOut, LeaveOneOut]:  # fmt: skip
    """Draw tasks of the images of one half, answer them, and compute the intervals.

    From whole tasks, and from which queries were right.
    """
    protocol = options.protocol
    class_ids, images, pool = pooled_tasks(
        np.where(inside, owner, -1), protocol, owner.max() + 1, dataset="half", seed=seed,
        tasks=options.tasks, groups=groups,
    )  # fmt: skip
    in_pool = np.zeros(owner.size, np.bool_)
    in_pool[np.flatnonzero(inside)[pool.images]] = True  # of a large half, a sample
    eligible = in_pool & np.isin(owner, pool.eligible(protocol, "half"))
    design = TaskDesign.of(
        class_ids, images, np.where(eligible, owner, -1), groups, shots=protocol.shot
    )
    right = right_answers(methods, images, protocol)
    known = [RightQueries(own.astype(np.int8), 1) for own in right]
    y = right.mean(axis=2)
    return leave_one_out(design, y, LEVEL), leave_one_out(design, y, LEVEL, known)


def counted(halves: Sequence[LeaveOneOut], kind: str) -> Array:
    """Count the pairs of methods contradicted and reversed, verdicts of both halves, and pairs.

    The last is the sum of half-widths.
    """
    mean = np.array([half.mean for half in halves])
    width = np.array([getattr(half, kind).halfwidth for half in halves])
    pairs = np.triu_indices(len(METHODS), 1)
    mean, width = mean[:, *pairs], width[:, *pairs]
    sides = np.sign(mean) * (np.abs(mean) > width)
    apart = np.abs(mean[0] - mean[1]) > np.hypot(*width)
    reversed_ = sides[0] * sides[1] < 0
    found = [apart.sum(), reversed_.sum(), np.abs(sides).sum(), apart.size, width.sum()]
    return np.array(found, np.float64)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=600)
    parser.add_argument("--protocol", type=Protocol.parse, default=Protocol(5, 5, 5))
    parser.add_argument("--dataset", choices=DATASETS, default=DATASETS[0])
    parser.add_argument("--raw", type=Path, help="Where packages of data are fetched to.")
    options = parser.parse_args()
    owner, groups, features = read(options.dataset, options.raw)
    methods = [Predictor(name, features) for name in METHODS]
    counts = {kind: np.zeros(5) for kind in KINDS}
    for number in range(options.splits):
        inside = split(groups, np.random.default_rng(number))
        halves = [
            on_half(half, owner, groups, methods, number, options) for half in (inside, ~inside)
        ]
        for about, kind in KINDS.items():
            found = [half[about.endswith("known")] for half in halves]
            counts[about] += counted(found, kind)
    print(
        f"{options.dataset}, {options.protocol}, {options.splits} splits, {options.tasks} tasks a "
        f"half, {', '.join(METHODS)}"
    )
    printed(
        "interval | pairs | mean ± | conclusive, of both halves | contradicted | reversed",
        (
            (kind, f"{pairs:.0f}", f"{50 * width / pairs:.2f}",
             f"{conclusive:.0f} of {2 * pairs:.0f}",
             f"{apart:.0f} ({100 * apart / pairs:.1f} %)", f"{reversed_:.0f}")
            for kind, (apart, reversed_, conclusive, pairs, width) in counts.items()
        ),
    )  # fmt: skip


if __name__ == "__main__":
    main()
