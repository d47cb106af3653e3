"""Accuracies, one a task in the order of the tasks, and the counts that they stand for."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmark_spec.errors import AccuracyError, UnreadableError, listing
from fslbench_data.files import load_numbers
from fslbench_data.submission.canonical import canonical, printable
from fslbench_data.tasks import TaskSetInfo

TOLERANCE = 1e-3
"""Percentage points; float32 keeps a percentage to 1e-5, and counts are further apart."""


def counts_of(
    accuracies: NDArray[Any], info: TaskSetInfo, scale: float, where: str
) -> NDArray[np.int64]:
    """Numbers of correct queries (T,) from accuracies (T,), of which `scale` means all right.

    Raises an AccuracyError if there are not as many as the task set has tasks; or one is NaN, out
    of range, or no multiple of 1/(K·Q).
    """
    if accuracies.shape != (info.n_tasks,):
        raise AccuracyError(
            f"the accuracies are of shape {accuracies.shape}",
            where=where,
            expected=f"({info.n_tasks},), one for each task of {info}",
        )
    if (bad := np.flatnonzero(~np.isfinite(accuracies))).size:
        raise AccuracyError(
            f"{bad.size} accuracies are NaN or infinite",
            where=f"{where}, tasks {listing(bad.tolist())}",
            fix="run these tasks again",
        )
    n_query = info.protocol.n_query
    counts = accuracies.astype(np.float64) * n_query / scale
    whole = np.rint(counts)
    fits = np.abs(counts - whole) * 100.0 / n_query <= TOLERANCE
    bad = np.flatnonzero(~(fits & (whole >= 0) & (whole <= n_query)))
    if bad.size:
        raise AccuracyError(
            f"{bad.size} accuracies are no multiple of 1/{n_query}: "
            f"{listing(accuracies[bad].tolist(), 4)}",
            where=f"{where}, tasks {listing(bad.tolist())}",
            expected=f"{'percentages' if scale == 100 else 'fractions'} of {n_query} queries (K·Q) "
            f"of {info}",
            fix="check that these are unrounded results of this task set",
        )
    return whole.astype(np.int64)


def table_of(method: str, info: TaskSetInfo, counts: NDArray[np.int64]) -> pa.Table:
    """Return the rows of a submission in which a method answers every task of a set (T,)."""
    names = {"method": method, "dataset": info.dataset, "task_set": str(info.name)}
    columns = {name: pa.repeat(value, len(counts)) for name, value in names.items()}
    n_query = pa.repeat(info.protocol.n_query, len(counts))
    rows = {**columns, "task_id": range(len(counts)), "n_correct": counts, "n_query": n_query}
    return canonical(pa.table({name: pa.array(values) for name, values in rows.items()}), method)


def read_accuracies(path: Path) -> NDArray[np.float64]:
    """Read accuracies (T,) from a .npy file, a CSV file or a list of numbers in a text file.

    A CSV file has one column, or one called `accuracy`.  Raises an UnreadableError if it is none of
    these.
    """
    try:
        if path.suffix.lower() == ".npy":
            return np.asarray(load_numbers(path), dtype=np.float64)
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".csv":
            return np.array([float(cell) for cell in _csv_column(text, path)])
        return np.array([float(word) for word in text.replace(",", " ").split()])
    except (OSError, ValueError, csv.Error) as error:
        raise UnreadableError(
            f"{path} cannot be read: {printable(error)}",
            expected="accuracies in a .npy file, in a column of a CSV file, or as a list of "
            "numbers in a text file",
        ) from None


def _csv_column(text: str, path: Path) -> list[str]:
    rows = [row for row in csv.reader(text.splitlines()) if row]
    head = rows[0] if rows else []
    if "accuracy" in head:
        return [row[head.index("accuracy")] for row in rows[1:]]
    if any(len(row) != 1 for row in rows) or not rows:
        raise UnreadableError(
            f"{path} has columns {listing(head)}", expected="one column, or one called accuracy"
        )
    try:
        float(head[0])
    except ValueError:
        rows = rows[1:]
    return [row[0] for row in rows]
