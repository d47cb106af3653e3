"""A tagger that errs at stated rates."""

from pathlib import Path
from typing import Any

import pytest

from benchmark_spec.errors import SpecError
from builders.attributes import make_attributes
from builders.attributes.given import TaggerErrors
from builders.attributes.recipe import Recipe
from builders.sources import image_folder

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


@pytest.mark.parametrize("part", [0, 1])
def test_errors_of_words_and_of_seeds_are_independent(part: int) -> None:
    """Errors come together as often as the product of their rates says."""
    errors = [TaggerErrors(0.5, 0.5, seed)(TRUE, PATHS, WORDS) for seed in (1, 2)]
    wrong = [
        [(word in t) is not (word in f) for t, f in zip(TRUE, found, strict=True)]
        for found, word in ((errors[0], "bold"), (errors[part], "bold" if part else "italic"))
    ]
    both = sum(a and b for a, b in zip(*wrong, strict=True)) / len(TRUE)
    assert abs(both - 0.25) < 3 * (0.25 * 0.75 / len(TRUE)) ** 0.5


def test_nothing_depends_on_an_order() -> None:
    errors = TaggerErrors(0.2, 0.1, 3)
    found = errors(TRUE, PATHS, WORDS)
    turned = errors(TRUE[::-1], PATHS[::-1], WORDS[::-1])
    assert turned[::-1] == found
    assert errors(TRUE[7:8], PATHS[7:8], WORDS) == found[7:8]


def test_one_seed_errs_where_it_errs_at_a_lower_rate() -> None:
    low, high = (TaggerErrors(rate, rate, 1)(TRUE, PATHS, WORDS) for rate in (0.1, 0.3))
    for true, few, many in zip(TRUE, low, high, strict=True):
        assert set(true) ^ set(few) <= set(true) ^ set(many)


def test_no_errors_and_all() -> None:
    assert TaggerErrors()(TRUE, PATHS, WORDS) == TRUE
    opposite = TaggerErrors(1, 1)(TRUE, PATHS, WORDS)
    assert opposite == [[word for word in WORDS if word not in true] for true in TRUE]


def test_a_frozen_tagger() -> None:
    """What it finds must never change: releases say how they were made by the recipe alone."""
    found = TaggerErrors(0.3, 0.1, 1)([["bold", "sans"]] * 6, PATHS[:6], WORDS)
    assert found == [["bold", "sans"], ["sans"], ["bold"], ["bold", "sans"], [], ["bold", "sans"]]


def test_recipes_that_err() -> None:
    recipe = Recipe.parse("given~miss=0.2,invent=0.05,seed=1")
    assert recipe.errors == TaggerErrors(0.2, 0.05, 1)
    assert (str(recipe), recipe.without_paths) == ("given~miss=0.2,invent=0.05,seed=1",) * 2
    assert Recipe.parse("given~seed=4,invent=1").errors == TaggerErrors(0, 1, 4)
    assert str(Recipe.parse("given~invent=1")) == "given~miss=0,invent=1,seed=0"
    assert Recipe.parse(str(Recipe.parse("given~miss=1e-7"))).errors == TaggerErrors(1e-7)


@pytest.mark.parametrize(
    ("text", "what", "expected"),
    [
        ("miss=1.1", "miss=1.1 is no rate of errors", "from 0 to 1"),
        ("invent=-0.1", "invent=-0.1 is no rate of errors", "from 0 to 1"),
        ("miss=nan", "miss=nan is no rate of errors", "from 0 to 1"),
        ("miss=", "miss= is no rate of errors", "from 0 to 1"),
        ("miss=a", "miss=a is no rate of errors", "from 0 to 1"),
        ("seed=-1", "seed=-1 is no seed", "a whole number"),
        ("seed=1.5", "seed=1.5 is no seed", "a whole number"),
        (f"seed={'9' * 5000}", "seed=999", "at most 18 digits"),
        ("", "'' in '' does not say", "each once or not at all"),
        ("miss", "'miss' in 'miss' does not say", "each once or not at all"),
        ("miss=0.1,", "'' in 'miss=0.1,' does not say", "each once or not at all"),
        ("miss=0.1,miss=0.2", "'miss=0.2' in ", "each once or not at all"),
        ("blur=0.1", "'blur=0.1' in 'blur=0.1' does not say", "miss=RATE"),
    ],
)
def test_what_is_no_error(text: str, what: str, expected: str) -> None:
    with pytest.raises(SpecError) as error:
        Recipe.parse(f"given~{text}", "there")
    assert error.value.what.startswith(what)
    assert expected in error.value.expected
    assert error.value.where == "there"


def test_a_table_says_how_it_errs(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_folder, "ATTRIBUTES", ("Big", "red"), raising=False)
    recipe = Recipe.parse("given~invent=0.5,seed=2")
    made = make_attributes(tiny, recipe, "image_folder", tmp_path)
    assert made.provenance["recipe"] == "given~miss=0,invent=0.5,seed=2"
    assert made.provenance["errors"] == {"miss": 0, "invent": 0.5, "seed": 2}
    words = made.table.column("attributes").to_pylist()
    assert {word for of_image in words for word in of_image} == {"big", "red"}
    paths = tiny.images.column("path").to_pylist()
    assert words == TaggerErrors(0, 0.5, 2)([[]] * len(paths), paths, ("big", "red"))
