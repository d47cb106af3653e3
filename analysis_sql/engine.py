"""Runs the package's SQL: one question a file in ``queries/``, answered by DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import duckdb
import pyarrow as pa

from benchmark_spec.errors import UnknownNameError


def query_names() -> list[str]:
    """Names of the queries, sorted."""
    found = (files("analysis_sql") / "queries").iterdir()
    return sorted(f.name.removesuffix(".sql") for f in found if f.name.endswith(".sql"))


def query_text(name: str) -> str:
    """SQL of a query; raises UnknownNameError with the names there are."""
    if name not in query_names():
        raise UnknownNameError("query", name, query_names())
    return (files("analysis_sql") / "queries" / f"{name}.sql").read_text(encoding="utf-8")


class Engine:
    """An in-memory DuckDB over registered Arrow tables, closed to files and the network."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self._connection = duckdb.connect(
            ":memory:",
            config={"enable_external_access": False, "python_enable_replacements": False},
        )
        for name, table in tables.items():
            self._connection.register(name, table)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def run(self, name: str) -> list[dict[str, Any]]:
        """Rows of the query called `name`, in its order, as dictionaries by column."""
        cursor = self._connection.execute(query_text(name))
        columns = [column[0] for column in cursor.description or ()]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
