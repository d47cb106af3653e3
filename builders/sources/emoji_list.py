"""Which emoji there are, which drawings each has, and which belong together.

The rule is that of :mod:`builders.sources.packaged.emoji`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark_spec.errors import SourceError
from builders.sources.group_list import group_of, linked
from builders.sources.image_set import sha256_of_bytes
from builders.sources.packages import Package, unpacked

NAME = "emoji"
PACKAGES = (
    Package.npm(
        "openmoji", "17.0.0", "55ee7d13485dec86e9f38c1f3a645a13382d33ff97c0cd845ee824b0aef45e68"
    ),
    Package.npm(
        "emoji-datasource-google",
        "16.0.0",
        "fb5fd131b362aab7a55542d2a147a79708cce0a8b1c1bbacd470172708b5c438",
    ),
    Package.npm(
        "emoji-datasource-twitter",
        "16.0.0",
        "f64a530c63bca463bd8317fdc4615ce63a53a0c65018e4ce2d848aaba7a28877",
    ),
    Package.npm(
        "fluentui-emoji",
        "1.3.0",
        "ec892e607e854859b812c7d827801756adc19955b0ef56d4ae8afcddd19492c5",
    ),
)
OPENMOJI = "openmoji/package/color/svg"
GOOGLE = "emoji-datasource-google/package/img/google/64"
TWITTER = "emoji-datasource-twitter/package/img/twitter/64"
FLUENT = "fluentui-emoji/package/icons/modern"
NOT_UNICODE = ("component", "extras-openmoji", "extras-unicode")
MIN_EMOJI = 20

_NEUTRAL = {"1F468": "1F9D1", "1F469": "1F9D1", "1F466": "1F9D2", "1F467": "1F9D2"}
"""Man and woman to person, boy and girl to child."""
_GENDER_SIGNS = {"2640", "2642"}
_JOINER, _VARIATION = "200D", "FE0F"


@dataclass(frozen=True)
class Emoji:
    """An emoji and its drawings.

    Attributes
    ----------
    code
        Its code points without variation selectors, as in ``1F3C4-200D-2640``.
    paths
        Of its drawings, in the order of :data:`STYLES`.
    author
        Of OpenMoji's drawing.
    group_of_subgroup
        The CLDR's group that the subgroup is in, such as ``animals-nature``.
    """

    code: str
    name: str
    subgroup: str
    paths: tuple[str, ...]
    author: str
    group_of_subgroup: str


def emojis(folder: Path) -> list[Emoji]:
    """Return the emoji of large subgroups with their drawings, in the order of the CLDR."""
    openmoji, google, twitter, fluent = (unpacked(p, folder, NAME) for p in PACKAGES)
    listed = {
        style: {_code(entry["unified"]): entry for entry in _json(root / "package/emoji.json")}
        for style, root in (("google", google), ("twitter", twitter))
    }
    words = {path.stem for path in (fluent / "package/icons/modern").glob("*.svg")}
    entries = [
        entry
        for entry in _json(openmoji / "package/data/openmoji.json")
        if entry["group"] not in NOT_UNICODE and not entry["skintone"]
    ]
    sizes: dict[str, int] = {}
    for entry in entries:
        sizes[entry["subgroups"]] = sizes.get(entry["subgroups"], 0) + 1
    of_subgroup: dict[str, list[Emoji]] = {}
    for entry in entries:
        subgroup = entry["subgroups"]
        if sizes[subgroup] < MIN_EMOJI:
            continue
        code = _code(entry["hexcode"])
        paths = [f"{OPENMOJI}/{entry['hexcode']}.svg"]
        for style, place in (("google", GOOGLE), ("twitter", TWITTER)):
            drawn = listed[style].get(code)
            if drawn and drawn[f"has_img_{style}"]:
                paths.append(f"{place}/{drawn['image']}")
        word = re.sub(r"[^a-z0-9]+", "-", entry["annotation"].lower()).strip("-")
        paths += [f"{FLUENT}/{w}.svg" for w in (word, f"{word}-default") if w in words][:1]
        of_subgroup.setdefault(subgroup, []).append(
            Emoji(
                code,
                entry["annotation"],
                subgroup,
                tuple(paths),
                entry["openmoji_author"],
                entry["group"],
            )
        )
    return [emoji for members in of_subgroup.values() for emoji in members]


def without_gender(code: str) -> str:
    """Tell what emoji that differ only in gender share: 1F468-200D-1F373 gives 1F9D1-1F373."""
    points = [_NEUTRAL.get(point, point) for point in _code(code).split("-")]
    left = [point for point in points if point != _JOINER and point not in _GENDER_SIGNS]
    return "-".join(left or points)


def groups_of(listed: Sequence[Emoji], folder: Path) -> dict[str, str]:
    """Group emoji by their code: gender makes no other group, nor does a file that two share."""
    first: dict[str, str] = {}
    links = []
    for emoji in listed:
        shared = without_gender(emoji.code)
        for path in emoji.paths:
            if (folder / path).is_file():
                digest = sha256_of_bytes((folder / path).read_bytes())
                links.append((first.setdefault(digest, shared), shared))
    together = group_of(linked(links))
    codes = {emoji.code: without_gender(emoji.code) for emoji in listed}
    return {code: together.get(shared, shared) for code, shared in codes.items()}


def _code(code: str) -> str:
    return "-".join(point for point in code.upper().split("-") if point != _VARIATION)


def _json(path: Path) -> list[dict[str, Any]]:
    try:
        entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SourceError(
            f"{NAME}: {path.name} cannot be read: {error}",
            where=str(path),
            expected="the list of emoji that the package holds",
            fix=f"fetch {NAME} again into an empty folder",
        ) from error
    return entries
