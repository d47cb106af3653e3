"""How long the commands take to answer, in one run: ``python benchmarks/startup.py``.

Each command is run several times, in turn with the others, and the median wall time kept:
``python -c pass`` and ``python -c "import click"`` are the yardsticks.
"""

from __future__ import annotations

import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 15
ROOT = Path(__file__).resolve().parents[1]
FSLBENCH = str(Path(sys.executable).with_name("fslbench"))
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    'python -c "import click"': [sys.executable, "-c", "import click"],
    "fslbench --help": [FSLBENCH, "--help"],
    "fslbench info": [FSLBENCH, "info"],
    "fslbench validate examples/my_results.parquet": [
        FSLBENCH,
        "validate",
        str(ROOT / "examples/my_results.parquet"),
    ],
    "fslbench score examples/my_results.parquet": [
        FSLBENCH,
        "score",
        str(ROOT / "examples/my_results.parquet"),
    ],
}


def main() -> int:
    """Print the table; exit 1 if a limit of it is missed."""
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(ROUNDS + 1):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
            if turn:  # the first round warms the disk's cache
                seconds[name].append(time.perf_counter() - start)
    median = {name: statistics.median(values) for name, values in seconds.items()}
    yardstick = median['python -c "import click"']
    print(f"Python {platform.python_version()}, {platform.machine()}, median of {ROUNDS} runs\n")
    print("| command | ms | times `import click` | limit |")
    print("|---|---|---|---|")
    limits = {"fslbench --help": 2 * yardstick, "fslbench score examples/my_results.parquet": 1.0}
    labels = {"fslbench --help": "2 times", "fslbench score examples/my_results.parquet": "1000 ms"}
    for name, value in median.items():
        ratio = f"{value / yardstick:.1f}"
        print(f"| `{name}` | {1000 * value:.0f} | {ratio} | {labels.get(name, '')} |")
    return int(any(median[name] > limit for name, limit in limits.items()))


if __name__ == "__main__":
    sys.exit(main())
