"""A first specification for a folder of images, commented, to be filled in."""

from __future__ import annotations

import re
from pathlib import Path

from builders.release.templating import template
from builders.sources.image_folder import list_images

LISTS = {
    "groups": "path,group",
    "superclasses": "class,superclass",
    "texts": "path,text",
}
"""Options of an image folder that name a CSV file, and the file's header."""

WAYS = 5


def first_spec(folder: Path, file: str = "") -> str:
    """Write the specification of a release of one image folder, as far as the folder shows it.

    `file` is its name, for the commands that its comments show; by default the data set's.
    """
    sizes = [len(paths) for paths in list_images(folder).paths.values()]
    name = re.sub(r"[^a-z0-9]+", "_", folder.resolve().name.lower()).strip("_") or "my_images"
    name = name if name[0].isalpha() else f"d_{name}"
    ways = min(WAYS, len(sizes))
    shots = [shot for shot in (1, 5, 10) if sum(n > shot for n in sizes) >= ways]
    return template("release/templates/first_spec.toml.j2").render(
        name=name,
        folder=folder.resolve().name,
        raw=folder.resolve().parent,
        file=file or f"{name}.toml",
        sizes=sizes,
        ways=ways,
        shots=shots or [1],
        lists=[key for key in LISTS if _is_list(folder / f"{key}.csv", LISTS[key])],
        known_lists=LISTS,
    )


def _is_list(file: Path, header: str) -> bool:
    """Whether a file is there that begins with a header."""
    try:
        with file.open(encoding="utf-8-sig") as lines:
            return lines.readline().strip() == header
    except (OSError, UnicodeDecodeError):
        return False
