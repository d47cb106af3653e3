"""FewSTAB's released code beside ours: ``python -m studies.bias.authors_fewstab CHECKOUT``.

CHECKOUT is a clone of github.com/gtzheng/FewSTAB.  Its sampler (``spurious/spurious_task.py``; it
needs torch and tqdm) and :func:`builders.sampling.fewstab_code.draw_released` draw tasks from the
same table of attributes of the embedded release.  The order in which theirs holds attributes
follows the hashes of their names, so it runs in processes of two fixed ``PYTHONHASHSEED``; ours
runs with two seeds.  How much two runs of one generator differ is what chance alone does.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.protocol import Protocol
from builders.sampling.attribute_biased import ImageAttributes, image_attributes
from builders.sampling.fewstab_code import draw_released
from fslbench_data.release.release import load_release

SAMPLER = Path("spurious/spurious_task.py")

THEIRS = """
import runpy, sys
import numpy as np
sampler, table, out, *numbers = sys.argv[1:]
made = runpy.run_path(sampler)["SpuriousTask"](table, *map(int, numbers), seed=0)
batch = made.generate()
images = np.array([episode.numpy() for episode, _ in batch])
np.savez(out, images=images, attributes=np.array([names[0] for _, names in batch]))
"""
"""Runs their sampler: writes ids of images (T, K, S+Q) and names of attributes (T, K)."""


@dataclass(frozen=True, eq=False)
class Tasks:
    """Tasks of one run: positions (T, K), images within their class (T, K, S) and (T, K, Q)."""

    name: str
    seconds: float
    classes: NDArray[np.int64]
    attributes: NDArray[np.int64]
    support: NDArray[np.int64]
    query: NDArray[np.int64]


def theirs(
    checkout: Path, table: ImageAttributes, protocol: Protocol, tasks: int, hash_seed: int
) -> Tasks:
    """Run the released code in a process of its own."""
    first = np.cumsum([0, *(len(of_class) for of_class in table.classes)])
    entries = {
        c: (
            of_class.has[of_class.present].T.astype(float),
            [table.names[a] for a in of_class.present],
            [""] * len(of_class),
            list(range(first[c], first[c + 1])),
        )
        for c, of_class in enumerate(table.classes)
    }
    numbers = (tasks, protocol.way, protocol.shot, protocol.query)
    with TemporaryDirectory() as folder:
        attributes, out = Path(folder, "attributes.pickle"), Path(folder, "tasks.npz")
        attributes.write_bytes(pickle.dumps(entries))
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", THEIRS, checkout / SAMPLER, attributes, out, *map(str, numbers)],
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
            stderr=subprocess.DEVNULL,
            check=True,
        )
        seconds = time.perf_counter() - begin
        with np.load(out) as drawn:
            images, names = drawn["images"], drawn["attributes"]
    classes = np.searchsorted(first, images[..., 0], side="right") - 1
    within = images - first[classes][..., None]
    support, query = np.split(within, [protocol.shot], axis=2)
    position = np.searchsorted(np.array(table.names), names)
    return Tasks(f"theirs, hashes {hash_seed}", seconds, classes, position, support, query)


def ours(table: ImageAttributes, protocol: Protocol, tasks: int, label: str, seed: int) -> Tasks:
    """Draw the same with ours."""
    begin = time.perf_counter()
    drawn = draw_released(
        table, protocol, dataset="openclipart", label=label, seed=seed, tasks=tasks
    )
    seconds = time.perf_counter() - begin
    of = drawn.steps["released"]
    classes, support, query = (ids.astype(np.int64) for ids in (of.class_ids, of.support, of.query))
    return Tasks(f"ours, seed {seed}", seconds, classes, drawn.attributes, support, query)


def figures(table: ImageAttributes, tasks: Tasks) -> dict[str, float]:
    """Describe what the images of the tasks have of the tasks' attributes, and of all."""
    inter, per_query, per_support, own, lacked = [], [], [], [], []
    for classes, chosen, support, query in zip(
        tasks.classes, tasks.attributes, tasks.support, tasks.query, strict=True
    ):
        for k, c in enumerate(classes):
            has, others = table.classes[c].has, np.delete(chosen, k)
            own.append(has[chosen[k], support[k]].all())
            lacked.append(not has[chosen[k], query[k]].any())
            inter.append(has[np.ix_(others, query[k])].any(axis=0).all())
            per_query.append(has[:, query[k]].sum(axis=0).mean())
            per_support.append(has[np.ix_(others, support[k])].sum(axis=0).mean())
    return {
        "(task, class) whose support has the attribute, %": 100 * float(np.mean(own)),
        "(task, class) whose queries lack it, %": 100 * float(np.mean(lacked)),
        "(task, class) whose queries are all inter-class, %": 100 * float(np.mean(inter)),
        "attributes a query": float(np.mean(per_query)),
        "attributes of other classes a support image": float(np.mean(per_support)),
    }


def alike(first: Tasks, second: Tasks, number: Sequence[int]) -> dict[str, float]:
    """Correlate how often classes and attributes come up; `number` of both in the data set."""
    counts = [
        [np.bincount(x.reshape(-1), minlength=n) for x, n in zip(pair, number, strict=True)]
        for pair in ((t.classes, t.attributes) for t in (first, second))
    ]
    by_class, by_attribute = (float(np.corrcoef(a, b)[0, 1]) for a, b in zip(*counts, strict=True))
    same = (np.sort(first.classes) == np.sort(second.classes)).all(axis=1).mean()
    return {
        "correlation of how often classes come up": by_class,
        "correlation of how often attributes do": by_attribute,
        "tasks of the same number with the same classes, %": 100 * float(same),
    }


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--attributes", default="pixels", help="Of openclipart: pixels, titles.")
    parser.add_argument("--protocol", type=Protocol.parse, default=Protocol(5, 5, 5))
    parser.add_argument("--tasks", type=int, default=300)
    options = parser.parse_args()
    if not (options.checkout / SAMPLER).is_file():
        parser.error(f"{options.checkout} has no {SAMPLER}")
    release, label = load_release(), options.attributes
    sizes = release.classes("openclipart").column("n_images").to_pylist()
    table = image_attributes(release.attributes("openclipart", label), sizes)
    drawing = (table, options.protocol, options.tasks)
    runs = [theirs(options.checkout, *drawing, hash_seed) for hash_seed in (0, 1)]
    runs += [ours(*drawing, label, seed) for seed in (0, 1)]
    columns = [figures(table, run) for run in runs]
    print(f"openclipart, {label}, {options.protocol}, {options.tasks} tasks\n")
    print("| | " + " | ".join(run.name for run in runs) + " |")
    print("|---" + "|---:" * len(runs) + "|")
    for row in columns[0]:
        print(f"| {row} | " + " | ".join(f"{column[row]:.4g}" for column in columns) + " |")
    print("| seconds, theirs with the start | " + " | ".join(f"{r.seconds:.1f}" for r in runs), "|")
    number = (len(sizes), len(table.names))
    pairs = ((0, 1), (2, 3), (0, 2), (1, 3))
    compared = [alike(runs[a], runs[b], number) for a, b in pairs]
    print("\n| | " + " | ".join(f"{runs[a].name}; {runs[b].name}" for a, b in pairs) + " |")
    print("|---" + "|---:" * len(pairs) + "|")
    for row in compared[0]:
        print(f"| {row} | " + " | ".join(f"{column[row]:.3g}" for column in compared) + " |")


if __name__ == "__main__":
    main()
