"""Rules about the rows of a submission: SQL, a file a rule.

A rule has two SELECTs.  The first looks at groups of rows and finds whether one breaks the rule;
what it gives may stand in the second, which gives the first of the rows that do, in the order of
the file, and how many they are.  Rules read `rows`, `groups` and tables of facts, a SELECT each.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb


def rule_names() -> list[str]:
    """Names of the rules, sorted."""
    paths = (files("analysis_sql") / "queries" / "rules").iterdir()
    return sorted(path.name.removesuffix(".sql") for path in paths)


def offending_rows(connection: duckdb.DuckDBPyConnection, rule: str) -> list[dict[str, Any]]:
    """Return the first rows that break a rule, and in `total` how many do; none if none does."""
    whether, which = _text("rules", rule).split(";\n")
    groups = records(connection, whether)
    if not groups:
        return []
    parameters = {name: value for name, value in groups[0].items() if f"${name}" in which}
    return records(connection, which, parameters)


def make_facts(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Make a table of facts that rules read."""
    connection.execute(f"CREATE TEMP TABLE {name} AS {_text('facts', name)}")


def view_by_task(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the view `by_task` over `rows`; its `method` is the `answer` of `groups`."""
    connection.execute(f"CREATE TEMP VIEW results AS {_text('facts', 'results')}")
    connection.execute(f"CREATE TEMP VIEW by_task AS {_text('.', 'by_task')}")


def records(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a SELECT by their columns' names."""
    result = connection.execute(sql, parameters)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


@cache
def _text(folder: str, name: str) -> str:
    path = files("analysis_sql") / "queries" / folder / f"{name}.sql"
    return path.read_text(encoding="utf-8")
