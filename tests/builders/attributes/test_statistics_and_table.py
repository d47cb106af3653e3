"""Tables of attributes and their statistics, small enough to count by hand."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_spec import schemas
from benchmark_spec.errors import SchemaError
from builders.attributes.table import (
    AttributeStatistics,
    attribute_statistics,
    attributes_table,
    check_attributes_table,
)
from fslbench_data.release.release import Release


@pytest.mark.parametrize(("words", "sizes"), [([["a"]] * 5, [3]), ([["a"]] * 5, [3, 3]), ([], [])])
def test_statistics_of_another_number_of_images(words: list[list[str]], sizes: list[int]) -> None:
    with pytest.raises(SchemaError, match=f"{len(words)} rows"):
        attribute_statistics(attributes_table(words), sizes)


def test_what_the_documentation_says_of_clip_art(embedded: Release, root: Path) -> None:
    sizes = embedded.classes("openclipart").column("n_images").to_pylist()
    found = attribute_statistics(embedded.attributes("openclipart", "titles"), sizes)
    assert f"openclipart: {found}\n" in (root / "docs/bias.md").read_text(encoding="utf-8")


WORDS = st.lists(st.sampled_from(["a", "b", "c d", "é"]), unique=True).map(sorted)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=5), min_size=1, max_size=4))
def test_statistics_are_those_of_the_definition(classes: list[list[list[str]]]) -> None:
    flat = [words for images in classes for words in images]
    found = attribute_statistics(attributes_table(flat), list(map(len, classes)))
    having = [{a for words in images for a in words} for images in classes]
    shared = [set.intersection(*map(set, images)) for images in classes]
    spurious = [all_of - of_each for all_of, of_each in zip(having, shared, strict=True)]
    assert found == AttributeStatistics(
        classes=len(classes),
        images=len(flat),
        unique=len(set().union(*having)),
        per_class=sum(map(len, having)) / len(classes),
        spurious_per_class=sum(map(len, spurious)) / len(classes),
        per_image=sum(map(len, flat)) / len(flat),
        without=flat.count([]),
    )


@pytest.mark.parametrize(
    ("ids", "attributes", "problem"),
    [
        ([0], [["red", "big"]], "not sorted"),
        ([0], [["red", "red"]], "twice"),
        ([0], [["Red"]], "not in lower case"),
        ([0], [[" red"]], "not in lower case"),
        ([0], [["a\n"]], "not in lower case"),
        ([0], [[""]], "empty"),
        ([0], [[None]], "null"),
        ([0], [["a" * 101]], "long"),
        ([0], [None], "no list of attributes for 1 images"),
        ([0, 1], [[], []], "one row for each of 1 images"),
        ([None], [["a"]], "one row for each of 1 images"),
    ],
)
def test_what_no_table_may_hold(
    ids: list[int | None], attributes: list[list[str]], problem: str
) -> None:
    texts = [None] * len(ids)
    table = pa.Table.from_arrays([ids, texts, attributes], schema=schemas.ATTRIBUTES)
    with pytest.raises(SchemaError, match=problem):
        check_attributes_table(table, 1, "here")
