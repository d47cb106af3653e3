"""The one shape of a table, and how it is written as Markdown, LaTeX, CSV and JSON.

A table for people has cells of text, one for machines plain values: an empty cell is None.
:mod:`fslbench_data.render.console` prints it on the terminal.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmark_spec.version import OUTPUT_SCHEMA


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name
        The heading, and the name in CSV and JSON.
    cell
        Gives the value of a row; None where there is none.
    align
        Numbers stand to the right; the centre is for the terminal, papers take it for the left.
    once
        What a row must have in common with the row before to leave the cell blank on the terminal.
    style
        Gives the colour of a value on the terminal.
    missing
        Stands in tables for people where there is no value; files have an empty cell or null.
    """

    name: str
    cell: Callable[[Any], object]
    align: Literal["left", "right", "center"] = "left"
    once: Callable[[Any], object] | None = None
    style: Callable[[Any], str] | None = None
    missing: str = ""

    def text_of(self, value: object) -> str:
        """Return a value of this column as text."""
        return self.missing if value is None else str(value)


def right(name: str, cell: Callable[[Any], object], missing: str = "") -> Column:
    """Return a column that is aligned to the right, such as one of numbers."""
    return Column(name, cell, "right", missing=missing)


@dataclass(frozen=True)
class Table:
    """Rows of any objects, and the columns that say what is shown of them.

    Attributes
    ----------
    title
        One line; empty for none.
    notes
        Sentences below the table.
    """

    title: str
    columns: tuple[Column, ...]
    rows: Iterable[Any]
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    def cells(self, row: Any) -> list[Any]:
        """Return the values of a row."""
        return [column.cell(row) for column in self.columns]

    def texts(self, row: Any) -> list[str]:
        """Return the values of a row as texts."""
        return [column.text_of(column.cell(row)) for column in self.columns]


def markdown(tables: Sequence[Table], signature: str, notes: Sequence[str] = ()) -> str:
    """Write tables as Markdown; the signature stands first, as a comment."""
    comment = re.sub(r"-(?=-|$)", "- ", _one_line(signature))
    parts = [f"<!-- {comment} -->"] if signature else []
    for table in tables:
        lines = [f"**{_md(table.title)}**", ""] if table.title else []
        rules = ("---:" if column.align == "right" else "---" for column in table.columns)
        texts = [table.names, *map(table.texts, table.rows)]
        heading, *rows = (f"| {' | '.join(map(_md, row))} |" for row in texts)
        parts.append("\n".join([*lines, heading, f"| {' | '.join(rules)} |", *rows]))
        parts += map(_md, table.notes)
    return "\n\n".join([*parts, *map(_md, notes)]) + "\n"


def latex(tables: Sequence[Table], signature: str, notes: Sequence[str] = ()) -> str:
    r"""Write tables as LaTeX with ``\usepackage{booktabs}``; the signature is a comment."""
    parts = [f"% {_one_line(signature)}"] if signature else []
    parts.append(r"% needs \usepackage{booktabs}")
    for table in tables:
        align = "".join("r" if column.align == "right" else "l" for column in table.columns)
        caption = " ".join(filter(None, [_sentence(table.title), *table.notes]))
        label = re.sub(r"[^a-z0-9]+", "-", table.title.partition(":")[0].lower()).strip("-")
        texts = [table.names, *map(table.texts, table.rows)]
        heading, *rows = (" & ".join(map(_tex, row)) + r" \\" for row in texts)
        lines = [
            r"\begin{table}",
            r"\centering\footnotesize\setlength{\tabcolsep}{4pt}",
            *([rf"\caption{{{_tex(caption)}}}\label{{tab:{label}}}"] if caption else []),
            rf"\begin{{tabular}}{{{align}}}",
            *(r"\toprule", heading, r"\midrule", *rows, r"\bottomrule"),
            r"\end{tabular}",
            r"\end{table}",
        ]
        parts.append("\n".join(lines))
    return "\n\n".join([*parts, *(f"% {_one_line(note)}" for note in notes)]) + "\n"


def csv_text(table: Table, signature: str = "") -> str:
    """Write a table as CSV, after the signature as a line beginning with ``#``."""
    out = io.StringIO()
    out.write(f"# {_one_line(signature)}\n" if signature else "")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.names)
    writer.writerows(map(table.cells, table.rows))
    return out.getvalue()


def objects(table: Table) -> list[dict[str, Any]]:
    """Return the rows as JSON has them: values by name."""
    return [dict(zip(table.names, table.cells(row), strict=True)) for row in table.rows]


def json_text(content: dict[str, Any]) -> str:
    """Write a document of JSON that begins with the number of its schema."""
    content = {"schema": OUTPUT_SCHEMA, **content}
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _sentence(text: str) -> str:
    return text if not text or text.endswith(".") else f"{text}."


def _md(text: str) -> str:
    """Text for Markdown: neither markup nor formula, and no link, call or reference.

    Sites make links of addresses, of @names and of #numbers by themselves, unless something that
    is not seen parts them, perhaps already.
    """
    plain = re.sub(r"([\\`*_{}\[\]<>|#~$]|&(?=[#\w]))", r"\\\1", _one_line(text))
    return re.sub(r"@(?!\u200b)|#(?=\d)|:(?=//)|(?i:\bGH-(?=\d)|www(?=\.))", r"\g<0>&#8203;", plain)


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "†": r"$^\dagger$",
    "‡": r"$^\ddagger$",
    "°": r"$^\circ$",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "−": r"$-$",
    "–": "--",
    "…": r"\ldots{}",
    "[": "{[}",  # which a row's end, and a rule, would take for their option
    "]": "{]}",
}
_SIGNED = re.compile(r"^[+-](?=\d|$)")


def _tex(text: str) -> str:
    """Text for LaTeX: specials escaped, and a sign before a number or alone set as one."""
    text = _one_line(text)
    if text.startswith("*"):  # which the end of the row before would take for its own
        return f"{{*}}{_tex(text[1:])}"
    signed = {match.start() for match in _SIGNED.finditer(text)}
    return "".join(f"${c}$" if i in signed else _TEX.get(c, c) for i, c in enumerate(text))
