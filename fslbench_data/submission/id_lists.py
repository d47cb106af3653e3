"""Ids of classes and images, integers or texts, in lists of one or two levels, as positions."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmark_spec.errors import SchemaError, rows, shown
from fslbench_data.submission.columns import encoded, is_text


def labels_of(
    values: pa.Array, *, by_appearance: bool = False
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the different ids as texts, and the position of each value among them.

    Parameters
    ----------
    values
        Integers or texts without nulls.
    by_appearance
        Whether they stand in the order in which they first appear, rather than ascending: integers
        by number, texts by their characters.
    """
    codes = encoded(values)
    used, first, positions = np.unique(
        codes.indices.to_numpy(), return_index=True, return_inverse=True
    )
    names = codes.dictionary.take(pa.array(used)).to_pylist()
    if by_appearance:
        order = np.argsort(first).tolist()
    else:
        order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return tuple(str(names[i]) for i in order), rank[positions]


def list_column(
    column: pa.ChunkedArray, name: str, where: str
) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the number of ids in each row (R,), and all of them, row after row.

    Lists in lists are read as one: K lists of m images as K·m images.  Raises a SchemaError if the
    column does not hold lists of integers or texts, or a list or an id is null, or inner lists
    differ in length.
    """
    lengths = np.ones(len(column), np.int64)
    at_row = np.arange(len(column))
    depth = 0
    while _is_list(column.type) and depth < 2:
        _no_nulls(column, at_row, name, where)
        inner = pc.list_value_length(column).to_numpy().astype(np.int64)
        if depth and inner.size and (wrong := np.flatnonzero(inner != inner[0])).size:
            raise SchemaError(
                f"{name} has lists of {inner[0]} and of {inner[wrong[0]]}",
                where=f"{where}, {rows(np.unique(at_row[wrong]))}",
                expected="as many images of every class, support and query together",
            )
        at_row = np.repeat(at_row, inner)
        lengths = np.bincount(at_row, minlength=len(lengths))
        column = pa.chunked_array(
            [chunk.flatten() for chunk in column.chunks], column.type.value_type
        )
        depth += 1
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        if any(chunk.dictionary.null_count for chunk in column.chunks):
            column = column.cast(kind)  # which shows the nulls
    if not depth or not (pa.types.is_integer(kind) or is_text(kind)):
        raise SchemaError(
            f"column {name!r} holds {'lists of ' * depth}{kind}",
            where=where,
            expected="in each row a list of ids, either integers or texts; image_ids perhaps K "
            "lists of m",
            fix=f"write `{name}` as lists; in CSV as JSON, such as [3, 0, 7]",
        )
    _no_nulls(column, at_row, name, where)
    return lengths, column.unify_dictionaries().combine_chunks()


def parsed_lists(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """Return a CSV column of JSON arrays of integers or texts, perhaps in arrays, as lists."""
    values: list[Any] = []
    for row, text in enumerate(column.to_pylist()):
        try:
            value = json.loads(text or "")
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, list):
            raise SchemaError(
                f"{name} is {shown(text, 40)}",
                where=f"{where}, {rows([row])}",
                expected="a JSON array of ids, such as [3, 0, 7]",
                fix="write lists with json.dumps, or the log as Parquet",
            )
        values.append(value)
    try:
        return pa.chunked_array([pa.array(values)])
    except (pa.ArrowException, OverflowError):
        raise SchemaError(
            f"{name} does not hold the same kind of ids in every row",
            where=where,
            expected="integers, or texts, in lists as deep as in the first row",
        ) from None


def _no_nulls(column: pa.ChunkedArray, at_row: NDArray[Any], name: str, where: str) -> None:
    if column.null_count:
        bad = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
        raise SchemaError(
            f"{name} is null, or holds a null",
            where=f"{where}, {rows(np.unique(at_row[bad]))}",
            expected="the ids of every class and image of the task",
        )


def _is_list(kind: pa.DataType) -> bool:
    tests = (
        pa.types.is_list,
        pa.types.is_large_list,
        pa.types.is_fixed_size_list,
        pa.types.is_list_view,
        pa.types.is_large_list_view,
    )
    return any(test(kind) for test in tests)
