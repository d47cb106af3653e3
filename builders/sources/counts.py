"""How many images of which classes a data set has, and refusing any other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import CatalogueError, SourceError, listing


def counts_of_catalogue(name: str) -> dict[str, int]:
    """Return the images of each class of a catalogued data set, in the frozen order."""
    dataset = lookup(name)
    return dict(zip(dataset.class_names, dataset.class_sizes, strict=True))


def check_counts(
    name: str,
    counts: Mapping[str, int],
    expected: Mapping[str, int],
    where: Path,
    left_out: dict[str, Any] | None,
) -> None:
    """Compare images of each class with what is expected.

    What is missing is recorded in `left_out`, or refused if that is None.  Too many images are
    always refused.
    """
    fix = "check that the raw folder is whole and of the right version"
    pardon = "; --allow-missing leaves out and records what is missing"
    missing = [label for label in expected if not counts.get(label)]
    if missing and left_out is None:
        raise CatalogueError(
            f"{name}: {len(missing)} of {len(expected)} classes are missing: {listing(missing)}",
            where=str(where),
            fix=fix + pardon,
        )
    unknown = [label for label in counts if label not in expected]
    if unknown:
        raise CatalogueError(
            f"{name}: unexpected classes: {listing(unknown)}",
            where=str(where),
            expected=listing(list(expected)),
            fix=fix,
        )
    other = [
        f"{label} has {counts[label]} images, not {expected[label]}"
        for label in expected
        if label not in missing and counts[label] != expected[label]
    ]
    too_many = any(counts[label] > expected[label] for label in counts)
    if other and (left_out is None or too_many):
        raise CatalogueError(
            f"{name}: {listing(other, most=4)}",
            where=str(where),
            fix=fix + ("" if too_many else pardon),
        )
    if left_out is not None:
        if missing:
            left_out["classes"] = missing
        if other:
            left_out["counts"] = other


def check_classes(
    name: str,
    classes: Mapping[str, Sequence[object]],
    expected: Mapping[str, int] | None,
    folder: Path,
    left_out: dict[str, Any] | None,
) -> None:
    """Compare classes, their order and counts with what is expected, or take what there is.

    Empty classes are recorded or refused as by :func:`check_counts`.
    """
    if expected is None:
        empty = [label for label, items in classes.items() if not items]
        if not classes or (empty and left_out is None):
            raise SourceError(
                f"{name}: no images of {listing(empty)}" if empty else f"{name}: no classes",
                where=str(folder),
                fix="check that the folder is whole",
            )
        if empty and left_out is not None:
            left_out["classes"] = empty
        return
    counts = {label: len(items) for label, items in classes.items() if items}
    check_counts(name, counts, expected, folder, left_out)
    order = [label for label in expected if label in counts]
    if list(counts) != order:
        raise CatalogueError(
            f"{name}: classes come in another order than in the catalogue",
            where=str(folder),
            expected=listing(order),
        )


def expected_counts(name: str) -> dict[str, int]:
    """Read the images of each class of a packaged source, in the frozen order: `counts.json`."""
    return dict(_frozen()[name])


@cache
def _frozen() -> dict[str, dict[str, int]]:
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    counts: dict[str, dict[str, int]] = json.loads(text)
    return counts
