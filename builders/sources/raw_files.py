"""Finding and reading the files of a raw layout."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmark_spec.errors import SourceError

IMAGE_SUFFIXES = frozenset(
    {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)
"""Of image files, in lower case; all others are passed over."""


def folders(folder: Path) -> list[str]:
    """Names of the folders in a folder, sorted; hidden ones are passed over."""
    return sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))


def image_files(folder: Path, below: str, *, deep: bool = False) -> list[str]:
    """Image files in ``folder/below``, as paths relative to `folder`, sorted as text.

    None where there is no such folder.  With `deep`, those in folders further down too.
    """
    found = (folder / below).rglob("*") if deep else (folder / below).glob("*")
    return sorted(
        path.relative_to(folder).as_posix()
        for path in found
        if path.suffix.lower() in IMAGE_SUFFIXES
        and not path.name.startswith(".")
        and path.is_file()
    )


def sha256_of_files(folder: Path, *names: str) -> dict[str, str]:
    """SHA-256 (hex) of files of a folder, by their name."""
    digests = {}
    for name in names:
        with (folder / name).open("rb") as file:
            digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def read_lines(path: Path) -> list[str]:
    """Lines of a text file that are not empty.

    Raises
    ------
    SourceError
        If it is not UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path.name} is no text file: {error}", where=str(path)) from None
    return [line for line in text.splitlines() if line.strip()]


def read_table(
    path: Path, columns: int, convert: Callable[[list[str]], Any] = lambda fields: fields[1]
) -> dict[str, Any]:
    """A text file whose lines hold a key and then `columns` - 1 fields, the last with spaces.

    Parameters
    ----------
    convert
        Makes the value of a line from its fields, key first.

    Raises
    ------
    SourceError
        Naming the first line that does not have the form, or a key that comes twice.
    """
    table: dict[str, Any] = {}
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.strip().split(maxsplit=columns - 1)
        problem = f"has {len(fields)} fields, not {columns}" if len(fields) != columns else ""
        if not problem and fields[0] in table:
            problem = f"names {fields[0]} again"
        if not problem:
            try:
                table[fields[0]] = convert(fields)
            except ValueError as error:
                problem = str(error)
        if problem:
            raise SourceError(
                f"{path.name}: line {number} {problem}",
                where=str(path),
                fix="get the file again from the data set's authors",
            )
    return table


def read_json(path: Path, *keys: str) -> Mapping[str, Any]:
    """A JSON file that holds one object with at least these keys, each a list.

    Raises
    ------
    SourceError
        If it is damaged or lacks one of them.
    """
    try:
        with path.open("rb") as file:
            content = json.load(file)
    except ValueError as error:
        raise SourceError(
            f"{path.name} is no JSON file: {error}", where=str(path), fix="get the file again"
        ) from None
    missing = [
        key
        for key in keys
        if not isinstance(content, dict) or not isinstance(content.get(key), list)
    ]
    if missing:
        raise SourceError(
            f"{path.name} has no list of {', '.join(missing)}",
            where=str(path),
            expected=f"an object with {', '.join(keys)}",
        )
    found: Mapping[str, Any] = content
    return found


@contextmanager
def reading_entries(path: Path) -> Iterator[None]:
    """Refuse a list whose entries lack a field or have one of another type.

    Raises
    ------
    SourceError
        Naming the field or the type.
    """
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"lacks {error}" if isinstance(error, KeyError) else f"is malformed: {error}"
        raise SourceError(
            f"{path.name}: an entry {problem}",
            where=str(path),
            fix="get the file again from the data set's authors",
        ) from error
