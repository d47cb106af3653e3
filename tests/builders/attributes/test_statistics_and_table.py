"""Tables of attributes and their statistics, small enough to count by hand."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_spec import schemas
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import SchemaError
from builders.attributes.table import (
    attribute_problems,
    attribute_statistics,
    attributes_table,
    check_attributes_table,
)

# class 0: images 0 to 2, class 1: images 3 and 4
OF_IMAGES = [["big", "red"], ["red"], ["green", "red"], ["red"], []]


def test_statistics_by_hand() -> None:
    found = attribute_statistics(attributes_table(OF_IMAGES), [3, 2])
    assert (found.classes, found.images, found.unique) == (2, 5, 3)
    assert found.per_class == (3 + 1) / 2
    # red is on all images of class 0 (not spurious), on one of two of class 1 (spurious)
    assert found.spurious_per_class == (2 + 1) / 2
    assert (found.per_image, found.without) == (6 / 5, 1)
    assert str(found) == (
        "2 classes, 5 images, 3 attributes; per class 2.00, of these spurious 1.50; "
        "per image 1.20, none for 1"
    )


@pytest.mark.parametrize("sizes", [[3], [3, 3]])
def test_statistics_of_another_number_of_images(sizes: list[int]) -> None:
    with pytest.raises(SchemaError, match="5 rows"):
        attribute_statistics(attributes_table(OF_IMAGES), sizes)


def test_statistics_of_nothing() -> None:
    with pytest.raises(SchemaError, match="0 rows"):
        attribute_statistics(attributes_table([]), [])


WORDS = st.lists(st.sampled_from(["a", "b", "c d", "é"]), unique=True).map(sorted)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=5), min_size=1, max_size=4))
def test_statistics_are_those_of_the_definition(classes: list[list[list[str]]]) -> None:
    flat = [words for images in classes for words in images]
    found = attribute_statistics(attributes_table(flat), list(map(len, classes)))
    having = [{a for words in images for a in words} for images in classes]
    shared = [set.intersection(*map(set, images)) for images in classes]
    assert found.unique == len(set().union(*having))
    assert found.per_class == sum(map(len, having)) / len(classes)
    spurious = [all_of - of_each for all_of, of_each in zip(having, shared, strict=True)]
    assert found.spurious_per_class == sum(map(len, spurious)) / len(classes)


def test_a_table() -> None:
    table = attributes_table(OF_IMAGES, ["a big red car", "red", "", None, "x"])
    assert table.schema == schemas.ATTRIBUTES
    assert table.column("text").null_count == 1
    assert table.column("attributes").to_pylist() == OF_IMAGES
    assert list(attribute_problems(table, 5)) == []
    assert attributes_table(OF_IMAGES).column("text").null_count == 5
    assert content_digest(table) == content_digest(pa.concat_tables([table[:2], table[2:]]))


@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        ([["red", "big"]], "not sorted"),
        ([["red", "red"]], "twice"),
        ([["Red"]], "not in lower case"),
        ([[" red"]], "not in lower case"),
        ([[""]], "empty"),
        ([[None]], "null"),
        ([["a" * 101]], "long"),
        ([["a\n"]], "not in lower case"),
        ([None], "no list of attributes for 1 images"),
        ([[], []], "one row for each of 1 images"),
    ],
)
def test_what_no_table_may_hold(attributes: list[list[str]], problem: str) -> None:
    columns = [
        pa.array(range(len(attributes)), pa.int32()),
        pa.nulls(len(attributes), pa.string()),
        pa.array(attributes, pa.list_(pa.string())),
    ]
    table = pa.table(columns, schema=schemas.ATTRIBUTES)
    assert any(problem in found for found in attribute_problems(table, 1))
    with pytest.raises(SchemaError, match=problem):
        check_attributes_table(table, 1, "here")


def test_ids_that_are_null() -> None:
    table = attributes_table([["a"]]).set_column(
        0, schemas.ATTRIBUTES.field(0), [pa.array([None], pa.int32())]
    )
    assert list(attribute_problems(table, 1)) == ["has not one row for each of 1 images, in order"]
