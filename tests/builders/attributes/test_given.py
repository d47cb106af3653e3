"""Texts and attributes that came with a data set, and a tagger that errs at stated rates."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark_spec.errors import SourceError
from builders.attributes import make_attributes
from builders.attributes.given import (
    TEXTS,
    TaggerErrors,
    came_with,
    given_attributes,
    given_texts,
    given_values,
)
from builders.attributes.recipe import Recipe
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


WORDS = ("bold", "italic", "sans", "serif")
PATHS = [f"a/{i}.png" for i in range(5000)]
TRUE = [[word for j, word in enumerate(WORDS) if i >> j & 1] for i in range(5000)]


def test_rates_are_those_asked_for() -> None:
    found = TaggerErrors(miss=0.3, invent=0.05, seed=1)(TRUE, PATHS, WORDS)
    pairs = [(word in t, word in f) for t, f in zip(TRUE, found, strict=True) for word in WORDS]
    for has, rate in ((True, 0.3), (False, 0.05)):
        wrong = [finds is not has for true, finds in pairs if true is has]
        error = (rate * (1 - rate) / len(wrong)) ** 0.5
        assert abs(sum(wrong) / len(wrong) - rate) < 3 * error
    assert all(words == sorted(set(words)) for words in found)


def test_it_errs_where_the_digest_says() -> None:
    """As it is defined, so that nothing depends on an order, and other seeds err elsewhere."""
    miss, invent, seed = 0.3, 0.1, 7
    expected = []
    for true, path in zip(TRUE, PATHS, strict=True):
        found = []
        for word in WORDS:
            digest = hashlib.sha256(f"{seed}\0{path}\0{word}".encode()).digest()
            errs = int.from_bytes(digest[:8], "big") / 2**64 < (miss if word in true else invent)
            if (word in true) != errs:
                found.append(word)
        expected.append(found)
    assert TaggerErrors(miss, invent, seed)(TRUE, PATHS, WORDS[::-1]) == expected


def test_a_table_says_how_it_errs(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_folder, "ATTRIBUTES", ("Big", "red"), raising=False)
    recipe = Recipe.parse("given~invent=0.5,seed=2")
    table, provenance = make_attributes(tiny, recipe, "image_folder", tmp_path)
    assert provenance["recipe"] == "given~miss=0,invent=0.5,seed=2"
    assert provenance["errors"] == {"miss": 0, "invent": 0.5, "seed": 2}
    words = table.column("attributes").to_pylist()
    assert {word for of_image in words for word in of_image} == {"big", "red"}
    paths = tiny.images.column("path").to_pylist()
    assert words == TaggerErrors(0, 0.5, 2)([[]] * len(paths), paths, ("big", "red"))
