"""Characters of many scripts as free fonts draw them, from Debian packages: 84 x 84, grey.

A class is a character, its superclass the script, an image the character in one face of one font,
a group its drawings in one design.  studies/glyphs has the rule that chooses drawings, whose steps
are below; :mod:`studies.glyphs.survey` chooses the characters.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark_spec.errors import SourceError
from benchmark_spec.extras import require
from builders.sources.checking import Found
from builders.sources.glyph_fonts import (
    SMALL,
    Face,
    Renderer,
    library_version,
    read_faces,
    renderer,
    small,
)
from builders.sources.image_set import Item, Progress, sha256_of_bytes, silent
from builders.sources.lists import group_of
from builders.sources.packages import Package
from builders.sources.source import Source

PARTS = ("base", "val", "novel")
"""Splits of the characters: for training, validation and test."""
SAMPLE = "sample"
"""A few characters of `novel`, from small packages."""
FEW_DRAWINGS, SAMPLE_DRAWINGS = 20, 10
"""The least number of images of a class, and of a class of the sample."""


@dataclass(frozen=True)
class Collection:
    """Packages of fonts, and the characters that they draw: `glyphs.json`.

    Faces are drawn in the order of `packages`.  `serifs` has ``serif``, ``sans`` or ``neither`` by
    family, for tables that do not say.  `designs` has, by script, the design of each family that
    shares one with others.  `characters` has those of each script by part, the sample among them,
    in their frozen order.
    """

    packages: tuple[Package, ...]
    small_packages: tuple[Package, ...]
    credits: Mapping[str, tuple[str, str]]
    serifs: Mapping[str, str]
    designs: Mapping[str, Mapping[str, str]]
    characters: Mapping[str, Mapping[str, str]]

    def scripts(self, *parts: str, most: int | None = None) -> dict[str, str]:
        """Return the script of each character of some parts, in the frozen order.

        `most` limits the characters of a script to the first in an order by SHA-256.
        """
        scripts: dict[str, str] = {}
        for part in parts:
            for script, characters in self.characters[part].items():
                kept = set(sorted(characters, key=place_of)[:most])
                scripts |= {character: script for character in characters if character in kept}
        return scripts


def place_of(character: str) -> str:
    """Return the sort key of a character, by :func:`order_key`."""
    return order_key(f"U+{ord(character):04X}")


def order_key(name: str) -> str:
    """Return the sort key of a name in an arbitrary order."""
    return sha256_of_bytes(name.encode())


@cache
def collection() -> Collection:
    """Read the collection."""
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    frozen = json.loads(text)
    packages = {
        name: Package("deb", name, entry["version"], entry["sha256"])
        for name, entry in frozen["packages"].items()
    }
    return Collection(
        tuple(packages.values()),
        tuple(packages[name] for name in frozen["small_packages"]),
        {name: (entry["creator"], entry["licence"]) for name, entry in frozen["packages"].items()},
        {family: kind for kind, names in frozen["serifs"].items() for family in names},
        {script: group_of(groups) for script, groups in frozen["same_design"].items()},
        frozen["characters"],
    )


OF_DESIGN, OF_CHARACTER = 8, 40
"""The most drawings of a character of one design, and of all."""

WITH_SERIFS = {
    "Armenian", "Cherokee", "Cyrillic", "Georgian", "Greek", "Han", "Hangul", "Hebrew",
    "Hiragana", "Katakana", "Latin",
}  # fmt: skip
"""Scripts whose letters may have serifs, or their counterpart (Ming, Batang)."""


@dataclass(frozen=True)
class Drawing:
    """A face's drawing of a character; `digest` is the SHA-256 (hex) of its 84 x 84 levels."""

    face: Face
    character: int
    digest: str

    @property
    def path(self) -> str:
        """The path of the drawing in the images table."""
        return path_of(self.face, self.character)


Designs = Mapping[str, Mapping[str, str]]
"""The design of each family that shares one with others, by script."""


