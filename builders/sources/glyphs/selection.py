"""Which drawings of a character become its images, and why others do not.

The rule, in this order:

1. In scripts whose letters may have serifs, a face takes part if somebody says whether it has them.
2. Of one design, at most 8 faces draw a character, the first in an order by SHA-256, which looks at
   no picture.
3. The character must be drawn with ink, and otherwise than the font's missing glyph.
4. Of drawings of one character that are equal, pixel for pixel, the first stays; one that faces
   draw for two characters of the collection shows neither, and goes.
5. At most 40 drawings of a character count: the designs take turns, in the order of step 2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from builders.sources.glyphs.collection import shuffled
from builders.sources.glyphs.faces import Face
from builders.sources.glyphs.rendering import Renderer
from builders.sources.image_set import Progress, sha256_of_bytes, silent

OF_DESIGN, OF_CHARACTER = 8, 40
"""Drawings of one design, and of all, that count for a character."""

WITH_SERIFS = {
    "Armenian",
    "Cherokee",
    "Cyrillic",
    "Georgian",
    "Greek",
    "Han",
    "Hangul",
    "Hebrew",
    "Hiragana",
    "Katakana",
    "Latin",
}
"""Scripts whose letters may have serifs, or what stands for them (Ming, Batang)."""


@dataclass(frozen=True)
class Drawing:
    """A face's drawing of a character; `digest` is the SHA-256 (hex) of its 84 x 84 levels."""

    face: Face
    character: int
    digest: str

    @property
    def path(self) -> str:
        """Its path in the images table."""
        return path_of(self.face, self.character)


Designs = Mapping[str, Mapping[str, str]]
"""By script, the design of each family that shares one with others."""


def design_of(face: Face, script: str, designs: Designs) -> str:
    """Name the design that a face has in a script."""
    return designs.get(script, {}).get(face.family, face.family)


def shares(
    faces: Sequence[Face],
    script_of: Mapping[int, str],
    designs: Designs,
    left_out: Counter[str],
) -> list[list[int]]:
    """Give the characters that each face is to draw, in their order: steps 1 and 2 of the rule.

    Parameters
    ----------
    script_of
        The script of each code point that is drawn.
    left_out
        Drawings that are not made, by reason; added to.
    """
    takers: dict[tuple[int, str], list[int]] = {}
    for number, face in enumerate(faces):
        for code in face.characters & script_of.keys():
            script = script_of[code]
            if face.says_serifs or script not in WITH_SERIFS:
                takers.setdefault((code, design_of(face, script, designs)), []).append(number)
            else:
                left_out["serifs not stated"] += 1
    drawn: list[list[int]] = [[] for _ in faces]
    for (code, _), numbers in takers.items():
        numbers.sort(key=lambda number: shuffled(path_of(faces[number], code)))
        left_out["more of the design"] += len(numbers[OF_DESIGN:])
        for number in numbers[:OF_DESIGN]:
            drawn[number].append(code)
    return [sorted(codes) for codes in drawn]


def draw(
    folder: Path,
    faces: Sequence[Face],
    asked: Sequence[Sequence[int]],
    left_out: Counter[str],
    progress: Progress = silent,
) -> Iterator[Drawing]:
    """Draw what each face is to draw, in the order of faces: step 3 of the rule."""
    for number, (face, codes) in enumerate(zip(faces, asked, strict=True)):
        if number % 50 == 0:
            progress(f"face {number} of {len(faces)}")
        for code, digest in _digests(folder, face, codes, left_out) if codes else ():
            yield Drawing(face, code, digest)


def distinct(drawings: Iterable[Drawing], left_out: Counter[str]) -> dict[int, list[Drawing]]:
    """Keep of each character the drawings that are like no other: step 4 of the rule."""
    of_digest: dict[str, dict[int, Drawing]] = {}
    for drawing in drawings:
        same = of_digest.setdefault(drawing.digest, {})
        if same.setdefault(drawing.character, drawing) is not drawing:
            left_out["like another of its character"] += 1
    kept: dict[int, list[Drawing]] = {}
    for same in of_digest.values():
        if len(same) > 1:
            left_out["like one of another character"] += len(same)
            continue
        for drawing in same.values():
            kept.setdefault(drawing.character, []).append(drawing)
    return kept


def _digests(
    folder: Path, face: Face, characters: Sequence[int], left_out: Counter[str]
) -> Iterator[tuple[int, str]]:
    """Draw characters, in their order, and give the digest of each drawing."""
    try:
        renderer = Renderer(folder / face.path, face.index)
    except OSError:
        left_out["damaged"] += len(characters)
        return
    missing = None if renderer.missing is None else renderer.missing.tobytes()
    for character in characters:
        try:
            levels = renderer.levels(chr(character))
        except OSError:
            left_out["damaged"] += 1
            continue
        if levels is None:
            left_out["blank"] += 1
        elif (data := levels.tobytes()) == missing:
            left_out["missing glyph"] += 1
        else:
            yield character, sha256_of_bytes(data)


def choose(drawings: Iterable[Drawing], script: str, designs: Designs) -> list[Drawing]:
    """Choose the images of one character of a script: step 5 of the rule, in that order."""
    of_design: dict[str, list[Drawing]] = {}
    for drawing in sorted(drawings, key=lambda drawing: shuffled(drawing.path)):
        of_design.setdefault(design_of(drawing.face, script, designs), []).append(drawing)
    turns = [
        own[turn] for turn in range(OF_DESIGN) for own in of_design.values() if len(own) > turn
    ]
    return turns[:OF_CHARACTER]


def path_of(face: Face, code: int) -> str:
    """Path of the images table: the font file, which font of it, and the character."""
    return f"{face.path}#{face.index},U+{code:04X}"
