"""What methods are called on a leaderboard, where strangers choose the same names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from fslbench_data.leaderboard.confusable_names import looks, mixes_scripts

_DIGITS = 8
_ALL_DIGITS = 64


def unique_labels(methods: Sequence[tuple[str, str]], taken: Iterable[str]) -> list[str]:
    """Give methods, each a name and its file's digest, labels that differ.

    Names that two have, names that look like another's (:mod:`.confusable_names`) and names that
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
