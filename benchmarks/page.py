"""The report page of a thousand methods: ``python -m benchmarks.page``.

1000 methods on 27 task sets of 2000 tasks, made up: how long the page takes to make from Parquet,
in a process of its own, what it weighs, and how long it takes to answer a choice, measured in
chromium: from the change of a control until the figures, the matrix and the table are there and
the browser has painted a frame.  The median of ten choices of each kind, and the slowest of all.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.pairs import made_up_release, make

METHODS = 1000
SECONDS, MEGABYTES, MILLISECONDS = 30.0, 15.0, 200.0
"""Limits."""

CHOICES = {
    "method": ("a", [f"method{i:04d}" for i in range(10)]),
    "compared with": ("b", [f"method{i:04d}" for i in range(20, 30)]),
    "task set": ("task_set", ["open-5w5s5q", "open-5w1s1q"] * 5),
    "data set": ("dataset", [f"data{i % 9}" for i in range(1, 11)]),
    "level": ("level", ["0.9", "0.99"] * 5),
}
TIMED_UPDATE = """async ([id, value]) => {
    const start = performance.now();
    await window.fslbench.update({ [id]: value });
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return performance.now() - start;
}"""


def made(path: Path, folder: Path) -> None:
    """Make the page, as ``fslbench report`` does."""
    from fslbench_data.render.page.make import page_of
    from fslbench_data.scoring.selection import Selection

    release: Any = made_up_release()
    page_of([path], release, Selection(allow_unbound=True), folder)


def response_times(page: Path) -> dict[str, list[float]]:
    """Return the milliseconds of each choice, by what is chosen, and of opening the page."""
    from playwright.sync_api import sync_playwright

    found: dict[str, list[float]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(viewport={"width": 1300, "height": 900})
        start = time.perf_counter()
        tab.goto(page.as_uri())
        tab.wait_for_function("document.documentElement.dataset.ready === 'yes'", timeout=60_000)
        found["opening"] = [1000 * (time.perf_counter() - start)]
        tab.wait_for_timeout(500)
        for what, (control, values) in CHOICES.items():
            found[what] = [float(tab.evaluate(TIMED_UPDATE, [control, value])) for value in values]
        browser.close()
    return found


def main() -> int:
    """Print the table; exit 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--make", nargs=2, type=Path, metavar=("FILE", "FOLDER"))
    options = parser.parse_args()
    if options.make:
        made(*options.make)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path, page = Path(folder) / "made_up.parquet", Path(folder) / "page"
        make(path, METHODS)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "benchmarks.page", "--make", path, page], check=True)
        seconds = time.perf_counter() - start
        megabytes = (page / "index.html").stat().st_size / 1e6
        found = response_times(page / "index.html")
    print("| what | found | slowest | limit |")
    print("|---|---|---|---|")
    print(f"| making the page | {seconds:.1f} s | | {SECONDS:.0f} s |")
    print(f"| its size | {megabytes:.1f} MB | | {MEGABYTES:.0f} MB |")
    print(f"| opening it | {found.pop('opening')[0]:.0f} ms | | |")
    for what, times in found.items():
        print(
            f"| another {what} | {statistics.median(times):.0f} ms | {max(times):.0f} ms "
            f"| {MILLISECONDS:.0f} ms |"
        )
    slow = max(statistics.median(times) for times in found.values())
    return int(seconds > SECONDS or megabytes > MEGABYTES or slow > MILLISECONDS)


if __name__ == "__main__":
    sys.exit(main())
