"""Read lists of values of images or classes, and labels, of which some may be missing."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

from benchmark_spec.errors import SourceError, listing, quoted
from benchmark_spec.extras import require

LISTS = {
    "groups": ("path", "group", " (leave the line out: it then stands alone)"),
    "superclasses": ("class", "superclass", " (a class like no other is a superclass of its own)"),
    "texts": ("path", "text", " (let it end after the comma)"),
    "attributes": ("path", "attributes", " (let it end after the comma)"),
}
"""By option: the header of its CSV file, and the advice for a line without a value."""

_BLANK = ("texts", "attributes")
"""Lists with lines that may be without a value."""

_MISSING_AS_TEXT = frozenset({"", "-1", "-1.0", "nan", "NaN", "null", "NULL", "None", "<NA>"})
"""Texts that programs write for a null, a NaN and the number -1."""


def read_list(option: str, folder: Path, name: str, known: Collection[str]) -> dict[str, str]:
    """Read the values in the file `name` of a raw folder, by image or class.

    `option` is one of :data:`LISTS`; `known` has the paths of all images or the names of all
    classes.  SourceError if the file has another form, names an image or class twice or one that
    does not exist, or, except for groups, does not name all.
    """
    key, value, no_value = LISTS[option]
    file = folder / name
    unit = "an image" if key == "path" else f"a {key}"
    expected = f"a CSV file (UTF-8) with the header {key},{value} and one line {unit}"
    try:
        text = file.read_text(encoding="utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        lines = [(reader.line_num, fields) for fields in reader if fields]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise SourceError(
            f"the list of {option}, {name}, cannot be read: {problem}",
            where=str(file),
            expected=expected,
            fix=f"write that file into the raw folder, or leave out the option `{option}`",
        ) from None
    if not lines or lines[0][1] != [key, value]:
        header = ",".join(lines[0][1]) if lines else ""
        raise SourceError(
            f"{name}: the header is {header!r}",
            where=f"{file}, line 1",
            expected=expected,
            fix="save it with commas in place of semicolons" if header == f"{key};{value}" else "",
        )
    composed = {normalize("NFC", known_key): known_key for known_key in known}
    rows: dict[str, str] = {}
    empty: dict[int, str] = {}
    for number, fields in lines[1:]:
        if fields[0] not in known:  # perhaps the same letters in another form of Unicode
            fields[0] = composed.get(normalize("NFC", fields[0]), fields[0])
        problem = f"has {len(fields)} fields, not 2" if len(fields) != 2 else ""
        if problem or fields[0] in rows:
            raise SourceError(
                f"{name}: line {number} {problem or f'names {fields[0]} again'}",
                where=f"{file}, line {number}",
                expected=expected,
            )
        rows[fields[0]] = fields[1].strip()
        if is_missing(fields[1]) and (rows[fields[0]] or option not in _BLANK):
            empty[number] = fields[0]
    if empty:
        number, first = next(iter(empty.items()))
        raise SourceError(
            f"{name}: {len(empty)} of {len(rows)} lines say nothing: line {number} gives {first} "
            f"no {value}{no_value}",
            where=f"{file}, line{'s' if len(empty) > 1 else ''} {listing([*empty])}",
            expected=expected,
        )
    lists_classes = option == "superclasses"
    what = "names are no classes" if lists_classes else "paths are no images"
    place, example = ("folders of", "cat") if lists_classes else ("paths relative to", "cat/1.jpg")
    where = f"{place} {folder}, such as {min(known, default=example)}"
    if unknown := [key for key in rows if key not in known]:
        raise SourceError(
            f"{name}: {len(unknown)} of {len(rows)} {what} of the data set: {listing(unknown, 4)}",
            where=str(file),
            expected=where,
        )
    if not lists_classes and not any(rows.values()):
        what = f"gives no image any {value}" if rows else "lists no image"
        raise SourceError(f"{name} {what}", where=str(file), expected=expected)
    missing = sorted(set(known) - rows.keys()) if option != "groups" else []
    if missing:
        raise SourceError(
            f"{name}: {len(missing)} of {len(known)} {'classes' if lists_classes else 'images'} "
            f"are not listed: {listing(missing, 4)}",
            where=str(file),
            expected=f"{expected}, or no list at all",
            fix=f"add a line for each{no_value}",
        )
    return {key: text for key, text in rows.items() if text}


def linked(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the groups of names that pairs link, directly or through others, all sorted."""
    groups: dict[str, list[str]] = {}
    for first, second in pairs:
        members = groups.setdefault(first, [first])
        joining = groups.setdefault(second, [second])
        if members is not joining:
            members += joining
            groups.update(dict.fromkeys(joining, members))
    return sorted({id(members): sorted(members) for members in groups.values()}.values())


def group_of(groups: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return the group of each name, which is called after its first member."""
    return {name: members[0] for members in groups for name in members}


def is_missing(label: object) -> bool:
    """Return whether a label names no class: null, NaN, -1, blank, or such a value as text."""
    if isinstance(label, str):
        return label.strip() in _MISSING_AS_TEXT
    return bool(label is None or label != label or label == -1)


def labels_of(rows: Any, column: str) -> tuple[list[str], list[str], dict[int, str]]:
    """Read the label of each row of a ``datasets.Dataset``, as text.

    Returns also the names of the classes, in the order of a ``ClassLabel`` or else sorted, and the
    problem of each row without a label.
    """
    datasets = require("datasets")
    feature = rows.features[column]
    if not isinstance(feature, datasets.ClassLabel | datasets.Value):
        raise SourceError(
            f"column {column!r} holds no labels, but {type(feature).__name__}",
            expected="a class label, a text or a number in each row",
            fix="name the column of labels",
        )
    values = list(rows[column])
    if isinstance(feature, datasets.ClassLabel):
        known = dict(enumerate(feature.names))
        missing = [r for r, v in enumerate(values) if v not in known or is_missing(known[v])]
        values = [known.get(value, value) for value in values]
        names = [name for name in feature.names if not is_missing(name)]
    else:
        missing = [row for row, value in enumerate(values) if is_missing(value)]
        names = sorted({str(value) for value in values if not is_missing(value)})
    problems = {
        row: "has no label" + ("" if values[row] is None else f", but {quoted(values[row])}")
        for row in missing
    }
    return [str(value) for value in values], names, problems
