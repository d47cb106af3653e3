"""The package and a validator written from the docs alone accept and refuse the same files.

``python -m studies.checks two_validators`` judges 5,000: see studies/reliability/README.md.
"""

from pathlib import Path

import pytest
from fuzzing import TOLD, compare

SEEDS = """
    0, 1, 2, 4, 6, 8, 12, 13, 14, 16, 17, 18, 20, 21, 22, 23, 24, 26, 27, 29, 30, 31, 36, 42,
    43, 48, 49, 58, 64, 67, 68, 73, 91, 99, 107, 116, 117, 119, 123, 125, 127, 128, 131, 135,
    150, 158, 164, 173, 181, 185, 189, 206, 209, 213, 214, 228, 248, 254, 255, 256, 266, 277,
    280, 333, 351, 353, 391, 399, 474, 511, 559, 574, 596, 616, 648, 649, 672, 679, 684, 690,
    696, 703, 717, 735, 752, 769, 818, 821, 828, 855, 895, 936, 944, 946, 1039, 1115, 1189,
    1239, 1263, 1377, 1416, 1423, 1469, 1489, 1521, 1623, 1839, 1900, 2375, 2391, 2728,
    2736, 2766, 2897, 2974, 3050, 3867
"""
"""Accepted ones with each name and type, and one or two for each reason to refuse."""

WHICH_ARE_RIGHT = (5, 8, 10, 21, 25, 36, 58, 60, 110, 112, 175, 199, 212, 243, 1444)
"""Of these, some accepted ones, and each reason to refuse their lists."""

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
