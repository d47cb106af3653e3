"""Make and check tables of attributes, with a row for each image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from benchmark_spec import schemas
from benchmark_spec.errors import SchemaError, listing

MAX_ATTRIBUTE = 100
"""The most characters of an attribute."""


def attributes_table(
    attributes: Sequence[Sequence[str]], texts: Sequence[str | None] | None = None
) -> pa.Table:
    """Make a table of the schema :data:`benchmark_spec.schemas.ATTRIBUTES`.

    It has the attributes of each of N images, and the text from which they are, if any.
    """
    columns = [
        pa.array(range(len(attributes)), pa.int32()),
        pa.nulls(len(attributes), pa.string()) if texts is None else pa.array(texts, pa.string()),
        pa.array([list(words) for words in attributes], pa.list_(pa.string())),
    ]
    table = pa.table(columns, schema=schemas.ATTRIBUTES)
    check_attributes_table(table, len(attributes), "the attributes")
    return table


def check_attributes_table(table: pa.Table, n_images: int, where: str) -> pa.Table:
    """Return a table of attributes; SchemaError with all its problems."""
    schemas.check(table, schemas.ATTRIBUTES, where)
    problems = list(attribute_problems(table, n_images))
    if problems:
        raise SchemaError(
            f"the table {'; it '.join(problems)}",
            where=where,
            expected=f"a row for each of {n_images} images, in order, with a list of attributes: "
            "sorted, each once, in lower case",
        )
    return table


def attribute_problems(table: pa.Table, n_images: int) -> Iterator[str]:
    """Yield the problems of a table of the schema ``ATTRIBUTES`` of `n_images` images."""
    ids, lists = table.column("image_id"), table.column("attributes")
    if ids.null_count or not np.array_equal(ids.to_numpy(), np.arange(n_images)):
        yield f"has not one row for each of {n_images} images, in order"
    if lists.null_count:
        yield f"has no list of attributes for {lists.null_count} images"
    by_image = lists.to_pylist()
    for is_wrong, problem in (
        (_has_bad_word, "has attributes that are null, empty, long or not in lower case"),
        (_is_unsorted, "has attributes that are not sorted, or twice with one image"),
    ):
        images = [i for i, attributes in enumerate(by_image) if attributes and is_wrong(attributes)]
        if images:
            yield f"{problem}: images {listing(images)}"


def _has_bad_word(attributes: Sequence[str | None]) -> bool:
    return any(
        not word
        or word != word.lower().strip()
        or not word.isprintable()
        or len(word) > MAX_ATTRIBUTE
        for word in attributes
    )


def _is_unsorted(attributes: Sequence[str | None]) -> bool:
    words = [word or "" for word in attributes]
    return words != sorted(set(words))


@dataclass(frozen=True)
class AttributeStatistics:
    """How many attributes a data set has, as in Table 2 of FewSTAB (Zheng et al., ECCV 2024).

    `unique` counts different attributes.  `per_class` is the mean number of attributes that any
    image of a class has, `spurious_per_class` of those that not all of its images have, `per_image`
    of those of an image.  `without` counts images without any.
    """

    classes: int
    images: int
    unique: int
    per_class: float
    spurious_per_class: float
    per_image: float
    without: int

    def __str__(self) -> str:
        return (
            f"{self.classes} classes, {self.images:,} images, {self.unique:,} attributes; "
            f"per class {self.per_class:.2f}, of these spurious {self.spurious_per_class:.2f}; "
            f"per image {self.per_image:.2f}, none for {self.without:,}"
        )


def attribute_statistics(table: pa.Table, class_sizes: Sequence[int]) -> AttributeStatistics:
    """Count the attributes of a table that has a row for each image, in the order of classes."""
    by_image = table.column("attributes").to_pylist()
    if len(by_image) != sum(class_sizes) or not by_image:
        raise SchemaError(
            f"the table has {len(by_image)} rows", expected=f"{sum(class_sizes)}, one per image"
        )
    unique: set[str] = set()
    class_attributes = spurious = first = 0
    for size in class_sizes:
        counts = Counter(chain.from_iterable(map(set, by_image[first : first + size])))
        first += size
        unique |= set(counts)
        class_attributes += len(counts)
        spurious += sum(number < size for number in counts.values())
    return AttributeStatistics(
        classes=len(class_sizes),
        images=len(by_image),
        unique=len(unique),
        per_class=class_attributes / len(class_sizes),
        spurious_per_class=spurious / len(class_sizes),
        per_image=sum(map(len, by_image)) / len(by_image),
        without=sum(not words for words in by_image),
    )
