"""A small release with attributes, ladders and counterfactual sets; random attributes."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmark_spec.protocol import COUNTERFACTUAL, LADDER, TaskSetName, suite_of

SIZES = [40, 36, 44, 40, 30, 40]
STEPS = [f"{o}{s}_words" for o, s in itertools.product(("", "open_"), LADDER)]
STYLES = [f"{o}{s}_style" for o, s in itertools.product(("", "open_"), COUNTERFACTUAL)]


def write_biased(folder: Path, suites: Sequence[str] = (*STEPS, *STYLES), **tasks: int) -> None:
    """Six classes with random words and objects in two styles; 15 `tasks` a suite, or all."""
    from builders.attributes.table import attributes_table
    from builders.release.writer import ReleaseWriter
    from builders.sampling import draw_task_set
    from builders.sources.image_set import About

    rng = np.random.default_rng(0)
    words = [[f"w{i:02}" for i in range(12) if rng.random() < 0.3] for _ in range(sum(SIZES))]
    pairs = range(sum(SIZES))  # each object in two styles, one after the other
    tables = {
        "words": attributes_table(words, [" ".join(row) for row in words]),
        "style": attributes_table(
            [["ab"[i % 2]] for i in pairs], [f"object {i // 2}" for i in pairs]
        ),
    }
    writer = ReleaseWriter(folder, "biased", "1.0.0", "x")
    names = [f"c{i}" for i in range(len(SIZES))]
    writer.add_dataset("things", About("t", "h", "l", "c"), class_names=names, class_sizes=SIZES)
    for name, table in tables.items():
        writer.add_attributes("things", name, table, {"recipe": name})
    for suite in suites:
        task_set = TaskSetName.parse(f"{suite}-3w2s3q")
        number = None if suite.startswith("open_") else tasks.get(suite, 15)
        table = tables[suite_of(suite).attributes]
        drawn = draw_task_set("things", task_set, SIZES, tasks=number, attributes=table)
        writer.add_tasks("things", task_set, *drawn)
    writer.finish()


def random_attributes(
    seed: int, classes: int = 6, images: int = 40, share: float = 0.3
) -> tuple[pa.Table, list[int]]:
    """A dozen attributes, each of them had by a `share` of the images, and the classes' sizes."""
    from builders.attributes.table import attributes_table

    rng = np.random.default_rng(seed)
    sizes = rng.integers(images // 2, images + 1, classes).tolist()
    rows = [[f"a{i:02}" for i in np.flatnonzero(rng.random(12) < share)] for _ in range(sum(sizes))]
    return attributes_table(rows), sizes
