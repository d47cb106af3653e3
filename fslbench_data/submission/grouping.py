"""Grouping a submission's rows by method, run and task set, tens of millions at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec.errors import UnknownNameError, rows
from fslbench_data.release import Release
from fslbench_data.submission.model import Submission
from fslbench_data.tasks import TaskSetInfo

Array = NDArray[Any]

_BLOCK = 1 << 19
"""Rows handled at once, so that intermediate arrays stay in the processor's cache."""


@dataclass(frozen=True)
class Key:
    """What a group of rows answers; `run` is empty where the submission has no such column."""

    method: str
    run: str
    info: TaskSetInfo

    def __str__(self) -> str:
        run = f" (run {self.run})" if self.run else ""
        return f"{self.method}{run} on {self.info}"


@dataclass(frozen=True, eq=False)
class Rows:
    """The submission's N rows as arrays, and the group that each belongs to.

    Attributes
    ----------
    where
        The submission's source, for messages.
    task_id, n_correct, n_query : (N,)
    group : int32 (N,)
        Position in `keys`, which are in the order of their first row, `first`.
    """

    where: str
    task_id: Array
    n_correct: Array
    n_query: Array
    group: Array
    keys: tuple[Key, ...]
    first: Array

    def __len__(self) -> int:
        return len(self.group)

    def spell(self, bad: Array) -> str:
        """File, rows and group, for a message about some rows."""
        return f"{self.where}, {rows(bad)} ({self.keys[int(self.group[bad[0]])]})"

    def blocks(self) -> Iterator[slice]:
        """Slices that cover all rows."""
        return (slice(i, i + _BLOCK) for i in range(0, len(self), _BLOCK))


def group_rows(submission: Submission, release: Release) -> Rows:
    """Group the rows of a submission; every task set must be one of the release.

    Raises
    ------
    UnknownNameError
        For a data set or task set that the release has not.
    """
    table = submission.table
    method, methods = _codes(table.column("method"))
    dataset, datasets = _codes(table.column("dataset"))
    task_set, task_sets = _codes(table.column("task_set"))
    infos = release.task_sets
    position = {(info.dataset, str(info.name)): i for i, info in enumerate(infos)}
    lookup = np.array(
        [[position.get((d, s), -1) for s in task_sets] for d in datasets], dtype=np.int32
    )
    cell = lookup[dataset, task_set]
    if (unknown := np.flatnonzero(cell < 0)).size:
        row = int(unknown[0])
        raise _unknown(
            datasets[dataset[row]],
            task_sets[task_set[row]],
            release,
            f"{submission.source}, from {rows([row])}",
        )
    code = method.astype(np.int64) * len(infos) + cell
    runs = [""]
    if "run" in table.column_names:
        run, runs = _codes(table.column("run"))
        code = code * len(runs) + run
    # where a new group may begin: few places in a sorted file
    starts = np.concatenate([[0], np.flatnonzero(code[1:] != code[:-1]) + 1])
    found, at, inverse = np.unique(code[starts], return_index=True, return_inverse=True)
    order = np.argsort(at)
    number = np.empty(len(found), np.int32)
    number[order] = np.arange(len(found), dtype=np.int32)
    found, first, group_of_start = found[order], starts[at[order]], number[inverse]
    lengths = np.diff(np.concatenate([starts, [len(code)]]))
    keys = tuple(
        Key(
            methods[int(c) // len(runs) // len(infos)],
            runs[int(c) % len(runs)],
            infos[int(c) // len(runs) % len(infos)],
        )
        for c in found
    )
    return Rows(
        submission.source,
        table.column("task_id").to_numpy(),
        table.column("n_correct").to_numpy(),
        table.column("n_query").to_numpy(),
        np.repeat(group_of_start, lengths),
        keys,
        first,
    )


def _codes(column: pa.ChunkedArray) -> tuple[Array, list[str]]:
    """A dictionary column as codes (N,) into one list of distinct names."""
    names: dict[str, int] = {}
    codes = np.empty(len(column), np.int32)
    done = 0
    for chunk in column.chunks:
        lookup = np.array(
            [names.setdefault(name, len(names)) for name in chunk.dictionary.to_pylist()], np.int32
        )
        indices = chunk.indices.to_numpy()
        codes[done : done + len(chunk)] = lookup[indices] if len(chunk) else 0
        done += len(chunk)
    return codes, list(names)


def _unknown(dataset: str, task_set: str, release: Release, where: str) -> UnknownNameError:
    there = [str(info.name) for info in release.task_sets if info.dataset == dataset]
    if there:
        return UnknownNameError(f"task set of {dataset}", task_set, there, where=where)
    return UnknownNameError("data set", dataset, release.datasets, where=where)
