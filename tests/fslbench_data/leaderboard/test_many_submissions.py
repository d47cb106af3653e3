"""Many submissions at once, half of them spoilt.

``python -m studies.checks ten_thousand_submissions`` does it with ten thousand.
"""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flood import HELD, fill, measured
from results_repository import Repository

from fslbench_data.leaderboard.leaderboard import leaderboard
from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import METADATA_KEY, Binding, Method
from fslbench_data.submission.model import Submission


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
    found = leaderboard(repository.files, [embedded], datasets="digits")
    assert len(found.boards[0].submissions) == 1
    reasons = sorted(each.what for each in found.rejected)
    assert reasons[0].startswith("the metadata declares results that have no rows: m0 on digits/")
    assert reasons[1:] == ["the submission does not say which tasks it was made on"] * 2
