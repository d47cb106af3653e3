"""Heads on frozen features: ``python benchmarks/heads.py``.

2000 tasks, 5 ways, 5 shots, 5 queries a class, of 768-dimensional features of 6000 images: classes
are a common direction, a mean and noise.  NCC against easyfsl's PrototypicalNetworks in a loop over
tasks, LR against scikit-learn's LogisticRegression(C=1, max_iter=1000) in one, as the code of
Lafargue et al. has it.  Peers are given what they need in memory, normalised where they do not do
it themselves, and their loops are one thread's work; ours starts from the float16 features of a
release.  Rounds alternate between all of them: each runs ours on all tasks and the peers on the
next few, about as long.  Seconds are those of the quickest round, for all tasks.  With a GPU, all
heads there too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of numpy: a peer's, quicker so

import numpy as np
import torch
from easyfsl.methods import PrototypicalNetworks
from sklearn.linear_model import LogisticRegression

from benchmark_spec.protocol import Protocol, TaskSetName
from builders.baselines import HEADS, Predictor
from builders.sampling import draw_task_set
from fslbench_data.tasks import TaskSet, TaskSetInfo

CLASSES, EACH, DIMENSIONS, TASKS, WAY, SHOT, QUERY = 100, 60, 768, 2000, 5, 5, 5
NCC_LIMIT, LR_LIMIT, GPU_LIMIT = 6.0, 15.0, 200.0

Array = np.ndarray[Any, Any]


def make_features() -> Array:
    """Return features float16 (N, D), in class order."""
    rng = np.random.default_rng(0)
    mean = 0.2 * rng.normal(size=(CLASSES, DIMENSIONS)) + rng.normal(size=DIMENSIONS)
    noise = rng.normal(size=(CLASSES, EACH, DIMENSIONS))
    return (mean[:, None] + noise).reshape(-1, DIMENSIONS).astype(np.float16)


def make_tasks() -> TaskSet:
    """Return a closed task set of such images."""
    name = TaskSetName("closed", Protocol(WAY, SHOT, QUERY))
    table, _ = draw_task_set("made", name, [EACH] * CLASSES, tasks=TASKS)
    return TaskSet.from_table(TaskSetInfo("made", name, len(table), ""), table)


def easyfsl_loop(features: Array, support: Array, query: Array) -> Array:
    """Time PrototypicalNetworks, on features that it normalises."""
    peer = PrototypicalNetworks(torch.nn.Identity(), feature_normalization=2.0)
    table, labels = torch.from_numpy(features), torch.arange(WAY).repeat_interleave(SHOT)
    found = []
    with torch.no_grad():
        for s, q in zip(torch.from_numpy(support), torch.from_numpy(query), strict=True):
            peer.process_support_set(table[s.flatten()], labels)
            found.append(peer(table[q]).argmax(dim=1).numpy())
    return np.array(found)


def sklearn_loop(unit: Array, support: Array, query: Array) -> Array:
    """Time LogisticRegression, on normalised features."""
    labels = np.repeat(np.arange(WAY), SHOT)
    found = []
    for s, q in zip(support, query, strict=True):
        model = LogisticRegression(C=1, max_iter=1000).fit(unit[s.ravel()], labels)
        found.append(model.predict(unit[q]))
    return np.array(found)


def main() -> int:
    """Print the table; exit 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    features, tasks = make_features(), make_tasks()
    long = features.astype(np.float32)
    unit = long / np.linalg.norm(long, axis=1, keepdims=True)
    support, query = tasks.support.astype(np.int64), tasks.query.astype(np.int64)
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    share = TASKS // options.rounds

    def ours(head: str, device: str) -> Callable[[int], Array]:
        return lambda _: Predictor(head, features, device)(support, query)

    def part(loop: Callable[[Array, Array, Array], Array], x: Array) -> Callable[[int], Array]:
        """Return a run of the loop, on another part of the tasks each round."""
        where = [slice(r * share, (r + 1) * share) for r in range(options.rounds)]
        return lambda r: loop(x, support[where[r]], query[where[r]])

    runs = {
        **{(head, device): ours(head, device) for head in HEADS for device in devices},
        ("NCC", "loop"): part(easyfsl_loop, long),
        ("LR", "loop"): part(sklearn_loop, unit),
    }
    for run in runs.values():  # warm up
        run(0)
    seconds: dict[tuple[str, str], list[float]] = {key: [] for key in runs}
    results: dict[tuple[str, str], list[Array]] = {key: [] for key in runs}
    for r in range(options.rounds):
        for key, run in runs.items():
            start = time.perf_counter()
            found = run(r)
            seconds[key].append((time.perf_counter() - start) / len(found) * TASKS)
            results[key].append(found)
    best = {key: min(values) for key, values in seconds.items()}
    equal = {
        key: np.mean(results[key[0], "cpu"][0][: share * options.rounds] == np.concatenate(found))
        for key, found in results.items()
        if key[1] == "loop"
    }
    right = {head: np.mean(results[head, "cpu"][0] == tasks.query_label) for head in HEADS}
    wanted = {("NCC", "cpu"): NCC_LIMIT, ("LR", "cpu"): LR_LIMIT, ("LR", "cuda"): GPU_LIMIT}
    missed = False
    print("| head | accuracy | where | s | the peer's loop, s | times | limit | same predictions |")
    print("|---|---|---|---|---|---|---|---|")
    for (head, device), value in best.items():
        if device == "loop":
            continue
        loop = best.get((head, "loop"))
        if loop is None:
            print(f"| {head} | {right[head]:.1%} | {device} | {value:.3f} | | | | |")
            continue
        limit = wanted.get((head, device))
        missed |= limit is not None and loop / value < limit
        target = "" if limit is None else f"at least {limit:.0f}"
        print(
            f"| {head} | {right[head]:.1%} | {device} | {value:.3f} | {loop:.2f} "
            f"| {loop / value:.0f} | {target} | {equal[head, 'loop']:.2%} |"
        )
    gpu = "no GPU at hand: not measured there"
    if torch.cuda.is_available():
        gpu = torch.cuda.get_device_name()
    print(f"\nPyTorch {torch.__version__}, {torch.get_num_threads()} threads; {gpu}.")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