def design_of(face: Face, script: str, designs: Designs) -> str:
    """Return the name of the design that a face has in a script."""
    return designs.get(script, {}).get(face.family, face.family)


def shares(
    faces: Sequence[Face], script_of: Mapping[int, str], designs: Designs, left_out: Counter[str]
) -> list[list[int]]:
    """Return the code points that each face is to draw, sorted: steps 1 and 2 of the rule.

    `script_of` has the code points that are drawn; `left_out` counts the others by reason.
    """
    by_design: dict[tuple[int, str], list[int]] = {}
    for number, face in enumerate(faces):
        for code in face.characters & script_of.keys():
            script = script_of[code]
            if face.says_serifs or script not in WITH_SERIFS:
                by_design.setdefault((code, design_of(face, script, designs)), []).append(number)
            else:
                left_out["serifs not stated"] += 1
    codes_of_face: list[list[int]] = [[] for _ in faces]
    for (code, _), numbers in by_design.items():
        numbers.sort(key=lambda number: order_key(path_of(faces[number], code)))
        left_out["more of the design"] += len(numbers[OF_DESIGN:])
        for number in numbers[:OF_DESIGN]:
            codes_of_face[number].append(code)
    return [sorted(codes) for codes in codes_of_face]


def draw(
    folder: Path,
    faces: Sequence[Face],
    code_points: Sequence[Sequence[int]],
    left_out: Counter[str],
    progress: Progress = silent,
) -> Iterator[Drawing]:
    """Draw the code points of each face, in the order of faces: step 3 of the rule."""
    for number, (face, codes) in enumerate(zip(faces, code_points, strict=True)):
        if number % 50 == 0:
            progress(f"face {number} of {len(faces)}")
        if not codes:
            continue
        try:
            renderer = Renderer(folder / face.path, face.index)
        except OSError:
            left_out["damaged"] += len(codes)
            continue
        missing = None if renderer.missing is None else renderer.missing.tobytes()
        for code in codes:
            try:
                levels = renderer.levels(chr(code))
            except OSError:
                left_out["damaged"] += 1
                continue
            if levels is None:
                left_out["blank"] += 1
            elif (data := levels.tobytes()) == missing:
                left_out["missing glyph"] += 1
            else:
                yield Drawing(face, code, sha256_of_bytes(data))


def distinct(drawings: Iterable[Drawing], left_out: Counter[str]) -> dict[int, list[Drawing]]:
    """Return each character's drawings that are like no other: step 4 of the rule."""
    by_digest: dict[str, dict[int, Drawing]] = {}
    for drawing in drawings:
        same = by_digest.setdefault(drawing.digest, {})
        if same.setdefault(drawing.character, drawing) is not drawing:
            left_out["like another of its character"] += 1
    kept: dict[int, list[Drawing]] = {}
    for same in by_digest.values():
        if len(same) > 1:
            left_out["like one of another character"] += len(same)
            continue
        for drawing in same.values():
            kept.setdefault(drawing.character, []).append(drawing)
    return kept


def choose(drawings: Iterable[Drawing], script: str, designs: Designs) -> list[Drawing]:
    """Choose a character's images, from each design in turn: step 5 of the rule."""
    by_design: dict[str, list[Drawing]] = {}
    for drawing in sorted(drawings, key=lambda drawing: order_key(drawing.path)):
        by_design.setdefault(design_of(drawing.face, script, designs), []).append(drawing)
    in_turn = [
        of_design[turn]
        for turn in range(OF_DESIGN)
        for of_design in by_design.values()
        if len(of_design) > turn
    ]
    return in_turn[:OF_CHARACTER]


def path_of(face: Face, code: int) -> str:
    """Return the path in the images table: font file, index of the font in it, and character."""
    return f"{face.path}#{face.index},U+{code:04X}"


def packages(name: str) -> tuple[Package, ...]:
    """Return the packages of fonts of all characters, or of the sample."""
    return collection().packages if name == "glyphs" else collection().small_packages


