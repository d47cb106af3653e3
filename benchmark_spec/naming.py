"""Names and texts as they appear in paths, configurations and tables."""

from __future__ import annotations

import re
import unicodedata

from benchmark_spec.errors import MethodNameError, SpecError, quoted

_DATASET = re.compile(r"(?!all$)[a-z][a-z0-9_]*")
_ATTRIBUTE_SET = re.compile(r"[a-z][a-z0-9]*")
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0]")
"""Characters that Unicode calls printable, but that are invisible."""
_MARKS = re.compile("[†‡]")
"""The marks of transductive methods and of stopped runs in tables."""
_MOST_STACKED = 4
"""Combining marks on one letter; more would overlap the lines above and below."""
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""The first characters of cells that spreadsheets take for formulas."""
_CELL = re.compile(r";[\s\"']*([=+\-@＝＋－＠])")
"""A formula in a later cell, where spreadsheets separate cells by semicolons, as in most of Europe.
"""
MAX_METHOD_NAME = 200
MAX_TEXT = 10_000


def slug(name: str) -> str:
    """Return `name` with every character outside ``A-Za-z0-9_.`` replaced by ``-``.

    Raises a SpecError if only dots and dashes are left, which cannot name a file.
    """
    result = re.sub(r"[^A-Za-z0-9_.]", "-", name)
    if not result.strip(".-"):
        raise SpecError(
            f"{quoted(name)} cannot name a file",
            expected="at least one letter, digit or underscore",
        )
    return result


def check_dataset_name(name: str) -> str:
    """Return `name` if it can name a split: lower-case letters, digits, underscores; not `all`."""
    if not _DATASET.fullmatch(name):
        raise SpecError(
            f"{quoted(name)} cannot be the name of a data set",
            expected="a lower-case word of letters, digits and underscores, such as fashion_mnist"
            + ("; to `load_dataset` `all` means every split" if name == "all" else ""),
        )
    return name


def check_attribute_set_name(name: str, where: str = "") -> str:
    """Return `name` if it can name a set of attributes: lower-case letters and digits.

    It is part of the names of suites, so it has no dash and no underscore.
    """
    if not _ATTRIBUTE_SET.fullmatch(name):
        raise SpecError(
            f"{quoted(name)} cannot be the name of a set of attributes",
            where=where,
            expected="a lower-case word of letters and digits, such as titles",
        )
    return name


def check_method_name(name: str, where: str = "", what: str = "method") -> str:
    """Return `name` if it can name a method or a run; raises a MethodNameError if not."""
    wrong = ""
    if not name or len(name) > MAX_METHOD_NAME:
        wrong = f"it has {len(name)} characters"
    elif name != name.strip():
        wrong = "a blank stands at one end"
    elif not name.isprintable():
        wrong = "it is not printable"
    elif mark := _INVISIBLE.search(name):
        wrong = f"it holds the invisible character U+{ord(mark[0]):04X}"
    elif mark := _MARKS.search(name):
        wrong = f"{mark[0]} is a mark that tables give"
    elif name.startswith(_FORMULA):
        wrong = f"a spreadsheet takes what begins with {name[0]} for a formula"
    elif mark := _CELL.search(name):
        wrong = (
            f"a spreadsheet that parts cells by ; takes what begins with {mark[1]} for a formula"
        )
    elif _most_marks(name) > _MOST_STACKED:
        wrong = f"more than {_MOST_STACKED} marks stand on one letter"
    if wrong:
        raise MethodNameError(
            f"{quoted(name, 60)} cannot be the name of a {what}: {wrong}",
            where=where,
            expected=f"1 to {MAX_METHOD_NAME} printable characters that can be seen, the first of "
            "them a letter or a digit, such as dinov2/NCC",
            fix=f"rename the {what}",
        )
    return name


def _most_marks(name: str) -> int:
    """Return the largest number of combining marks on one letter."""
    most = run = 0
    for character in name:
        run = run + 1 if unicodedata.category(character).startswith("M") else 0
        most = max(most, run)
    return most


def check_text(text: str, what: str, *, lines: bool = False) -> str:
    """Return `text` if it is printable, of one line or of several `lines`, and not too long.

    Raises a SpecError that names the first unprintable character.
    """
    bad = re.sub(r"[\n\t]", "", text) if lines else text
    if not bad.isprintable():
        code = next(ord(c) for c in bad if not c.isprintable())
        raise SpecError(
            f"{what} holds the unprintable character U+{code:04X}",
            expected="printable text" if lines else "one line of printable text",
            fix="leave the character out",
        )
    if len(text) > MAX_TEXT:
        raise SpecError(
            f"{what} has {len(text)} characters",
            expected=f"at most {MAX_TEXT}",
            fix="shorten it, and link to the rest",
        )
    return text


def one_line(text: str, most: int = 300) -> str:
    """Return the text on one line of at most `most` characters, unprintable ones as ``?``.

    Escapes of terminals, marks that turn the direction of writing and bytes that are not text are
    unprintable; a line break becomes a blank.
    """
    cut = text[: most + 1]
    line = "".join(c if c.isprintable() else " " if c in "\n\r\t" else "?" for c in cut)
    return line if len(text) <= most else f"{line[: most - 1]}…"
