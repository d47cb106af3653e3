"""Recipes: their grammar, and what is refused before any work."""

import re

import pytest

from benchmark_spec.errors import FSLBenchError, SourceError, SpecError, UnknownNameError
from builders.attributes.given import TaggerErrors
from builders.attributes.recipe import Recipe, check_recipe
from builders.attributes.taggers import check_tagger


@pytest.mark.parametrize(
    ("text", "recipe"),
    [
        ("given", Recipe(attributes="given")),
        ("given:noto", Recipe(attributes="given", word="noto")),
        (
            "given~miss=0.2,invent=0.05,seed=1",
            Recipe(attributes="given", errors=TaggerErrors(0.2, 0.05, 1)),
        ),
        ("given~miss=0,invent=1,seed=4", Recipe(attributes="given", errors=TaggerErrors(0, 1, 4))),
        ("pixels", Recipe(attributes="pixels")),
        ("given+spacy", Recipe("given", "spacy")),
        ("blip@/a+b/c+spacy:en_core_web_md", Recipe("blip@/a+b/c", "spacy:en_core_web_md")),
        ("vit_gpt2+textblob", Recipe("vit_gpt2", "textblob")),
        ("coca:ViT/a/b.pt+textblob", Recipe("coca:ViT/a/b.pt", "textblob")),
    ],
)
def test_recipes(text: str, recipe: Recipe) -> None:
    assert Recipe.parse(text) == recipe
    assert str(recipe) == text


def test_what_a_recipe_leaves_out() -> None:
    assert Recipe.parse("given~seed=4").errors == TaggerErrors(0, 0, 4)
    assert Recipe.parse("given~miss=1e-7").errors == TaggerErrors(1e-7)
    assert check_tagger("spacy") == ("spacy", "en_core_web_sm")


@pytest.mark.parametrize(
    ("texts", "kind", "said", "expected"),
    [
        (["", "blip", "+textblob", "given+"], SpecError, "no recipe", "TAGGER one of textblob"),
        (
            ["given+nltk", "given+spacy:", "given+textblob:x"],
            UnknownNameError,
            "unknown tagger",
            "textblob",
        ),
        (
            ["pixels+textblob", "blip2+textblob", "blip@+textblob", "coca:+textblob"],
            UnknownNameError,
            "unknown captioner",
            "blip[@FOLDER]",
        ),
        (["coca:ViT+textblob", "coca:ViT/+textblob"], UnknownNameError, "captioner", "coca[:ARCH/"),
        (
            [
                f"given~{rate}"
                for rate in ("miss=1.1", "invent=-0.1", "miss=nan", "miss=", "miss=a")
            ],
            SpecError,
            "is no rate of errors",
            "from 0 to 1",
        ),
        (
            [f"given~seed={seed}" for seed in ("-1", "1.5", "9" * 5000)],
            SpecError,
            "is no seed",
            "at most 18 digits",
        ),
        (
            [f"given~{part}" for part in ("", "miss", "miss=0.1,", "miss=0,miss=0", "blur=0.1")],
            SpecError,
            "does not say how a tagger errs",
            "each once or not at all",
        ),
    ],
)
def test_what_is_no_recipe(
    texts: list[str], kind: type[FSLBenchError], said: str, expected: str
) -> None:
    for text in texts:
        with pytest.raises(kind, match=re.escape(said)) as error:
            Recipe.parse(text, "there")
        assert error.value.where == "there"
        assert expected in error.value.expected


def test_no_path_is_recorded() -> None:
    for text, said in (
        ("blip@/home/me/blip-base+spacy", "blip@blip-base+spacy"),
        ("coca:A//home/me/c.pt+textblob", "coca:A/c.pt+textblob"),
        ("coca:A/tag+textblob", "coca:A/tag+textblob"),
        ("blip+textblob", "blip+textblob"),
        ("given~seed=1", "given~miss=0,invent=0,seed=1"),
    ):
        assert Recipe.parse(text).without_paths == said


def test_a_source_without_texts_or_attributes() -> None:
    pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")
    for recipe, what, having in (
        ("given+textblob", "texts", "emoji, openclipart"),
        ("given", "attributes", "emoji, glyphs, glyphs_sample"),
    ):
        with pytest.raises(SourceError, match=f"no {what} came with digits") as error:
            check_recipe(Recipe.parse(recipe), "digits", None, "data set digits")
        assert error.value.where == "data set digits"
        assert error.value.expected.endswith(f"some: {having}")
        assert "`attributes`, for the recipe given" in error.value.fix
    with pytest.raises(UnknownNameError, match="attribute of emoji 'not'"):
        check_recipe(Recipe.parse("given:not"), "emoji", None, "data set emoji")
    for recipe, source in (
        ("given+textblob", "openclipart"), ("given:noto", "emoji"), ("pixels", "digits"),
    ):  # fmt: skip
        check_recipe(Recipe.parse(recipe), source)
