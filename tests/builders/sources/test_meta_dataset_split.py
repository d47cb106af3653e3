"""The split code gives the catalogue's test classes, in the catalogue's order."""

from pathlib import Path

import pytest

from benchmark_spec.catalogue import lookup
from benchmark_spec.errors import CatalogueError
from builders.sources.catalogued import aircraft, cub, dtd, fungi, mscoco, quickdraw, vgg_flower
from builders.sources.catalogued_source import Split

BY_NAME = {
    "aircraft": aircraft.drawn,
    "dtd": dtd.drawn,
    "mscoco": mscoco.drawn,
    "quickdraw": quickdraw.drawn,
}
# name: split, digits of the number that a class name begins with, number of the first class
BY_NUMBER = {
    "cub": (cub.drawn, 3, 1),
    "fungi": (fungi.drawn, 4, 0),
    "vgg_flower": (vgg_flower.drawn, 3, 1),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_of_the_names_of_all_classes(name: str, class_lists: dict[str, list[str]]) -> None:
    held_out = BY_NAME[name].held_out(class_lists[name], Path("list"))
    assert held_out == list(lookup(name).class_names)


@pytest.mark.parametrize("name", BY_NUMBER)
def test_of_the_numbers_of_all_classes(name: str) -> None:
    split, digits, first = BY_NUMBER[name]
    numbers = [int(label[:digits]) for label in lookup(name).class_names]
    assert [first + position for position in split.test_positions()] == numbers


def test_quickdraw_is_split_by_70_15_15_percent() -> None:
    assert (quickdraw.drawn.train, quickdraw.drawn.valid) == (int(0.7 * 345), 293 - 241)
    assert quickdraw.drawn.total == 345


def test_another_number_of_classes_is_refused() -> None:
    with pytest.raises(CatalogueError, match=r"2 classes are listed(.|\n)*expected: 4 classes"):
        Split(1, 1, 2).held_out(["a", "b"], Path("classes.txt"))


def test_it_is_on_record() -> None:
    assert cub.drawn.provenance()["seed"] == 22
    assert cub.drawn.provenance()["classes"] == {"train": 140, "valid": 30, "test": 30}
