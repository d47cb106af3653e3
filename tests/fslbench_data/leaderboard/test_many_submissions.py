"""Many submissions at once, half of them spoilt.

``python -m benchmarks.checks ten_thousand_submissions`` does it with ten thousand.
"""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flood import fill, measured
from results_repository import Repository

from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import METADATA_KEY, Binding, Method
from fslbench_data.submission.model import Submission


@pytest.mark.slow
def test_afill(repository: Repository, embedded: Release) -> None:
    fill(repository, embedded, good=60, hostile=60)
    found = measured(repository.folder)
    assert found["good"] == ["good"]
    assert found["scored"] + found["refused"] == 120
    assert found["scored"] >= 60
    # three reference methods answer each of these sets and three others
    assert sorted(set(found["rows"])) == [3, 3 + found["scored"]]


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
    found = measured(repository.folder)
    assert (found["scored"], found["refused"]) == (1, 3)
