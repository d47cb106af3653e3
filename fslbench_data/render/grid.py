"""Tables as plain grids of text, and as Markdown and LaTeX for papers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark_spec.version import OUTPUT_SCHEMA


@dataclass(frozen=True)
class Grid:
    """A table of texts.

    Attributes
    ----------
    title
        One line; empty for none.
    columns
        Names, in order.
    right
        Names of the columns that are aligned to the right, such as numbers.
    rows
        As many cells each as there are columns.
    notes
        Sentences below the table.
    """

    title: str
    columns: tuple[str, ...]
    right: frozenset[str]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def markdown(grids: Sequence[Grid], signature: str, notes: Sequence[str] = ()) -> str:
    """Grids as Markdown; the signature stands first, as a comment."""
    comment = re.sub(r"-(?=-|$)", "- ", _one_line(signature))
    parts = [f"<!-- {comment} -->"] if signature else []
    for grid in grids:
        lines = [f"**{_md(grid.title)}**", ""] if grid.title else []
        lines.append(f"| {' | '.join(_md(name) for name in grid.columns)} |")
        rules = ("---:" if name in grid.right else "---" for name in grid.columns)
        lines.append(f"| {' | '.join(rules)} |")
        lines += [f"| {' | '.join(_md(cell) for cell in row)} |" for row in grid.rows]
        parts.append("\n".join(lines))
        parts += [_md(note) for note in grid.notes]
    parts += [_md(note) for note in notes]
    return "\n\n".join(parts) + "\n"


def latex(grids: Sequence[Grid], signature: str, notes: Sequence[str] = ()) -> str:
    r"""Grids as LaTeX tables that need ``\usepackage{booktabs}``; the signature is a comment."""
    parts = [f"% {_one_line(signature)}"] if signature else []
    parts.append(r"% needs \usepackage{booktabs}")
    for grid in grids:
        align = "".join("r" if name in grid.right else "l" for name in grid.columns)
        caption = " ".join(filter(None, [_sentence(grid.title), *grid.notes]))
        label = re.sub(r"[^a-z0-9]+", "-", grid.title.partition(":")[0].lower()).strip("-")
        lines = [
            r"\begin{table}",
            r"\centering\footnotesize\setlength{\tabcolsep}{4pt}",
            *([rf"\caption{{{_tex(caption)}}}\label{{tab:{label}}}"] if caption else []),
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            " & ".join(_tex(name) for name in grid.columns) + r" \\",
            r"\midrule",
            *(" & ".join(_tex(cell) for cell in row) + r" \\" for row in grid.rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
        parts.append("\n".join(lines))
    parts += [f"% {_one_line(note)}" for note in notes]
    return "\n\n".join(parts) + "\n"


def csv_text(grid: Grid, signature: str) -> str:
    """A grid as CSV after the signature as a line beginning with ``#``."""
    out = io.StringIO()
    out.write(f"# {_one_line(signature)}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([grid.columns, *grid.rows])
    return out.getvalue()


def json_text(grid: Grid, signature: str) -> str:
    """A grid of whole numbers as JSON: its title, rows as objects, and notes."""
    rows = [
        {
            name: (int(cell) if cell.isdigit() else cell or None) if name in grid.right else cell
            for name, cell in zip(grid.columns, row, strict=True)
        }
        for row in grid.rows
    ]
    content: dict[str, object] = {"schema": OUTPUT_SCHEMA, "signature": signature}
    content |= {"title": grid.title, "rows": rows, "notes": grid.notes}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


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
    "·": r"$\cdot$",
    "×": r"$\times$",
    "−": r"$-$",
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
