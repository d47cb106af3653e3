"""DuckDB over registered tables, locked; and the package's own SQL, one question a file.

The files in ``queries/`` are views of the connection, those in ``rules/`` SELECTs of the rows of a
submission that break a rule, in the order of the file.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from numpy.typing import NDArray

from analysis_sql.query_limits import MEMORY, memory_bytes
from benchmark_spec.errors import QueryError, UnknownNameError, listing

_BATCH = 1 << 16
"""Rows of a batch of a result."""
_MOST_NESTED = 16
"""Levels of lists and structs above which a value is converted to text."""
_PLAIN = {
    *("boolean", "tinyint", "smallint", "integer", "bigint", "hugeint"),
    *("utinyint", "usmallint", "uinteger", "ubigint"),
    *("float", "double", "decimal", "varchar"),
}
"""Types of DuckDB that are the same in Arrow, in Python and in files."""


def query_names() -> list[str]:
    """Return the names of the package's queries, sorted."""
    return sorted(path.stem for path in (Path(__file__).parent / "queries").glob("*.sql"))


def query_text(name: str) -> str:
    """Return the SQL of a query; raises an UnknownNameError that lists the names."""
    if name not in query_names():
        fix = "fslbench sql --list describes the tables that are not made in SQL, too"
        raise UnknownNameError("query", name, query_names(), fix=fix)
    return _text(".", name)


def query_question(name: str) -> str:
    """Return the first line of a query: the question."""
    return query_text(name).splitlines()[0].removeprefix("-- ")


def new_database(memory: str | None = None) -> duckdb.DuckDBPyConnection:
    """Open an empty DuckDB in memory that reaches no file, network, extension or Python object.

    It takes at most `memory`, such as ``1GB``, of the memory that DuckDB counts (a huge text is not
    counted).  Raises a QueryError if that is not an amount of memory.
    """
    limit = {} if memory is None else {"memory_limit": f"{memory_bytes(memory)}B"}
    try:
        connection = duckdb.connect(
            ":memory:",
            config={
                "enable_external_access": False,
                "python_enable_replacements": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "temp_directory": "",
                **limit,
            },
        )
    except duckdb.IOException as error:  # there is no working folder
        raise QueryError(
            f"DuckDB cannot start: {_first_line(error)}", fix="change to a folder that exists"
        ) from None
    # The progress bar is on where Python has no main file, and would be among results.  Where it is
    # off it is not set: in Jupyter without ipywidgets DuckDB refuses the setting itself.
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection


def working_database() -> duckdb.DuckDBPyConnection:
    """Return a connection with temporary tables of its own, to one database a process."""
    return _of_process(os.getpid()).cursor()


@cache
def _of_process(_: int) -> duckdb.DuckDBPyConnection:
    connection = new_database()
    # a forked process may hang or crash if it closes its parent's connection, even at its end
    if hasattr(os, "register_at_fork"):
        keep = partial(ctypes.pythonapi.Py_IncRef, ctypes.py_object(connection))
        os.register_at_fork(after_in_child=keep)
    return connection


def open_database(tables: Mapping[str, Any], *, memory: str = MEMORY) -> duckdb.DuckDBPyConnection:
    """Open a :func:`new_database` with `tables` and the package's queries as views, and lock it.

    Its settings cannot be changed afterwards.
    """
    connection = new_database(memory)
    for name, table in tables.items():
        connection.register(name, table)
    for name in sorted(query_names(), key=lambda name: name != "by_task"):  # others read it
        connection.execute(f"CREATE VIEW {name} AS {query_text(name)}")
    connection.execute("SET lock_configuration = true")
    return connection


