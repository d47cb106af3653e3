"""Labels of images, and those that are missing."""

from __future__ import annotations

from typing import Any

from benchmark_spec.errors import SourceError, shown
from benchmark_spec.extras import require

_MISSING_AS_TEXT = frozenset({"", "-1", "-1.0", "nan", "NaN", "null", "NULL", "None", "<NA>"})
"""How programs write a null, a NaN and the number -1 where a text is asked for."""


def is_missing(label: object) -> bool:
    """Tell whether a label names no class: a null, NaN, -1 or blank, or a text that says so."""
    if isinstance(label, str):
        return label.strip() in _MISSING_AS_TEXT
    return bool(label is None or label != label or label == -1)


def labels_of(rows: Any, column: str) -> tuple[list[str], list[str], dict[int, str]]:
    """Read the label of each row of a ``datasets.Dataset``.

    Gives the labels as texts; the names of the classes, in the order of a ``ClassLabel``, else
    sorted; and what is wrong with the rows whose label is missing, by row from 0.

    Raises
    ------
    SourceError
        If the column holds anything but class labels, texts or numbers.
    """
    datasets = require("datasets")
    feature = rows.features[column]
    if not isinstance(feature, datasets.ClassLabel | datasets.Value):
        raise SourceError(
            f"column {column!r} holds no labels, but {type(feature).__name__}",
            expected="a class label, a text or a number in each row",
            fix="name the column of labels",
        )
    values = list(rows[column])
    if isinstance(feature, datasets.ClassLabel):
        known = dict(enumerate(feature.names))
        missing = [value not in known or is_missing(known[value]) for value in values]
        values = [known.get(value, value) for value in values]
        names = [name for name in feature.names if not is_missing(name)]
    else:
        missing = [is_missing(value) for value in values]
        names = sorted({str(v) for v, none in zip(values, missing, strict=True) if not none})
    problems = {
        row: "has no label" + ("" if values[row] is None else f", but {shown(values[row])}")
        for row, none in enumerate(missing)
        if none
    }
    return [str(value) for value in values], names, problems
