"""Jobs in several processes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from multiprocessing import Pool
from typing import Any


def spread_out(work: Callable[[Any], Any], jobs: list[Any], processes: int) -> list[Any]:
    """Work jobs off, and return their results in the order of the jobs.

    Standard error says how many are done, where it is a terminal.
    """
    results = []
    with Pool(processes, _hold, (work,)) as pool:
        for result in pool.imap(_do, jobs):
            results.append(result)
            if sys.stderr.isatty():
                end = "\n" if len(results) == len(jobs) else "\r"
                print(f"{len(results)} of {len(jobs)}", end=end, file=sys.stderr, flush=True)
    return results


_held: list[Callable[[Any], Any]] = []
"""What this process works with: inherited, since a population is large."""


def _hold(work: Callable[[Any], Any]) -> None:
    _held[:] = [work]


def _do(job: Any) -> Any:
    return _held[0](job)
