"""DuckDB over registered tables, locked; and the package's own SQL, one question a file.

The files in ``queries/`` are views of the connection: each says in its first lines what it asks
and which tables it reads.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from importlib.resources import files

import duckdb
import pyarrow as pa

from benchmark_spec.errors import QueryError, UnknownNameError, listing

MEMORY = "1GB"
SECONDS = 60.0


def query_names() -> list[str]:
    """Names of the package's queries, sorted."""
    found = (files("analysis_sql") / "queries").iterdir()
    return sorted(f.name.removesuffix(".sql") for f in found if f.name.endswith(".sql"))


def query_text(name: str) -> str:
    """SQL of a query; raises UnknownNameError with the names there are."""
    if name not in query_names():
        raise UnknownNameError("query", name, query_names())
    return (files("analysis_sql") / "queries" / f"{name}.sql").read_text(encoding="utf-8")


def query_question(name: str) -> str:
    """What a query asks: its first line."""
    return query_text(name).splitlines()[0].removeprefix("-- ")


def open_database(
    tables: Mapping[str, pa.Table], *, memory: str = MEMORY
) -> duckdb.DuckDBPyConnection:
    """Open an in-memory DuckDB with `tables` and the package's queries as views, and lock it.

    It reaches no file, network, extension or Python object, takes at most `memory`, and none of
    this can be set otherwise any more.
    """
    try:
        connection = duckdb.connect(
            ":memory:",
            config={
                "enable_external_access": False,
                "python_enable_replacements": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "temp_directory": "",
                "memory_limit": memory,
            },
        )
    except duckdb.Error as error:
        raise QueryError(
            f"{memory!r} is not an amount of memory: {_first_line(error)}", expected="such as 1GB"
        ) from None
    for name, table in tables.items():
        connection.register(name, table)
    for name in query_names():
        connection.execute(f"CREATE VIEW {name} AS {query_text(name)}")
    connection.execute("SET lock_configuration = true")
    return connection


def run_query(
    connection: duckdb.DuckDBPyConnection, sql: str, *, seconds: float = SECONDS
) -> pa.Table:
    """Run one SELECT (or EXPLAIN) for at most `seconds`.

    Raises
    ------
    QueryError
        If it is anything else, is wrong, runs too long or needs too much memory.
    """
    try:
        kinds = [statement.type.name for statement in duckdb.extract_statements(sql)]
    except duckdb.Error as error:
        raise QueryError(f"the query cannot be read: {_first_line(error)}") from None
    if kinds == ["MULTI"]:
        raise QueryError(
            "a PIVOT that finds its columns itself takes two statements",
            fix="name them: PIVOT ... ON method IN ('a', 'b') USING ...",
        )
    if kinds not in (["SELECT"], ["EXPLAIN"]):
        raise QueryError(
            f"the query has {len(kinds)} statements: {listing(kinds)}"
            if len(kinds) != 1
            else f"a query may not {kinds[0]}",
            expected="one SELECT; nothing can be written, loaded, attached or set",
        )
    timer = threading.Timer(seconds, connection.interrupt)
    timer.start()
    try:
        return connection.sql(sql).to_arrow_table()
    except duckdb.InterruptException:
        raise QueryError(
            f"the query ran for more than {seconds:g} seconds",
            fix="ask for less, or allow more with --seconds",
        ) from None
    except duckdb.OutOfMemoryException as error:
        raise QueryError(
            f"the query needs more memory than it may take: {_first_line(error)}",
            fix="ask for less, or allow more with --memory",
        ) from None
    except duckdb.PermissionException as error:
        raise QueryError(
            f"the query may not do that: {_first_line(error)}",
            expected="a query of the views that fslbench sql --list shows",
        ) from None
    except duckdb.Error as error:
        raise QueryError(
            f"the query failed: {_first_line(error)}",
            fix="fslbench sql --list shows the views and their columns",
        ) from None
    finally:
        timer.cancel()


def _first_line(error: Exception) -> str:
    """The error and DuckDB's hint, without the excerpt of the query below them."""
    return " ".join(str(error).split("\n\n")[0].split("LINE 1")[0].split())
