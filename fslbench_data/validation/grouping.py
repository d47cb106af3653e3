"""Grouping a submission's rows by method, run and task set, tens of millions at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec.errors import UnknownNameError, rows
from fslbench_data.release.release import Release
from fslbench_data.submission.bindings import GroupKey
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

    @property
    def bound_by(self) -> GroupKey:
        """Under which a submission's bindings speak of this group, of all its runs."""
        return self.method, self.info.dataset, str(self.info.name)

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
    starts, segment : (segments,)
        Rows from one start to the next belong to one group, `segment` being its position in
        `keys`: few segments in a sorted file, however many rows.
    keys
        In the order of their first row, `first`.
    """

    where: str
    task_id: Array
    n_correct: Array
    n_query: Array
    starts: Array
    segment: Array
    keys: tuple[Key, ...]
    first: Array

    def __len__(self) -> int:
        return len(self.task_id)

    @cached_property
    def group(self) -> Array:
        """Position in `keys` of every row, int32 (N,)."""
        return np.repeat(self.segment, self._lengths)

    @cached_property
    def infos(self) -> tuple[TaskSetInfo, ...]:
        """The task sets that are answered."""
        return tuple({key.info.text: key.info for key in self.keys}.values())

    @cached_property
    def info_of_row(self) -> Array:
        """Position in `infos` of every row, int32 (N,)."""
        position = {info.text: index for index, info in enumerate(self.infos)}
        return np.array([position[key.info.text] for key in self.keys], np.int32)[self.group]

    @cached_property
    def sizes(self) -> Array:
        """Number of rows of each group, int64 (groups,)."""
        sizes = np.zeros(len(self.keys), np.int64)
        np.add.at(sizes, self.segment, self._lengths)
        return sizes

    @property
    def _lengths(self) -> Array:
        return np.diff(np.concatenate([self.starts, [len(self)]]))

    def spell(self, bad: Array) -> str:
        """File, rows and group, for a message about some rows."""
        at = np.searchsorted(self.starts, bad[0], side="right") - 1
        return f"{self.where}, {rows(bad)} ({self.keys[int(self.segment[at])]})"

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Slices that cover all rows, and the group of each of their rows."""
        ends = np.concatenate([self.starts[1:], [len(self)]])
        for begin in range(0, len(self), _BLOCK):
            end = min(begin + _BLOCK, len(self))
            a = int(np.searchsorted(ends, begin, side="right"))
            b = int(np.searchsorted(self.starts, end, side="left"))
            inside = np.minimum(ends[a:b], end) - np.maximum(self.starts[a:b], begin)
            yield slice(begin, end), np.repeat(self.segment[a:b], inside)


def group_rows(submission: Submission, release: Release) -> Rows:
    """Group the rows of a submission; every task set must be one of the release.

    Raises
    ------
    UnknownNameError
        For a data set or task set that the release has not.
    """
    table = submission.table
    names = ["method", "dataset", "task_set", *(["run"] if "run" in table.column_names else [])]
    starts, codes, labels = _segments(table, names)
    if "run" not in names:
        codes.append(np.zeros_like(starts))
        labels.append([""])
    method, dataset, task_set, run = codes
    methods, datasets, task_sets, runs = labels
    infos = release.task_sets
    position = {(info.dataset, str(info.name)): i for i, info in enumerate(infos)}
    lookup = np.array(
        [[position.get((d, s), -1) for s in task_sets] for d in datasets], dtype=np.int32
    )
    cell = lookup[dataset, task_set]
    if (unknown := np.flatnonzero(cell < 0)).size:
        at = int(unknown[0])
        raise _unknown(
            datasets[dataset[at]],
            task_sets[task_set[at]],
            release,
            f"{submission.source}, from {rows([starts[at]])}",
        )
    code = (method.astype(np.int64) * len(infos) + cell) * len(runs) + run
    found, at_start, inverse = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(at_start)
    number = np.empty(len(found), np.int32)
    number[order] = np.arange(len(found), dtype=np.int32)
    found, first = found[order], starts[at_start[order]]
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
        starts,
        number[inverse],
        keys,
        first,
    )


def _segments(table: pa.Table, names: list[str]) -> tuple[Array, list[Array], list[list[str]]]:
    """Rows at which a dictionary column may change, and what each column holds from there on.

    Returns
    -------
    starts : int64 (segments,)
    codes : for each column int64 (segments,), into
    labels : its distinct names
    """
    seen: list[dict[str, int]] = [{} for _ in names]
    starts: list[Array] = []
    codes: list[list[Array]] = [[] for _ in names]
    done = 0
    for batch in table.select(names).to_batches():
        indices = [column.indices.to_numpy() for column in batch.columns]
        new = np.zeros(len(batch), np.bool_)
        new[:1] = True
        for index in indices:
            new[1:] |= index[1:] != index[:-1]
        at = np.flatnonzero(new)
        starts.append(at + done)
        for column, index, known, code in zip(batch.columns, indices, seen, codes, strict=True):
            texts = column.dictionary.to_pylist()
            lookup = np.array([known.setdefault(text, len(known)) for text in texts], np.int64)
            code.append(lookup[index[at]])
        done += len(batch)
    return np.concatenate(starts), [np.concatenate(c) for c in codes], [list(k) for k in seen]


def _unknown(dataset: str, task_set: str, release: Release, where: str) -> UnknownNameError:
    there = [str(info.name) for info in release.task_sets if info.dataset == dataset]
    if there:
        return UnknownNameError(f"task set of {dataset}", task_set, there, where=where)
    return UnknownNameError("data set", dataset, release.datasets, where=where)
