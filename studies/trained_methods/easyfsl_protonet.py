"""ProtoNet of easyfsl beside ours: trained alike on the same images, answering the same tasks.

``python -m studies.trained_methods.easyfsl_protonet RUN.toml --dataset D --task-set S -o OUT``,
where RUN.toml is the file of a training of ours.  All have its images, episodes, network,
optimiser, rates, steps and validation.  What differs is easyfsl's own: it takes the Euclidean
distance, not its square as the paper does, and normalises support images and queries as two
batches.  So ours is trained with the distance, too (`rooted`), which leaves the batches alone to
differ.

Prints accuracies, the interval of the differences from easyfsl task by task, for new images, and
whether that lies within a margin.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from easyfsl.methods import PrototypicalNetworks
from torch import Tensor, arange, nn

import fslbench_data as fb
from builders.execution.engine import LocalEngine
from builders.training.methods.metric import ProtoNet
from builders.training.networks import Network
from builders.training.several import plan, train_all
from builders.training.trained import answer, load_trained
from studies.trained_methods.answer import levels_of

TINY = 1e-12
MARGIN = 2.0
"""Points of accuracy that the whole interval of the difference is to lie within."""
MODULE = "studies.trained_methods.easyfsl_protonet"
OURS, ROOTED, THEIRS = "ours", "rooted", "easyfsl"


class Rooted(ProtoNet):
    """Ours with the Euclidean distance, as easyfsl has it."""

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Compute minus the distance of each query to each class's mean: (M, K)."""
        squared = -super().scores(support, query)
        return -(squared + TINY).sqrt()


class EasyFSL(ProtoNet):
    """easyfsl's prototypical networks, trained by the loss of ours."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self.classifier = PrototypicalNetworks(backbone=nn.Sequential(network, nn.Flatten()))

    def scores(self, support: Tensor, query: Tensor) -> Tensor:
        """Let easyfsl answer: scores (M, K)."""
        way, shot = support.shape[:2]
        labels = arange(way, device=support.device).repeat_interleave(shot)
        self.classifier.process_support_set(support.flatten(0, 1), labels)
        scores: Tensor = self.classifier(query)
        return scores


def main() -> None:
    """Train all, let them answer, and compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--raw", type=Path)
    parser.add_argument("--release")
    parser.add_argument("--dataset", action="append", required=True)
    parser.add_argument("--task-set", action="append", required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    (planned,) = plan([asked.run], [], asked.output.resolve())
    named = {OURS: "ProtoNet", ROOTED: f"{MODULE}:Rooted", THEIRS: f"{MODULE}:EasyFSL"}
    trainings = [
        replace(
            planned,
            name=name,
            folder=planned.folder.with_name(name),
            settings=replace(planned.settings, method=method),
        )
        for name, method in named.items()
    ]
    release = fb.load_release(asked.release)
    results = []
    for name, digest in train_all(
        trainings, asked.raw, engine=LocalEngine(), report=lambda text: print(text, file=sys.stderr)
    ):
        print(f"{name} {digest}")
        trained = load_trained(asked.output / name)
        results.append(
            answer(
                trained, release, partial(levels_of, release), name=name,
                datasets=asked.dataset, task_sets=asked.task_set,
            )
        )  # fmt: skip
    report = fb.score(results, release, references=False)
    print(f"| task set | method | accuracy | {THEIRS} | difference | within {MARGIN:g} |")
    print("|---|---|---:|---:|---:|---|")
    for pair in report.comparisons:
        if THEIRS not in (pair.method, pair.versus):
            continue
        means = {pair.method: pair.mean, pair.versus: pair.versus_mean}
        (name,) = means.keys() - {THEIRS}
        difference, sign = pair.difference, 1 if pair.method == name else -1
        width = float("nan") if difference.halfwidth is None else difference.halfwidth
        within = abs(difference.mean) + width <= MARGIN
        print(
            f"| {pair.task_set} | {name} | {means[name].mean:.2f} | {means[THEIRS].mean:.2f} "
            f"| {sign * difference.mean:+.2f} ± {width:.2f} | {'yes' if within else 'no'} |"
        )


if __name__ == "__main__":
    main()
