"""A small release with attributes, ladders and counterfactual sets, for tests."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmark_spec import schemas
from benchmark_spec.protocol import COUNTERFACTUAL, LADDER, TaskSetName, suite_of

SIZES = [40, 36, 44, 40, 30, 40]
STEPS = [f"{o}{s}_words" for o, s in itertools.product(("", "open_"), LADDER)]
STYLES = [f"{o}{s}_style" for o, s in itertools.product(("", "open_"), COUNTERFACTUAL)]


def write_biased(folder: Path, suites: Sequence[str] = (*STEPS, *STYLES), **tasks: int) -> None:
    """Six classes with random words and objects in two styles; 15 `tasks` a suite, or all."""
    from builders.release.writer import ReleaseWriter
    from builders.sampling import draw_task_set
    from builders.sources.image_set import About

    writer = ReleaseWriter(folder, "biased", "1.0.0", "x")
    writer.add_dataset(
        "things", About("t", "h", "l", "c"),
        class_names=[f"c{i}" for i in range(len(SIZES))], class_sizes=SIZES,
    )  # fmt: skip
    tables = {"words": _words(), "style": _style()}
    for name, table in tables.items():
        writer.add_attributes("things", name, table, {"recipe": name})
    for suite in suites:
        task_set = TaskSetName.parse(f"{suite}-3w2s3q")
        number = None if suite.startswith("open_") else tasks.get(suite, 15)
        table = tables[suite_of(suite).attributes]
        drawn = draw_task_set("things", task_set, SIZES, tasks=number, attributes=table)
        writer.add_tasks("things", task_set, *drawn)
    writer.finish()


def _words() -> pa.Table:
    rng = np.random.default_rng(0)
    names = [f"w{i:02}" for i in range(12)]
    rows = [[n for n in names if rng.random() < 0.3] for _ in range(sum(SIZES))]
    return _table(rows, [" ".join(row) for row in rows])


def _style() -> pa.Table:
    """Each object in two styles, one after the other."""
    rows = [["a"] if i % 2 == 0 else ["b"] for i in range(sum(SIZES))]
    return _table(rows, [f"object {i // 2}" for i in range(sum(SIZES))])


def _table(rows: list[list[str]], texts: list[str]) -> pa.Table:
    ids = np.arange(len(rows), dtype=np.int32)
    arrays = [pa.array(ids), pa.array(texts), pa.array(rows, pa.list_(pa.string()))]
    return pa.Table.from_arrays(arrays, schema=schemas.ATTRIBUTES)
