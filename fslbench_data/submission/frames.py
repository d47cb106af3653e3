"""Frames of pandas and polars, Arrow tables and what else speaks Arrow: none is imported."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeGuard, runtime_checkable

import pyarrow as pa

from benchmark_spec.errors import SchemaError, SpecError, UnreadableError, listing, rows
from benchmark_spec.naming import check_method_name
from benchmark_spec.version import __version__
from fslbench_data.submission.bindings import METADATA_KEY, Binding, GroupKey, Method
from fslbench_data.submission.canonical import NAMES, canonical, index_columns, printable
from fslbench_data.submission.metadata import read_metadata
from fslbench_data.submission.reading import Content, warn_of_lost_metadata

About = Mapping[str, Method | Mapping[str, Any]]
"""What methods say of themselves, by name: a Method, or its fields."""


@runtime_checkable
class Frame(Protocol):
    """A frame of pandas (2.2 or later) or polars, an Arrow table, or whatever gives Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give the rows by the Arrow PyCapsule interface."""


class AsFrame(ABC):
    """Rows for pandas, Arrow, and whatever takes Arrow."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""

    def to_pandas(self) -> Any:
        """The rows as a pandas frame, numbered from 0."""
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def is_frame(source: object) -> TypeGuard[Frame]:
    """Tell whether something gives rows as Arrow does."""
    return isinstance(source, Frame)


def frame_table(frame: Frame, where: str) -> pa.Table:
    """Return a frame's columns, without the index that a pandas frame has.

    Raises
    ------
    SchemaError
        If a column holds values of several kinds; names the first row of another kind.
    """
    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise _not_of_one_kind(frame, error, where) from None
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
    metadata = (table.schema.metadata or {}).get(METADATA_KEY)
    table = canonical(table, where)
    if not table.num_rows:
        raise UnreadableError(f"{where} has columns but no rows", fix="fill it with the results")
    declared: tuple[dict[str, Method], dict[GroupKey, Binding], str] = ({}, {}, __version__)
    if metadata is not None:
        declared = read_metadata(metadata, where)
    elif not methods:
        warn_of_lost_metadata(table.column_names, where)
    about, bindings, version = declared
    groups = _groups(table)
    about |= _methods(methods, {method for method, *_ in groups})
    for method, dataset, task_set in groups:
        if (fingerprint := fingerprints.get(f"{dataset}/{task_set}")) is not None:
            bindings[method, dataset, task_set] = Binding(fingerprint)
    return Content(table, about, bindings, where, version)


def _groups(table: pa.Table) -> list[GroupKey]:
    different = table.select(list(NAMES)).group_by(list(NAMES), use_threads=False).aggregate([])
    return [(row["method"], row["dataset"], row["task_set"]) for row in different.to_pylist()]


def _methods(methods: About, answering: Iterable[str]) -> dict[str, Method]:
    there = set(answering)
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
                expected="of description, backbone, link, transductive and trained those that are "
                "known",
            ) from None
        if made[name].name != check_method_name(name):
            raise SpecError(f"methods says of {name!r} that it is {made[name].name!r}")
    return made


def _not_of_one_kind(frame: Any, error: Exception, where: str) -> SchemaError:
    """Name the column and the first row whose value is of another kind than the first's."""
    for name in getattr(frame, "columns", ()):
        values = list(frame[name])
        try:
            pa.array(values, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            kinds = [type(value).__name__ for value in values]
            at = next((i for i, kind in enumerate(kinds) if kind != kinds[0]), 0)
            return SchemaError(
                f"column {str(name)!r} holds a {kinds[0]} and then a {kinds[at]}"
                if at
                else f"column {str(name)!r} holds what Arrow does not know: {printable(error)}",
                where=f"{where}, {rows([at])}",
                expected="values of one kind in a column",
                fix=f'make them alike, as in frame["{name}"].astype(str)',
            )
    return SchemaError(
        f"{where} cannot be made a table: {printable(error)}",
        expected="a frame of pandas or polars (not lazy), or an Arrow table",
    )
