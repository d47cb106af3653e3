"""Rank ten thousand submissions at once, three thousand of them spoilt, in bounded memory.

All go into one results repository, and a process of its own makes the leaderboard.
``tests/fslbench_data/leaderboard/test_many_submissions.py`` does it with fewer.
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


def main() -> None:
    """Print how many were scored and refused, the time and the peak of memory."""
    sys.path.insert(0, str(SUPPORT))
    flood = import_module("flood")
    with TemporaryDirectory() as folder:
        repository = import_module("results_repository").Repository(Path(folder) / "results")
        flood.fill(repository, load_release(), good=GOOD, hostile=HOSTILE)
        found = flood.measured(repository.folder)
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
