"""Which themes of the clip art library are classes, and which drawing is in which.

The rule is that of :mod:`builders.sources.packaged.openclipart`.
"""

from __future__ import annotations

from collections.abc import Mapping

NO_SUBJECT = (
    "computer/icons",
    "transportation/aiga-symbols",
    "shapes/stars",
    "signs_and_symbols/led",
    "special/gradients",
    "unsorted",
)
MIN_IMAGES = 20


def sort_into_classes(
    filed: Mapping[str, list[str]], pixels: Mapping[str, str], left_out: dict[str, int]
) -> dict[str, list[str]]:
    """Follow steps 3 to 5 of the rule: gives the pictures of each class, both sorted.

    Parameters
    ----------
    filed
        Folders of each picture, by path; in the order of paths.
    pixels
        What each picture shows; equal for duplicates.
    left_out
        Where to count what is left out.
    """
    first: dict[str, str] = {}
    themes: dict[str, set[str]] = {}
    for path, folders in filed.items():
        themes.setdefault(first.setdefault(pixels[path], path), set()).update(folders)
    left_out["doubles"] = len(filed) - len(themes)

    below: dict[str, set[str]] = {}
    for path, its_folders in themes.items():
        for folder in its_folders:
            below.setdefault(_theme(folder), set()).add(path)
    divided = {
        theme.partition("/")[0]
        for theme, paths in below.items()
        if "/" in theme and len(paths) >= MIN_IMAGES
    }
    classes: dict[str, list[str]] = {}
    counts = {"too general": 0, "in two classes": 0}
    for path, its_folders in themes.items():
        of_picture = set()
        for folder in its_folders:
            root = folder.partition("/")[0]
            if root not in divided:
                of_picture.add(root)
            elif folder != root:
                of_picture.add(_theme(folder))
        if len(of_picture) == 1:
            classes.setdefault(of_picture.pop(), []).append(path)
        else:
            counts["in two classes" if of_picture else "too general"] += 1
    large = {
        label: sorted(paths) for label, paths in sorted(classes.items()) if len(paths) >= MIN_IMAGES
    }
    left_out |= counts
    left_out["in small classes"] = sum(map(len, classes.values())) - sum(map(len, large.values()))
    return large


def superclass_of(theme: str) -> str:
    """Give the first level of a theme: ``animals`` of ``animals/birds``."""
    return theme.partition("/")[0]


def _theme(folder: str) -> str:
    """Take the first two levels of a folder."""
    return "/".join(folder.split("/")[:2])
