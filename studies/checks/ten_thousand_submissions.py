"""Rank ten thousand submissions at once, three thousand of them spoilt, in bounded memory.

All go into one results repository, and a process of its own makes the leaderboard.
``tests/fslbench_data/leaderboard/test_leaderboard.py`` does it with fewer.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from fslbench_data.release.release import load_release

GOOD, HOSTILE = 7_000, 3_000
MOST_MIB = 2048
SUPPORT = Path(__file__).resolve().parents[2] / "tests/support"

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
    "good": [row.method for row in found.boards[0].sets[0].rows if row.method == "good"],
}))
"""
"""Makes the leaderboard; prints what it holds, the time and the peak of memory."""


def main() -> None:
    """Print how many were scored and refused, the time and the peak of memory."""
    sys.path.insert(0, str(SUPPORT))
    flood = import_module("flood")
    with TemporaryDirectory() as folder:
        repository = import_module("results_repository").Repository(Path(folder) / "results")
        flood.fill(repository, load_release(), good=GOOD, hostile=HOSTILE)
        found = flood.measured(repository.folder, CODE)
    print(f"{GOOD:,} good and {HOSTILE:,} spoilt submissions in one repository")
    print(f"scored: {found['scored']:,}; refused: {found['refused']:,}")
    print(f"time: {found['seconds']:.0f} s")
    print(f"peak of memory, both processes: {found['mib']:,.0f} MiB; at most {MOST_MIB:,} allowed")
    assert found["good"] == ["good"]
    assert found["scored"] + found["refused"] == GOOD + HOSTILE
    assert found["scored"] >= GOOD
    assert found["mib"] < MOST_MIB


if __name__ == "__main__":
    main()
