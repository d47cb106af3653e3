"""Recipes: their grammar, and what is refused before any work."""

from pathlib import Path

import pytest

from benchmark_spec.errors import FSLBenchError, SourceError, SpecError, UnknownNameError
from builders.attributes.recipe import Recipe, check_recipe


@pytest.mark.parametrize(
    ("text", "texts", "tagger", "attributes"),
    [
        ("given", "", "", "given"),
        ("pixels", "", "", "pixels"),
        ("given+textblob", "given", "textblob", ""),
        ("given+spacy", "given", "spacy", ""),
        ("blip@/a+b/c+spacy:en_core_web_md", "blip@/a+b/c", "spacy:en_core_web_md", ""),
        ("vit_gpt2+textblob", "vit_gpt2", "textblob", ""),
        ("coca+textblob", "coca", "textblob", ""),
        ("coca:ViT/a/b.pt+textblob", "coca:ViT/a/b.pt", "textblob", ""),
    ],
)
def test_recipes(text: str, texts: str, tagger: str, attributes: str) -> None:
    recipe = Recipe.parse(text)
    assert recipe == Recipe(texts, tagger, attributes)
    assert str(recipe) == text
    assert recipe.captioner == ("" if texts == "given" else texts)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", SpecError),
        ("blip", SpecError),
        ("+textblob", SpecError),
        ("given+", SpecError),
        ("given+nltk", UnknownNameError),
        ("pixels+textblob", UnknownNameError),
        ("blip2+textblob", UnknownNameError),
        ("blip@+textblob", UnknownNameError),
        ("coca:+textblob", UnknownNameError),
        ("coca:ViT+textblob", UnknownNameError),
        ("coca:ViT/+textblob", UnknownNameError),
    ],
)
def test_what_is_no_recipe(text: str, kind: type[FSLBenchError]) -> None:
    with pytest.raises(kind) as error:
        Recipe.parse(text, "there")
    assert error.value.where == "there"
    assert "textblob" in error.value.expected or "blip[@FOLDER]" in error.value.expected


def test_no_path_is_recorded() -> None:
    for text, said in (
        ("blip@/home/me/blip-base+spacy", "blip@blip-base+spacy"),
        ("coca:A//home/me/c.pt+textblob", "coca:A/c.pt+textblob"),
        ("coca:A/tag+textblob", "coca:A/tag+textblob"),
        ("blip+textblob", "blip+textblob"),
        ("given+textblob", "given+textblob"),
        ("pixels", "pixels"),
    ):
        assert Recipe.parse(text).without_paths == said


def test_a_source_without_texts_or_attributes(tmp_path: Path) -> None:
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
    check_recipe(Recipe.parse("given+textblob"), "openclipart")
    check_recipe(Recipe.parse("given"), "emoji")
    check_recipe(Recipe.parse("pixels"), "digits")
