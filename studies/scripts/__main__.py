"""Print the tables; see :mod:`studies.scripts`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis_sql.leave_one_out.design import LEFT_OUT, LeftOut
from benchmark_spec.digest import content_digest
from benchmark_spec.protocol import Protocol
from builders.baselines.heads import Predictor
from builders.features.precomputed import read_precomputed
from fslbench_data.release.release import Release, load_release
from studies.common import accuracies, image_owners
from studies.scripts.halving import Answering, Characters, Halvings, halvings
from studies.scripts.shares import expected, tables

PIXELS = "pixels"
HEADS = ("NCC", "MatchingNet", "LR")
SAME = "MatchingNet"
"""At one shot this is NCC, and left out."""

SPLITS, TASKS = 200, 1000

Features = NDArray[Any]
"""(N, D), row i is image i."""


def characters(release: Release, dataset: str) -> Characters:
    """Read which class, group and script images of a data set have."""
    owner, groups = image_owners(release, dataset)
    scripts = release.superclasses(dataset)
    if scripts is None:
        raise SystemExit(f"classes of {dataset} have no superclasses: nothing can be split by them")
    return Characters(owner, groups, np.unique(scripts, return_inverse=True)[1].astype(np.int64))


def answering(features: Mapping[str, Features], heads: Sequence[str]) -> Answering:
    """Make methods of all features and heads."""
    methods = [Predictor(head, values) for values in features.values() for head in heads]
    return lambda images, protocol: accuracies(methods, images, protocol)


def run(
    data: Characters, protocol: Protocol, answer: Answering, splits: int, tasks: int
) -> dict[LeftOut, Halvings]:
    """Split by all three questions; by images an eighth as often, for these answer tasks anew."""
    return {
        question: halvings(
            data,
            question,
            protocol,
            answer,
            splits=max(splits // 8, 2) if question == "images" else splits,
            tasks=tasks,
        )
        for question in LEFT_OUT
    }


def read_features(release: Release, dataset: str, folders: Sequence[Path]) -> dict[str, Features]:
    """Read pixels from the release, and from folders what `fslbench-build features` has written."""
    images = content_digest(release.images(dataset))
    features: dict[str, Features] = {PIXELS: np.asarray(release.features(dataset, PIXELS))}
    for folder in folders:
        made = read_precomputed(folder)
        if made.provenance(dataset).get("images", images) != images:
            raise SystemExit(f"{folder} has features of other images than those of {dataset}")
        features[made.backbone] = np.asarray(made.features(dataset))
    return features


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m studies.scripts")
    parser.add_argument("release")
    parser.add_argument("folders", nargs="*", type=Path, help="features of networks")
    parser.add_argument("--dataset", default="glyphs")
    parser.add_argument("--protocol", type=Protocol.parse, default=Protocol(5, 5, 5))
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--tasks", type=int, default=TASKS, help="of a half")
    options = parser.parse_args()
    begin = time.process_time()
    release = load_release(options.release)
    features = read_features(release, options.dataset, options.folders)
    data = characters(release, options.dataset)
    heads = [head for head in HEADS if options.protocol.shot > 1 or head != SAME]
    answer = answering(features, heads)
    results = run(data, options.protocol, answer, options.splits, options.tasks)
    print(
        f"{options.dataset}, {options.protocol}, {options.splits} halvings, by images "
        f"{len(results['images'].whole)}, of {', '.join(heads)} on {', '.join(features)}, "
        f"{time.process_time() - begin:.0f} s of a processor"
    )
    scripts = results["superclasses"].sizes[0]
    print(f"Together on new superclasses, if effects are normal: {expected(scripts):.1f} %\n")
    print(*tables(results), sep="\n")


if __name__ == "__main__":
    main()
