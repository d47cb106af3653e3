"""What the figure of sweeps of the number of queries shows, as rows of plain values."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any

from benchmark_spec.declared import parsed_json
from benchmark_spec.errors import SubmissionError
from fslbench_data.render.figures.rows import Figure, Row


def queries(sweeps: Iterable[Path]) -> Figure:
    """Sweeps of the number of queries, as ``fslbench-build query-size --format json`` writes them.

    Raises
    ------
    SubmissionError
        If a file is no such sweep.
    """
    rows: list[Row] = []
    about: dict[str, None] = {}
    for path in sweeps:
        try:
            sweep = parsed_json(path.read_bytes())
            name = f"{sweep['dataset']}, {sweep['method']}, {sweep['way']}w{sweep['shot']}s"
            name = f"{name} ({path.stem})" if any(name == row["sweep"] for row in rows) else name
            drawn = f"{100 * sweep['level']:.8g} % open intervals, {sweep['seeds']} seeds a point"
            tasks = [float(row["tasks"]) for row in sweep["rows"]]
            about[f"{name}: {drawn}, T = {min(tasks):.8g} to {max(tasks):.8g} tasks"] = None
            rows += [
                {"sweep": name, "Q": int(r["query"]), **{k: _finite(r[k]) for k in _WIDTHS}}
                for r in sweep["rows"]
            ]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SubmissionError(
                f"{path} is no sweep of the number of queries: {str(error)[:100]}",
                fix="fslbench-build query-size ... --format json -o FILE makes one",
            ) from None
    if not rows:
        raise SubmissionError("there is no sweep to show", expected="--sweep FILE.json")
    caption = "Points: mean half-width over seeds; lines: the model. " + "; ".join(about) + "."
    return Figure("queries", "Interval width against the number of queries", caption, tuple(rows))


_WIDTHS = ("observed", "model")


def _finite(value: Any) -> float | None:
    """A number, or None where there is none."""
    if value is None:
        return None
    if not isfinite(value):
        raise ValueError(f"{value} is no half-width")
    return float(value)
