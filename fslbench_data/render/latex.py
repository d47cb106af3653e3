r"""Tables as LaTeX with ``\usepackage{booktabs}``, and their widths."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, Literal

from msgspec.structs import replace

from benchmark_spec.errors import SpecError, quoted
from fslbench_data.render.table import Column, Table, collapsed

MOST_ROWS = 50
"""Most rows of a table that fits a page."""

MOST_LINES = 48.0
"""Most lines of a float, about a page."""

PAGE, TEXT = 469.0, 345.0
"""Width of a page in points in LaTeX's article with two columns, and with one.

Other classes have as much.
"""

Width = Literal["column", "page"] | float
"""The width of a table or figure: a column of a two-column paper, its page, or points."""

MOST_WIDTH = 1000
"""Points that a table or a figure is wide, at most."""


def in_points(width: Width, named: Mapping[str, float], least: float) -> float:
    """Return a width in points; raise a SpecError unless it is named, or from `least` points on."""
    points = named.get(width, 0.0) if isinstance(width, str) else float(width)
    if not least <= points <= MOST_WIDTH:
        expected = f"column, page, or points from {least} to {MOST_WIDTH}"
        raise SpecError(f"no width {width!r}", expected=expected)
    return points


SIMILAR = "∼"
"""The tilde as a mark, since LaTeX sets an ordinary one as small as a dash."""


def latex(
    tables: Sequence[Table],
    signature: str,
    notes: Sequence[str] = (),
    *,
    page: bool | None = None,
    label: str = "",
) -> str:
    r"""Write tables as LaTeX; the signature and the final notes are comments.

    Parameters
    ----------
    page
        Whether floats are as wide as the page in a paper of two columns; None in a paper of one
        column, in which a tall table may span pages.
    label
        The label of the first float, to which others add their number; by default made of titles.
    """
    float_tables: list[list[Table]] = []
    for table in chain.from_iterable(map(fitting, tables)) if page is None else tables:
        if not (table.continues and float_tables):
            float_tables.append([])
        float_tables[-1].append(table)
    floats, uses = [], Counter[str]()
    for group in float_tables:
        slug = re.sub(r"[^a-z0-9]+", "-", group[0].title.partition(":")[0].lower()).strip("-")
        base = label or f"tab:{slug}"
        uses[base] += 1
        number = f"-{uses[base]}" if uses[base] > 1 else ""
        floats.append("\n".join(_float(group, page, f"{base}{number}")))
    parts = [f"% {collapsed(signature)}"] if signature else []
    long = any(r"\begin{longtable}" in text for text in floats)
    parts.append(rf"% needs \usepackage{{booktabs{',longtable' if long else ''}}}")
    if beyond := beyond_pdflatex("".join(floats)):
        parts.append(f"% needs lualatex, and a font that has them, for {' '.join(beyond)}")
    return "\n\n".join([*parts, *floats, *(f"% {collapsed(note)}" for note in notes)]) + "\n"


def check_label(label: str) -> None:
    r"""Raise a SpecError unless a text can be a ``\label``."""
    if label and not re.fullmatch(r"[A-Za-z0-9:._+/-]+", label):
        raise SpecError(
            f"{quoted(label)} cannot be a label in LaTeX",
            expected="letters, digits and : . _ + / -, such as tab:results",
        )


def _float(tables: Sequence[Table], page: bool | None, label: str) -> Iterator[str]:
    """Yield the lines of one float: a table and those below it, in one tabular."""
    first, *more = tables
    environment = "table*" if page else "table"
    sentence = first.title if first.title.endswith(".") else f"{first.title}."
    caption = tex(" ".join([*([sentence] if first.title else []), *first.notes]))
    if caption:
        caption = rf"\caption{{{caption}}}\label{{{label}}}"
    widest = max((first, *more), key=lambda table: len(table.columns))
    align = "".join("r" if column.align == "right" else "l" for column in widest.columns)
    closer = r"\renewcommand{\arraystretch}{0.96}" if more else ""  # a page's height is short
    if page is None and not more and len([*first.rows]) > MOST_ROWS - lines_of_caption(first):
        yield from _over_pages(first, align, caption)
        return
    yield rf"\begin{{{environment}}}"
    yield rf"\centering\footnotesize\setlength{{\tabcolsep}}{{4pt}}{closer}"
    if caption:
        yield r"\setlength{\belowcaptionskip}{4pt}"
        yield caption
    yield rf"\begin{{tabular}}{{{align}}}"
    for table in (first, *more):
        yield r"\toprule" if table is first else r"\midrule[\heavyrulewidth]"
        yield from (*_headings(table), *_rows(table))
    yield from (r"\bottomrule", r"\end{tabular}", rf"\end{{{environment}}}")


def lines_of_caption(table: Table) -> int:
    """Estimate how many lines the title and notes of a table take in one column."""
    return int(text_width(" ".join([table.title, *table.notes])) / TEXT)


def _over_pages(table: Table, align: str, caption: str) -> Iterator[str]:
    """Yield the lines of a table that is too tall for a page; each page repeats its headings."""
    headings = [r"\toprule", *_headings(table)]
    yield r"{\footnotesize\setlength{\tabcolsep}{4pt}"
    yield rf"\begin{{longtable}}{{{align}}}"
    yield from ([rf"{caption} \\"] if caption else [])
    yield from (*headings, r"\endfirsthead", *headings, r"\endhead")
    yield from (*_rows(table), r"\bottomrule", r"\end{longtable}}")


def _headings(table: Table) -> Iterator[str]:
    """Yield the headings of a table, those of groups above the others."""
    if table.groups:
        cells, rules, end = [], [], 0
        for name, width in table.groups:
            start, end = end + 1, end + width
            cells.append(rf"\multicolumn{{{width}}}{{c}}{{{tex(name)}}}")
            rules += [rf"\cmidrule(lr){{{start}-{end}}}"] if name else []
        yield " & ".join(cells) + r" \\"
        yield "".join(rules)
    yield " & ".join(tex(column.name) for column in table.columns) + r" \\"
    yield r"\midrule"


def _rows(table: Table) -> Iterator[str]:
    """Yield the rows of a table, with a space between shaded and other rows."""
    before = None
    for row in table.rows:
        shaded = None if table.shaded is None else table.shaded(row)
        if before is not None and shaded != before:
            yield r"\addlinespace"
        before = shaded
        yield " & ".join(table.marked_up(row, tex, r"\textbf{{{}}}".format, _hung)) + r" \\"


def _hung(marks: str) -> str:
    return rf"\rlap{{\,{tex(marks.replace('~', SIMILAR))}}}" if marks else ""


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
    "[": "{[}",  # the end of a row and a rule would take it for their option
    "]": "{]}",
}
"""Replacements of characters that are special to LaTeX, or to a table in it."""

_LETTERS = r"""
    α \alpha β \beta γ \gamma δ \delta ε \varepsilon ζ \zeta η \eta θ \theta ι \iota κ \kappa
    λ \lambda μ \mu ν \nu ξ \xi ο o π \pi ρ \rho ς \varsigma σ \sigma τ \tau υ \upsilon φ \varphi
    χ \chi ψ \psi ω \omega ϑ \vartheta ϕ \phi ϖ \varpi ϱ \varrho ϵ \epsilon
    Γ \Gamma Δ \Delta Θ \Theta Λ \Lambda Ξ \Xi Π \Pi Σ \Sigma Υ \Upsilon Φ \Phi Ψ \Psi Ω \Omega
    Α \mathrm{A} Β \mathrm{B} Ε \mathrm{E} Ζ \mathrm{Z} Η \mathrm{H} Ι \mathrm{I} Κ \mathrm{K}
    Μ \mathrm{M} Ν \mathrm{N} Ο \mathrm{O} Ρ \mathrm{P} Τ \mathrm{T} Χ \mathrm{X}
    ∞ \infty ≤ \leq ≥ \geq ≠ \neq ≈ \approx ≡ \equiv ∝ \propto → \rightarrow ← \leftarrow
    ↔ \leftrightarrow ⇒ \Rightarrow ∈ \in ∉ \notin ⊂ \subset ⊆ \subseteq ∪ \cup ∩ \cap ∅ \emptyset
    ∀ \forall ∃ \exists ¬ \neg ∧ \wedge ∨ \vee ⊕ \oplus ⊗ \otimes ∘ \circ ∗ \ast ⋆ \star ★ \star
    ∂ \partial ∇ \nabla ∑ \sum ∏ \prod ∫ \int √ \surd ℓ \ell ′ ' ″ '' • \bullet
    ⁰ ^{0} ¹ ^{1} ² ^{2} ³ ^{3} ⁴ ^{4} ⁵ ^{5} ⁶ ^{6} ⁷ ^{7} ⁸ ^{8} ⁹ ^{9} ⁺ ^{+} ⁻ ^{-} ⁿ ^{n}
    ₀ _{0} ₁ _{1} ₂ _{2} ₃ _{3} ₄ _{4} ₅ _{5} ₆ _{6} ₇ _{7} ₈ _{8} ₉ _{9} ₊ _{+} ₋ _{-} ₙ _{n}
