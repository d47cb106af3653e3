"""Emoji in four vendors' styles, from npm packages; a class is a subgroup of Unicode's CLDR.

1. An emoji is one of OpenMoji's that Unicode recommends and that has no skin tone.
2. A class is a subgroup of at least 20 emoji, in the order of the CLDR.  A Fluent drawing is the
   file named like the emoji, in lower case and with a hyphen for each run of other characters than
   a-z and 0-9, or the same with -default.
3. A group holds an emoji's drawings and those of emoji that differ from it only in gender; emoji
   that share a drawing's file are in one group too.

SVG files are rendered by resvg at 64 x 64 on white, the size of the PNG files; the list of images
and their SHA-256 do not depend on that.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmark_spec.errors import SourceError
from benchmark_spec.extras import require
from builders.sources.checking import Found
from builders.sources.image_set import Item, Progress, Text, sha256_of_bytes
from builders.sources.lists import group_of, linked
from builders.sources.packages import unpacked
from builders.sources.pictures import check_file, open_picture
from builders.sources.source import Source
from fslbench_data.pictures import Picture, decode

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


Emoji = tuple[dict[str, Any], list[str]]
"""OpenMoji's entry of an emoji and the paths of its drawings, in the order of :data:`STYLES`."""


def emojis(source: Source, folder: Path) -> list[Emoji]:
    """Return the emoji of large subgroups with their drawings, in the order of the CLDR."""
    openmoji, google, twitter, fluent = (
        unpacked(package, folder, source.name) for package in source.packages
    )
    by_style = {
        style: {_code(entry["unified"]): entry for entry in _json(root / "package/emoji.json")}
        for style, root in (("google", google), ("twitter", twitter))
    }
    fluent_stems = {path.stem for path in (fluent / "package/icons/modern").glob("*.svg")}
    entries = [
        entry
        for entry in _json(openmoji / "package/data/openmoji.json")
        if entry["group"] not in NOT_UNICODE and not entry["skintone"]
    ]
    sizes = Counter(entry["subgroups"] for entry in entries)
    kept: list[Emoji] = []
    for entry in entries:
        if sizes[entry["subgroups"]] < MIN_EMOJI:
            continue
        paths = [f"{OPENMOJI}/{entry['hexcode']}.svg"]
        for style, place in (("google", GOOGLE), ("twitter", TWITTER)):
            drawn = by_style[style].get(_code(entry["hexcode"]))
            if drawn and drawn[f"has_img_{style}"]:
                paths.append(f"{place}/{drawn['image']}")
        stem = re.sub(r"[^a-z0-9]+", "-", entry["annotation"].lower()).strip("-")
        paths += [f"{FLUENT}/{s}.svg" for s in (stem, f"{stem}-default") if s in fluent_stems][:1]
        kept.append((entry, paths))
    return kept


def without_gender(code: str) -> str:
    """Return the code that emoji of any gender share: 1F468-200D-1F373 gives 1F9D1-1F373."""
    points = [_NEUTRAL.get(point, point) for point in _code(code).split("-")]
    without = [point for point in points if point != _JOINER and point not in _GENDER_SIGNS]
    return "-".join(without or points)


def groups_of(kept: Sequence[Emoji], folder: Path) -> dict[str, str]:
    """Return the group of each drawing: emoji without gender, linked by files that they share."""
    first_of_digest: dict[str, str] = {}
    links = []
    code_of = {path: without_gender(entry["hexcode"]) for entry, paths in kept for path in paths}
    for path, code in code_of.items():
        if (folder / path).is_file():
            digest = sha256_of_bytes((folder / path).read_bytes())
            links.append((first_of_digest.setdefault(digest, code), code))
    linked_group = group_of(linked(links))
    return {path: linked_group.get(code, code) for path, code in code_of.items()}


def _code(code: str) -> str:
    """Return a code in upper case without variation selectors."""
    return "-".join(point for point in code.upper().split("-") if point != _VARIATION)


def _json(path: Path) -> list[dict[str, Any]]:
    try:
        entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SourceError(
            f"emoji: {path.name} cannot be read: {error}",
            where=str(path),
            expected="the list of emoji that the package holds",
            fix="fetch emoji again into an empty folder",
        ) from error
    return entries


STYLES = {
    "openmoji": "openmoji",
    "emoji-datasource-google": "noto",
    "emoji-datasource-twitter": "twemoji",
    "fluentui-emoji": "fluent",
}
"""The style of drawings by the first folder of their path."""
CREDIT = {
    "noto": ("Google (Noto Emoji)", "Apache-2.0"),
    "twemoji": ("Twitter (Twemoji)", "CC BY 4.0"),
    "fluent": ("Microsoft (Fluent Emoji)", "MIT"),
}
SIZE = 64


def find(source: Source, folder: Path, progress: Progress) -> Found:
    """Find the drawings in the folder that ``fslbench-build fetch`` has filled."""
    classes: dict[str, list[Item]] = {}
    kept = emojis(source, folder)
    progress(f"{source.name}: comparing the drawings of {len(kept)} emoji")
    groups = groups_of(kept, folder)
    for entry, paths in kept:
        openmoji_credit = f"{entry['openmoji_author']} (OpenMoji)".lstrip(), "CC BY-SA 4.0"
        for path in paths:
            creator, licence = CREDIT.get(style_of(path), openmoji_credit)
            item = Item(path, groups[path], creator, licence)
            classes.setdefault(entry["subgroups"], []).append(item)
    return Found(
        classes,
        folder,
        expected=source.expected,
        provenance={"packages": {package.file: package.sha256 for package in source.packages}},
        picture=partial(open_drawing, folder),
        check=partial(check_file, svg=True),
        superclass_of={entry["subgroups"]: entry["group"] for entry, _ in kept},
        texts={
            path: Text(entry["annotation"]).sentences for entry, paths in kept for path in paths
        },
        attributes={path: (style_of(path),) for _, paths in kept for path in paths},
    )


def style_of(path: str) -> str:
    """Return the style of a drawing, by its path: openmoji, noto, twemoji or fluent."""
    return STYLES[path.partition("/")[0]]


def open_drawing(folder: Path, path: str) -> Picture:
    """Return the drawing at a path, RGB on white; an SVG file is rendered at 64 x 64."""
    if not path.endswith(".svg"):
        return open_picture(folder, path)
    rendered = require("resvg_py").svg_to_bytes(
        svg_path=str(folder / path), width=SIZE, height=SIZE, skip_system_fonts=True
    )
    return decode(bytes(rendered))
