"""Names as they appear in paths and configurations."""

from __future__ import annotations

import re

from benchmark_spec.errors import MethodNameError, SpecError

_DATASET = re.compile(r"[a-z][a-z0-9_]*")
MAX_METHOD_NAME = 200


def slug(name: str) -> str:
    """Return `name` with every character outside ``A-Za-z0-9_.`` replaced by ``-``.

    Raises
    ------
    SpecError
        If nothing but dots and dashes is left, which no file could be named after.
    """
    result = re.sub(r"[^A-Za-z0-9_.]", "-", name)
    if not result.strip(".-"):
        raise SpecError(
            f"{name!r} cannot name a file", expected="at least one letter, digit or underscore"
        )
    return result


def check_dataset_name(name: str) -> str:
    """Return `name` if it can be a split's name: lower-case letters, digits, underscores."""
    if not _DATASET.fullmatch(name):
        raise SpecError(
            f"{name!r} cannot be the name of a data set",
            expected="a lower-case word of letters, digits and underscores, such as fashion_mnist",
        )
    return name


def benchmark_task_id(dataset: str, task_set: str) -> str:
    """Name of a task set as a task of a Hub benchmark: ``cub-open-5w5s5q``.

    No two are the same, since the name of a data set has no dash.
    """
    return f"{check_dataset_name(dataset)}-{task_set}"


def check_method_name(name: str, where: str = "") -> str:
    """Return `name` if it can name a method: printable, not blank at either end, not long."""
    if not name or name != name.strip() or not name.isprintable() or len(name) > MAX_METHOD_NAME:
        raise MethodNameError(
            f"{name[:60]!r} cannot be the name of a method",
            where=where,
            expected=f"1 to {MAX_METHOD_NAME} printable characters, none of them a blank at "
            "either end, such as dinov2/NCC",
            fix="rename the method",
        )
    return name
