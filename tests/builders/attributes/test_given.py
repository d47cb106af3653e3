"""Texts and attributes that came with a data set."""

from dataclasses import replace
from typing import Any

import pytest

from benchmark_spec.errors import SourceError, UnknownNameError
from builders.attributes.given import (
    TEXTS,
    came_with,
    given_attributes,
    given_texts,
    given_values,
)
from builders.attributes.recipe import Recipe, check_recipe
from builders.sources import image_folder
from builders.sources.image_set import Text


def test_sentences() -> None:
    text = Text("A bird", "It sings.", ("bird", "animal"))
    assert text.sentences == "A bird. It sings. bird, animal"
    assert Text("Pie", "Pie", ("food",)).sentences == "Pie. food"
    assert Text(tags=("food",)).sentences == "food"
    assert Text().sentences == ""


def test_texts_in_the_order_of_images(tiny: Any) -> None:
    paths = tiny.images.column("path").to_pylist()
    known = {path: f"no. {i}" for i, path in enumerate(paths)} | {"elsewhere.png": "not asked for"}
    del known[paths[3]]
    found = given_texts(replace(tiny, texts=known), "image_folder")
    assert found[:5] == ["no. 0", "no. 1", "no. 2", None, "no. 4"]
    assert came_with("image_folder", TEXTS) is None
    with pytest.raises(SourceError, match="no texts came with image_folder"):
        given_texts(tiny, "image_folder")


def test_attributes_in_lower_case(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_folder, "ATTRIBUTES", ("big", "class", "red"), raising=False)
    paths = tiny.images.column("path").to_pylist()
    of_path = {path: ("Red", "big", path[:5], "big") for path in paths}
    found = given_attributes(replace(tiny, attributes=of_path), "image_folder")
    assert [found[0], found[-1]] == [["big", "class", "red"]] * 2
    monkeypatch.undo()
    with pytest.raises(SourceError, match="no attributes came with image_folder"):
        given_attributes(tiny, "image_folder")


def test_one_attribute_as_a_value(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_folder, "ATTRIBUTES", ("bold", "italic"), raising=False)
    paths = tiny.images.column("path").to_pylist()
    of_path = {
        paths[0]: ("Bold", "italic"),
        paths[1]: ("italic",),
        paths[2]: ("bold",),
        paths[3]: ("italic",),  # a second one without the attribute
    }
    texts = ["One"] * 4 + [None] * (len(paths) - 4)
    images = replace(tiny, attributes=of_path)
    values, objects = given_values(images, "image_folder", "bold", texts)
    assert values[:5] == [["bold"], ["not bold"], ["bold"], ["not bold"], ["not bold"]]
    assert objects[:5] == ["One; italic", "One; italic", "One", None, None]
    assert len(values) == len(objects) == len(paths)


def test_recipes_of_one_attribute() -> None:
    recipe = Recipe.parse("given:noto")
    assert (recipe.attributes, recipe.word, str(recipe)) == ("given", "noto", "given:noto")
    check_recipe(recipe, "emoji")
    with pytest.raises(UnknownNameError, match="attribute of emoji 'not'"):
        check_recipe(Recipe.parse("given:not"), "emoji", None, "data set emoji")
