"""Fuzz the readers of submissions and manifests with 10,000 new inputs each.

Nothing may come out but the package's own errors; atheris makes the inputs (tests/fuzz/README.md).
``tests/fuzz/test_corpus.py`` runs the inputs that were kept, and a few new ones.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RUNS = 10_000
FUZZER = Path(__file__).resolve().parents[2] / "tests/fuzz/run.py"


def main() -> None:
    """Print what the fuzzer counted of each target."""
    for target in ("submissions", "manifests"):
        done = subprocess.run(
            [sys.executable, str(FUZZER), target, "--runs", str(RUNS)],
            capture_output=True,
            text=True,
            errors="replace",
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert f"Done {RUNS} runs" in done.stderr
        print(f"{target}: {RUNS:,} new inputs, all read or refused with an error of the package")


if __name__ == "__main__":
    main()
