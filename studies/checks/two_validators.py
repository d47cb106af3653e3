"""Judge 5,000 files by the package and by a validator written from the documentation alone.

The files are good submissions, almost good ones and spoilt ones, as Parquet, CSV and JSON Lines;
the two must accept and refuse the same.  ``tests/fuzz/test_fuzz.py`` does it with fewer.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

FILES = 5_000
SUPPORT = Path(__file__).resolve().parents[2] / "tests/support"


def main() -> None:
    """Print the numbers of accepted and refused files by ending, and the disagreements."""
    sys.path.insert(0, str(SUPPORT))
    with TemporaryDirectory() as folder:
        compare = import_module("fuzzing").compare
        found = compare(FILES, Path(folder))
    assert set(found.seen) == {"parquet", "csv", "jsonl"}
    for ending, (refused, accepted) in sorted(found.seen.items()):
        print(f"{ending}: {accepted:,} accepted, {refused:,} refused")
        assert 0.2 < accepted / (refused + accepted) < 0.5
    for line in found.disagreements:
        print(line)
    print(f"{FILES:,} files: {len(found.disagreements)} disagreements on accept or refuse")
    assert not found.disagreements


if __name__ == "__main__":
    main()
