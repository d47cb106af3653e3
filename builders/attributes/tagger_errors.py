"""A tagger that errs at known rates: attributes that came with a data set, with errors put in.

What a detector's errors do to tasks can only be seen where the truth is known.  Each attribute that
an image has is missed with one probability, each other of the source's attributes invented with
another, all independently::

    u(seed, path, word) = the first eight bytes of the SHA-256 of the three, parted by zero bytes,
                          over 2^64

and the tagger errs where u lies below the rate.  So nothing depends on an order, taggers of other
seeds err independently, and one seed errs at a higher rate wherever it does at a lower one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from benchmark_spec.errors import SpecError

MARK = "~"
"""Between what came with a data set and how a tagger errs, in a recipe."""

PARTS = MISS, INVENT, SEED = "miss", "invent", "seed"
EXPECTED = f"{MISS}=RATE,{INVENT}=RATE,{SEED}=NUMBER, each once or not at all"
_LONGEST_SEED = 18
"""Digits."""


@dataclass(frozen=True)
class TaggerErrors:
    """How often a tagger errs.

    Attributes
    ----------
    miss, invent
        Probabilities: to miss an attribute that an image has, to invent one that it has not.
    seed
        Which tagger of these rates it is.
    """

    miss: float = 0.0
    invent: float = 0.0
    seed: int = 0

    def __str__(self) -> str:
        rates = (str(rate).removesuffix(".0") for rate in (self.miss, self.invent))
        return ",".join(f"{n}={v}" for n, v in zip(PARTS, (*rates, self.seed), strict=True))

    @classmethod
    def parse(cls, text: str, where: str = "") -> TaggerErrors:
        """Read ``miss=0.2,invent=0.05,seed=1``: what is absent is 0."""
        values: dict[str, str] = {}
        for part in text.split(","):
            name, equals, value = part.partition("=")
            if not equals or name not in PARTS or name in values:
                raise SpecError(
                    f"{part!r} in {text!r} does not say how a tagger errs",
                    where=where,
                    expected=EXPECTED,
                )
            values[name] = value
        seed = values.pop(SEED, "0")
        if not (seed.isascii() and seed.isdigit() and len(seed) <= _LONGEST_SEED):
            raise SpecError(
                f"{SEED}={seed} is no seed",
                where=where,
                expected=f"a whole number of at most {_LONGEST_SEED} digits, 0 or more",
            )
        rates = {name: _rate(name, value, where) for name, value in values.items()}
        return cls(**rates, seed=int(seed))

    def __call__(
        self, attributes: Sequence[Sequence[str]], paths: Sequence[str], words: Sequence[str]
    ) -> list[list[str]]:
        """Give the attributes that the tagger finds of each of N images: sorted, each once.

        Parameters
        ----------
        attributes : N
            The true ones.
        paths : N
            What the images are known by, in the images table.
        words
            All that may be invented.
        """
        vocabulary = {word.lower() for word in words}
        return [
            sorted(
                w for w in vocabulary.union(true) if (w in true) is not self._errs(path, w, true)
            )
            for path, true in zip(paths, attributes, strict=True)
        ]

    def describe(self) -> dict[str, Any]:
        """Give what a table's provenance says of the errors."""
        return {MISS: self.miss, INVENT: self.invent, SEED: self.seed}

    def _errs(self, path: str, word: str, true: Sequence[str]) -> bool:
        digest = sha256(f"{self.seed}\0{path}\0{word}".encode()).digest()
        chance = int.from_bytes(digest[:8], "big") / 2**64
        return chance < (self.miss if word in true else self.invent)


def _rate(name: str, value: str, where: str) -> float:
    try:
        rate = float(value)
    except ValueError:
        rate = math.nan
    if not 0 <= rate <= 1:
        raise SpecError(
            f"{name}={value} is no rate of errors",
            where=where,
            expected="a number from 0 to 1, such as 0.2",
        )
    return rate
