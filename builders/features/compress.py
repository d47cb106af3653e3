"""Features made small: projected onto their principal directions and rounded to int8 steps.

A data set's own L2-normalised features, and no labels, say what the directions are: the right
singular vectors of the uncentred matrix (N, D), so that cosines between images are kept as well as
so few dimensions can.  One scale serves all values.

A feature set of this kind is named after its backbone, as in ``efficientnet_lite0-pca128``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SpecError

DIMENSIONS = 128

STORED = {"dtype": "float32", "stored": "float32"}
"""What a projection's provenance says of its values: the steps times their scale are stored."""

_NAME = re.compile(r"(.+)-pca([1-9][0-9]{0,3})")
_ROWS = 4096
"""Rows that are worked on at once."""

Parts = Callable[[], Iterable[NDArray[Any]]]


def base_of(name: str) -> tuple[str, int | None]:
    """Split the name of a feature set: backbone, and dimensions if it is projected to some."""
    match = _NAME.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)


@dataclass(frozen=True, eq=False)
class Projection:
    """Principal directions of one data set's features, and the scale of what is kept.

    Attributes
    ----------
    directions : float64 (D, d)
        Orthonormal; the largest component of each is positive.
    scale
        What one step of the int8 values stands for.
    kept
        Share of the squared length of the data set's features that lies in these directions.
    """

    directions: NDArray[np.float64]
    scale: float
    kept: float

    def __call__(self, features: NDArray[Any]) -> NDArray[np.int8]:
        """Normalise, project and round features (n, D) of any images: int8 (n, d).

        Values beyond those of the data set itself, as other images may have, are cut off at ±127.
        """
        rounded = np.empty((len(features), self.directions.shape[1]), np.int8)
        for first in range(0, len(features), _ROWS):
            rows = unit_rows(features[first : first + _ROWS]) @ self.directions
            rounded[first : first + _ROWS] = np.clip(np.rint(rows / self.scale), -127, 127)
        return rounded

    def provenance(self) -> dict[str, Any]:
        """Tell what a feature table's provenance says of it."""
        return {
            **STORED,
            "scale": self.scale,
            "pca": {
                "dimensions": int(self.directions.shape[1]),
                "from": int(self.directions.shape[0]),
                "of": "the data set's L2-normalised features, uncentred",
                "kept": round(self.kept, 4),
            },
        }


def fit_projection(parts: Parts, dimensions: int = DIMENSIONS) -> Projection:
    """Compute the principal directions of features.

    The eigenvectors of their Gram matrix (D, D) in float64: exact, without any random start, and
    without all features in memory.  On one machine the same features give the same int8 values.
    SpecError if there are fewer directions, or no feature other than zero.

    Parameters
    ----------
    parts
        Gives the features (n, D) of all images in pieces; it is called twice.
    dimensions
        How many directions are kept.
    """
    gram: NDArray[np.float64] | None = None
    images = 0
    for part in _blocks(parts):
        rows = unit_rows(part)
        gram = rows.T @ rows if gram is None else gram + rows.T @ rows
        images += len(rows)
    most = 0 if gram is None else min(images, len(gram))
    if gram is None or dimensions > most:
        raise SpecError(
            f"features cannot be projected to {dimensions} dimensions",
            expected=f"at most {most}: as many as they have, and as there are images",
        )
    values, vectors = np.linalg.eigh(gram)
    if values[-1] <= 0:
        raise SpecError("features that are all zero cannot be projected")
    directions = np.ascontiguousarray(vectors[:, ::-1][:, :dimensions])
    largest = np.abs(directions).argmax(axis=0)
    directions *= np.sign(directions[largest, np.arange(dimensions)])
    top = max(float(np.abs(unit_rows(part) @ directions).max()) for part in _blocks(parts))
    kept = float(values[::-1][:dimensions].sum() / values.sum())
    return Projection(directions, float(np.float32(top / 127)), kept)


def pca_int8(
    features: NDArray[Any], dimensions: int = DIMENSIONS
) -> tuple[NDArray[np.int8], float, dict[str, Any]]:
    """Project features (N, D): int8 (N, d), their scale, and what the provenance says of both."""
    projection = fit_projection(lambda: [features], dimensions)
    return projection(features), projection.scale, projection.provenance()


def unit_rows(features: NDArray[Any]) -> NDArray[np.float64]:
    """Divide features (..., D) by their length; zeros stay zeros."""
    rows = features.astype(np.float64)
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1.0))


def _blocks(parts: Parts) -> Iterator[NDArray[Any]]:
    """Cut features in blocks of so many rows, wherever their pieces begin: sums are the same."""
    held: list[NDArray[Any]] = []
    size = 0
    for part in parts():
        while size + len(part) >= _ROWS:
            rows = _ROWS - size
            yield np.concatenate([*held, part[:rows]])
            part, held, size = part[rows:], [], 0
        held.append(part)
        size += len(part)
    if size:
        yield np.concatenate(held)
