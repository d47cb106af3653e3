"""Which images belong together: by a CSV file with the columns path and group, or by pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from pathlib import Path

from benchmark_spec.errors import SourceError, listing
from builders.sources.csv_list import CsvList

GROUPS = CsvList("groups", ("path", "group"), " (leave the line out: it then stands alone)")


def read_groups(folder: Path, name: str, images: Set[str]) -> dict[str, str]:
    """Read the group of each image that the file lists; the others stand alone.

    Parameters
    ----------
    folder, name
        The raw folder, and the file in it: CSV (UTF-8) with the header ``path,group``.  A path is
        relative to the raw folder, with ``/``; a group is any text.
    images
        Paths of all images.

    Raises
    ------
    SourceError
        If there is no such file, it is not of this form, lists an image twice or without a group,
        or one that is not there.
    """
    group_of_path = GROUPS.read(folder, name)
    file = folder / name
    unknown = [path for path in group_of_path if path not in images]
    if unknown:
        raise SourceError(
            f"{name}: {len(unknown)} of {len(group_of_path)} paths are no images of the data set: "
            f"{listing(unknown, 4)}",
            where=str(file),
            expected=f"paths relative to {folder}, such as {min(images, default='cat/1.jpg')}",
        )
    if not group_of_path:
        raise SourceError(f"{name} lists no image", where=str(file), expected=GROUPS.expected)
    return group_of_path


def linked(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Collect the groups of what pairs link, directly or through others; both levels sorted."""
    group: dict[str, list[str]] = {}
    for one, other in pairs:
        a, b = group.setdefault(one, [one]), group.setdefault(other, [other])
        if a is not b:
            a += b
            group.update(dict.fromkeys(b, a))
    return sorted({id(members): sorted(members) for members in group.values()}.values())


def group_of(groups: Sequence[Sequence[str]]) -> dict[str, str]:
    """Name the group of each of its members, after the first."""
    return {name: members[0] for members in groups for name in members}
