"""Recipes: their grammar, and what is refused before any work."""

import pytest

from benchmark_spec.errors import BackboneError, FSLBenchError, SourceError, UnknownNameError
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


REFUSED = {
    "is no recipe for attributes": ("TAGGER one of textblob", "|blip|+textblob|given+"),
    "unknown tagger": ("textblob", "given+nltk|given+spacy:|given+textblob:x"),
    "unknown captioner": (
        "blip[@FOLDER]",
        "pixels+textblob|blip2+textblob|blip@+textblob"
        "|coca:+textblob|coca:ViT+textblob|coca:ViT/+textblob",
    ),
    "is no rate of errors": (
        "from 0 to 1",
        "given~miss=1.1|given~invent=-0.1|given~miss=nan|given~miss=|given~miss=a",
    ),
    "is no seed": ("at most 18 digits", f"given~seed=-1|given~seed=1.5|given~seed={'9' * 5000}"),
    "does not say how a tagger errs": (
        "each once or not at all",
        "given~|given~miss|given~miss=0.1,|given~miss=0,miss=0|given~blur=0.1",
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_no_recipe(said: str) -> None:
    expected, texts = REFUSED[said]
    for text in texts.split("|"):
        with pytest.raises(FSLBenchError, match=said) as error:
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


def test_a_captioner_that_is_not_there() -> None:
    for module in ("textblob", "transformers"):
        pytest.importorskip(module, reason=f"needs {module}, of the extra `attributes`")
    with pytest.raises(BackboneError, match="there is no folder 'nowhere' for blip"):
        check_recipe(Recipe.parse("blip@nowhere+textblob"), "digits")
