"""Compress features: project them onto principal directions and round to int8 steps.

The directions are the right singular vectors of the uncentred matrix (N, D) of a data set's
L2-normalised features.  Such a set is named after its backbone: ``efficientnet_lite0-pca128``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SpecError

DIMENSIONS = 128

STORED = {"dtype": "float32", "stored": "float32"}
"""The dtypes in a projection's provenance: steps times their scale are stored."""

_NAME = re.compile(r"(.+)-pca([1-9][0-9]{0,3})")
_ROWS = 4096
"""Rows that are computed at once."""


def base_of(name: str) -> tuple[str, int | None]:
    """Split the name of a feature set into backbone and dimensions, None if not projected."""
    match = _NAME.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)


def pca_int8(
    features: NDArray[Any], dimensions: int = DIMENSIONS
) -> tuple[NDArray[np.int8], float, dict[str, Any]]:
    """Project features (N, D): int8 (N, d), their scale, and the provenance of both.

    The directions are eigenvectors of the Gram matrix (D, D) in float64.
    """
    images, width = features.shape
    if dimensions > min(images, width):
        raise SpecError(
            f"features cannot be projected to {dimensions} dimensions",
            expected=f"at most {min(images, width)}: as many as they have, and as there are images",
        )
    gram = sum(rows.T @ rows for rows in _blocks(features))
    values, vectors = np.linalg.eigh(gram)
    if values[-1] <= 0:
        raise SpecError("features that are all zero cannot be projected")
    directions = np.ascontiguousarray(vectors[:, ::-1][:, :dimensions])
    largest = np.abs(directions).argmax(axis=0)  # the entry that is made positive
    directions *= np.sign(directions[largest, np.arange(dimensions)])
    most = max(float(np.abs(rows @ directions).max()) for rows in _blocks(features))
    scale = float(np.float32(most / 127))
    steps = [np.rint(rows @ directions / scale).astype(np.int8) for rows in _blocks(features)]
    kept = float(values[::-1][:dimensions].sum() / values.sum())
    about = {
        "dimensions": dimensions,
        "from": width,
        "of": "the data set's L2-normalised features, uncentred",
        "kept": round(kept, 4),
    }
    return np.concatenate(steps), scale, {**STORED, "scale": scale, "pca": about}


def _blocks(features: NDArray[Any]) -> Iterator[NDArray[np.float64]]:
    """Yield the unit rows of images, a block at a time."""
    for first in range(0, len(features), _ROWS):
        yield unit_rows(features[first : first + _ROWS])


def unit_rows(features: NDArray[Any]) -> NDArray[np.float64]:
    """Divide features (..., D) by their length; zeros stay zeros."""
    rows = features.astype(np.float64)
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1.0))