def find(source: Source, folder: Path, progress: Progress, part: str = "", most: str = "") -> Found:
    """Draw the characters of a part, or of all parts, with the fonts that were fetched.

    A class is a character, with its name in Unicode.  Characters of other parts are drawn too, so
    that those which look alike are noticed.  A path of the images table has the font file, the
    index of the font in it and the character (``.../DejaVuSans.ttf#0,U+0041``).  No image may be
    missing.
    """
    if most and not (most.isascii() and most.isdigit() and int(most) > 0):
        raise SourceError(
            f"option most is {most!r}",
            where=source.name,
            expected="a number of characters, such as '16'",
        )
    frozen, sample = collection(), source.name != "glyphs"
    drawn = frozen.scripts(*([SAMPLE] if sample else PARTS))
    parts = [part] if part else PARTS
    classes = drawn if sample else frozen.scripts(*parts, most=int(most) if most else None)
    progress(f"{source.name}: reading fonts")
    script_of = {ord(character): script for character, script in drawn.items()}
    faces = list(read_faces(folder, source.packages, script_of, frozen.serifs, source.name))
    left_out: Counter[str] = Counter()
    code_points = shares(faces, script_of, frozen.designs, left_out)

    def report(step: str) -> None:
        progress(f"{source.name}: {step}")

    drawings = distinct(draw(folder, faces, code_points, left_out, report), left_out)
    chosen = {
        character: choose(drawings.get(ord(character), ()), script, frozen.designs)
        for character, script in classes.items()
    }
    fewest = SAMPLE_DRAWINGS if sample else FEW_DRAWINGS
    scarce = [character for character, chosen_few in chosen.items() if len(chosen_few) < fewest]
    if scarce:
        raise SourceError(
            f"{source.name}: {len(scarce)} characters have fewer than {fewest} drawings, such as "
            f"{unicodedata.name(scarce[0])} with {len(chosen[scarce[0]])}",
            where=str(folder),
            expected=f"the pinned packages, drawn by {library_version()} or one that draws alike",
            fix="fetch the packages again into an empty folder",
        )

    def item(character: str, drawing: Drawing) -> Item:
        group = (character, design_of(drawing.face, classes[character], frozen.designs))
        return Item(drawing.path, group, *frozen.credits[drawing.face.package], drawing.digest)

    items = {
        unicodedata.name(character): [item(character, drawing) for drawing in of_character]
        for character, of_character in chosen.items()
    }
    images = list(chain.from_iterable(chosen.values()))
    report("pixels")
    return Found(
        items,
        folder,
        expected={name: len(of_character) for name, of_character in items.items()},
        provenance={
            "packages": {package.file: package.sha256 for package in source.packages},
            "renderer": library_version(),
            "characters": len(chosen),
            "left_out_by_rule": dict(sorted((+left_out).items())),
        },
        picture=lambda path: require("PIL.Image").fromarray(_levels(folder, path)).convert("RGB"),
        superclass_of={unicodedata.name(char): script for char, script in classes.items()},
        pixels=_pixels(folder, images),
        texts={drawing.path: drawing.face.family for drawing in images},
        attributes={drawing.path: drawing.face.style for drawing in images},
    )


def _levels(folder: Path, path: str) -> NDArray[np.uint8]:
    """Draw the image at a path of the images table again: uint8 (84, 84)."""
    file, _, fragment = path.rpartition("#")
    index, _, code = fragment.partition(",U+")
    levels = renderer(folder / file, int(index)).levels(chr(int(code, 16)))
    if levels is None:
        raise SourceError("nothing is drawn of an image that was drawn before", where=path)
    return levels


def _pixels(folder: Path, drawings: Sequence[Drawing]) -> NDArray[np.uint8]:
    """Draw the chosen images again, face by face: uint8 (N, 784)."""
    pixels = np.zeros((len(drawings), SMALL * SMALL), np.uint8)
    for row in sorted(range(len(drawings)), key=lambda row: drawings[row].path):
        pixels[row] = small(_levels(folder, drawings[row].path)).ravel()
    return pixels
