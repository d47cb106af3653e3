"""Emoji in four vendors' styles, from npm packages: one class a subgroup of Unicode's CLDR.

Names, subgroups and order are those of OpenMoji 17, which follows the CLDR.  The rule:

1. An emoji is one of OpenMoji's that Unicode recommends and that has no skin tone; components and
   OpenMoji's own additions are left out.  The woman and the man of a role are emoji of their own.
2. A class is a subgroup of at least 20 emoji, and its superclass the CLDR's group that the subgroup
   is in; it holds every drawing of them in the four styles:
   OpenMoji's (SVG, named by code points), Google's Noto and Twitter's Twemoji (PNG of 64 x 64,
   listed in emoji.json of their packages) and Microsoft's Fluent (SVG, named by words).  A Fluent
   drawing is the file named like the emoji, in lower case and with a hyphen for each run of other
   characters than a-z and 0-9, or that with -default, the one without a skin tone.  Fluent has no
   flags or families; 51 other emoji of these subgroups it does not have under that name.
3. A group holds the drawings that may be as good as copies of each other: the four styles of an
   emoji, and of those that differ from it only in gender (person, woman, man).  Emoji of which
   any drawings are the same file, such as flags of territories that fly the same flag, are in one
   group too, so that no file is in two groups.  All drawings are kept: :func:`emoji_of` and
   :func:`style_of` tell them apart.

SVG files are rendered by resvg at 64 x 64 on white, the size of the PNG files; which images there
are, and their SHA-256, do not depend on that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmark_spec.extras import require
from builders.sources.checking import check_and_number
from builders.sources.counts import expected_counts
from builders.sources.emoji_list import (
    FLUENT,
    GOOGLE,
    NAME,
    OPENMOJI,
    PACKAGES,
    TWITTER,
    Emoji,
    emojis,
    groups_of,
)
from builders.sources.image_set import About, ImageSet, Item, Progress, silent
from builders.sources.pictures import check_file, open_picture
from builders.sources.rdf import Text
from fslbench_data.files.pictures import Picture, decode

ABOUT = About(
    title="Emoji in four styles: OpenMoji, Noto, Twemoji, Fluent",
    homepage="https://unicode.org/emoji/charts/emoji-list.html",
    licence="CC BY-SA 4.0 (OpenMoji), Apache-2.0 (Noto), CC BY 4.0 (Twemoji), MIT (Fluent)",
    citation="""@misc{unicode2025emoji,
  title = {Unicode Emoji},
  author = {{The Unicode Consortium}},
  year = {2025},
  howpublished = {Unicode Technical Standard 51; drawn by OpenMoji, Google, Twitter, Microsoft}
}""",
    note="The style is the first folder of an image's path; a group is one emoji in all styles.",
    redistribution="images",
)
LAYOUT = f"""openmoji/package/data/openmoji.json, {OPENMOJI}/<CODE>.svg
emoji-datasource-google/package/emoji.json, {GOOGLE}/<code>.png
emoji-datasource-twitter/package/emoji.json, {TWITTER}/<code>.png
{FLUENT}/<name>.svg"""

STYLES = {
    "openmoji": "openmoji",
    "emoji-datasource-google": "noto",
    "emoji-datasource-twitter": "twemoji",
    "fluentui-emoji": "fluent",
}
"""Style by the first folder of a path."""
ATTRIBUTES = tuple(STYLES.values())
CREDIT = {
    "noto": ("Google (Noto Emoji)", "Apache-2.0"),
    "twemoji": ("Twitter (Twemoji)", "CC BY 4.0"),
    "fluent": ("Microsoft (Fluent Emoji)", "MIT"),
}
SIZE = 64
EXPECTED: Mapping[str, int] | None = expected_counts(NAME)


def read(folder: Path, *, allow_missing: bool = False, progress: Progress = silent) -> ImageSet:
    """Read the drawings from the folder that ``fslbench-build fetch`` has filled.

    Paths of the images table are relative to that folder.
    """
    classes: dict[str, list[Item]] = {}
    listed = emojis(folder)
    group = groups_of(listed, folder)
    for emoji in listed:
        progress(f"{NAME}: {emoji.subgroup}")
        items = classes.setdefault(emoji.subgroup, [])
        for path in emoji.paths:
            style = style_of(path)
            creator, licence = CREDIT.get(
                style, (f"{emoji.author} (OpenMoji)".lstrip(), "CC BY-SA 4.0")
            )
            items.append(Item(path, group[emoji.code], creator, licence))
    images = check_and_number(
        NAME,
        ABOUT,
        folder,
        classes,
        expected=EXPECTED,
        allow_missing=allow_missing,
        provenance={"packages": {package.file: package.sha256 for package in PACKAGES}},
        picture=partial(open_drawing, folder),
        check=partial(check_file, svg=True),
        progress=progress,
    )
    paths = images.images.column("path").to_pylist()
    images = replace(images, attributes={path: (style_of(path),) for path in paths})
    return images.with_superclasses({emoji.subgroup: emoji.group_of_subgroup for emoji in listed})


def style_of(path: str) -> str:
    """Return the style of a drawing, by its path: openmoji, noto, twemoji or fluent."""
    return STYLES[path.partition("/")[0]]


def texts(folder: Path, progress: Progress = silent) -> dict[str, Text]:
    """Return the names of the emoji that the drawings show, by their paths in the images table."""
    progress(f"{NAME}: names")
    return {path: Text(title=emoji.name) for path, emoji in emoji_of(folder).items()}


def emoji_of(folder: Path) -> dict[str, Emoji]:
    """Return the emoji that each drawing shows, by its path in the images table."""
    return {path: emoji for emoji in emojis(folder) for path in emoji.paths}


def open_drawing(folder: Path, path: str) -> Picture:
    """Return the drawing at a path, RGB on white; an SVG file is rendered at 64 x 64."""
    if not path.endswith(".svg"):
        return open_picture(folder, path)
    rendered = require("resvg_py").svg_to_bytes(
        svg_path=str(folder / path), width=SIZE, height=SIZE, skip_system_fonts=True
    )
    return decode(bytes(rendered))
