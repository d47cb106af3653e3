"""Files, folders and functions that a command enters: ``python -m benchmarks.entered``.

A file is entered when something in it is called; what runs while modules are imported, such as the
bodies of classes, is not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import shlex
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ("benchmark_spec", "analysis_sql", "fslbench_data", "builders")
COMMANDS = {
    "score examples/my_results.parquet": (45, 12, 400),
    "score examples/my_results.parquet --details": (0, 0, 0),
    "compare pixels/LR pixels/NCC --dataset digits": (0, 0, 0),
    "info": (0, 0, 0),
}
"""Commands, and the most files, folders and functions that they may enter; 0: no limit."""


def entered(command: str) -> tuple[int, int, int]:
    """Run a command in this process; count what it enters: files, folders, functions."""
    functions, importing = set(), 0

    def look(frame: FrameType, event: str, _: Any) -> None:
        nonlocal importing
        name = frame.f_code.co_filename
        if event not in ("call", "return") or not name.startswith(str(ROOT)):
            return
        path = Path(name).relative_to(ROOT)
        if frame.f_code.co_name == "<module>":
            importing += 1 if event == "call" else -1
        elif event == "call" and not importing and path.parts[0] in PACKAGES:
            functions.add((path, frame.f_code.co_qualname))

    sys.argv = ["fslbench", *shlex.split(command)]
    sys.setprofile(look)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            from fslbench_data.entry import fslbench

            fslbench()
    finally:
        sys.setprofile(None)
    called = {path for path, _ in functions}
    return len(called), len({path.parent for path in called}), len(functions)


def main() -> int:
    """Print a row a command, each in a process of its own; exit 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="one command, in this process")
    command = parser.parse_args().only
    if command is not None:
        print(*entered(command))
        return 0
    missed = False
    print("| command | files | folders | functions | limits |")
    print("|---|---|---|---|---|")
    for command, limits in COMMANDS.items():
        run = [sys.executable, "-m", "benchmarks.entered", "--only", command]
        done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True)
        found = [int(number) for number in done.stdout.split()]
        over = any(limits) and any(n > most for n, most in zip(found, limits, strict=True))
        missed |= over
        limit = " · ".join(map(str, limits)) if any(limits) else ""
        cells = [f"`fslbench {command}`", *map(str, found), limit + " **missed**" * over]
        print(f"| {' | '.join(cells)} |")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
