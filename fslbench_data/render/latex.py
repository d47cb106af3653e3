r"""Tables as LaTeX with ``\usepackage{booktabs}``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from benchmark_spec.errors import SpecError, shown
from fslbench_data.render.latex_letters import beyond_pdflatex, composed, in_mathematics
from fslbench_data.render.table import Table, one_line

SIMILAR = "∼"
"""The tilde as a mark: an ordinary one is set as small as a dash."""


def latex(
    tables: Sequence[Table],
    signature: str,
    notes: Sequence[str] = (),
    *,
    page: bool = False,
    label: str = "",
) -> str:
    r"""Write tables as LaTeX; the signature and what stands below them all are comments.

    Parameters
    ----------
    page
        Let floats be as wide as the page in a paper of two columns.
    label
        Of the first float; others have it with their number.  By default they follow from titles.
    """
    floats = []
    for number, together in enumerate(_together(tables), start=1):
        own = f"{label}-{number}" if label and number > 1 else label
        floats.append("\n".join(_float(together, "table*" if page else "table", own)))
    parts = [f"% {one_line(signature)}"] if signature else []
    parts.append(r"% needs \usepackage{booktabs}")
    if beyond := beyond_pdflatex("".join(floats)):
        parts.append(f"% needs lualatex, and a font that has them, for {' '.join(beyond)}")
    return "\n\n".join([*parts, *floats, *(f"% {one_line(note)}" for note in notes)]) + "\n"


def check_label(label: str) -> None:
    r"""Refuse what cannot be the name in a ``\label``."""
    if label and not re.fullmatch(r"[A-Za-z0-9:._+/-]+", label):
        raise SpecError(
            f"{shown(label)} cannot be a label in LaTeX",
            expected="letters, digits and : . _ + / -, such as tab:results",
        )


def _together(tables: Sequence[Table]) -> list[list[Table]]:
    """Put each table together with those that continue it."""
    floats: list[list[Table]] = []
    for table in tables:
        if table.continues and floats:
            floats[-1].append(table)
        else:
            floats.append([table])
    return floats


def _float(tables: Sequence[Table], environment: str, label: str) -> Iterator[str]:
    """Give the lines of one float: a table and those below it, in one tabular."""
    first, *more = tables
    caption = " ".join(filter(None, [_sentence(first.title), *first.notes]))
    title = re.sub(r"[^a-z0-9]+", "-", first.title.partition(":")[0].lower()).strip("-")
    widest = max((first, *more), key=lambda table: len(table.columns))
    align = "".join("r" if column.align == "right" else "l" for column in widest.columns)
    yield rf"\begin{{{environment}}}"
    closer = r"\renewcommand{\arraystretch}{0.96}" if more else ""  # a page's height is short
    yield rf"\centering\footnotesize\setlength{{\tabcolsep}}{{4pt}}{closer}"
    if caption:
        yield rf"\caption{{{_tex(caption)}}}\label{{{label or f'tab:{title}'}}}"
    yield rf"\begin{{tabular}}{{{align}}}"
    yield r"\toprule"
    yield from _rows(first)
    for table in more:
        yield r"\midrule[\heavyrulewidth]"
        yield from _rows(table)
    yield from (r"\bottomrule", r"\end{tabular}", rf"\end{{{environment}}}")


def _rows(table: Table) -> Iterator[str]:
    """Give the headings of a table, those of groups above the others, and its rows."""
    groups = [(name, len(list(some))) for name, some in groupby(table.columns, lambda c: c.group)]
    if any(name for name, _ in groups):
        cells, rules, end = [], [], 0
        for name, width in groups:
            start, end = end + 1, end + width
            cells.append(rf"\multicolumn{{{width}}}{{c}}{{{_tex(name)}}}")
            rules += [rf"\cmidrule(lr){{{start}-{end}}}"] if name else []
        yield " & ".join(cells) + r" \\"
        yield "".join(rules)
    yield " & ".join(_tex(column.name) for column in table.columns) + r" \\"
    yield r"\midrule"
    for row in table.rows:
        yield " & ".join(table.marked_up(row, _tex, r"\textbf{{{}}}".format, _hung)) + r" \\"


def _hung(marks: str) -> str:
    return rf"\rlap{{{_tex(marks.replace('~', SIMILAR))}}}" if marks else ""


def _sentence(text: str) -> str:
    return text if not text or text.endswith(".") else f"{text}."


TEX = {
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
    SIMILAR: r"$^\sim$",
    "°": r"$^\circ$",
    "§": r"\textsuperscript{\S}",
    "‖": r"$^\|$",
    "¶": r"\textsuperscript{\P}",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "−": r"$-$",
    "–": "--",
    "…": r"\ldots{}",
    "[": "{[}",  # which a row's end, and a rule, would take for their option
    "]": "{]}",
}
"""What stands for characters that LaTeX, or a table in it, would take for something else."""


def tex_of(character: str) -> str:
    """Return what stands for a character in LaTeX."""
    return TEX.get(character) or in_mathematics(character)


_SIGNED = re.compile(r"^[+-](?=\d|$)")
_MARKS = re.compile(r"[-+0=?·]+")
"""Several verdicts, whose signs would else become dashes."""


def _tex(text: str) -> str:
    """Text for LaTeX: specials escaped, a sign before a number and those of verdicts set as one."""
    text = composed(one_line(text))
    if text.startswith("*"):  # which the end of the row before would take for its own
        return f"{{*}}{_tex(text[1:])}"
    signs = re.finditer(r"[+-]", text) if _MARKS.fullmatch(text) else _SIGNED.finditer(text)
    signed = {match.start() for match in signs}
    return "".join(f"${c}$" if i in signed else tex_of(c) for i, c in enumerate(text))
