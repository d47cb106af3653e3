"""Omniglot: the 659 characters of its evaluation alphabets, which Meta-Dataset tests on.

The drawings are black on white; they are shown inverted, white strokes on black.  A class is
called ``alphabet-character``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmark_spec.extras import require
from builders.sources.catalogued_source import CataloguedSource, Classes
from builders.sources.raw_files import folders, items_in

ALPHABETS = "images_evaluation"


def _find(folder: Path, _: Mapping[str, int]) -> Classes:
    return {
        f"{alphabet}-{character}": items_in(folder, f"{ALPHABETS}/{alphabet}/{character}")
        for alphabet in folders(folder / ALPHABETS)
        for character in folders(folder / ALPHABETS / alphabet)
    }


SOURCE = CataloguedSource(
    "omniglot",
    "images_evaluation/<alphabet>/<character>/*.png, as images_evaluation.zip unpacks",
    (ALPHABETS,),
    _find,
    {
        "order": "alphabets sorted, characters sorted, images by path",
        "shown": "inverted: white strokes on black",
    },
    "all characters of images_evaluation",
    finish=lambda picture: require("PIL.ImageOps").invert(picture),
)
LAYOUT, read = SOURCE.layout, SOURCE.read
