"""A repository with many submissions, some of them spoilt, and code that is measured on it."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from forged import parquet
from processes import python
from results_repository import Repository

from fslbench_data.release.release import Release

SETS = ("open-5w1s1q", "open-5w5s5q", "closed-5w5s5q")


def fill(repository: Repository, embedded: Release, good: int, hostile: int) -> None:
    """Add submissions, all different, with a column of fingerprints; `hostile` ones are spoilt."""
    rng = np.random.default_rng(0)
    infos = [embedded.task_set_info("digits", name) for name in SETS]
    rows = [info.n_tasks for info in infos]
    n_query = np.repeat([info.protocol.n_query for info in infos], rows)
    columns = {
        "method": None,
        "dataset": ["digits"] * sum(rows),
        "task_set": np.repeat(SETS, rows).tolist(),
        "task_id": pa.array(np.concatenate([np.arange(n) for n in rows]), pa.int32()),
        "n_correct": None,
        "n_query": pa.array(n_query, pa.int16()),
        "fingerprint": np.repeat([info.fingerprint for info in infos], rows).tolist(),
    }
    for number in range(good + hostile):
        columns["n_correct"] = pa.array(rng.binomial(n_query, rng.uniform(0.5, 0.9)), pa.int16())
        # thousands of one name, runs of many different numbers, and names that are markup
        name = ("good", "same", "<b>@all</b>")[min(number, 1 + number % 2)]
        columns["method"] = [name] * sum(rows)
        table = pa.table(columns)
        if number % 10 == 3:
            runs = 2 + number % 7
            table = pa.concat_tables([table] * runs)
            run = np.repeat([str(i) for i in range(runs)], sum(rows)).tolist()
            table = table.append_column("run", pa.array(run))
        content = parquet(table, compression="zstd")
        if number >= good:  # a bit turned over, somewhere
            at = int(rng.integers(4, len(content)))
            content = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        repository.add_bytes(content)


def measured(folder: Path, code: str) -> dict[str, Any]:
    """Run code on a folder of submissions in a process of its own; return what it prints."""
    out = python(code, folder, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return dict(json.loads(out.stdout))
