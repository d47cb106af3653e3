"""Nouns and adjectives by a model of spaCy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmark_spec.errors import BackboneError, MissingPackageError
from benchmark_spec.extras import require
from fslbench_data.files import sha256_of

UNIVERSAL = ("NOUN", "PROPN", "ADJ")
"""Universal parts of speech of nouns, names and adjectives."""

BATCH = 256


@dataclass(frozen=True, eq=False)
class SpacyTagger:
    """spaCy's tagger and lemmatiser; its parser and its finder of names are left out.

    `model` is the name of the model's package, `pipeline` the ``spacy.Language`` loaded from it.
    """

    model: str
    pipeline: Any = field(repr=False)

    @classmethod
    def load(cls, model: str) -> SpacyTagger:
        """Load a model by its package's name; one without tags or lemmas is refused."""
        spacy = require("spacy", "attributes")
        if not spacy.util.is_package(model):
            raise MissingPackageError(
                f"spaCy's model {model!r} is not installed",
                expected="a package that holds an English model of spaCy",
                fix=f"python -m spacy download {model}; or name another that is installed, "
                "spacy:MODEL; or take textblob, which needs no download",
            )
        pipeline = spacy.load(model, exclude=["parser", "ner", "senter"])
        lacking = {"tagger", "attribute_ruler", "lemmatizer"} - set(pipeline.pipe_names)
        if lacking:
            raise BackboneError(
                f"spaCy's model {model!r} has no {', '.join(sorted(lacking))}",
                expected="a model such as en_core_web_sm",
            )
        return cls(model, pipeline)

    def describe(self) -> dict[str, Any]:
        """Return what the words depend on."""
        meta = self.pipeline.meta
        return {
            "tagger": f"spacy:{self.model}",
            "package": f"spacy {version('spacy')}",
            "model": f"{meta['lang']}_{meta['name']} {meta['version']}",
            "model_sha256": self.sha256,
            "parts_of_speech": " ".join(UNIVERSAL),
        }

    @property
    def sha256(self) -> str:
        """SHA-256 of the model: of lines of SHA-256 and path of its files, ordered by path."""
        root = Path(self.pipeline.path)
        lines = [
            f"{sha256_of(path)} {path.relative_to(root).as_posix()}\n"
            for path in sorted(root.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        ]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def lemmas(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the lemmas of the nouns and adjectives of each text, in their order."""
        for document in self.pipeline.pipe(texts, batch_size=BATCH):
            yield [token.lemma_.lower() for token in document if token.pos_ in UNIVERSAL]

    def singular(self, word: str) -> str:
        """Return the lemma of a word, taken for a plural noun if it may be one."""
        return str(self.pipeline(f"the {word}")[1].lemma_).lower()
