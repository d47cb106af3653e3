"""Texts and attributes that came with a data set."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from benchmark_spec.errors import SourceError, SpecError
from builders.sources import SOURCES
from builders.sources.image_set import ImageSet
from builders.sources.source import source_of

GIVEN = "given"
"""The name for texts that came with the data set, in place of a captioner's."""


def given_texts(images: ImageSet, source: str) -> list[str | None]:
    """Return the text that came with each of N images; None where nothing came."""
    if images.texts is None:
        check_given(source, "texts")
    of_path = images.texts or {}
    return [of_path.get(path) for path in images.images.column("path").to_pylist()]


def given_attributes(images: ImageSet, source: str) -> list[list[str]]:
    """Return the attributes that came with each of N images: sorted, each once, in lower case."""
    if images.attributes is None:
        check_given(source, "attributes")
    of_path, paths = images.attributes or {}, images.images.column("path").to_pylist()
    return [sorted({attribute.lower() for attribute in of_path.get(path, ())}) for path in paths]


def given_values(
    images: ImageSet, source: str, word: str, texts: Sequence[str | None]
) -> tuple[list[list[str]], list[str | None]]:
    """Return whether each of N images has an attribute, as a value of one that all have.

    Gives ``[word]`` or ``["not word"]`` of each, and as text the object in it: its given text and
    its other attributes.  The object is None for an image without a text, and for a second image of
    an object with the same value.
    """
    values, objects, seen = [], [], set()
    classes = images.images.column("class_id").to_pylist()
    attributes = given_attributes(images, source)
    for label, text, of_image in zip(classes, texts, attributes, strict=True):
        value = word if word in of_image else f"not {word}"
        depicted = "; ".join([text or "", *(other for other in of_image if other != word)])
        first = text is not None and (label, depicted, value) not in seen
        seen.add((label, depicted, value))
        values.append([value])
        objects.append(depicted if first else None)
    return values, objects


def check_given(source: str, name: str, where: str = "") -> Any:
    """Return whether ``texts`` came with a source, or its ``attributes``; SourceError if none."""
    came = came_with(source, name)
    if not came:
        others = ", ".join(other for other in SOURCES if came_with(other, name))
        raise SourceError(
            f"no {name} came with {source}",
            where=where,
            expected=f"a source that has some: {others}",
            fix="of own data name in the options `texts`, a CSV file of a folder or a column of a "
            "Hub data set, or of a folder `attributes`, for the recipe given; or let a captioner "
            "write texts, such as blip+textblob",
        )
    return came


def came_with(source: str, name: str) -> Any:
    """Return whether ``texts`` came with a source; or its ``attributes``, none if it has none."""
    return getattr(source_of(source), name)


MARK = "~"
"""Separates given attributes from the errors of a tagger, in a recipe."""

_PARTS = ("miss", "invent", "seed")
_LONGEST_SEED = 18
"""Digits."""


@dataclass(frozen=True)
class TaggerErrors:
    """A tagger with independent errors at known rates, to measure the effect of its errors.

    It errs where the first eight bytes of the SHA-256 of seed, path and word, parted by zero bytes,
    over 2^64 lie below the rate: nothing depends on an order.
    """

    miss: float = 0.0
    invent: float = 0.0
    seed: int = 0

    def __str__(self) -> str:
        rates = (str(rate).removesuffix(".0") for rate in (self.miss, self.invent))
        return ",".join(f"{n}={v}" for n, v in zip(_PARTS, (*rates, self.seed), strict=True))

    @classmethod
    def parse(cls, text: str, where: str = "") -> TaggerErrors:
        """Parse ``miss=0.2,invent=0.05,seed=1``; absent values are 0."""
        rates: dict[str, float] = {}
        seed = ""
        for part in text.split(","):
            name, equals, value = part.partition("=")
            if not equals or name not in _PARTS or name in rates or (name == "seed" and seed):
                raise SpecError(
                    f"{part!r} in {text!r} does not say how a tagger errs",
                    where=where,
                    expected="miss=RATE,invent=RATE,seed=NUMBER, each once or not at all",
                )
            if name == "seed":
                seed = value
                if not (seed.isascii() and seed.isdigit() and len(seed) <= _LONGEST_SEED):
                    raise SpecError(
                        f"{part} is no seed",
                        where=where,
                        expected=f"a whole number of at most {_LONGEST_SEED} digits, 0 or more",
                    )
                continue
            with suppress(ValueError):
                rates[name] = float(value)
            if not 0 <= rates.get(name, -1) <= 1:
                raise SpecError(
                    f"{part} is no rate of errors",
                    where=where,
                    expected="a number from 0 to 1, such as 0.2",
                )
        return cls(**rates, seed=int(seed or 0))

    def __call__(
        self, attributes: Sequence[Sequence[str]], paths: Sequence[str], words: Sequence[str]
    ) -> list[list[str]]:
        """Return the attributes that the tagger finds of each of N images: sorted, each once."""
        vocabulary = {word.lower() for word in words}
        return [
            sorted(
                w for w in vocabulary.union(true) if (w in true) is not self._errs(path, w, true)
            )
            for path, true in zip(paths, attributes, strict=True)
        ]

    def _errs(self, path: str, word: str, true: Sequence[str]) -> bool:
        digest = sha256(f"{self.seed}\0{path}\0{word}".encode()).digest()
        chance = int.from_bytes(digest[:8], "big") / 2**64
        return chance < (self.miss if word in true else self.invent)
