"""The split code gives the catalogue's test classes, in the catalogue's order."""

from pathlib import Path

import pytest

from benchmark_spec.catalogue import lookup
from builders.sources.catalogued import aircraft, cub, dtd, fungi, mscoco, quickdraw, vgg_flower

BY_NAME = {source.name: source.drawn for source in (aircraft, dtd, mscoco, quickdraw)}
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
