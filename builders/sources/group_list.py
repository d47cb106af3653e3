"""Which images belong together: by a CSV file with the columns path and group, or by pairs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path

from benchmark_spec.errors import SourceError, listing

HEADER = ["path", "group"]


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
    file = folder / name
    expected = "a CSV file (UTF-8) with the header path,group and one line an image"
    try:
        lines = list(_lines(file.read_text(encoding="utf-8-sig")))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise SourceError(
            f"the list of groups, {name}, cannot be read: {problem}",
            where=str(file),
            expected=expected,
            fix="write that file into the raw folder, or leave out the option `groups`",
        ) from None
    if not lines or lines[0][1] != HEADER:
        header = ",".join(lines[0][1]) if lines else ""
        raise SourceError(
            f"{name}: the header is {header!r}", where=f"{file}, line 1", expected=expected
        )
    group_of_path: dict[str, str] = {}
    for number, fields in lines[1:]:
        problem = ""
        if len(fields) != len(HEADER):
            problem = f"has {len(fields)} fields, not {len(HEADER)}"
        elif not fields[1].strip():
            problem = f"gives {fields[0]} no group (leave the line out: it then stands alone)"
        elif fields[0] in group_of_path:
            problem = f"names {fields[0]} again"
        if problem:
            raise SourceError(
                f"{name}: line {number} {problem}",
                where=f"{file}, line {number}",
                expected=expected,
            )
        group_of_path[fields[0]] = fields[1].strip()
    unknown = [path for path in group_of_path if path not in images]
    if unknown:
        raise SourceError(
            f"{name}: {len(unknown)} of {len(group_of_path)} paths are no images of the data set: "
            f"{listing(unknown, 4)}",
            where=str(file),
            expected=f"paths relative to {folder}, such as {min(images, default='cat/1.jpg')}",
        )
    if not group_of_path:
        raise SourceError(f"{name} lists no image", where=str(file), expected=expected)
    return group_of_path


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Return the number and fields of each line that is not empty."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    for fields in reader:
        if fields:
            yield reader.line_num, fields


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
