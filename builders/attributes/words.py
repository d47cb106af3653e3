"""Nouns and adjectives of a text, as lemmas in lower case.

Before a tagger sees a text, it is put in lower case (titles begin every word with a capital, which
taggers take for names), and everything but letters, blanks and ``.,;:!?'`` becomes a blank: so
``signs_and_symbols`` and ``t-shirt`` are several words, and ``smiley111`` is one.  Names are nouns.
A word counts if it has three letters or more and nothing but letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from benchmark_spec.errors import UnknownNameError

MIN_LETTERS = 3
"""Of a word that counts."""

TAGGERS = ("textblob", "spacy[:MODEL]")
"""Forms of a tagger's name."""

SPACY_MODEL = "en_core_web_sm"

_NO_WORD = re.compile(r"[^\w\s.,;:!?']|[\d_]")
_LETTERS = re.compile(r"[^\W\d_]+")


class Tagger(Protocol):
    """What finds nouns and adjectives."""

    def describe(self) -> dict[str, Any]:
        """Return what the words depend on: package, version, model."""

    def lemmas(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Lemmas of the nouns and adjectives of each text, in their order, of cleaned texts."""

    def singular(self, word: str) -> str:
        """Return the lemma of a word that stands alone, taken for a noun."""


@dataclass(frozen=True)
class Words:
    """The words of texts, of one tagger."""

    tagger: Tagger
    _of_class: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)

    def of(
        self,
        texts: Sequence[str | None],
        class_names: Sequence[str],
        progress: Callable[[int], None] = lambda _: None,
    ) -> list[list[str]]:
        """Return the nouns and adjectives of each text: sorted, once, without its class's name.

        Parameters
        ----------
        texts : N
            None has no words.
        class_names : N
            Of the image that each text is of.
        progress
            Is told how many texts are done.
        """
        cleaned = (clean(text or "") for text in texts)
        words = []
        for done, (lemmas, name) in enumerate(
            zip(self.tagger.lemmas(cleaned), class_names, strict=True), 1
        ):
            words.append(sorted({w for w in lemmas if counts(w)} - self.of_class(name)))
            progress(done)
        return words

    def of_class(self, name: str) -> frozenset[str]:
        """Return the words of a class's name, split at what is no letter, and their lemmas."""
        if name not in self._of_class:
            words = _LETTERS.findall(name.lower())
            lemmas = {self.tagger.singular(word) for word in words}
            self._of_class[name] = frozenset({*words, *lemmas})
        return self._of_class[name]


def clean(text: str) -> str:
    """Clean a text for a tagger."""
    return " ".join(_NO_WORD.sub(" ", text.lower()).split())


def counts(word: str) -> bool:
    """Whether a lemma can be an attribute."""
    return len(word) >= MIN_LETTERS and word.isalpha()


def check_tagger(name: str, where: str = "") -> tuple[str, str]:
    """Split a tagger's name into its family and model."""
    family, colon, model = name.partition(":")
    if name == "textblob" or (family == "spacy" and bool(colon) == bool(model)):
        return family, model or (SPACY_MODEL if family == "spacy" else "")
    raise UnknownNameError("tagger", name, TAGGERS, where=where)


def load_tagger(name: str) -> Tagger:
    """Load the tagger of a name such as ``textblob`` or ``spacy:en_core_web_sm``."""
    family, model = check_tagger(name)
    if family == "spacy":
        from builders.attributes.spacy_tagger import SpacyTagger

        return SpacyTagger.load(model)
    from builders.attributes.textblob_tagger import TextblobTagger

    return TextblobTagger.load()
