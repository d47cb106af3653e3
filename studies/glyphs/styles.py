"""Whether fonts look as their tables say: ``python -m studies.glyphs.styles RAW``.

RAW is the folder that ``fslbench-build fetch glyphs`` has filled.  A face with an attribute is
compared with one of its family that differs in it alone, on the characters that both draw: bold
has more ink and light less, italic leans to the right of it, condensed is narrower.  Monospaced
faces have one advance for all Latin letters, others more.  Feet of an upright `n` are wider than
its stems where there are serifs.  Printed is the share of pairs or faces that look so.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from builders.sources.glyph_fonts import Face, Renderer, fonts_of, read_faces
from builders.sources.packaged.glyphs import PARTS, collection

SAMPLE = 12
"""Characters of a pair that are compared."""
PAIRS = 400
"""Pairs of an attribute that are compared, spread over all."""
LATIN = "abdeghnopqruvy"

Levels = NDArray[np.float64]


def ink(levels: Levels) -> float:
    """Sum the ink."""
    return float(levels.sum())


def width(levels: Levels) -> float:
    """Return columns with ink."""
    return float(levels.any(axis=0).sum())


def lean(levels: Levels) -> float:
    """Return columns by which ink moves to the right for each row up, by least squares."""
    y, x = np.indices(levels.shape)
    weight = levels / levels.sum()
    mean_x, mean_y = (weight * x).sum(), (weight * y).sum()
    return float(-(weight * (x - mean_x) * (y - mean_y)).sum() / (weight * (y - mean_y) ** 2).sum())


MEASURES = {"bold": (ink, 1), "light": (ink, -1), "italic": (lean, 1), "condensed": (width, -1)}


def pairs(faces: Sequence[Face], attribute: str) -> list[tuple[Face, Face]]:
    """Give the faces with an attribute, each with those of its family that lack just that."""
    without: dict[tuple[str, tuple[str, ...]], list[Face]] = {}
    for face in faces:
        if attribute not in face.style:
            without.setdefault((face.family, face.style), []).append(face)
    both: list[tuple[Face, Face]] = []
    for face in faces:
        if attribute in face.style:
            rest = tuple(word for word in face.style if word != attribute)
            both += product([face], without.get((face.family, rest), ()))
    return both[:: max(1, len(both) // PAIRS)]


def looks_so(folder: Path, pair: tuple[Face, Face], attribute: str) -> bool | None:
    """Tell whether the first of a pair looks as its attribute says; None if none is shared."""
    measure, sign = MEASURES[attribute]
    common = sorted(pair[0].characters & pair[1].characters)
    characters = common[:: max(1, len(common) // SAMPLE)][:SAMPLE]
    renderers = [Renderer(folder / face.path, face.index) for face in pair]
    differences = []
    for character in characters:
        one, other = (renderer.levels(chr(character)) for renderer in renderers)
        if one is not None and other is not None:
            differences.append(measure(one.astype(float)) - measure(other.astype(float)))
    return sign * float(np.mean(differences)) > 0 if differences else None


def has_one_advance(folder: Path, face: Face) -> bool | None:
    """Tell whether all Latin letters advance alike; None if it lacks one."""
    font = list(fonts_of(folder / face.path))[face.index]
    names = font.getBestCmap()
    if any(ord(letter) not in names for letter in LATIN):
        return None
    return len({font["hmtx"][names[ord(letter)]][0] for letter in LATIN}) == 1


def has_feet(folder: Path, face: Face) -> bool | None:
    """Tell whether an upright `n` stands on more ink than its stems have; None without one."""
    if ord("n") not in face.characters or "italic" in face.style:
        return None
    try:
        levels = Renderer(folder / face.path, face.index).levels("n")
    except OSError:  # some fonts' programs for small sizes are damaged
        return None
    if levels is None:
        return None
    rows = levels[levels.any(axis=1)].astype(float).sum(axis=1)
    foot = rows[int(0.9 * len(rows)) :].max()
    return bool(foot > 1.3 * np.median(rows[len(rows) // 2 : int(0.8 * len(rows))]))


def share(answers: Sequence[bool | None]) -> str:
    """Share of yes among those answered, and how many these are."""
    told = [answer for answer in answers if answer is not None]
    return f"{100 * np.mean(told):.1f} % | {len(told)}" if told else "| 0"


def main(folder: Path) -> None:
    """Print the table."""
    frozen = collection()
    characters = set(map(ord, frozen.scripts(*PARTS)))
    faces = list(read_faces(folder, frozen.packages, characters, frozen.serifs, "glyphs"))
    print("| attribute | looks so | of |\n|---|---:|---:|")
    for attribute in MEASURES:
        answers = [looks_so(folder, pair, attribute) for pair in pairs(faces, attribute)]
        print(f"| {attribute} | {share(answers)} pairs |", flush=True)
    for name, has in (("monospaced", True), ("monospaced", False)):
        of_kind = [face for face in faces if (name in face.style) == has]
        answers = [has_one_advance(folder, face) for face in of_kind]
        told = [answer == has for answer in answers if answer is not None]
        print(f"| {'' if has else 'not '}{name} | {share(told)} faces |", flush=True)
    for name in ("serif", "sans"):
        answers = [has_feet(folder, face) for face in faces if name in face.style]
        told = [answer == (name == "serif") for answer in answers if answer is not None]
        print(f"| {name} | {share(told)} upright faces |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