"""
_MATHEMATICS = dict(line.split() for line in re.findall(r"\S+ \S+", _LETTERS))


_KNOWN = frozenset(
    "ªµºÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿĀāĂăĆćĈĉĊċČčĎďĒēĔĕĖėĚěĜĝĞğĠ"
    "ġĢģĤĥĨĩĪīĬĭİıĲĳĴĵĶķĹĺĻļĽľŁłŃńŅņŇňŌōŎŏŐőŒœŔŕŖŗŘřŚśŜŝŞşŠšŢţŤťŨũŪūŬŭŮůŰűŴŵŶŷŸŹźŻżŽžƒǄǅǆǇǈǉǊ"
    "ǋǌǍǎǏǐǑǒǓǔǢǣǦǧǨǩǰǴǵȘșȚțȲȳȷḂḃḍḞḟḠḡḥḰḱḷṃṅṇṛṣṭẎẏẐẑẞỲỳ"
    "¡¢£¤¥¦§¨©¬®¯°±²³´¶·¸¹¼½¾¿×÷‐‑‒–—―‖‘’“”†‡•…‰‱※‽⁄⁎⁒₡₤₦₩₫€₱℃№℗℞℠™Ω℧℮"
)
"""Characters besides ASCII that pdfLaTeX sets in UTF-8 without a package; found by trying each."""


def tex_of(character: str) -> str:
    """Return a character in LaTeX."""
    if character in TEX:
        return TEX[character]
    styled = character == "µ" or "\U0001d400" <= character <= "\U0001d7ff"  # an italic alpha
    plain = unicodedata.normalize("NFKC", character) if styled else character
    if plain in _MATHEMATICS:
        return f"${_MATHEMATICS[plain]}$"
    return f"${plain}$" if styled and plain.isascii() else character


def beyond_pdflatex(text: str) -> list[str]:
    """List the characters of a LaTeX text that only LuaLaTeX and XeLaTeX set, each once."""
    return [c for c in dict.fromkeys(text) if not c.isascii() and c not in _KNOWN]


_SIGNED = re.compile(r"^[+-](?=\d|$)")
_VERDICTS = re.compile(r"[-+0=?·]+")
"""Several verdicts, whose hyphens would become dashes."""


def tex(text: str) -> str:
    """Return text for LaTeX: special characters escaped, signs of numbers and verdicts as math."""
    text = unicodedata.normalize("NFC", collapsed(text))
    if text.startswith("*"):  # the end of the row before would take it for its own
        return f"{{*}}{tex(text[1:])}"
    signs = re.finditer(r"[+-]", text) if _VERDICTS.fullmatch(text) else _SIGNED.finditer(text)
    positions = {match.start() for match in signs}
    return "".join(
        f"${c}$" if i in positions else "{-}" if text[i - 1 : i + 1] == "--" else tex_of(c)
        for i, c in enumerate(text)  # two hyphens would become a dash
    )


_CHARACTERS = {
    2.36: "!',.:;[]`il|",
    2.83: " -fj",
    3.35: "()Irst",
    3.78: "ce",
    4.25: '"$*/0123456789\\ago{}z?–',
    4.49: "Jkqvxy",
    4.72: "Sbdhnpu†‡§¶‖~∼",
    5.31: "LZ^",
    5.78: "EFP",
    6.25: "BCRTw",
    6.61: "ADGHKNOQUVXY&+<=>@_±−",
    7.78: "M#%m",
    8.73: "W",
}
"""Widths in points, measured in ``\\footnotesize`` of a class of ten points, in its own fonts.

