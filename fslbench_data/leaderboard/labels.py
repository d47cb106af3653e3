"""What methods are called on a leaderboard, where strangers choose names that look like others.

A small part of what Unicode lists as confusable (UTS 39): Cyrillic, Greek and Armenian letters that
look like Latin ones, and Latin letters and digits that look like or stand for each other.  The rest
is mostly found by its script.  What stands between digits counts (1.5 is not 15), between letters
it does not.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

_ALIKE = """
A4АΑ B8ВΒ CС E3ЕΕЗз FϜ GԌ HНΗ JЈͿ KКΚ MМΜ NΝ O0ОΟՕ PРΡ QԚ S5ЅՏ T7ТΤ UՍ VѴ WԜ XХΧ YУҮΥ ZΖ
6б aаαɑ bьЬβ cсς dԁ eеєε gɡց hһհ jјϳյȷ kкκ l1iIіІιΙıӀӏ|ǀ mм nпηո oоοσօ pрρ qԛզ rг sѕ tтτ
uиυμսʋ vѵν wԝωѡա xхχ yуүγʏ zζ
"""
"""A letter or digit of Latin script, then what looks like it; of letters as they stand."""
_SEPARATORS = dict.fromkeys(map(ord, "∙∕⁄╱⧸−ʼ"), "-")  # those that Unicode takes for something else
_KEPT = "*#&%@"
"""Punctuation that names a variant, as in ``ProtoNet*``."""
_TABLE = str.maketrans({other: word[0] for word in _ALIKE.split() for other in word[1:]})
_PAIRS = re.compile("rn|vv")
_APART = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "KATAKANA-HIRAGANA", "MODIFIER")
"""Beginnings of the names of letters that no script of an alphabet is mistaken for."""
_DIGITS = 8
_ALL_DIGITS = 64


def unique_labels(methods: Sequence[tuple[str, str]], taken: Iterable[str]) -> list[str]:
    """Give methods, each a name and its file's digest, labels that differ.

    Names that two have, names that look like another's (:func:`looks`) and names that
    mix alphabets get the first eight digits of the file's digest behind them, or as many as tell
    them apart: ``ProtoNet (1a2b3c4d)``.  Labels that are `taken`, the names of reference methods,
    stay as they are.
    """
    fixed = set(taken)
    shapes = [looks(name) for name, _ in methods]
    seen = Counter(shape for own in [*shapes, *map(looks, fixed)] for shape in own)
    digits = [
        _DIGITS if mixes_scripts(name) or any(seen[shape] > 1 for shape in own) else 0
        for (name, _), own in zip(methods, shapes, strict=True)
    ]
    while True:
        labels = [
            f"{name} ({digest[:some]})" if some else name
            for (name, digest), some in zip(methods, digits, strict=True)
        ]
        count = Counter(labels)
        clash = [i for i, label in enumerate(labels) if count[label] > 1 or label in fixed]
        if all(digits[i] == _ALL_DIGITS for i in clash):
            return labels
        for i in clash:
            digits[i] = min(max(2 * digits[i], _DIGITS), _ALL_DIGITS)


def looks(name: str) -> frozenset[str]:
    """Return what a name looks like; names that have one of these in common look alike."""
    plain = _plain(name)
    return frozenset({_skeleton(plain), _skeleton(plain.casefold())})


def mixes_scripts(name: str) -> bool:
    """Whether letters of several alphabets stand in a name, such as Latin and Cyrillic.

    Chinese, Japanese and Korean characters may stand beside any one alphabet.
    """
    if name.isascii():
        return False
    names = (unicodedata.name(c, "?") for c in _plain(name) if c.isalpha())
    scripts = {re.split("[ -]", text)[0] for text in names if not text.startswith(_APART)}
    return len(scripts) > 1


def _plain(name: str) -> str:
    """Without accents, and without other forms of the same characters."""
    if name.isascii():
        return name
    split = unicodedata.normalize("NFKD", name)
    return "".join(c for c in split if unicodedata.category(c) != "Mn")


def _skeleton(text: str) -> str:
    """What looks the same, written the same way."""
    shown = _joined(text).translate(_TABLE).casefold()
    return _PAIRS.sub(lambda match: {"rn": "m", "vv": "w"}[match[0]], shown)


def _joined(text: str) -> str:
    """Without what stands between letters; one mark for whatever stands between digits."""
    kinds = [(c, unicodedata.category(c)) for c in text.translate(_SEPARATORS)]
    separated = "".join(
        " " if c not in _KEPT and (kind[0] in "PZ" or kind in ("So", "Sk")) else c
        for c, kind in kinds
    )
    joined = re.sub(r"(?<!\d) +| +(?!\d)", "", separated)
    return re.sub(" +", ".", joined) or text  # a name may be all signs
