"""Texts and attributes that came with a data set."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark_spec.errors import SourceError, UnknownNameError
from builders.attributes.given import (
    TEXTS,
    came_with,
    given_attributes,
    given_texts,
    given_values,
    sentences,
)
from builders.attributes.recipe import Recipe, check_recipe
from builders.sources import image_folder
from builders.sources.image_set import Text
from builders.sources.packaged import emoji


def test_sentences() -> None:
    assert sentences(Text("A bird", "It sings.", ("bird", "animal"))) == (
        "A bird. It sings. bird, animal"
    )
    assert sentences(Text("Pie", "Pie", ("food",))) == "Pie. food"
    assert sentences(Text(tags=("food",))) == "food"
    assert sentences(Text()) == ""


def test_texts_in_the_order_of_images(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = tiny.images.column("path").to_pylist()
    known = {path: Text(title=f"no. {i}") for i, path in enumerate(paths)} | {
        paths[3]: Text(),
        "elsewhere.png": Text("not asked for"),
    }
    asked: list[Path] = []

    def texts(folder: Path, progress: Any) -> dict[str, Text]:
        asked.append(folder)
        return known

    assert came_with("image_folder", TEXTS) is None
    monkeypatch.setattr(image_folder, "texts", texts, raising=False)
    assert came_with("image_folder", TEXTS) is not None
    found = given_texts(tiny, "image_folder", tmp_path)
    assert asked == [tmp_path]
    assert found[:5] == ["no. 0", "no. 1", "no. 2", None, "no. 4"]
    del known[paths[7]]
    with pytest.raises(SourceError, match="tiny: 1 images have no entry") as error:
        given_texts(tiny, "image_folder", tmp_path)
    assert error.value.where == paths[7]


def test_attributes_in_lower_case(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_folder, "ATTRIBUTES", ("big", "class", "red"), raising=False)
    paths = tiny.images.column("path").to_pylist()
    of_path = {path: ("Red", "big", path[:5], "big") for path in paths}
    found = given_attributes(replace(tiny, attributes=of_path), "image_folder")
    assert [found[0], found[-1]] == [["big", "class", "red"]] * 2
    monkeypatch.undo()
    with pytest.raises(SourceError, match="no attributes came with image_folder"):
        given_attributes(tiny, "image_folder")


def test_an_emojis_style() -> None:
    assert emoji.style_of(f"{emoji.GOOGLE}/1f600.png") == "noto"
    assert emoji.style_of(f"{emoji.OPENMOJI}/1F600.svg") == "openmoji"


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
