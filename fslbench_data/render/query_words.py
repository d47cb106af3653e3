"""A choice of the number of queries in words."""

from __future__ import annotations

from analysis_sql.query_choice import QueryChoice


def best_text(choice: QueryChoice) -> str:
    """Q* and its large-sample value with their intervals."""
    root = choice.root
    return (
        f"Q* = {_query(choice.best, choice)}, {100 * choice.level:.8g} % interval "
        f"{_query(choice.low, choice)} to {_query(choice.high, choice)}; "
        f"sqrt(β/α) = {_number(root.value)} ({_number(root.low)} to {_number(root.high)})"
    )


def _query(query: int | None, choice: QueryChoice) -> str:
    if query is None:
        return "undetermined"
    return f"{query} or more" if choice.more and query == choice.tried[-1] else str(query)


def _number(value: float | None) -> str:
    return "undetermined" if value is None else f"{value:.1f}"
