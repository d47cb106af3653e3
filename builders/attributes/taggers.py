"""Find the nouns and adjectives of a text, as lemmas in lower case.

A tagger reads a text in lower case, with a blank for everything but letters and ``.,;:!?'``.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmark_spec.errors import BackboneError, MissingPackageError, UnknownNameError
from benchmark_spec.extras import require
from fslbench_data.files import sha256_of

MIN_LETTERS = 3
"""The least letters of an attribute."""

TAGGERS = ("textblob", "spacy[:MODEL]")
"""Forms of a tagger's name."""

SPACY_MODEL = "en_core_web_sm"

_NO_WORD = re.compile(r"[^\w\s.,;:!?']|[\d_]")
_LETTERS = re.compile(r"[^\W\d_]+")


class Tagger(ABC):
    """Finds nouns and adjectives."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what the words depend on: package, version, model."""

    @abstractmethod
    def lemmas(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the lemmas of the nouns and adjectives of each cleaned text, in order."""

    @abstractmethod
    def singular(self, word: str) -> str:
        """Return the lemma of a single word, taken for a noun."""

    def words(
        self,
        texts: Sequence[str | None],
        class_names: Sequence[str],
        progress: Callable[[int], None] = lambda _: None,
    ) -> list[list[str]]:
        """Return the nouns and adjectives of each text: sorted, once, without its class's name."""
        class_words = {name: self.of_class(name) for name in set(class_names)}
        cleaned = (clean(text or "") for text in texts)
        words: list[list[str]] = []
        for lemmas, name in zip(self.lemmas(cleaned), class_names, strict=True):
            words.append(sorted({word for word in lemmas if counts(word)} - class_words[name]))
            progress(len(words))
        return words

    def of_class(self, name: str) -> set[str]:
        """Return the words of a class's name, which are runs of letters, and their lemmas."""
        words = _LETTERS.findall(name.lower())
        return {*words, *map(self.singular, words)}


def clean(text: str) -> str:
    """Clean a text for a tagger."""
    return " ".join(_NO_WORD.sub(" ", text.lower()).split())


def counts(word: str) -> bool:
    """Return whether a lemma can be an attribute."""
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
    return SpacyTagger(model) if family == "spacy" else TextblobTagger()


UNIVERSAL = ("NOUN", "PROPN", "ADJ")
"""Universal parts of speech of nouns, names and adjectives."""


class SpacyTagger(Tagger):
    """spaCy's tagger and lemmatiser, without its parser and its recogniser of names.

    A `model` is named by its package; a model without tags or lemmas is refused.
    """

    def __init__(self, model: str) -> None:
        spacy = require("spacy", "attributes")
        if not spacy.util.is_package(model):
            raise MissingPackageError(
                f"spaCy's model {model!r} is not installed",
                expected="a package that holds an English model of spaCy",
                fix=f"python -m spacy download {model}; or name another that is installed, "
                "spacy:MODEL; or take textblob, which needs no download",
            )
        self.model = model
        self.pipeline = spacy.load(model, exclude=["parser", "ner", "senter"])
        lacking = {"tagger", "attribute_ruler", "lemmatizer"} - set(self.pipeline.pipe_names)
        if lacking:
            raise BackboneError(
                f"spaCy's model {model!r} has no {', '.join(sorted(lacking))}",
                expected="a model such as en_core_web_sm",
            )

    def describe(self) -> dict[str, Any]:
        """Return what the words depend on; `model_sha256` is of the model's files and paths."""
        meta, root = self.pipeline.meta, Path(self.pipeline.path)
        lines = [
            f"{sha256_of(path)} {path.relative_to(root).as_posix()}\n"
            for path in sorted(root.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        ]
        return {
            "tagger": f"spacy:{self.model}",
            "package": f"spacy {version('spacy')}",
            "model": f"{meta['lang']}_{meta['name']} {meta['version']}",
            "model_sha256": hashlib.sha256("".join(lines).encode()).hexdigest(),
            "parts_of_speech": " ".join(UNIVERSAL),
        }

    def lemmas(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the lemmas of the nouns and adjectives of each text, in their order."""
        for document in self.pipeline.pipe(texts, batch_size=256):
            yield [token.lemma_.lower() for token in document if token.pos_ in UNIVERSAL]

    def singular(self, word: str) -> str:
        """Return the lemma of a word, taken for a plural noun if it may be one."""
        return str(self.pipeline(f"the {word}")[1].lemma_).lower()


PENN = ("NN", "NNS", "NNP", "NNPS", "JJ", "JJR", "JJS")
"""Parts of speech of nouns and adjectives in the Penn Treebank."""

IRREGULAR = {"better": "good", "best": "good", "worse": "bad", "worst": "bad"}


class TextblobTagger(Tagger):
    """The PatternTagger of textblob; its lexicon is part of the package.

    Nothing is downloaded, and nothing of NLTK is used.  Lemmas follow rules: a plural noun loses
    its ending as in Pattern, unless it ends in -ss, -us or -is; a comparative or superlative
    becomes the first of its possible stems that the lexicon has as an adjective.
    """

    def __init__(self) -> None:
        self.language = require("textblob.en", "attributes")
        self.inflect = require("textblob.en.inflect")

    def describe(self) -> dict[str, Any]:
        """Return what the words depend on."""
        return {
            "tagger": "textblob",
            "package": f"textblob {version('textblob')}",
            "parts_of_speech": " ".join(PENN),
        }

    def lemmas(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the lemmas of the nouns and adjectives of each text, in their order."""
        for text in texts:
            yield [
                self._lemma(word.lower(), tag)
                for word, tag in self.language.tag(text)
                if tag in PENN
            ]

    def singular(self, word: str) -> str:
        """Return the singular of a noun, which may be one already."""
        return word if word.endswith(("ss", "us", "is")) else str(self.inflect.singularize(word))

    def _lemma(self, word: str, tag: str) -> str:
        if tag in ("NNS", "NNPS"):
            return self.singular(word)
        if tag in ("JJR", "JJS"):
            return _positive(word, self.language.lexicon)
        return word


def _positive(word: str, lexicon: Mapping[str, str]) -> str:
    """Return the positive of a comparative or superlative; the word itself if none is known."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    stem = word.removesuffix("est") if word.endswith("est") else word.removesuffix("er")
    forms = [stem, f"{stem}e", stem[:-1], f"{stem[:-1]}y"]
    return next((form for form in forms if stem != word and lexicon.get(form) == "JJ"), word)
