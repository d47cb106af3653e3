"""Find and read the files of a raw layout."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmark_spec.declared import parsed_json
from benchmark_spec.errors import RefusedPictureError, SourceError, listing
from builders.sources.image_set import Item
from fslbench_data.files import sha256_of
from fslbench_data.pictures import opened

_READ = (
    "apng avif avifs bmp dib gif j2c j2k jfif jif jp2 jpc jpe jpeg jpf jpg jpx mpo pbm pfm pgm png "
    "pnm ppm tif tiff webp"
)
_REFUSED = (
    "arw blp bpg cr2 cr3 cur dcx dds djvu dng emf eps exr fit fits fli hdr heic heif hif icns ico "
    "jxl jxr nef orf pcd pct pcx pict ps psb psd qoi raf ras rw2 sgi svg svgz tga wdp wmf xbm xcf "
    "xpm"
)
PICTURE_ENDINGS = frozenset(f".{ending}" for ending in f"{_READ} {_REFUSED}".split())
"""Endings of picture files, in lower case, whether :mod:`fslbench_data.pictures` reads their
format or not."""


def folders(folder: Path, *, broken_links: bool = False) -> list[str]:
    """List the folders in a folder, sorted, without hidden ones and ``__MACOSX``.

    With `broken_links`, links that lead nowhere count too: they may have led to folders.
    """

    def is_folder(path: Path) -> bool:
        return path.is_dir() or (broken_links and path.is_symlink() and not path.exists())

    names = sorted(p.name for p in folder.iterdir() if _counts(p.name) and is_folder(p))
    for name in names:
        _check_name(folder, name)
    return names


def image_files(folder: Path, below: str, *, deep: bool = False) -> list[str]:
    """List the pictures in ``folder/below``, as paths relative to `folder`, sorted as text.

    Pictures are files with the ending or the content of one; with `deep`, those in folders further
    down too.  Links are followed; one that leads nowhere counts as a file, and is found missing.
    """
    paths = []
    for place, subfolders, files in os.walk(folder / below, onerror=_refuse, followlinks=deep):
        subfolders[:] = [name for name in subfolders if deep and _counts(name)]
        for name in subfolders:
            link = Path(place, name)
            if link.is_symlink() and link.resolve() in {p.resolve() for p in link.parents}:
                raise SourceError(
                    f"{link.name} is a link to a folder that holds it",
                    where=str(link),
                    fix="remove it",
                )
        for name in files:
            if _counts(name) and _is_picture(Path(place, name)):
                paths.append(Path(place, name).relative_to(folder).as_posix())
                _check_name(folder, paths[-1])
    return sorted(paths)


def _is_picture(path: Path) -> bool:
    if path.suffix.lower() in PICTURE_ENDINGS:
        return True
    if not path.is_file():
        return False
    try:
        with opened(path):
            return True
    except SourceError as error:
        return isinstance(error, RefusedPictureError)


def items_in(folder: Path, below: str) -> list[Item]:
    """List the image files in ``folder/below`` as images of a class."""
    return [Item(path) for path in image_files(folder, below)]


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise SourceError(f"a folder cannot be read: {error.strerror}", where=str(error.filename))


def _counts(name: str) -> bool:
    """Return whether a name is neither hidden nor the folder that macOS puts into archives."""
    return not name.startswith(".") and name != "__MACOSX"


def _check_name(folder: Path, name: str) -> None:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        escaped = os.fsencode(name).decode("utf-8", "backslashreplace")
        raise SourceError(
            f"a name is no valid UTF-8: {escaped}", where=str(folder), fix="rename it"
        ) from None


def require_entries(name: str, folder: Path, *entries: str) -> None:
    """Refuse a folder that lacks files or folders of the raw layout."""
    missing = [entry for entry in entries if not (folder / entry).exists()]
    if missing:
        raise SourceError(
            f"{folder} is not the raw folder of {name}: there is no {listing(missing)}",
            where=str(folder),
            expected=f"a folder with {', '.join(entries)}",
            fix=f"unpack {name} as its authors distribute it, and give the folder that holds these",
        )


def sha256_of_files(folder: Path, *names: str) -> dict[str, str]:
    """Compute the SHA-256 (hex) of files of a folder, by their name."""
    return {name: sha256_of(folder / name) for name in names}


def read_lines(path: Path) -> list[str]:
    """Return lines of a text file that are not empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path.name} is no text file: {error}", where=str(path)) from None
    return [line for line in text.splitlines() if line.strip()]


def read_table(
    path: Path, columns: int, convert: Callable[[list[str]], Any] = lambda fields: fields[1]
) -> dict[str, Any]:
    """Read a text file with lines of a key and `columns` - 1 fields, of which the last has spaces.

    `convert` makes the value of a line from its fields, or raises ValueError with the problem.
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
    """Return a JSON file that holds one object with at least these keys, each a list."""
    try:
        with path.open("rb") as file:
            content = parsed_json(file.read())
    except ValueError as error:
        raise SourceError(
            f"{path.name} is no JSON file: {error}", where=str(path), fix="get the file again"
        ) from None
    lists: Mapping[str, Any] = content if isinstance(content, dict) else {}
    if missing := [key for key in keys if not isinstance(lists.get(key), list)]:
        raise SourceError(
            f"{path.name} has no list of {', '.join(missing)}",
            where=str(path),
            expected=f"an object with {', '.join(keys)}",
        )
    return lists


@contextmanager
def reading_entries(path: Path) -> Iterator[None]:
    """Refuse a list with entries that lack a field or have one of another type."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"lacks {error}" if isinstance(error, KeyError) else f"is malformed: {error}"
        raise SourceError(
            f"{path.name}: an entry {problem}",
            where=str(path),
            fix="get the file again from the data set's authors",
        ) from error
