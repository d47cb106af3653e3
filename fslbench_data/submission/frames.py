"""Read frames of pandas and polars, Arrow tables and other Arrow sources, importing none."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from benchmark_spec.errors import SchemaError, rows
from fslbench_data.submission.columns import TableKind, printable, without_index


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


def frame_table(source: Any, where: str, kind: TableKind | None = None) -> pa.Table:
    """Return a table of a frame, a mapping of columns, or a list of rows.

    Of a kind that is not closed, only its columns are read, and loose ones with values of several
    kinds are left out.  Raises a SchemaError if Arrow makes no table of it; of columns of objects
    it names the first row that Arrow refuses.
    """
    chosen = None if kind is None or kind.closed else kind.types
    frame, columns = source, list[tuple[str, pa.Array]]()
    try:
        if isinstance(frame, list | tuple) and all(isinstance(row, Mapping) for row in frame):
            names = dict.fromkeys(n for row in frame for n in row if not chosen or n in chosen)
            frame = {name: [row.get(name) for row in frame] for name in names}
        if _is_pandas(frame):
            index = [name for name in frame.index.names if kind and name in kind.in_index]
            frame = frame.reset_index(index) if index else frame
        elif chosen and hasattr(frame, "get_column") and not isinstance(frame, type):
            # Arrow may not know the types of polars' other columns
            frame = frame.select([name for name in frame.columns if name in chosen])
        if not (_is_pandas(frame) or isinstance(frame, Mapping)):
            table = pa.table(frame)
            return table if kind else without_index(table)
        for name, values in frame.items():
            if not chosen or name in chosen:
                with suppress(SchemaError) if kind and name in kind.loose else nullcontext():
                    columns.append((str(name), _column(str(name), values, where)))
        table = pa.table([values for _, values in columns], names=[name for name, _ in columns])
        return table if kind else without_index(table)
    except SchemaError:
        raise
    except Exception as error:  # the frame's code may raise anything
        raise _not_a_table(source, where, error) from None


def _is_pandas(frame: object) -> bool:
    """Return whether this is a frame of pandas, whose columns may hold any objects."""
    return hasattr(frame, "iloc") and hasattr(frame, "columns") and not isinstance(frame, type)


def _column(name: str, values: Any, where: str) -> pa.Array:
    """Return values as a column; raise a SchemaError that names the first row Arrow refuses."""
    with suppress(Exception):  # the objects' code may raise anything
        return pa.array(values, from_pandas=True)  # NaN as null
    plain = _plain(values)
    try:
        return pa.array(plain, from_pandas=True)
    except Exception as error:
        if not isinstance(plain, list):
            raise
        raise _not_of_one_kind(name, plain, error, where) from None


def _plain(value: Any) -> Any:
    """Return arrays and tensors, also within lists, as lists of plain values."""
    if hasattr(value, "tolist"):
        values = value.tolist()
        return _plain(values) if str(getattr(value, "dtype", "")) == "object" else values
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


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


def _not_a_table(source: object, where: str, error: Exception) -> SchemaError:
    """Return the error about a source that is no table; of a lazy frame it says how to make one."""
    kind = f"class {source.__name__}" if isinstance(source, type) else type(source).__name__
    makers = ("to_table", "toArrow", "toPandas", "compute", "collect")
    maker = next((name for name in makers if callable(getattr(source, name, None))), "")
    is_frame = isinstance(source, Frame | Mapping)
    return SchemaError(
        f"{where} is a {kind}"
        + (f", of which no table can be made: {printable(error)}" if is_frame else ""),
        expected="a file, a frame of pandas or polars (not lazy), an Arrow table or what else "
        "gives one by the Arrow PyCapsule interface, or a mapping of columns of equal length",
        fix=f"give what its .{maker}() returns"
        if maker and not is_frame
        else "make a frame of its rows first; accuracies alone, one per task, go to fb.reported",
    )
