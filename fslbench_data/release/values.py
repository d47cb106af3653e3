"""What a release's tables may hold: ids in order and in range, nothing missing."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmark_spec.errors import CorruptReleaseError, shown
from benchmark_spec.manifest import MANIFEST_FILE, Manifest
from benchmark_spec.protocol import Protocol, TaskSetName
from benchmark_spec.tables import Dataset, Table
from fslbench_data.submission.model import Submission

OUT_OF_THE_FOLDER = r"^[/\\]|^[A-Za-z]:[/\\]|(^|[/\\])\.\.([/\\]|$)"
"""What is in a path of an image that does not stay in the folder of images."""


MOST_ROWS = 2**31 - 1
"""Rows of a table: ids are int32."""


def check_rows(manifest: Manifest, where: str) -> None:
    """Refuse a manifest that lists other rows than it has classes and images, or too many tasks."""
    about = {dataset.name: dataset for dataset in manifest.datasets}
    rows = Counter[tuple[str, str, str]]()
    for table in manifest.tables:
        rows[table.kind, table.dataset, table.name] += table.rows
    for (kind, dataset, name), number in rows.items():
        least, most = 0, MOST_ROWS
        if kind == "classes":
            least = most = about[dataset].n_classes
        elif kind in ("images", "features", "attributes"):
            least = most = about[dataset].n_images
        elif kind == "tasks" and (of := TaskSetName.parse(name)).interval == "open":
            most = about[dataset].n_images // (of.protocol.way * of.protocol.per_class)
        if not least <= number <= min(most, MOST_ROWS):
            bound = f"{most}" if least == most else f"at most {min(most, MOST_ROWS)}"
            raise CorruptReleaseError(
                f"{' '.join(filter(None, (kind, shown(name, 60)[1:-1], 'of', dataset)))}: the "
                f"manifest lists {number} rows",
                where=where,
                expected=f"{bound}, by its numbers of classes and images",
                fix="get the release again, and tell its maintainers",
            )


def check_classes(table: pa.Table, entry: Table, about: Dataset) -> pa.Table:
    """Return the classes if they count from 0 and their images follow each other."""
    _complete(table, entry, table.column_names)
    _counts_from_0(table, entry, "class_id")
    sizes = _integers(table, "n_images").astype(np.int64)
    if (sizes < 1).any() or sizes.sum() != about.n_images:
        raise corrupt(entry, "has other numbers of images", f"{about.n_images} in all, each >= 1")
    if not np.array_equal(_integers(table, "first_image_id"), sizes.cumsum() - sizes):
        raise corrupt(entry, "does not number images class by class", "sums of the sizes before")
    superclasses = number_of_superclasses(table)
    if superclasses != about.n_superclasses:
        raise corrupt(
            entry,
            f"has {superclasses} superclasses",
            f"{about.n_superclasses}, the number that {MANIFEST_FILE} says",
        )
    return table


def number_of_superclasses(table: pa.Table) -> int:
    """Count the superclasses of classes; 0 where they have none."""
    if "superclass" not in table.column_names:
        return 0
    return len(pc.unique(table.column("superclass")))


def check_images(table: pa.Table, entry: Table, about: Dataset) -> pa.Table:
    """Return the images if they count from 0, class by class, with paths that stay in a folder."""
    _complete(table, entry, ["image_id", "class_id", "class_name"])
    _counts_from_0(table, entry, "image_id")
    classes = _integers(table, "class_id")
    _in_range(classes, entry, "class_id", about.n_classes)
    if (np.diff(classes) < 0).any():
        raise corrupt(entry, "is not in the order of classes", "class_id that never falls")
    astray = pc.match_substring_regex(table.column("path"), OUT_OF_THE_FOLDER)
    if pc.any(astray).as_py():
        raise corrupt(entry, "has paths that lead out of the folder of images", "paths in it")
    return table


def check_attributes(table: pa.Table, entry: Table) -> pa.Table:
    """Return the attributes if there is a list for each image, in order."""
    _complete(table, entry, ["image_id", "attributes"])
    _counts_from_0(table, entry, "image_id")
    return table


def check_tasks(table: pa.Table, entry: Table, about: Dataset, protocol: Protocol) -> pa.Table:
    """Return tasks, or some columns of them, if their ids are all in range and none is missing."""
    _complete(table, entry, table.column_names)
    if "task_id" in table.column_names:
        _counts_from_0(table, entry, "task_id")
    for name, most in (
        ("class_ids", about.n_classes),
        ("support", about.n_images),
        ("query", about.n_images),
        ("query_label", protocol.way),
    ):
        if name in table.column_names:
            _in_range(_integers(table, name), entry, name, most)
    return table


def check_results(submission: Submission, entry: Table) -> Submission:
    """Return a reference method's results if they are of that method alone.

    Their tasks and counts are checked as those of any submission, where they are compared.
    """
    named = pc.unique(submission.table.column("method")).to_pylist()
    if {*named, *submission.methods} != {entry.name}:
        raise corrupt(entry, "holds results of other methods", f"those of {entry.name}")
    return submission


def _complete(table: pa.Table, entry: Table, columns: list[str]) -> None:
    for name in columns:
        for chunk in table.column(name).chunks:
            nulls = chunk.null_count
            if not nulls and pa.types.is_nested(chunk.type):
                nulls = chunk.flatten().null_count
            if nulls:
                raise corrupt(entry, f"has nulls in column {name!r}", "a value in every row")


def _counts_from_0(table: pa.Table, entry: Table, name: str) -> None:
    if not np.array_equal(_integers(table, name), np.arange(len(table))):
        raise corrupt(entry, f"has other values of {name} or another order", "0, 1, 2, …")


def _in_range(values: NDArray[np.integer], entry: Table, name: str, most: int) -> None:
    if values.size and (values.min() < 0 or values.max() >= most):
        worst = values.min() if values.min() < 0 else values.max()
        raise corrupt(entry, f"has {worst} among its {name}", f"0 to {most - 1}")


def _integers(table: pa.Table, name: str) -> NDArray[np.integer]:
    """Values of a column without nulls, or of its lists."""
    column = table.column(name).combine_chunks()
    if pa.types.is_nested(column.type):
        column = column.flatten()
    values: NDArray[np.integer] = column.to_numpy(zero_copy_only=False)
    return values


def corrupt(entry: Table, what: str, expected: str = "", where: str = "") -> CorruptReleaseError:
    """Make the error about a table whose values are not those of a release."""
    return CorruptReleaseError(
        f"{entry.path} {what}",
        where=where,
        expected=expected,
        fix="get the release again, and tell its maintainers: fslbench-build verify lists problems",
    )
