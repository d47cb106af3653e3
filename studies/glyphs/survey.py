"""Which characters fonts draw in enough ways: ``python -m studies.glyphs.survey RAW``.

RAW holds the packages of `glyphs.json`, unpacked, and python3-confusable-homoglyphs.  Designs and
characters are computed anew and written there; packages, credits and serifs stay as they are.

A character is a letter (Unicode category Lu, Ll or Lo) of one script, unchanged by NFKC.  Of
those that look alike (Unicode's confusables, one character for one, followed through) one stays,
drawn in most ways.  It needs 40 drawings that count, or in scripts that have no ten such, 20
drawings of 5 designs; a script needs ten characters.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmark_spec.extras import require
from builders.sources.glyph_fonts import Face, read_faces
from builders.sources.lists import group_of, linked
from builders.sources.packaged import glyphs
from builders.sources.packaged.glyphs import (
    FEW_DRAWINGS,
    OF_CHARACTER,
    PARTS,
    SAMPLE,
    SAMPLE_DRAWINGS,
    Designs,
    Drawing,
    choose,
    collection,
    design_of,
    distinct,
    draw,
    path_of,
    place_of,
    shares,
)
from fslbench_data.files import whole_file

ALIKE, COMMON = 0.2, 3
"""Families share a design that draw so much of their common characters alike, and at least 3."""

FEW_DESIGNS = 5
"""Designs of a character at least, besides drawings."""
FEWEST = 10
"""Characters that a script has at least."""
SAMPLE_DESIGNS, OF_SAMPLE = 3, 16
"""The same for the sample, and characters of a script at most: those of most designs."""
MOST = {"Han": 1500, "Hangul": 1000}
"""Characters of a script; those drawn by most designs."""
OTHERS = 400

CONFUSABLES = (
    "python3-confusable-homoglyphs/usr/lib/python3/dist-packages/confusable_homoglyphs/"
    "confusables.json"
)

WHOLE = {
    "base": ("Coptic", "Devanagari", "Georgian", "Katakana", "Malayalam", "Telugu", "Thai"),
    "val": ("Cherokee", "Gurmukhi", "Kannada"),
    "novel": (
        "Armenian",
        "Bengali",
        "Greek",
        "Gujarati",
        "Hebrew",
        "Hiragana",
        "Khmer",
        "Lao",
        "Myanmar",
        "Sinhala",
        "Tamil",
    ),
}
"""Scripts all of whose characters are in one part; the characters of the others are split."""
SHARES = {"novel": (0.25, 250), "val": (0.15, 150)}
"""Of a script that is split: the share of its characters, how many at most; base has the rest."""


def candidates(counts: Mapping[int, int]) -> dict[int, str]:
    """Give the script of each letter that so many faces may draw often enough."""
    tools = require("fontTools.unicodedata")
    scripts: dict[str, list[int]] = defaultdict(list)
    for code, faces in counts.items():
        character = chr(code)
        letter = tools.category(character) in {"Lu", "Ll", "Lo"}
        script = tools.script_name(tools.script(character))
        plain = unicodedata.normalize("NFKC", character) == character
        if letter and plain and faces >= FEW_DRAWINGS and script not in {"Common", "Inherited"}:
            scripts[script].append(code)
    kept: dict[int, str] = {}
    for script in sorted(scripts):
        codes = sorted(scripts[script], key=lambda code: (-counts[code], code))
        kept |= dict.fromkeys(codes[: MOST.get(script, OTHERS)], script)
    return kept


def shared_designs(
    drawings: Iterable[Drawing], script_of: Mapping[int, str]
) -> dict[str, list[list[str]]]:
    """Group the families of each script that draw many of their common characters alike."""
    characters: dict[tuple[str, str], set[int]] = defaultdict(set)
    alike: Counter[tuple[str, str, str]] = Counter()
    families: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for drawing in drawings:
        code, family = drawing.character, drawing.face.family
        families[code][drawing.digest].add(family)
        characters[script_of[code], family].add(code)
    for code, by_digest in families.items():
        pairs = {pair for same in by_digest.values() for pair in combinations(sorted(same), 2)}
        alike.update((script_of[code], *pair) for pair in pairs)
    links: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for (script, one, other), number in alike.items():
        common = len(characters[script, one] & characters[script, other])
        if number >= COMMON and number >= ALIKE * common:
            links[script].append((one, other))
    return {script: linked(sorted(links[script])) for script in sorted(links)}


def without_confusables(
    ways: Mapping[int, int], confusables: Mapping[str, Iterable[Mapping[str, str]]]
) -> list[int]:
    """Keep one of the characters that look alike: the one drawn in most ways, then the first."""
    pairs = [
        (character, other["c"])
        for character, others in confusables.items()
        for other in others
        if len(character) == len(other["c"]) == 1
    ]
    look = group_of(linked(pairs))
    best: dict[str, int] = {}
    for code in sorted(ways, key=lambda code: (-ways[code], code)):
        best.setdefault(look.get(chr(code), chr(code)), code)
    return sorted(best.values())


def split(script: str, codes: Iterable[int]) -> dict[str, list[int]]:
    """Split the characters of a script, by a SHA-256 of each; a part's in the order of codes."""
    for part, scripts in WHOLE.items():
        if script in scripts:
            return {part: sorted(codes)}
    left = sorted(codes, key=lambda code: place_of(chr(code)))
    parts = {}
    for part, (share, most) in SHARES.items():
        number = min(round(share * len(left)), most)
        parts[part], left = sorted(left[:number]), left[number:]
    return {"base": sorted(left), **parts}


