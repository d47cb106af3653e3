"""Ten thousand submissions at once, thousands of them hostile: time and memory stay bounded."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from results_repository import Repository

from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import METADATA_KEY, Binding, Method
from fslbench_data.submission.model import Submission

_CODE = """
import json, re, resource, sys
from pathlib import Path
from fslbench_data.release.release import load_release
from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.leaderboard.folder_files import FolderFiles
from fslbench_data.sandbox.client import stop
from fslbench_data.leaderboard.export import leaderboard_csv

found = leaderboard(FolderFiles(sys.argv[1]), [load_release()], datasets="digits")
text = leaderboard_csv(found)
stop()  # the process that reads; its memory counts as well
# ru_maxrss of a process counts what the one that started it had; VmHWM does not
own = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
peak = own + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps({
    "mib": peak / 1024,
    "scored": len(found.boards[0].submissions),
    "refused": len(found.rejected),
    "rows": [len(each) for each in found.boards[0].sets],
    "lines": text.count("\\n"),
    "good": [row.method for row in found.boards[0].sets[0].rows() if row.method == "good"],
}))
"""
_SETS = ("open-5w1s1q", "open-5w5s5q", "closed-5w5s5q")


def _flood(repository: Repository, embedded: Release, good: int, hostile: int) -> None:
    """Submissions, all different: with a column of fingerprints, written as fast as can be."""
    rng = np.random.default_rng(0)
    infos = [embedded.task_set_info("digits", name) for name in _SETS]
    rows = [info.n_tasks for info in infos]
    columns = {
        "method": None,
        "dataset": ["digits"] * sum(rows),
        "task_set": np.repeat(_SETS, rows).tolist(),
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


def _measured(folder: Path) -> dict[str, object]:
    out = subprocess.run(
        [sys.executable, "-c", _CODE, str(folder)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return dict(json.loads(out.stdout))


@pytest.mark.slow
def test_a_flood(repository: Repository, embedded: Release) -> None:
    _flood(repository, embedded, good=60, hostile=60)
    found = _measured(repository.folder)
    assert found["good"] == ["good"]
    assert found["scored"] + found["refused"] == 120
    assert found["scored"] >= 60
    # three reference methods answer each of these sets and three others
    assert sorted(set(found["rows"])) == [3, 3 + found["scored"]]


@pytest.mark.slow
def test_ten_thousand_at_once(repository: Repository, embedded: Release) -> None:
    _flood(repository, embedded, good=7000, hostile=3000)
    found = _measured(repository.folder)
    assert found["good"] == ["good"]
    assert found["scored"] + found["refused"] == 10_000
    assert found["scored"] >= 7000
    assert found["mib"] < 2048


@pytest.mark.slow
def test_a_submission_that_declares_what_is_not_there(
    repository: Repository, embedded: Release
) -> None:
    """Metadata of a million results, or of none: refused, and the others are scored."""
    info = embedded.task_set_info("digits", "open-5w5s5q")
    table = pa.table(
        {
            "method": ["m"] * 31,
            "dataset": ["digits"] * 31,
            "task_set": ["open-5w5s5q"] * 31,
            "task_id": pa.array(range(31), pa.int32()),
            "n_correct": pa.array([3] * 31, pa.int16()),
            "n_query": pa.array([25] * 31, pa.int16()),
        }
    )
    bindings = {("m", "digits", "open-5w5s5q"): Binding(info.fingerprint)}
    repository.add(Submission(table, {"m": Method("m")}, bindings))
    sets = {f"digits/open-{k}w5s5q": {"fingerprint": "0" * 64} for k in range(2, 127)}
    much = {"methods": {f"m{i}": {"task_sets": sets} for i in range(90)}}
    for content in (much, {"methods": {"m": {}}}, {"methods": {}}):
        odd = table.replace_schema_metadata({METADATA_KEY: json.dumps(content).encode()})
        sink = pa.BufferOutputStream()
        pq.write_table(odd, sink)
        repository.add_bytes(sink.getvalue().to_pybytes())
    found = _measured(repository.folder)
    assert (found["scored"], found["refused"]) == (1, 3)
