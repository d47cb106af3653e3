"""Read frames of pandas and polars, Arrow tables and other Arrow sources; none is imported."""

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
    """A frame of pandas (2.2 or later) or polars, an Arrow table, or whatever gives Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give the rows by the Arrow PyCapsule interface."""


class AsFrame:
    """Rows for pandas, Arrow, and whatever takes Arrow."""

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return the rows as a pandas frame, numbered from 0."""
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def frame_table(frame: Any, where: str) -> pa.Table:
    """Return a frame's columns, without the index that a pandas frame has.

    Raises a SchemaError if Arrow makes no table of it; names the first row of a pandas frame that
    it cannot take.
    """
    if is_pandas(frame):
        check_once(frame.columns, where)  # the index is none of them
        own = {str(n): column_of(str(n), frame[n], where) for n in frame.columns}
        return pa.table({name: column for name, column in own.items() if not INDEX.fullmatch(name)})
    try:
        table = pa.table(frame)
    except Exception as error:  # what gives Arrow is anybody's code
        raise not_a_table(frame, where, error) from None
    metadata = table.schema.metadata or {}
    index = index_columns(table.schema)
    table = table.select([name for name in table.column_names if name not in index])
    kept = {key: value for key, value in metadata.items() if key == METADATA_KEY}
    return table.replace_schema_metadata(kept or None)


def read_frame(
    frame: Frame, methods: About, fingerprints: Mapping[str, str], where: str
) -> Content:
    """Return what a frame holds, in the order of the fields of a Submission.

    As :meth:`Submission.from_frame`, which describes the parameters and errors.
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


def _methods(methods: About, there: Collection[str]) -> dict[str, Method]:
    if strange := [name for name in methods if name not in there]:
        raise SpecError(
            f"methods says something of {listing(strange)}",
            expected=f"methods of the frame: {listing(sorted(there))}",
        )
    made = {}
    for name, about in methods.items():
        try:
            fields = {} if isinstance(about, Method) else dict(about)
            made[name] = about if isinstance(about, Method) else Method(name, **fields)
        except TypeError as error:
            raise SpecError(
                f"what methods says of {name!r} is not understood: {printable(error)}",
                expected="of description, backbone, link, transductive, trained and inductive "
                "those that are known",
            ) from None
        if made[name].name != check_method_name(name):
            raise SpecError(f"methods says of {name!r} that it is {made[name].name!r}")
    return made


def is_pandas(frame: object) -> bool:
    """Return whether this is a frame of pandas, whose columns may hold any objects."""
    return hasattr(frame, "iloc") and hasattr(frame, "columns") and not isinstance(frame, type)


def column_of(name: str, values: Any, where: str) -> Any:
    """Return values as a column; the error for what Arrow cannot take names the first such row."""
    try:
        return pa.array(values, from_pandas=True)  # NaN as null
    except Exception as error:  # objects in a column are anybody's code, too
        raise _not_of_one_kind(name, list(values), error, where) from None


def check_once(names: Iterable[object], where: str) -> None:
    """Refuse columns of which there are several of one name, with a SchemaError."""
    if doubled := [quoted(str(name)) for name, count in Counter(names).items() if count > 1]:
        raise SchemaError(
            f"{where} doubles column {listing(doubled, 12)}",
            expected="every column once",
            fix="drop one of them",
        )


def _not_of_one_kind(name: str, values: list[Any], error: Exception, where: str) -> SchemaError:
    """Return the error that names the first row at which Arrow makes no column, and its value."""
    at = bisect_left(range(len(values)), True, key=lambda row: _is_refused(values[: row + 1]))
    wrong = values[at] if at < len(values) else None
    first = next((value for value in values[:at] if not _is_missing(value)), wrong)
    kinds = [type(value).__name__ for value in (first, wrong)]
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
        f"column {name!r} holds a {kinds[0]} and then a {kinds[1]}"
        if kinds[0] != kinds[1]
        else f"column {name!r} holds {what}: {printable(error)}",
        where=f"{where}, {rows([at])}",
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
    """Return the error for what is no table; it says how to make one of a lazy frame."""
    kind = f"class {source.__name__}" if isinstance(source, type) else type(source).__name__
    makers = ("to_table", "toArrow", "toPandas", "compute", "collect")
    made = next((name for name in makers if callable(getattr(source, name, None))), "")
    gives = isinstance(source, Frame | Mapping)
    lazy = made and not gives
    return SchemaError(
        f"{where} is a {kind}"
        + (f", of which no table can be made: {printable(error)}" if error and gives else ""),
        expected="a frame of pandas or polars (not lazy), an Arrow table or what else gives one by "
        "the Arrow PyCapsule interface, or a mapping of columns",
        fix=f"give what its .{made}() returns"
        if lazy
        else "make a frame of its rows first; accuracies alone, one a task, go to fb.reported",
    )
