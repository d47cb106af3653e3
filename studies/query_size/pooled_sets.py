"""What Q does to tasks that reuse images: ``python -m studies.query_size.pooled_sets``.

Over all tasks of a pool, the mean accuracy of a method that answers each query by itself does not
depend on Q: a query's answer depends on the support alone.  So Q changes neither what a pooled set
estimates nor what leaving images or classes out finds; it changes how much chance the draw of
finitely many tasks adds, and what a task costs.  Pooled sets of several Q are drawn of the data in
the package, with the T of their own rule and with a T that shows the same number of images (a fixed
price of running a network); means over seeds of the half-widths that leaving one out gives, for
NCC and for its difference from LR, in points.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import numpy as np

from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import LeaveOneOut, leave_one_out
from benchmark_spec.protocol import Protocol
from builders.baselines.heads import Predictor
from fslbench_data.release.release import load_release
from studies.common import LEVEL, Array, accuracies, image_owners, pooled_tasks, printed

DATA = (("digits", "pixels"), ("groceries", "efficientnet_lite0-pca128"))
QUERIES, METHODS = (1, 5, 10, 15, 30), ("NCC", "LR")
SHOWN = 75_000
"""Images that the tasks of a fixed price show in all."""


def left_out(
    owner: Array, methods: Sequence[Predictor], protocol: Protocol, tasks: int | None, seed: int
) -> tuple[int, LeaveOneOut]:
    """Draw a pooled set, answer it, and leave images and classes out; T, and what is found."""
    class_ids, images, _ = pooled_tasks(owner, protocol, dataset="made", seed=seed, tasks=tasks)
    design = TaskDesign.of(class_ids, images, owner)
    return len(images), leave_one_out(design, accuracies(methods, images, protocol), LEVEL)


def rows(shot: int, seeds: int) -> Iterator[Sequence[object]]:
    """Yield a row per data set, Q and number of tasks."""
    release = load_release()
    for dataset, backbone in DATA:
        owner, _ = image_owners(release, dataset)
        features = np.asarray(release.features(dataset, backbone))
        methods = [Predictor(head, features) for head in METHODS]
        for query in QUERIES:
            protocol = Protocol(5, shot, query)
            for rule, tasks in (("own", None), ("price", SHOWN // (5 * protocol.per_class))):
                found = [left_out(owner, methods, protocol, tasks, seed) for seed in range(seeds)]
                widths = [
                    [getattr(each, kind).halfwidth[pair] for _, each in found]
                    for pair in ((0, 0), (0, 1))
                    for kind in ("images", "classes")
                ]
                shown = [[each.mean[0, 0] for _, each in found], *widths]
                cells = (f"{100 * np.mean(of):.2f}" for of in shown)
                yield dataset, query, rule, f"{found[0][0]:,}", *cells


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--shot", type=int, default=5)
    asked = parser.parse_args()
    columns = "T: | mean: | images ±: | classes ±: | NCC - LR: images ±: | classes ±:"
    printed(f"data | Q: | rule | {columns}", rows(asked.shot, asked.seeds))


if __name__ == "__main__":
    main()
