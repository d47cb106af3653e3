"""Which superclass each class is in: by a CSV file with the columns class and superclass."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmark_spec.errors import SourceError, listing
from builders.sources.csv_list import CsvList

SUPERCLASSES = CsvList(
    "superclasses", ("class", "superclass"), " (a class like no other is a superclass of its own)"
)


def read_superclasses(folder: Path, name: str, classes: Sequence[str]) -> dict[str, str]:
    """Read the superclass of each class from a list that has all of them.

    Parameters
    ----------
    folder, name
        The raw folder, and the file in it: CSV (UTF-8) with the header ``class,superclass``.  A
        class is the name of its folder; a superclass is any text.
    classes
        Names of all classes.

    Raises
    ------
    SourceError
        If there is no such file, it is not of this form, lists a class twice or without a
        superclass, one that is not there, or not all.
    """
    superclass_of = SUPERCLASSES.read(folder, name)
    unknown = [label for label in superclass_of if label not in classes]
    if unknown:
        raise SourceError(
            f"{name}: {len(unknown)} of {len(superclass_of)} names are no classes of the data set: "
            f"{listing(unknown, 4)}",
            where=str(folder / name),
            expected=f"folders of {folder}, such as {min(classes, default='cat')}",
        )
    missing = [label for label in classes if label not in superclass_of]
    if missing:
        raise SourceError(
            f"{name}: {len(missing)} of {len(classes)} classes are not listed: "
            f"{listing(missing, 4)}",
            where=str(folder / name),
            expected="a superclass of every class, or no list at all",
            fix="add a line for each; a class like no other is a superclass of its own",
        )
    return superclass_of
