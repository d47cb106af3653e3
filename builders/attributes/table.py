"""Tables of attributes: one row an image, and what must hold of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from benchmark_spec import schemas
from benchmark_spec.errors import SchemaError, listing

MAX_ATTRIBUTE = 100
"""Characters of an attribute."""


def attributes_table(
    attributes: Sequence[Sequence[str]], texts: Sequence[str | None] | None = None
) -> pa.Table:
    """Make a table of the schema :data:`benchmark_spec.schemas.ATTRIBUTES`.

    Parameters
    ----------
    attributes : N
        Of each image, in the order of image ids: sorted, each once, in lower case.
    texts : N, optional
        What they are words of; null throughout unless given.
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
    """Return a table of attributes; SchemaError says all that is wrong with it."""
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
    """Yield what cannot be right in a table of the schema ``ATTRIBUTES``, of so many images."""
    ids, lists = table.column("image_id"), table.column("attributes")
    if ids.null_count or not np.array_equal(ids.to_numpy(), np.arange(n_images)):
        yield f"has not one row for each of {n_images} images, in order"
    if lists.null_count:
        yield f"has no list of attributes for {lists.null_count} images"
    of_image = lists.to_pylist()
    for wrong, what in (
        (_bad_word, "has attributes that are null, empty, long or not in lower case"),
        (_out_of_order, "has attributes that are not sorted, or twice with one image"),
    ):
        images = [i for i, attributes in enumerate(of_image) if attributes and wrong(attributes)]
        if images:
            yield f"{what}: images {listing(images)}"


def _bad_word(attributes: Sequence[str | None]) -> bool:
    return any(
        not word
        or word != word.lower().strip()
        or not word.isprintable()
        or len(word) > MAX_ATTRIBUTE
        for word in attributes
    )


def _out_of_order(attributes: Sequence[str | None]) -> bool:
    words = [word or "" for word in attributes]
    return words != sorted(set(words))
