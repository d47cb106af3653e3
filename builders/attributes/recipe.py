"""Parse the recipe of a set of attributes, a line of a specification (docs/bias.md)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from benchmark_spec.errors import SpecError, UnknownNameError
from builders.attributes.captioners import CAPTIONERS, COCA, check_captioner
from builders.attributes.captions import CaptionerName
from builders.attributes.given import GIVEN, check_given
from builders.attributes.taggers import TAGGERS, check_tagger, load_tagger

OWN_TEXTS, OWN_ATTRIBUTES = {"texts", "text"}, {"attributes"}
"""Options of the general sources that name the texts or the attributes of own data."""

PIXELS = "pixels"
EXPECTED = (
    f"TEXTS+TAGGER with TEXTS one of {GIVEN}, {', '.join(CAPTIONERS)} and TAGGER one of "
    f"{', '.join(TAGGERS)}; or {GIVEN}; or {GIVEN}:WORD; or {PIXELS}"
)


@dataclass(frozen=True)
class Recipe:
    """A parsed recipe.

    Attributes that are words have `texts`, ``given`` or a captioner, and a `tagger`.  For others
    `attributes` is ``given`` or ``pixels``, and `word` may name one of the given attributes.
    """

    texts: str = ""
    tagger: str = ""
    attributes: str = ""
    word: str = ""

    def __str__(self) -> str:
        if self.word:
            return f"{self.attributes}:{self.word}"
        return self.attributes or f"{self.texts}+{self.tagger}"

    @property
    def captioner(self) -> str:
        """The captioner, if a network writes the texts."""
        return "" if self.texts == GIVEN else self.texts

    @property
    def without_paths(self) -> str:
        """The recipe with names of folders and files instead of paths."""
        if not self.captioner:
            return str(self)
        family, rest = check_captioner(self.captioner)
        if not rest:
            return str(self)
        if family == COCA:
            arch, _, weights = rest.partition("/")
            return f"{COCA}:{arch}/{Path(weights).name}+{self.tagger}"
        return f"{family}@{Path(rest).expanduser().resolve().name}+{self.tagger}"

    @classmethod
    def parse(cls, text: str, where: str = "") -> Recipe:
        """Parse a recipe; refuse an unknown form, captioner or tagger."""
        if text in (GIVEN, PIXELS):
            return cls(attributes=text)
        if text.startswith(f"{GIVEN}:"):
            return cls(attributes=GIVEN, word=text.removeprefix(f"{GIVEN}:"))
        texts, plus, tagger = text.rpartition("+")
        if not plus or not texts or not tagger:
            raise SpecError(f"{text!r} is no recipe for attributes", where=where, expected=EXPECTED)
        check_tagger(tagger, where)
        if texts != GIVEN:
            check_captioner(texts, where)
        return cls(texts=texts, tagger=tagger)


def check_recipe(
    recipe: Recipe,
    source: str,
    weights: Path | None = None,
    where: str = "",
    options: Collection[str] = (),
) -> None:
    """Refuse a recipe that a source with these options cannot follow, without making anything.

    Folders and files of captioners are also looked up in `weights`.
    """
    if recipe.attributes == GIVEN and not OWN_ATTRIBUTES & set(options):
        attributes = check_given(source, "attributes", where)
        if recipe.word and recipe.word not in attributes:
            raise UnknownNameError(f"attribute of {source}", recipe.word, attributes, where=where)
    if recipe.texts == GIVEN and not OWN_TEXTS & set(options):
        check_given(source, "texts", where)
    if recipe.tagger:
        load_tagger(recipe.tagger)
    if recipe.captioner:
        CaptionerName(recipe.captioner, weights).check()
