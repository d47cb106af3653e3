"""The 32 reference images (canaries) as a data set: 8 classes of 4 that anybody can make again.

Their features are part of every release that has features of a network, and of every feature
set, so that whoever extracts features can compare (``fslbench-build doctor``).
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from benchmark_spec.extras import require
from builders.sources.canary_images import CANARY_IMAGES, FAMILIES, OF_EACH, pictures
from builders.sources.image_set import About, ImageSet, Progress, images_table, silent
from builders.sources.packages import Package

NAME = "canaries"
ABOUT = About(
    title="Canaries: 32 pictures to compare features on",
    homepage="https://scikit-learn.org/stable/modules/generated/"
    "sklearn.datasets.load_sample_images.html",
    licence="CC BY 2.0 (cut out of two photographs), Apache-2.0 (drawn)",
    citation="""@misc{canaries,
  title = {china.jpg by danielbuechele and flower.jpg by vultilion, in scikit-learn},
  howpublished = {Flickr},
  note = {CC BY 2.0}
}""",
    note="Not to draw tasks from: whoever extracts features compares their own with these.",
    redistribution="features",
)
LAYOUT = "Nothing to fetch: the photographs come with scikit-learn, the rest is drawn."
PACKAGES: tuple[Package, ...] = ()


def read(
    folder: Path | None = None, *, allow_missing: bool = False, progress: Progress = silent
) -> ImageSet:
    """Make the reference images; no folder is needed.

    A path of the images table is the image's name.
    """
    progress(NAME)
    pixels = dict(zip((image.name for image in CANARY_IMAGES), pictures(), strict=True))
    pil = require("PIL.Image")
    digests = "".join(image.sha256 for image in CANARY_IMAGES)
    return ImageSet(
        name=NAME,
        about=ABOUT,
        class_names=FAMILIES,
        class_sizes=(OF_EACH,) * len(FAMILIES),
        images=images_table(
            {
                "image_id": range(len(CANARY_IMAGES)),
                "class_id": [FAMILIES.index(image.family) for image in CANARY_IMAGES],
                "class_name": [image.family for image in CANARY_IMAGES],
                "path": [image.name for image in CANARY_IMAGES],
                "creator": [_split(image.credit)[0] for image in CANARY_IMAGES],
                "licence": [_split(image.credit)[1] for image in CANARY_IMAGES],
            }
        ),
        provenance={"pixels_sha256": hashlib.sha256(digests.encode()).hexdigest()},
        picture=lambda path: pil.fromarray(pixels[path]),
    )


def _split(credit: str) -> tuple[str, str]:
    """Split into creator and licence ``WHAT by CREATOR, LICENCE``, perhaps with `` in PACKAGE``."""
    creator, _, licence = credit.partition(" by ")[2].partition(", ")
    return creator, licence.partition(",")[0]