Those of other classes are at most as wide: Times sets about a tenth narrower.
"""

_WIDTH_OF = {letter: width for width, letters in _CHARACTERS.items() for letter in letters}

_WIDEST = max(_CHARACTERS)
"""The width taken for characters that were not measured."""

_BOLD = 1.16
"""The width of bold digits relative to others."""

GAP = 8.0
"""Points between two columns; half of it is before the first and after the last."""


def text_width(text: str) -> float:
    """Return the width of a text, in points."""
    return sum(_WIDTH_OF.get(letter, _WIDEST) for letter in text)


def column_width(column: Column, rows: Iterable[Any]) -> float:
    """Return the width of a column with its gap, in points."""
    widths = [text_width(column.name)]
    for row in rows:
        bold = column.strong is not None and column.strong(row)
        text = column.text_of(column.cell(row))
        widths.append(text_width(text) * (_BOLD if bold else 1.0))
    return max(widths) + GAP


def fitting(table: Table) -> list[Table]:
    """Split a table with groups of numbers that is too wide for one column (:func:`in_parts`)."""
    if not table.groups or table_width([table]) <= TEXT:
        return [table]
    heads = next(i for i, column in enumerate(table.columns) if column.group)
    rule_lines = len(table.columns) / 3  # between parts, and headings of groups
    return in_parts(table, heads, TEXT, MOST_LINES - lines_of_caption(table) - rule_lines)


def in_parts(table: Table, heads: int, points: float, lines: float) -> list[Table]:
    """Split the columns of numbers, which follow the first `heads`, into parts with these heads.

    Parts are at most `points` wide if a single column is.  Columns of a group stay together if they
    fit.  Parts are stacked in floats of at most `lines` lines, each with the table's notes.
    """
    rows, head_columns, numbers = [*table.rows], table.columns[:heads], table.columns[heads:]
    groups = [[*group] for _, group in groupby(numbers, lambda column: column.group or column)]
    # parts are stacked, so that all columns are as wide as the widest
    room = points - sum(column_width(head, rows) for head in head_columns)
    widest = max(column_width(column, rows) for column in numbers)
    headings = (
        (text_width(group[0].group) + GAP) / len(group) for group in groups if group[0].group
    )
    most = max(1, int(room // max(widest, *headings, 0.0)))
    blocks: list[list[Column]] = [[]]
    for group in groups:
        for start in range(0, len(group), most):
            columns = group[start : start + most]
            if blocks[-1] and len(blocks[-1]) + len(columns) > most:
                blocks.append([])
            blocks[-1] += columns
    parts_per_float = max(1, int(lines) // (len(rows) + 3))
    what, colon, more = table.title.removesuffix(".").partition(":")
    parts = []
    for i, block in enumerate(blocks):
        float_number, position = divmod(i, parts_per_float)
        part = replace(table, columns=(*head_columns, *block), rows=rows)
        if position:
            part = replace(part, title="", notes=(), continues=True)
        elif float_number:
            part = replace(part, title=f"{what}, part {float_number + 1}{colon}{more}")
        parts.append(part)
    return parts


def table_width(tables: Sequence[Table]) -> float:
    """Return the width of the widest table in points; a group may be narrower than its heading."""
    widths = [0.0]
    for table in tables:
        rows, width = [*table.rows], 0.0
        for name, group in groupby(table.columns, lambda column: column.group):
            width_of_columns = sum(column_width(column, rows) for column in group)
            width += max(width_of_columns, text_width(name) + GAP)
        widths.append(width)
    return max(widths)
