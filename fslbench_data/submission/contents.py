"""What a file or a frame holds, by its columns: results, a log, predicted classes, accuracies."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_LINE = 1 << 24
"""Bytes of a line that are read at most."""


def is_log(source: object) -> bool:
    """Whether a file or a frame holds own tasks: it has a column class_ids, and no task_set."""
    names = columns_of(source)
    return "class_ids" in names and "task_set" not in names


def columns_of(source: object) -> list[str]:
    """Return the names of a file's or a frame's columns; none where they cannot be read."""
    if not isinstance(source, str | Path):
        names = getattr(source, "column_names", getattr(source, "columns", ()))
        return [*names] if isinstance(names, Collection) else []
    path = Path(source)
    if not path.is_file():
        return []
    try:
        if path.suffix.lower() == ".parquet":
            return list(pq.read_schema(path).names)
        with path.open(encoding="utf-8-sig") as file:
            line = file.readline(_LINE)
        if path.suffix.lower() in (".jsonl", ".ndjson"):
            row = json.loads(line)
            return [*row] if isinstance(row, dict) else []
    except (OSError, ValueError, RecursionError, pa.ArrowException):
        return []  # reading it as a submission says what is wrong
    return line.strip().replace('"', "").split(",") if path.suffix.lower() == ".csv" else []


def is_all_ways(source: object) -> bool:
    """Whether it holds the predicted class of every test image, with all classes at once."""
    return {"image", "class", "predicted"} <= {*columns_of(source)}


def is_by_image(source: object) -> bool:
    """Whether it answers a release's tasks of all classes with a row an image."""
    return {"task_set", "image_id", "predicted"} <= {*columns_of(source)}


def is_accuracies(path: Path) -> bool:
    """Tell whether a file holds accuracies alone: .npy, .txt, or .csv of one column of numbers."""
    if path.suffix.lower() != ".csv":
        return path.suffix.lower() in (".npy", ".txt")
    if not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        first, second = (stream.readline(_LINE).strip() for _ in range(2))
    return first != "result" and "," not in first and bool(_NUMBER.fullmatch(second))


_NUMBER = re.compile(r"\d*\.?\d+(e[-+]?\d+)?")
