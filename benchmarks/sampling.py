"""Drawing task sets, against a plain numpy sampler: ``python benchmarks/sampling.py``.

Quickdraw's 7.7 million test images are drawn to exhaustion and written to Parquet through the same
writer as any release.  MS COCO's class sizes are drawn 2000 times against the sampler that one
would write without thinking of speed: a loop over tasks, ``RandomState.choice`` for the classes
and for each class's images, ``numpy.delete`` for what is used.  Both are timed after a first run.

Everything runs in processes of its own, in one run; peak memory is the process's.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROUNDS = 5
COCO_TASKS = 2000


def exhaust(suite: str, folder: Path) -> dict[str, float]:
    """Draw all of Quickdraw at 5-way 1-shot and write it."""
    from benchmark_spec.catalogue import lookup
    from benchmark_spec.protocol import TaskSetName
    from builders.release.writer import ReleaseWriter
    from builders.sampling import draw_task_set
    from builders.sources.image_set import About

    known = lookup("quickdraw")
    name = TaskSetName.parse(f"{suite}-5w1s1q")
    writer = ReleaseWriter(folder / suite, "benchmark", "1.0.0", "quickdraw")
    writer.add_dataset("quickdraw", About.of(known), known.class_names, known.class_sizes)
    start = time.perf_counter()
    table, provenance = draw_task_set("quickdraw", name, known.class_sizes)
    drawn = time.perf_counter()
    writer.add_tasks("quickdraw", name, table, provenance)
    return {
        "tasks": len(table),
        "draw": drawn - start,
        "write": time.perf_counter() - drawn,
        "seconds": time.perf_counter() - start,
        "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def coco(sampler: str) -> dict[str, float]:
    """Draw 2000 tasks of MS COCO's class sizes at 5-way 5-shot, 5 queries."""
    import numpy as np

    from benchmark_spec.catalogue import lookup
    from benchmark_spec.protocol import Protocol
    from fslbench_data.sampling.draw import draw_open

    sizes, protocol = lookup("mscoco").class_sizes, Protocol(5, 5, 5)

    def ours() -> int:
        return len(draw_open(sizes, protocol, dataset="mscoco", seed=0, tasks=COCO_TASKS))

    def plain() -> int:
        generator = np.random.RandomState(0)
        unused = [np.arange(size) for size in sizes]
        drawn: list[Any] = []
        while len(drawn) < COCO_TASKS:
            enough = [c for c, images in enumerate(unused) if images.size >= protocol.per_class]
            if len(enough) < protocol.way:
                break
            task = []
            for c in generator.choice(enough, protocol.way, replace=False):
                at = generator.choice(unused[c].size, protocol.per_class, replace=False)
                task.append(unused[c][at])
                unused[c] = np.delete(unused[c], at)
            drawn.append(task)
        return len(drawn)

    draw = ours if sampler == "fslbench" else plain
    draw()
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        tasks = draw()
        seconds.append(time.perf_counter() - start)
    return {"tasks": tasks, "seconds": sorted(seconds)[ROUNDS // 2]}


def _run(*arguments: object) -> dict[str, float]:
    command = [sys.executable, __file__, *map(str, arguments)]
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(out.stdout)
    return result


def main() -> int:
    """Print the tables; exit 1 if a limit of theirs is missed."""
    print(f"Python {platform.python_version()}, {platform.machine()}, median of {ROUNDS} runs\n")
    print("| Quickdraw, 5w1s1q | tasks | draw s | write s | s | peak GiB | limit |")
    print("|---|---|---|---|---|---|---|")
    missed = False
    for suite in ("open", "balanced"):
        runs = []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                runs.append(_run("exhaust", suite, folder))
        found = sorted(runs, key=lambda run: run["seconds"])[ROUNDS // 2]
        limit = "3 s, 4 GiB" if suite == "open" else ""
        missed |= bool(limit) and (found["seconds"] > 3 or found["gib"] > 4)
        print(
            f"| `{suite}` | {found['tasks']:,} | {found['draw']:.2f} | {found['write']:.2f} | "
            f"{found['seconds']:.2f} | {found['gib']:.2f} | {limit} |"
        )
    ours, plain = _run("coco", "fslbench"), _run("coco", "plain")
    ratio = plain["seconds"] / ours["seconds"]
    missed |= ratio < 50
    print("\n| MS COCO, 5w5s5q | tasks | s | times ours | limit |\n|---|---|---|---|---|")
    print(f"| `draw_open` | {ours['tasks']:,} | {ours['seconds']:.4f} | 1 | |")
    print(
        f"| loop with `RandomState.choice` | {plain['tasks']:,} | {plain['seconds']:.2f} | "
        f"{ratio:.0f} | at least 50 |"
    )
    return int(missed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*")
    part = parser.parse_args().part
    if not part:
        sys.exit(main())
    if part[0] == "exhaust":
        print(json.dumps(exhaust(part[1], Path(part[2]))))
    else:
        print(json.dumps(coco(part[1])))
