"""Images that a data set holds twice, byte for byte."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path

from benchmark_spec.errors import SourceError, listing

Entry = tuple[str, str, Hashable]
"""Class and path of an image, and what two images must share to be the same."""


def doubles_of(images: Iterable[Entry]) -> list[list[Entry]]:
    """Images that are the same, together; each list in the order of `images`."""
    same: dict[Hashable, list[Entry]] = {}
    for image in images:
        same.setdefault(image[2], []).append(image)
    return [together for together in same.values() if len(together) > 1]


def left_out(together: Sequence[Entry]) -> list[str]:
    """Paths of those to leave out: all but the first; all, where they are in several classes."""
    several = len({label for label, _, _ in together}) > 1
    return [path for _, path, _ in (together if several else together[1:])]


def check_doubles(
    name: str, where: Path | str, images: Iterable[Entry], *, allow_missing: bool
) -> list[str]:
    """Paths of the images to leave out, in the order of `images`, or a refusal.

    Images that repeat fall on both sides of tasks, and count as if they were several.  Where one
    image is in several classes, nobody can tell which of them is right.

    Raises
    ------
    SourceError
        Naming images that are the same, unless `allow_missing` leaves them out.
    """
    entries = list(images)
    found = doubles_of(entries)
    if found and not allow_missing:
        pairs = [f"{one[1]} = {other[1]}" for one, *others in found for other in others]
        raise SourceError(
            f"{name}: {len(pairs)} image{'s' if len(pairs) > 1 else ''} of the data set "
            f"repeat{'' if len(pairs) > 1 else 's'} another, byte for byte: {listing(pairs, 4)}",
            where=str(where),
            expected="every image once",
            fix="remove one of each, or use --allow-missing: it keeps the first of each, and none "
            "of those that are in several classes, and records the others",
        )
    out = {path for together in found for path in left_out(together)}
    return [path for _, path, _ in entries if path in out]
