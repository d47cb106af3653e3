"""Run the checks by name, or all of them: ``python -m studies.checks [NAME ...]``.

A check is a module beside this one with a function `main`, which prints what it found and raises
AssertionError where that is wrong.  What it prints is written to ``results/NAME.txt`` with the
date, the commit and the versions of the libraries; ``.ci/all`` runs every check.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"
LIBRARIES = ("numpy", "scipy", "duckdb", "pyarrow", "datasets", "torch", "scikit-learn", "pillow")


def heading(name: str, seconds: float) -> str:
    """Return the lines above a check's output: what ran, when, with which versions."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"],
        cwd=HERE,
        capture_output=True,
        text=True,
    ).stdout.strip()
    return (
        f"python -m studies.checks {name}\n"
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit or 'unknown'}, {seconds:.0f} s\n"
        f"Python {platform.python_version()}, {', '.join(map(_with_version, LIBRARIES))}\n\n"
    )


def _with_version(library: str) -> str:
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return f"no {library}"


def run(name: str) -> bool:
    """Run one check in a process of its own and write its output; return whether it passed."""
    start = time.monotonic()
    code = f"from studies.checks import {name}; {name}.main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        cwd=HERE.parents[1],
    )
    passed = done.returncode == 0
    text = heading(name, time.monotonic() - start) + done.stdout
    print(text if passed else f"{text}\nFAILED: {name}", flush=True)
    if passed:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.txt").write_text(text, encoding="utf-8")
    return passed


def main() -> None:
    """Run the checks that the command line names; exit with 1 if one fails."""
    known = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    names = sys.argv[1:] or known
    if unknown := sorted(set(names) - set(known)):
        raise SystemExit(f"no check named {', '.join(unknown)}; there are {', '.join(known)}")
    passed = [run(name) for name in names]
    raise SystemExit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
