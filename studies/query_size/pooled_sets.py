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

import numpy as np
from numpy.typing import NDArray

from analysis_sql.leave_one_out.design import TaskDesign
from analysis_sql.leave_one_out.leave_one_out import LeaveOneOut, leave_one_out
from benchmark_spec.protocol import Protocol
from builders.baselines.heads import Predictor
from fslbench_data.release.release import load_release
from fslbench_data.tasks.pooled import draw_pooled

DATA = (("digits", "pixels"), ("groceries", "efficientnet_lite0-pca128"))
QUERIES, METHODS, LEVEL = (1, 5, 10, 15, 30), ("NCC", "LR"), 0.95
SHOWN = 75_000
"""Images that the tasks of a fixed price show in all."""


def left_out(
    owner: NDArray[np.int64],
    predictors: tuple[Predictor, ...],
    protocol: Protocol,
    tasks: int | None,
    seed: int,
) -> tuple[int, LeaveOneOut]:
    """Draw a pooled set, answer it, and leave images and classes out; T, and what is found."""
    sizes = np.bincount(owner)
    drawn, _ = draw_pooled(sizes.tolist(), protocol, dataset="made", seed=seed, tasks=tasks)
    first = (np.cumsum(sizes) - sizes)[drawn.class_ids][..., None]
    images = first + np.concatenate([drawn.support, drawn.query], axis=2)
    design = TaskDesign.of(drawn.class_ids, images, owner)
    support, query = images[..., : protocol.shot], images[..., protocol.shot :]
    label = np.repeat(np.arange(protocol.way), protocol.query)
    y = [(p(support, query.reshape(len(drawn), -1)) == label).mean(axis=1) for p in predictors]
    return len(drawn), leave_one_out(design, np.array(y), LEVEL)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--shot", type=int, default=5)
    asked = parser.parse_args()
    release = load_release()
    print("| data | Q | rule | T | mean | images ± | classes ± | NCC - LR: images ± | classes ± |")
    print("|---|---:|---|---:|---:|---:|---:|---:|---:|")
    for dataset, backbone in DATA:
        owner = release.images(dataset).column("class_id").to_numpy().astype(np.int64)
        features = np.asarray(release.features(dataset, backbone))
        predictors = tuple(Predictor(head, features) for head in METHODS)
        for query in QUERIES:
            protocol = Protocol(5, asked.shot, query)
            for rule, tasks in (("own", None), ("price", SHOWN // (5 * protocol.per_class))):
                found = [
                    left_out(owner, predictors, protocol, tasks, seed)
                    for seed in range(asked.seeds)
                ]
                widths = [
                    [getattr(each, kind).halfwidth[pair] for _, each in found]
                    for pair in ((0, 0), (0, 1))
                    for kind in ("images", "classes")
                ]
                mean = np.mean([each.mean[0, 0] for _, each in found])
                cells = [f"{100 * np.mean(width):.2f}" for width in widths]
                print(
                    f"| {dataset} | {query} | {rule} | {found[0][0]:,} | {100 * mean:.2f} | "
                    f"{' | '.join(cells)} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
