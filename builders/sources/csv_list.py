"""Lists in a raw folder that say something of images or classes: CSV files of two columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmark_spec.errors import SourceError, listing
from builders.sources.labels import is_missing


@dataclass(frozen=True)
class CsvList:
    """The form of a list, and what its errors say.

    Attributes
    ----------
    option
        The option of a source that names such a file: what it lists, in the plural.
    header
        Its two columns: what a line is of, and what it says of that.
    no_value
        What to do about a line that says nothing; may be empty.
    """

    option: str
    header: tuple[str, str]
    no_value: str = ""

    @property
    def expected(self) -> str:
        """The form, in words."""
        of = {"path": "an image"}.get(self.header[0], f"a {self.header[0]}")
        return f"a CSV file (UTF-8) with the header {','.join(self.header)} and one line {of}"

    def read(self, folder: Path, name: str) -> dict[str, str]:
        """Read the file `name` of a raw folder: what it says, by what that is of.

        Raises
        ------
        SourceError
            If there is no such file, it is not of this form, or names something twice or without
            a value.
        """
        file = folder / name
        try:
            lines = list(_lines(file.read_text(encoding="utf-8-sig")))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            problem = error.strerror if isinstance(error, OSError) else str(error)
            raise SourceError(
                f"the list of {self.option}, {name}, cannot be read: {problem}",
                where=str(file),
                expected=self.expected,
                fix=f"write that file into the raw folder, or leave out the option `{self.option}`",
            ) from None
        if not lines or lines[0][1] != list(self.header):
            header = ",".join(lines[0][1]) if lines else ""
            raise SourceError(
                f"{name}: the header is {header!r}", where=f"{file}, line 1", expected=self.expected
            )
        said: dict[str, str] = {}
        empty: dict[int, str] = {}
        for number, fields in lines[1:]:
            problem = self._problem(fields, said)
            if problem:
                raise SourceError(
                    f"{name}: line {number} {problem}",
                    where=f"{file}, line {number}",
                    expected=self.expected,
                )
            said[fields[0]] = fields[1].strip()
            if is_missing(fields[1]):
                empty[number] = fields[0]
        if empty:
            number, of = next(iter(empty.items()))
            raise SourceError(
                f"{name}: {len(empty)} of {len(said)} lines say nothing: line {number} gives {of} "
                f"no {self.header[1]}{self.no_value}",
                where=f"{file}, line{'s' if len(empty) > 1 else ''} {listing([*empty])}",
                expected=self.expected,
            )
        return said

    def _problem(self, fields: list[str], said: dict[str, str]) -> str:
        """Say what is wrong with a line, after those of `said`; empty if nothing is."""
        if len(fields) != len(self.header):
            return f"has {len(fields)} fields, not {len(self.header)}"
        return f"names {fields[0]} again" if fields[0] in said else ""


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Return the number and fields of each line that is not empty."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    for fields in reader:
        if fields:
            yield reader.line_num, fields
