"""From faces and characters to an images table."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SourceError
from benchmark_spec.extras import require
from builders.sources.checking import number_images
from builders.sources.glyphs.collection import collection
from builders.sources.glyphs.faces import read_faces
from builders.sources.glyphs.rendering import SMALL, library_version, renderer, small
from builders.sources.glyphs.selection import (
    Drawing,
    choose,
    design_of,
    distinct,
    draw,
    shares,
)
from builders.sources.image_set import About, ImageSet, Item, Progress
from builders.sources.packages import Package
from fslbench_data.files.pictures import Picture

ABOUT = About(
    title="Glyphs: characters as free fonts draw them",
    homepage="https://www.debian.org",
    licence="free licences of the fonts, each in the images table",
    citation="""@misc{unicode2022scripts,
  title = {The {Unicode} Standard, Version 15.0},
  author = {{The Unicode Consortium}},
  year = {2022},
  howpublished = {Characters and scripts; drawn by fonts of Debian 12}
}""",
    note="A class is a character, its superclass the script; a group is one design of it.",
    redistribution="features",
)
LAYOUT = "<package>/usr/share/fonts/.../<font>.ttf, .otf or .ttc"


def glyph_set(
    name: str,
    folder: Path,
    packages: Sequence[Package],
    scripts: Mapping[str, str],
    shown: Mapping[str, str],
    fewest: int,
    progress: Progress,
) -> ImageSet:
    """Draw the characters of a collection; a class is a character, named as Unicode names it.

    Parameters
    ----------
    packages
        Whose faces draw.
    scripts
        The script of each character that is drawn, so that those which look alike are noticed.
    shown
        Of each character that becomes a class, in their order: the superclasses.
    fewest
        Images that each class has at least.

    Raises
    ------
    SourceError
        If a package is not unpacked, or a class has too few images.
    """
    frozen = collection()
    progress(f"{name}: reading fonts")
    faces = list(read_faces(folder, packages, set(map(ord, scripts)), frozen.serifs, name))
    script_of = {ord(character): script for character, script in scripts.items()}
    left_out: Counter[str] = Counter()
    asked = shares(faces, script_of, frozen.designs, left_out)
    drawn = draw(folder, faces, asked, left_out, lambda step: progress(f"{name}: {step}"))
    drawings = distinct(drawn, left_out)
    chosen = {
        character: choose(drawings.get(ord(character), ()), script, frozen.designs)
        for character, script in shown.items()
    }
    scarce = [character for character, own in chosen.items() if len(own) < fewest]
    if scarce:
        raise SourceError(
            f"{name}: {len(scarce)} characters have fewer than {fewest} drawings, such as "
            f"{class_name(scarce[0])} with {len(chosen[scarce[0]])}",
            where=str(folder),
            expected=f"the pinned packages, drawn by {library_version()} or one that draws alike",
            fix="fetch the packages again into an empty folder",
        )
    classes: dict[str, list[tuple[Item, str | None]]] = {}
    for character, own in chosen.items():
        items = classes.setdefault(class_name(character), [])
        for drawing in own:
            credit = frozen.credits[drawing.face.package]
            group = (character, design_of(drawing.face, shown[character], frozen.designs))
            item = Item(drawing.path, group, credit.creator, credit.licence)
            items.append((item, drawing.digest))
    images = number_images(
        name,
        ABOUT,
        classes,
        {
            "packages": {package.file: package.sha256 for package in packages},
            "renderer": library_version(),
            "characters": len(chosen),
            "left_out_by_rule": dict(sorted((+left_out).items())),
        },
        {},
        lambda path: open_glyph(folder, path),
    )
    of_all = [drawing for own in chosen.values() for drawing in own]
    return replace(
        images,
        superclasses=tuple(shown.values()),
        pixels=_pixels(folder, of_all, progress, name),
        texts={drawing.path: drawing.face.family for drawing in of_all},
        attributes={drawing.path: drawing.face.style for drawing in of_all},
    )


def class_name(character: str) -> str:
    """Name a character as Unicode does."""
    return unicodedata.name(character)


def open_glyph(folder: Path, path: str) -> Picture:
    """Draw the image at a path of the images table: RGB, 84 x 84, white on black."""
    return require("PIL.Image").fromarray(_levels(folder, path)).convert("RGB")


def _levels(folder: Path, path: str) -> NDArray[np.uint8]:
    """Draw the image at a path of the images table again: uint8 (84, 84)."""
    file, _, fragment = path.rpartition("#")
    index, _, code = fragment.partition(",U+")
    levels = renderer(folder / file, int(index)).levels(chr(int(code, 16)))
    if levels is None:
        raise SourceError("nothing is drawn of an image that was drawn before", where=path)
    return levels


def _pixels(
    folder: Path, drawings: Sequence[Drawing], progress: Progress, name: str
) -> NDArray[np.uint8]:
    """Draw again what was chosen, face by face: uint8 (N, 784)."""
    progress(f"{name}: pixels")
    pixels = np.zeros((len(drawings), SMALL * SMALL), np.uint8)
    for row in sorted(range(len(drawings)), key=lambda row: drawings[row].path):
        pixels[row] = small(_levels(folder, drawings[row].path)).ravel()
    return pixels
