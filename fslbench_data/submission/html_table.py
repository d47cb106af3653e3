"""A small table for notebooks: everything in it escaped, no script, no style but its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice

import pyarrow as pa

from fslbench_data.submission.bindings import Binding, GroupKey

MOST_ROWS = 20

_LEFT, _RIGHT = (f' style="text-align: {side}"' for side in ("left", "right"))


def html_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], n_rows: int
) -> str:
    """Write a title and the first :data:`MOST_ROWS` of `n_rows` rows; numbers with separators."""
    some = list(islice(rows, MOST_ROWS))
    aligned = [_RIGHT if isinstance(value, int) else _LEFT for value in (some or [columns])[0]]
    lines = [_row("td", aligned, row) for row in some]
    more = f"<p>and {n_rows - MOST_ROWS:,} more</p>" if n_rows > MOST_ROWS else ""
    body = f"<thead>{_row('th', aligned, columns)}</thead><tbody>{''.join(lines)}</tbody>"
    return f"<div><p><strong>{escape(title)}</strong></p><table>{body}</table>{more}</div>"


def results_html(table: pa.Table, bindings: Mapping[GroupKey, Binding], title: str) -> str:
    """Write what methods answer: a row each of them and task set, and whether it is bound."""
    names = ["method", "dataset", "task_set"]
    groups = table.group_by(names, use_threads=False).aggregate([([], "count_all")]).to_pylist()
    in_rows = "fingerprint" in table.column_names
    rows = (
        (*key, row["count_all"], "yes" if in_rows or key in bindings else "no")
        for row in groups
        if (key := (row["method"], row["dataset"], row["task_set"]))
    )
    columns = ("method", "data set", "task set", "rows", "says which tasks")
    return html_table(title, columns, rows, len(groups))


def _row(tag: str, aligned: Sequence[str], values: Sequence[object]) -> str:
    texts = [f"{v:,}" if isinstance(v, int) else escape(str(v)) for v in values]
    cells = zip(aligned, texts, strict=True)
    return f"<tr>{''.join(f'<{tag}{align}>{text}</{tag}>' for align, text in cells)}</tr>"
