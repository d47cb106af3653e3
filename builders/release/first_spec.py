"""A first specification for a folder of images, commented, to be filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from builders.sources.image_folder import list_images

LISTS = {
    "groups": "path,group",
    "superclasses": "class,superclass",
    "texts": "path,text",
}
"""Options of an image folder that name a CSV file, and the file's header."""

WAYS = 5


def first_spec(folder: Path, file: str = "") -> str:
    """Write the specification of a release of one image folder.

    `file` is its name, for the commands that its comments show; by default the data set's.

    What the folder shows is filled in: its name, classes, and lists of groups, superclasses and
    texts.  What only its owner knows is left empty, and a build says so.

    Raises
    ------
    SourceError
        As :func:`builders.sources.image_folder.list_images` does.
    """
    sizes = {label: len(paths) for label, paths in list_images(folder).paths.items()}
    return "\n".join(_lines(folder, sizes, file)) + "\n"


def _lines(folder: Path, sizes: dict[str, int], file: str) -> Iterator[str]:
    name = re.sub(r"[^a-z0-9]+", "_", folder.resolve().name.lower()).strip("_") or "my_images"
    name = name if name[0].isalpha() else f"d_{name}"
    lists = {key: f"{key}.csv" for key in LISTS if _is_list(folder / f"{key}.csv", LISTS[key])}
    ways = min(WAYS, len(sizes))
    suites = ["open", "closed", "pooled", *(["grouped"] if "groups" in lists else [])]
    shots = [shot for shot in (1, 5, 10) if sum(n > shot for n in sizes.values()) >= ways]
    fewest = min(sizes.values())
    yield f"# {len(sizes)} classes of {fewest} to {max(sizes.values())} images"
    raw, file = folder.resolve().parent, file or f"{name}.toml"
    yield "# Fill in what is empty; then, in this order:"
    yield "#   fslbench-build fetch weights -o WEIGHTS"
    yield f"#   fslbench-build release {file} --raw {raw} --weights WEIGHTS --dry-run"
    yield f"#   fslbench-build release {file} --raw {raw} --weights WEIGHTS -o {name}"
    yield f'name = "{name}"'
    yield 'version = "1.0.0"'
    yield 'description = ""  # one sentence: what the release is for'
    yield ""
    protocols = ", ".join(f'"{ways}w{shot}s"' for shot in shots or (1,))
    yield f"protocols = [{protocols}]  # ways and shots; how many queries is chosen:"
    yield 'queries = "optimal"  # or write 5w5s5q for 5 queries a class'
    yield "tasks = { closed = 600 }  # the other suites know how many"
    yield 'drawn = ["pooled"]  # no tables of these: readers draw the same tasks again'
    yield ""
    yield "[[dataset]]"
    yield f'name = "{name}"'
    yield 'source = "image_folder"'
    if folder.resolve().name != name:
        yield f'folder = "{folder.resolve().name}"'
    listed = ", ".join(f'"{suite}"' for suite in suites)
    yield f"suites = [{listed}]  # docs/suites.md"
    yield 'features = ["efficientnet_lite0"]  # which networks there are: docs/features.md'
    yield 'heads = ["NCC", "MatchingNet", "LR"]  # reference methods'
    words = '"given+textblob"' if "texts" in lists else '"pixels"'
    yield f"# attributes = {{ {'titles' if 'texts' in lists else 'pixels'} = {words} }}"
    yield "# pictures = 224  # thumbnails of this size in the release, if the licence allows"
    yield ""
    yield "[dataset.options]"
    yield 'title = ""  # what people call the data set'
    yield 'homepage = ""'
    yield 'licence = ""  # of the images, such as CC BY 4.0'
    yield 'citation = ""  # BibTeX'
    yield '# redistribution = "features"  # or "images"; else lists and tasks alone are shared'
    for key, header in LISTS.items():
        line = f'{key} = "{key}.csv"  # header: {header}'
        yield line if key in lists else f"# {line}"


def _is_list(file: Path, header: str) -> bool:
    """Whether a file is there that begins with a header."""
    try:
        with file.open(encoding="utf-8-sig") as lines:
            return lines.readline().strip() == header
    except (OSError, UnicodeDecodeError):
        return False
