"""Many submissions at once, half of them spoilt.

``python -m studies.checks ten_thousand_submissions`` does it with ten thousand.
"""

import pytest
from flood import fill, measured
from results_repository import Repository

from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.release.release import Release

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
"""Prints how many bytes submissions take once they are checked."""


@pytest.mark.slow
def test_a_flood(repository: Repository, embedded: Release) -> None:
    fill(repository, embedded, good=8, hostile=8)
    found = leaderboard(repository.files, [embedded], datasets="digits")
    board = found.boards[0]
    scored = len(board.submissions)
    assert [row.method for row in board.sets[0].rows() if row.method == "good"] == ["good"]
    labels = [row.method for row in board.sets[0].rows()]
    assert len(set(labels)) == len(labels)
    assert scored + len(found.rejected) == 16
    assert scored >= 8
    assert found.rejected
    # three reference methods answer each of these sets and five others, two the episodes
    assert {len(each) for each in board.sets} == {2, 3, 3 + scored}


@pytest.mark.slow
def test_of_a_submission_only_its_counts_are_held(
    repository: Repository, embedded: Release
) -> None:
    """Ten thousand fit into memory; with their tables they would not."""
    fill(repository, embedded, good=8, hostile=0)
    found = measured(repository.folder, HELD)
    assert found["accepted"] == ["Accepted"] * 8
    assert 0 < found["held"] / 8 < 10_000, found["held"]
