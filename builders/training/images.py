"""Images to train on: grey, small, all in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.digest import content_digest
from benchmark_spec.errors import SpecError
from benchmark_spec.extras import require
from benchmark_spec.protocol import Protocol
from builders.sources.image_set import ImageSet

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TrainingImages:
    """Images of a part of a data set.

    Attributes
    ----------
    pixels : uint8 (N, side, side)
        Grey levels; those of a class follow each other.
    class_sizes : int64 (C,)
    digest
        Of the images table that they were read from.
    """

    pixels: NDArray[np.uint8]
    class_sizes: Positions
    digest: str

    @classmethod
    def of(cls, images: ImageSet, side: int) -> TrainingImages:
        """Take the images of a data set: its own pixels where they are of that size."""
        kept = images.pixels
        if kept is not None and kept.shape[1] == side * side:
            levels = kept if images.white == 255 else np.round(kept * (255 / images.white))
            pixels = levels.astype(np.uint8).reshape(-1, side, side)
        else:
            pixels = np.stack(
                [_grey(images, path, side) for path in images.images["path"].to_pylist()]
            )
        return cls(pixels, np.array(images.class_sizes, np.int64), content_digest(images.images))

    @cached_property
    def starts(self) -> Positions:
        """The first image of each class."""
        return np.cumsum(self.class_sizes) - self.class_sizes

    def classes_for(self, protocol: Protocol) -> Positions:
        """Return the classes that have enough images for a task."""
        enough = np.flatnonzero(self.class_sizes >= protocol.shot + protocol.query)
        if enough.size < protocol.way:
            raise SpecError(
                f"{enough.size} classes have {protocol.shot + protocol.query} images",
                where=f"episodes of {protocol}",
                expected=f"at least {protocol.way}",
            )
        return enough

    def load(self, positions: Positions) -> NDArray[np.float32]:
        """Return images float32 (..., 1, side, side), black 0 and white 1."""
        return self.pixels[positions][..., None, :, :].astype(np.float32) / np.float32(255)


def _grey(images: ImageSet, path: str, side: int) -> NDArray[np.uint8]:
    picture = images.picture(path).convert("L")
    smoothly = require("PIL.Image").Resampling.BOX
    return np.asarray(picture.resize((side, side), smoothly), np.uint8)
