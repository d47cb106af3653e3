"""Read frames of pandas and polars, Arrow tables and other Arrow sources, importing none."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from benchmark_spec.errors import (
    SchemaError,
    SpecError,
    UnreadableError,
    listing,
    quoted,
    rows,
)
from benchmark_spec.naming import check_method_name
from benchmark_spec.version import __version__
from fslbench_data.submission.bindings import METADATA_KEY, Binding, Method, metadata_of
from fslbench_data.submission.columns import INDEX, NAMES, canonical, index_columns, printable
from fslbench_data.submission.reading import Content, warn_of_lost_metadata

About = Mapping[str, Method | Mapping[str, Any]]
"""Metadata of methods by name: a Method, or its fields."""


@runtime_checkable
class Frame(Protocol):
    """A frame of pandas (2.2 or later) or polars, or anything with Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give the rows by the Arrow PyCapsule interface."""


class AsFrame:
    """Rows that convert to pandas and Arrow."""

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return the rows as a pandas frame, numbered from 0."""
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def frame_table(frame: Any, where: str) -> pa.Table:
    """Return a frame's columns, without the index of a pandas frame.

    Raises a SchemaError if Arrow makes no table of it; of a pandas frame it names the first row
    that Arrow refuses.
    """
    if is_pandas(frame):
        check_once(frame.columns, where)
        columns = {str(name): column_of(str(name), frame[name], where) for name in frame.columns}
        return pa.table({name: columns[name] for name in columns if not INDEX.fullmatch(name)})
    try:
        table = pa.table(frame)
    except Exception as error:  # the frame's code may raise anything
        raise not_a_table(frame, where, error) from None
    metadata = table.schema.metadata or {}
    index = index_columns(table.schema)
    table = table.select([name for name in table.column_names if name not in index])
    kept = {key: value for key, value in metadata.items() if key == METADATA_KEY}
    return table.replace_schema_metadata(kept or None)


def read_frame(
    frame: Frame, methods: About, fingerprints: Mapping[str, str], where: str
) -> Content:
    """Read a submission from a frame.

    :meth:`Submission.from_frame` describes the parameters and errors.
    """
    table = frame_table(frame, where)
    schema, table = table.schema, canonical(table, where)
    if not table.num_rows:
        again = "; a reader is empty once it has been read: give its table"
        fix = f"fill it with the results{again if hasattr(frame, 'read_all') else ''}"
        raise UnreadableError(f"{where} has columns but no rows", fix=fix)
    declared = metadata_of(schema, where)
    if declared is None and not methods:
        warn_of_lost_metadata(table.column_names, where)
    about, bindings, version = declared or ({}, {}, __version__)
    groups = table.select(list(NAMES)).group_by(list(NAMES), use_threads=False).aggregate([])
    keys = [(row["method"], row["dataset"], row["task_set"]) for row in groups.to_pylist()]
    about |= _methods(methods, {method for method, *_ in keys})
    for method, dataset, task_set in keys:
        if (fingerprint := fingerprints.get(f"{dataset}/{task_set}")) is not None:
            bindings[method, dataset, task_set] = Binding(fingerprint)
    return Content(table, about, bindings, where, version)


def _methods(given: About, in_frame: Collection[str]) -> dict[str, Method]:
    """Return the given metadata of methods; raise a SpecError if it does not fit the frame."""
    if unknown := [name for name in given if name not in in_frame]:
        raise SpecError(
            f"methods says something of {listing(unknown)}",
            expected=f"methods of the frame: {listing(sorted(in_frame))}",
        )
    methods = {}
    for name, about in given.items():
        try:
            methods[name] = about if isinstance(about, Method) else Method(name, **dict(about))
        except TypeError as error:
            raise SpecError(
                f"what methods says of {name!r} is not understood: {printable(error)}",
                expected="of description, backbone, link, transductive, trained and inductive "
                "those that are known",
            ) from None
        if methods[name].name != check_method_name(name):
            raise SpecError(f"methods says of {name!r} that it is {methods[name].name!r}")
    return methods


def is_pandas(frame: object) -> bool:
    """Return whether this is a frame of pandas, whose columns may hold any objects."""
    return hasattr(frame, "iloc") and hasattr(frame, "columns") and not isinstance(frame, type)


def column_of(name: str, values: Any, where: str) -> Any:
    """Return values as a column; raise a SchemaError that names the first row Arrow refuses."""
    try:
        return pa.array(values, from_pandas=True)  # NaN as null
    except Exception as error:  # the objects' code may raise anything
        raise _not_of_one_kind(name, list(values), error, where) from None


def check_once(names: Iterable[object], where: str) -> None:
    """Raise a SchemaError if several columns have the same name."""
    if doubled := [quoted(str(name)) for name, count in Counter(names).items() if count > 1]:
        raise SchemaError(
            f"{where} doubles column {listing(doubled, 12)}",
            expected="every column once",
            fix="drop one of them",
        )


def _not_of_one_kind(name: str, values: list[Any], error: Exception, where: str) -> SchemaError:
    """Return the error that names the first row that Arrow refuses, and its value."""
    bad = bisect_left(range(len(values)), True, key=lambda row: _is_refused(values[: row + 1]))
    wrong = values[bad] if bad < len(values) else None
    first = next((value for value in values[:bad] if not _is_missing(value)), wrong)
    first_kind, wrong_kind = type(first).__name__, type(wrong).__name__
    what = "what Arrow does not know"
    if isinstance(wrong, list | tuple):
        what = "values of several kinds"
        fix = "write all ids as texts, as in [str(i) for i in ids], or all as integers, none empty"
    elif hasattr(wrong, "tolist"):
        fix = "leave the column out, or make plain lists and numbers of them: value.tolist()"
    else:
        fix = (
            "mend that row, or leave the column out; of names make texts, wherever there is one: "
            "str(value)"
        )
    return SchemaError(
        f"column {name!r} holds a {first_kind} and then a {wrong_kind}"
        if first_kind != wrong_kind
        else f"column {name!r} holds {what}: {printable(error)}",
        where=f"{where}, {rows([bad])}",
        expected="values of one kind in a column, integers below 2^63; of lists each as deep",
        fix=fix,
    )


def _is_refused(values: list[Any]) -> bool:
    try:
        pa.array(values, from_pandas=True)
    except Exception:
        return True
    return False


def _is_missing(value: object) -> bool:
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def not_a_table(source: object, where: str, error: Exception | None = None) -> SchemaError:
    """Return the error about a source that is no table; of a lazy frame it says how to make one."""
    kind = f"class {source.__name__}" if isinstance(source, type) else type(source).__name__
    makers = ("to_table", "toArrow", "toPandas", "compute", "collect")
    maker = next((name for name in makers if callable(getattr(source, name, None))), "")
    is_frame = isinstance(source, Frame | Mapping)
    return SchemaError(
        f"{where} is a {kind}"
        + (f", of which no table can be made: {printable(error)}" if error and is_frame else ""),
        expected="a frame of pandas or polars (not lazy), an Arrow table or what else gives one by "
        "the Arrow PyCapsule interface, or a mapping of columns",
        fix=f"give what its .{maker}() returns"
        if maker and not is_frame
        else "make a frame of its rows first; accuracies alone, one per task, go to fb.reported",
    )