@dataclass(frozen=True)
class Ways:
    """How many drawings of a character count, and of how many designs."""

    drawings: int
    designs: int


def ways_of(
    drawings: Sequence[Drawing],
    faces: Sequence[Face],
    script_of: Mapping[int, str],
    designs: Designs,
) -> dict[int, Ways]:
    """Count for each code point the drawings that are images where these faces draw.

    `drawings` are at least those that the faces are to make; others do not count.
    """
    asked = shares(faces, script_of, designs, Counter())
    wanted = {path_of(face, code) for face, own in zip(faces, asked, strict=True) for code in own}
    kept = distinct((drawing for drawing in drawings if drawing.path in wanted), Counter())
    ways = {}
    for code, own in kept.items():
        chosen = choose(own, script_of[code], designs)
        number = len({design_of(drawing.face, script_of[code], designs) for drawing in chosen})
        ways[code] = Ways(len(chosen), number)
    return ways


def by_script(codes: Iterable[int], script_of: Mapping[int, str]) -> dict[str, list[int]]:
    """Sort code points by script, both in order; scripts of too few are left out."""
    scripts: dict[str, list[int]] = defaultdict(list)
    for code in sorted(codes):
        scripts[script_of[code]].append(code)
    return {script: scripts[script] for script in sorted(scripts) if len(scripts[script]) >= FEWEST}


def survey(folder: Path, confusables: Path) -> dict[str, Any]:
    """Compute the designs and characters of unpacked packages: what :func:`main` writes.

    `confusables` is the file that says which characters look alike.
    """
    frozen = collection()
    letters = range(0x41, 0x110000)
    faces = list(read_faces(folder, frozen.packages, letters, frozen.serifs, "glyphs"))
    script_of = candidates(Counter(code for face in faces for code in face.characters))
    drawings = list(draw(folder, faces, shares(faces, script_of, {}, Counter()), Counter(), print))
    same_design = shared_designs(drawings, script_of)
    designs = {script: group_of(groups) for script, groups in same_design.items()}
    ways = {
        code: number
        for code, number in ways_of(drawings, faces, script_of, designs).items()
        if number.drawings >= FEW_DRAWINGS and number.designs >= FEW_DESIGNS
    }
    look = json.loads(confusables.read_text(encoding="utf-8"))
    alone = without_confusables({code: own.drawings for code, own in ways.items()}, look)
    characters: dict[str, dict[str, str]] = {part: {} for part in (*PARTS, SAMPLE)}
    for script, codes in by_script(alone, script_of).items():
        full = [code for code in codes if ways[code].drawings >= OF_CHARACTER]
        for part, own in split(script, full if len(full) >= FEWEST else codes).items():
            characters[part][script] = "".join(map(chr, own))
    novel = {
        ord(character): script for script, own in characters["novel"].items() for character in own
    }
    small = {package.name for package in frozen.small_packages}
    few_faces = [face for face in faces if face.package in small]
    of_sample = {
        code: number
        for code, number in ways_of(drawings, few_faces, novel, designs).items()
        if number.drawings >= SAMPLE_DRAWINGS and number.designs >= SAMPLE_DESIGNS
    }
    for script, codes in by_script(of_sample, novel).items():
        best = sorted(codes, key=lambda code: (-of_sample[code].designs, code))[:OF_SAMPLE]
        characters[SAMPLE][script] = "".join(map(chr, sorted(best)))
    return {"same_design": same_design, "characters": characters}


def main(folder: Path) -> None:
    """Write the collection's file anew."""
    file = Path(glyphs.__file__).with_suffix(".json")
    frozen = json.loads(file.read_text(encoding="utf-8"))
    frozen |= survey(folder, folder / CONFUSABLES)
    with whole_file(file) as temporary:
        temporary.write_text(
            json.dumps(frozen, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
