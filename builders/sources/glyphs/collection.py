"""What is frozen of the fonts and characters of `glyphs`: `collection.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from builders.sources.group_list import group_of
from builders.sources.image_set import sha256_of_bytes
from builders.sources.packages import Package

PARTS = ("base", "val", "novel")
"""Splits of the characters: to train on, to choose with, to test on."""
SAMPLE = "sample"
"""A few characters of `novel`, from small packages."""
FEW_DRAWINGS, SAMPLE_DRAWINGS = 20, 10
"""Images that a class has at least, and one of the sample."""


@dataclass(frozen=True)
class Credit:
    """Who made the fonts of a package, and their licence."""

    creator: str
    licence: str


@dataclass(frozen=True)
class Collection:
    """Packages of fonts, and characters that they draw.

    Attributes
    ----------
    packages, small_packages
        All, in the order in which their faces are drawn; and those of the sample.
    credits
        By name of the package.
    serifs
        ``serif``, ``sans`` or ``neither`` by family, where a font's tables do not say.
    designs
        By script: the design of each family that shares one with others, of which a fifth of
        common characters are alike, pixel for pixel.
    characters
        By part, and of the sample: the characters of each script, in their frozen order.
    """

    packages: tuple[Package, ...]
    small_packages: tuple[Package, ...]
    credits: Mapping[str, Credit]
    serifs: Mapping[str, str]
    designs: Mapping[str, Mapping[str, str]]
    characters: Mapping[str, Mapping[str, str]]

    def scripts(self, *parts: str, most: int | None = None) -> dict[str, str]:
        """Give the script of each character of some parts, in the frozen order.

        With `most` at most so many of a script, the first in an order by SHA-256.
        """
        scripts: dict[str, str] = {}
        for part in parts:
            for script, characters in self.characters[part].items():
                kept = set(sorted(characters, key=place_of)[:most])
                scripts |= {character: script for character in characters if character in kept}
        return scripts


def place_of(character: str) -> str:
    """Give a character its place in the order of :func:`shuffled`."""
    return shuffled(f"U+{ord(character):04X}")


def shuffled(name: str) -> str:
    """Give a name its place in an order that has nothing to do with it."""
    return sha256_of_bytes(name.encode())


@cache
def collection() -> Collection:
    """Read the collection."""
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    frozen = json.loads(text)
    packages = {
        name: Package.deb(name, entry["version"], entry["sha256"])
        for name, entry in frozen["packages"].items()
    }
    return Collection(
        tuple(packages.values()),
        tuple(packages[name] for name in frozen["small_packages"]),
        {
            name: Credit(entry["creator"], entry["licence"])
            for name, entry in frozen["packages"].items()
        },
        {family: kind for kind, names in frozen["serifs"].items() for family in names},
        {script: group_of(groups) for script, groups in frozen["same_design"].items()},
        frozen["characters"],
    )
