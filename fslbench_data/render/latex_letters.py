r"""Letters beyond ASCII in LaTeX: Greek ones in mathematics, those that pdfLaTeX lacks told."""

from __future__ import annotations

import unicodedata


def _paired(words: str) -> dict[str, str]:
    """Read what stands for what from a text of both by turns."""
    each = words.split()
    return dict(zip(each[::2], each[1::2], strict=True))


_MATHEMATICS = _paired(r"""
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
""")
_KNOWN = frozenset(
    "ªµºÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿĀāĂăĆćĈĉĊċČčĎďĒēĔĕĖėĚěĜĝĞğĠ"
    "ġĢģĤĥĨĩĪīĬĭİıĲĳĴĵĶķĹĺĻļĽľŁłŃńŅņŇňŌōŎŏŐőŒœŔŕŖŗŘřŚśŜŝŞşŠšŢţŤťŨũŪūŬŭŮůŰűŴŵŶŷŸŹźŻżŽžƒǄǅǆǇǈǉǊ"
    "ǋǌǍǎǏǐǑǒǓǔǢǣǦǧǨǩǰǴǵȘșȚțȲȳȷḂḃḍḞḟḠḡḥḰḱḷṃṅṇṛṣṭẎẏẐẑẞỲỳ"
    "¡¢£¤¥¦§¨©¬®¯°±²³´¶·¸¹¼½¾¿×÷‐‑‒–—―‖‘’“”†‡•…‰‱※‽⁄⁎⁒₡₤₦₩₫€₱℃№℗℞℠™Ω℧℮"
)
"""What pdfLaTeX sets in UTF-8 with no package, besides ASCII; found by setting each."""


def composed(text: str) -> str:
    """Return a text whose letters and the accents on them are one character each, if there is."""
    return unicodedata.normalize("NFC", text)


def in_mathematics(character: str) -> str:
    """Return a letter or a sign beyond ASCII as mathematics; any other character as it is."""
    styled = character == "µ" or "\U0001d400" <= character <= "\U0001d7ff"  # an italic alpha
    plain = unicodedata.normalize("NFKC", character) if styled else character
    if plain in _MATHEMATICS:
        return f"${_MATHEMATICS[plain]}$"
    return f"${plain}$" if styled and plain.isascii() else character


def beyond_pdflatex(text: str) -> list[str]:
    """List the characters of a LaTeX text that only LuaLaTeX and XeLaTeX set, each once."""
    return [c for c in dict.fromkeys(text) if not c.isascii() and c not in _KNOWN]
