"""The package and a validator written from the docs alone accept and refuse the same files.

``python -m studies.checks two_validators`` judges 5,000: see studies/reliability/README.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzzing.differential import TOLD
from fuzzing.two_validators import compare

SEEDS = """
    0, 1, 2, 3, 4, 5, 7, 10, 11, 12, 13, 14, 16, 19, 20, 22, 25, 26, 29, 30, 32, 33, 37, 39,
    40, 41, 43, 52, 58, 66, 82, 83, 91, 93, 95, 106, 108, 109, 117, 118, 129, 138, 151, 156,
    193, 194, 196, 223, 269, 293, 330, 361, 423, 466, 507, 518, 527, 575, 693, 768, 788, 870,
    936, 947, 1021, 1049, 1113, 1157, 1240, 1289, 1361, 1407, 1514, 1947, 1979, 1994, 2117,
    2120, 2196
"""
"""Of the first 2,200: some accepted ones of each ending, one or two for each reason to refuse."""

WHICH_ARE_RIGHT = (8, 11, 13, 30, 159, 171, 175, 251, 300, 1118, 1589, 1633, 2148, 2185, 2254)
"""Of the first 2,500 of these: some accepted ones, and each reason to refuse their lists."""

_READING = ("not to be read", "not JSON")


@pytest.mark.slow
def test_two_validators_agree(tmp_path: Path) -> None:
    seeds = [int(text) for text in SEEDS.replace(",", " ").split()]
    seeds += [TOLD + seed for seed in WHICH_ARE_RIGHT]
    found = compare(len(seeds), tmp_path, seeds)
    assert not found.disagreements, "\n".join(found.disagreements)
    assert set(found.seen) == {"parquet", "csv", "jsonl"}
    for refused, accepted in found.seen.values():
        assert min(refused, accepted) >= 4, found.seen
    rules = {reason for reason in found.reasons if not reason.startswith(_READING)}
    assert {"correct", "predictions and n_correct"} <= rules
    assert len(rules) >= 58, "the seeds no longer lead to each rule"
