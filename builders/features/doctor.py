"""Whether somebody else's features are those of a release: compared on the canaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SpecError
from builders.features.compress import unit_rows
from builders.sources.packaged.canaries import CANARY_IMAGES, FAMILIES, OF_EACH

Verdict = Literal["identical", "agrees", "close", "differs", "unrelated"]

AGREEMENT = {"float32": 0.9999, "bfloat16": 0.95}
"""The least cosine of each canary's features to another extraction's, by what was computed in."""

CLOSE = 0.95
"""The mean cosine from which the network sees nearly the same pictures."""

RELATED = 0.5
"""The mean cosine below which the weights are others."""

SENTENCES: Mapping[Verdict, str] = {
    "identical": "The features are the same, bit for bit.",
    "agrees": "The features agree: what is left is rounding.",
    "close": "The features do not agree. The weights are the same, and the pictures nearly: look "
    "at how they are decoded and resized (kernel, antialiasing, rounding), and at the type of "
    "numbers.",
    "differs": "The features do not agree. The weights seem to be the same, but the network sees "
    "other pictures: look at mean and deviation, the order of colours, the size before the crop, "
    "and whether the shape of pictures is kept.",
    "unrelated": "The features have nothing in common: look at the weights, the layer that they "
    "are taken from, and the order of the canaries.",
}


@dataclass(frozen=True)
class Diagnosis:
    """How features of the canaries differ from those expected.

    `lowest` (of the canary `worst`) and `mean` are cosines, `largest` is the difference of a value,
    `relative` to the root mean square of the expected ones; so many of NCC's predictions are
    `flipped`; `tolerance` is what `lowest` must reach.
    """

    lowest: float
    mean: float
    worst: str
    largest: float
    relative: float
    flipped: int
    predictions: int
    tolerance: float
    identical: bool

    @property
    def verdict(self) -> Verdict:
        """In one word."""
        if self.identical:
            return "identical"
        if self.lowest >= self.tolerance:
            return "agrees"
        if self.mean >= CLOSE:
            return "close"
        return "differs" if self.mean >= RELATED else "unrelated"

    @property
    def agrees(self) -> bool:
        """Whether the features can be used in place of the expected ones."""
        return self.verdict in ("identical", "agrees")


def tolerance_of(*provenances: Mapping[str, Any]) -> float:
    """Return the least cosine of two extractions, as the less exact of them has it recorded."""
    return min(float(p.get("agreement", min(AGREEMENT.values()))) for p in provenances)


def diagnose(
    own: NDArray[Any], expected: NDArray[Any], tolerance: float = AGREEMENT["float32"]
) -> Diagnosis:
    """Compare features (32, D) of the canaries, in their order, with those expected."""
    for name, values in (("found", own), ("expected", expected)):
        if values.ndim != 2 or len(values) != len(CANARY_IMAGES):
            raise SpecError(
                f"the features {name} have the shape {values.shape}",
                expected=f"({len(CANARY_IMAGES)}, dimensions): a row a canary",
            )
        if not np.isfinite(values).all():
            raise SpecError(f"the features {name} are not all finite")
    if own.shape != expected.shape:
        raise SpecError(
            f"the features found have {own.shape[1]} dimensions",
            expected=f"{expected.shape[1]}, as the others: perhaps another layer was taken",
        )
    a, b = own.astype(np.float64), expected.astype(np.float64)
    cosine = (unit_rows(a) * unit_rows(b)).sum(axis=1)
    cosine[(a == b).all(axis=1)] = 1.0  # also where both are zeros
    largest = float(np.abs(a - b).max())
    flipped = _predictions(a) != _predictions(b)
    return Diagnosis(
        lowest=float(cosine.min()),
        mean=float(cosine.mean()),
        worst=CANARY_IMAGES[int(cosine.argmin())].name,
        largest=largest,
        relative=largest / max(float(np.sqrt((b**2).mean())), np.finfo(float).tiny),
        flipped=int(flipped.sum()),
        predictions=flipped.size,
        tolerance=tolerance,
        identical=bool((a == b).all()),
    )


def _predictions(features: NDArray[np.float64]) -> NDArray[np.int64]:
    """Tell what NCC says in eight fixed tasks of all 8 classes, int64 (128,).

    Each of the four pictures of a class alone is the support, or the others are.
    """
    unit = unit_rows(features).reshape(len(FAMILIES), OF_EACH, -1)
    predictions = []
    for one in range(OF_EACH):
        alone, others = unit[:, [one]], np.delete(unit, one, axis=1)
        for support, query in ((alone, others), (others, alone)):
            centroids = unit_rows(support.mean(axis=1))
            predictions.append((query.reshape(-1, unit.shape[2]) @ centroids.T).argmax(axis=1))
    return np.concatenate(predictions)
