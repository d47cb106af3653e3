"""Whether somebody else's features are those of a release: compared on the canaries.

``python -m studies.reference_results.doctor`` prints what differs.  ``--features`` is a folder that
``fslbench-build features`` has written, or a .npy file of the canaries' features, (32, D), with
``--backbone``; it is compared with ``--release`` or with ``--against``, another such folder.
The exit code is 1 if they do not agree.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import FSLBenchError, ReleaseError, SpecError
from builders.features.compress import unit_rows
from builders.features.extraction import AGREEMENT
from builders.features.precomputed import read_precomputed
from builders.sources.packaged.canaries import CANARY_IMAGES, FAMILIES, NAME, OF_EACH
from fslbench_data.files import load_numbers
from fslbench_data.release.release import load_release

Verdict = Literal["identical", "agrees", "close", "differs", "unrelated"]

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


def compared(path: Path, backbone: str | None, release: str | None, against: Path | None) -> str:
    """Return what is found, whose first line ends in the verdict."""
    made: list[Mapping[str, Any]] = []
    if path.is_dir():
        extracted = read_precomputed(path)
        own, backbone = extracted.features(NAME), backbone or extracted.backbone
        made.append(extracted.provenance(NAME))
    elif backbone is None:
        raise SpecError(
            "a .npy file does not say whose features it holds", fix="name them with --backbone"
        )
    else:
        try:
            own = load_numbers(path)
        except (OSError, ValueError) as error:
            raise ReleaseError(f"{path} is no .npy file of numbers: {error}") from None
    if against is not None:
        other = read_precomputed(against)
        expected, where = other.features(NAME), str(against)
        made.append(other.provenance(NAME))
    else:
        opened = load_release(release)
        if NAME not in opened.datasets:
            raise ReleaseError(
                f"release {opened} has no features of the canaries",
                expected="a release with features of a network",
                fix="name one with --release, or a folder with --against",
            )
        expected, where = opened.features(NAME, backbone), str(opened)
        tables = opened.manifest.tables
        made += [t.provenance for t in tables if (t.dataset, t.name) == (NAME, backbone)][:1]
    found = diagnose(own, expected, tolerance_of(*made))
    return (
        f"{backbone}, {path} against {where}: {found.verdict}\n"
        f"cosine of the canaries' features: lowest {found.lowest:.6f} ({found.worst}), "
        f"mean {found.mean:.6f}; at least {found.tolerance:g} is expected\n"
        f"largest difference {found.largest:.4g}, {found.relative:.3g} times the root mean "
        f"square\n"
        f"nearest-centroid predictions flipped: {found.flipped} of {found.predictions}\n"
        f"{SENTENCES[found.verdict]}"
    )


def main() -> None:
    """Print what is found; what cannot be compared ends with exit code 2."""
    parser = argparse.ArgumentParser(description="Compare features with a release's.")
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--backbone")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--release")
    which.add_argument("--against", type=Path)
    options = parser.parse_args()
    try:
        text = compared(options.features, options.backbone, options.release, options.against)
    except FSLBenchError as error:
        parser.exit(2, f"Error: {error}\n")
    print(text)
    if not text.partition("\n")[0].endswith((": identical", ": agrees")):
        sys.exit(1)


if __name__ == "__main__":
    main()
