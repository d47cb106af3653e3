"""A repository with many submissions, some of them spoilt, and the leaderboard of it, measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from results_repository import Repository

from fslbench_data.release.release import Release

CODE = """
import json, re, resource, sys, time
from pathlib import Path
from fslbench_data.release.release import load_release
from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.repository import FolderFiles
from fslbench_data.sandbox.client import stop
from fslbench_data.leaderboard.tables import leaderboard_csv

start = time.monotonic()
found = leaderboard(FolderFiles(sys.argv[1]), [load_release()], datasets="digits")
text = leaderboard_csv(found)
stop()  # the process that reads; its memory counts as well
# ru_maxrss of a process counts what the one that started it had; VmHWM does not
own = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
peak = own + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps({
    "mib": peak / 1024,
    "seconds": time.monotonic() - start,
    "scored": len(found.boards[0].submissions),
    "refused": len(found.rejected),
    "rows": [len(each) for each in found.boards[0].sets],
    "lines": text.count("\\n"),
    "good": [row.method for row in found.boards[0].sets[0].rows() if row.method == "good"],
}))
"""
HELD = """
import gc, json, sys, tracemalloc
import pyarrow as pa
from fslbench_data.leaderboard.leaderboard import check_submission
from fslbench_data.leaderboard.repository import FolderFiles
from fslbench_data.leaderboard.repository import list_submissions
from fslbench_data.release.release import load_release

files, releases = FolderFiles(sys.argv[1]), [load_release()]
names = list_submissions(files)[0]
check_submission(files, names[0], releases)  # what is made once
gc.collect()
tracemalloc.start()
before = pa.total_allocated_bytes()
kept = [check_submission(files, name, releases) for name in names]
gc.collect()
held = tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes() - before
print(json.dumps({"accepted": [type(one).__name__ for one in kept], "held": held}))
"""
SETS = ("open-5w1s1q", "open-5w5s5q", "closed-5w5s5q")


def fill(repository: Repository, embedded: Release, good: int, hostile: int) -> None:
    """Add submissions, all different, with a column of fingerprints; `hostile` ones are spoilt."""
    rng = np.random.default_rng(0)
    infos = [embedded.task_set_info("digits", name) for name in SETS]
    rows = [info.n_tasks for info in infos]
    columns = {
        "method": None,
        "dataset": ["digits"] * sum(rows),
        "task_set": np.repeat(SETS, rows).tolist(),
        "task_id": pa.array(np.concatenate([np.arange(n) for n in rows]), pa.int32()),
        "n_correct": None,
        "n_query": pa.array(np.repeat([i.protocol.n_query for i in infos], rows), pa.int16()),
        "fingerprint": np.repeat([info.fingerprint for info in infos], rows).tolist(),
    }
    n_query = np.repeat([info.protocol.n_query for info in infos], rows)
    for number in range(good + hostile):
        columns["n_correct"] = pa.array(rng.binomial(n_query, rng.uniform(0.5, 0.9)), pa.int16())
        # thousands of one name, runs of many different numbers, and names that are markup
        columns["method"] = [("good", "same", "<b>@all</b>")[min(number, 1 + number % 2)]] * sum(
            rows
        )
        table = pa.table(columns)
        if number % 10 == 3:
            runs = 2 + number % 7
            table = pa.concat_tables([table] * runs)
            run = np.repeat([str(i) for i in range(runs)], sum(rows)).tolist()
            table = table.append_column("run", pa.array(run))
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        content = sink.getvalue().to_pybytes()
        if number >= good:  # a bit turned over, somewhere
            at = int(rng.integers(4, len(content)))
            content = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        repository.add_bytes(content)


def measured(folder: Path, code: str = CODE) -> dict[str, Any]:
    """Run code on a folder of submissions in a process of its own; return what it prints."""
    out = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return dict(json.loads(out.stdout))
