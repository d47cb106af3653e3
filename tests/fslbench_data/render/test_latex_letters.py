"""LaTeX: Greek and other letters, set by pdfLaTeX or told to be for LuaLaTeX; tall tables."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from msgspec.structs import replace
from typesetting import typeset

from fslbench_data.render.latex import _MATHEMATICS, beyond_pdflatex, latex, tex_of
from fslbench_data.render.table import Column, Table

GREEK = "αβγδεζηθικλμνξοπρςστυφχψωΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩϑϕϖϱϵ"


def _table(*names: str) -> Table:
    return Table("", (Column("method", lambda name: name, strong=lambda name: True),), names)


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("α-TIM", r"$\alpha$-TIM"),
        ("ε", r"$\varepsilon$"),
        ("Ω", r"$\Omega$"),
        ("Α", r"$\mathrm{A}$"),
        ("µ", r"$\mu$"),
        ("𝛼𝐋", r"$\alpha$$L$"),
        ("ℓ₂", r"$\ell$$_{2}$"),
        ("L²", "L$^{2}$"),
        ("é", "é"),
        ("e\u0301", "é"),
        ("→", r"$\rightarrow$"),
        ("中", "中"),
    ],
)
def test_letters(text: str, tex: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert "".join(map(tex_of, composed)) == tex
    assert f"{{{tex}}}" in latex([_table(text)], "")


def test_what_pdflatex_lacks_is_told() -> None:
    text = latex([_table("Метод", "中M", "α-TIM é")], "signature of 文")
    assert "% needs lualatex, and a font that has them, for М е т о д 中\n" in text
    assert "lualatex" not in latex([_table("α-TIM", "Ünïcode ł ∞ R²")], "signature of 文")


def test_pdflatex_sets_every_letter_that_is_not_told(tmp_path: Path) -> None:
    """All letters of Latin and Greek scripts and all signs that are mapped, one a row."""
    codes = (*range(0xA0, 0x250), *range(0x370, 0x400), *range(0x1E00, 0x2300))
    candidates = [*map(chr, codes)]
    candidates += [*GREEK, *_MATHEMATICS, *"𝛼𝐋𝟚"]
    found = [c for c in candidates if unicodedata.normalize("NFC", c) == c and c.isprintable()]
    good = [c for c in found if not beyond_pdflatex(tex_of(c))]
    assert set(GREEK) <= set(good)
    assert len(good) > 380
    text = latex([_table("".join(good[at : at + 40])) for at in range(0, len(good), 40)], "")
    assert "lualatex" not in text
    assert "Missing character" not in typeset(tmp_path, text)


@pytest.mark.parametrize("title", ["", "Task sets"])
def test_a_table_taller_than_a_page_goes_over_several(tmp_path: Path, title: str) -> None:
    tall = replace(_table(*map(str, range(120))), title=title)
    text = latex([tall, _table(*map(str, range(50)))], "")
    assert r"\usepackage{booktabs,longtable}" in text
    assert text.count(r"\begin{longtable}") == text.count(r"\begin{table}") == 1
    assert "too large" not in typeset(tmp_path, text)
