"""Omniglot: the 659 characters of its evaluation alphabets, which Meta-Dataset tests on.

The drawings are black on white; they are shown inverted, white strokes on black.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmark_spec.extras import require
from builders.sources.counts import counts_of_catalogue
from builders.sources.image_set import (
    About,
    ImageSet,
    Item,
    Progress,
    image_set,
    require_entries,
    silent,
)
from builders.sources.pictures import Picture
from builders.sources.raw_files import folders, image_files

NAME = "omniglot"
ABOUT = About.of_catalogue(NAME)
LAYOUT = "images_evaluation/<alphabet>/<character>/*.png, as images_evaluation.zip unpacks"
COUNTS = counts_of_catalogue(NAME)
ALPHABETS = "images_evaluation"


def read(
    folder: Path,
    *,
    allow_missing: bool = False,
    progress: Progress = silent,
    expected: Mapping[str, int] = COUNTS,
) -> ImageSet:
    """Read the evaluation alphabets; a class is called ``alphabet-character``.

    Parameters and errors are those of :class:`builders.sources.image_set.Source`.
    """
    require_entries(NAME, folder, ALPHABETS)
    characters = {
        f"{alphabet}-{character}": f"{ALPHABETS}/{alphabet}/{character}"
        for alphabet in folders(folder / ALPHABETS)
        for character in folders(folder / ALPHABETS / alphabet)
    }
    return image_set(
        NAME,
        ABOUT,
        folder,
        {
            name: [Item(path) for path in image_files(folder, place)]
            for name, place in characters.items()
        },
        expected=expected,
        allow_missing=allow_missing,
        provenance={
            "split": "all characters of images_evaluation",
            "order": "alphabets sorted, characters sorted, images by path",
            "shown": "inverted: white strokes on black",
        },
        finish=_inverted,
        progress=progress,
    )


def _inverted(picture: Picture) -> Picture:
    return require("PIL.ImageOps").invert(picture)