def run_query(connection: duckdb.DuckDBPyConnection, sql: str) -> Iterator[pa.RecordBatch]:
    """Run one SELECT in a transaction that can only read.

    Yields at least one batch; columns of the same name get ``_1``, ``_2``, ... Values of types that
    Arrow or Python lacks are texts, as DuckDB writes them. Raises a QueryError for anything else,
    and a MemoryError if there is less memory than the connection may take.
    """
    _check_kind(sql)
    connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        reader = _portable(connection.sql(sql)).to_arrow_reader(_BATCH)
        yield pa.RecordBatch.from_pylist([], schema=reader.schema)
        yield from reader
    except MemoryError:  # some of which are errors of Arrow too
        raise
    except (duckdb.Error, pa.ArrowException, OSError) as error:  # the last two for later batches
        raise _worded(error) from None
    finally:
        connection.execute("ROLLBACK")


def _worded(error: Exception) -> QueryError:
    text = _first_line(error)
    if isinstance(error, duckdb.OutOfMemoryException) or text.startswith("Out of Memory"):
        return QueryError(
            f"the query needs more memory than it may take: {text}",
            fix="ask for less, or allow more with --memory",
        )
    if isinstance(error, duckdb.PermissionException | duckdb.TransactionException):
        return QueryError(
            f"the query may not do that: {text}",
            expected="a query of the views that fslbench sql --list shows",
        )
    return QueryError(
        f"the query failed: {text}", fix="fslbench sql --list shows the views and their columns"
    )


def _check_kind(sql: str) -> None:
    """Raise QueryError unless it is one SELECT."""
    try:
        kinds = [statement.type.name for statement in duckdb.extract_statements(sql)]
    except duckdb.Error as error:
        raise QueryError(f"the query cannot be read: {_first_line(error)}") from None
    if kinds == ["MULTI"]:
        raise QueryError(
            "a PIVOT that finds its columns itself takes two statements",
            fix="name them: PIVOT ... ON method IN ('a', 'b') USING ...",
        )
    if kinds != ["SELECT"]:
        raise QueryError(
            f"the query has {len(kinds)} statements: {listing(kinds)}"
            if len(kinds) != 1
            else f"a query may not {kinds[0]}",
            expected="one SELECT; nothing can be written, loaded, attached or set",
        )


def _portable(result: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Convert types that are not plain to text, and make names of columns unique."""
    result = result.project("*")  # makes names unique
    kinds = zip(result.columns, result.types, strict=True)
    quoted = [name.replace('"', '""') for name, kind in kinds if not _is_plain(kind)]
    texts = ", ".join(f'CAST("{name}" AS VARCHAR) AS "{name}"' for name in quoted)
    return result.project(f"* REPLACE ({texts})") if texts else result


def _is_plain(kind: Any, depth: int = 0) -> bool:
    """Return whether a type of DuckDB, and all types inside it, are plain."""
    if kind.id in ("list", "array", "struct") and depth < _MOST_NESTED:
        inner = kind.children if kind.id == "struct" else kind.children[:1]
        # Parquet has no empty structs
        return bool(inner) and all(_is_plain(child, depth + 1) for _, child in inner)
    return kind.id in _PLAIN


def _first_line(error: Exception) -> str:
    """Return the error and DuckDB's hint, without the excerpt of the query below them."""
    return " ".join(str(error).split("\n\n")[0].split("LINE 1")[0].split())


def broken(connection: duckdb.DuckDBPyConnection, rule: str) -> dict[str, NDArray[Any]]:
    """Return the columns of the rows that break a rule, in the order of the file."""
    columns: dict[str, NDArray[Any]] = connection.execute(_text("rules", rule)).fetchnumpy()
    return columns


def view_by_task(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the view `by_task` over `rows`; its `method` is the `answer` of `groups`."""
    connection.execute(f"CREATE TEMP VIEW results AS {_text('rules', 'results')}")
    connection.execute(f"CREATE TEMP VIEW by_task AS {_text('.', 'by_task')}")


@cache
def _text(folder: str, name: str) -> str:
    path = Path(__file__).parent / "queries" / folder / f"{name}.sql"
    return path.read_text(encoding="utf-8")
