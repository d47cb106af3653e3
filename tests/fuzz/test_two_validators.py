"""The package and a validator written from the docs alone accept and refuse the same files.

The 5,000 files that docs/reliability.md speaks of are a row of `tests/test_reliability.py`.
"""

from __future__ import annotations

from pathlib import Path

from fuzzing.two_validators import compare


def test_two_validators_agree(tmp_path: Path) -> None:
    disagreements, seen = compare(300, tmp_path)
    assert not disagreements, "\n".join(disagreements)
    assert set(seen) == {"parquet", "csv", "jsonl"}
    for refused, accepted in seen.values():
        assert 0.15 < accepted / (refused + accepted) < 0.6, seen
