"""Methods that have the same counts, task by task: perhaps one's results under another name."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from fslbench_data.leaderboard.acceptance import Result
from fslbench_data.leaderboard.standing import REFERENCE, Entry

LEAST = 5
"""Tasks with some answers right and some wrong that there must be: others coincide easily."""


def duplicates(entries: Sequence[Entry]) -> tuple[tuple[Entry, ...], ...]:
    """Group the methods of a task set whose counts are the same on every task.

    Only results in which at least :data:`LEAST` tasks are neither without an error nor all wrong
    are looked at, since others can be the same by chance.  A release's own methods are compared
    with submissions alone.  Takes time as the number of methods.
    """
    groups: defaultdict[bytes, list[Entry]] = defaultdict(list)
    for entry in entries:
        result = entry.result
        between = (result.counts > 0) & (result.counts < result.queries_per_task)
        if np.count_nonzero(between) >= LEAST:
            groups[_digest(result)].append(entry)
    return tuple(
        tuple(group)
        for group in groups.values()
        if len(group) > 1 and any(entry.source != REFERENCE for entry in group)
    )


def _digest(result: Result) -> bytes:
    """Of the counts, and of the number of queries that they are out of."""
    counts = np.ascontiguousarray(result.counts, "<i8")
    return hashlib.sha256(f"{result.queries_per_task} ".encode() + counts.tobytes()).digest()
