"""Nouns and adjectives by textblob's tagger, whose lexicon lies inside the package.

Nothing is downloaded: of textblob only what it has from the library Pattern is used, and nothing
of NLTK.  Lemmas are by rule.  A plural noun loses its ending as in Pattern, unless it ends in
-ss, -us or -is; a comparative or superlative becomes the first adjective of the lexicon among what
is left when -er or -est is taken off (cut, cute; bigg, big; happi, happy), and stays as it is
where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from benchmark_spec.extras import require

NOUNS = ("NN", "NNS", "NNP", "NNPS")
ADJECTIVES = ("JJ", "JJR", "JJS")
"""Parts of speech of the Penn Treebank."""

IRREGULAR = {"better": "good", "best": "good", "worse": "bad", "worst": "bad"}
_NO_PLURAL = ("ss", "us", "is")


@dataclass(frozen=True, eq=False)
class TextblobTagger:
    """The tagger that textblob calls PatternTagger.

    `language` is the module ``textblob.en``, `inflect` its module ``inflect``.
    """

    language: Any = field(repr=False)
    inflect: Any = field(repr=False)

    @classmethod
    def load(cls) -> TextblobTagger:
        """Load it; raises MissingPackageError if textblob is not installed."""
        return cls(require("textblob.en", "attributes"), require("textblob.en.inflect"))

    def describe(self) -> dict[str, Any]:
        """Return what the words depend on."""
        return {
            "tagger": "textblob",
            "package": f"textblob {version('textblob')}",
            "parts_of_speech": " ".join((*NOUNS, *ADJECTIVES)),
        }

    def lemmas(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the lemmas of the nouns and adjectives of each text, in their order."""
        for text in texts:
            yield [
                self._lemma(word.lower(), tag)
                for word, tag in self.language.tag(text)
                if tag in NOUNS or tag in ADJECTIVES
            ]

    def singular(self, word: str) -> str:
        """Return the singular of a noun, which may be one already."""
        return word if word.endswith(_NO_PLURAL) else str(self.inflect.singularize(word))

    def _lemma(self, word: str, tag: str) -> str:
        if tag in ("NNS", "NNPS"):
            return self.singular(word)
        if tag in ("JJR", "JJS"):
            return _positive(word, self.language.lexicon)
        return word


def _positive(word: str, lexicon: Mapping[str, str]) -> str:
    """Return the adjective of which a word is the comparative or superlative."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    stem = word.removesuffix("est") if word.endswith("est") else word.removesuffix("er")
    forms = [stem, f"{stem}e", stem[:-1], f"{stem[:-1]}y"]
    return next((form for form in forms if stem != word and lexicon.get(form) == "JJ"), word)
