"""A sweep of the number of queries as a table, a sentence, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from analysis_sql.planning.query_choice import CRITERION, Cost, QueryChoice
from benchmark_spec.errors import listing
from benchmark_spec.version import OUTPUT_SCHEMA
from builders.query_size.sweep import USUAL, QuerySweep, SweepRow
from fslbench_data.render.console import print_grid
from fslbench_data.render.grid import Grid
from fslbench_data.render.plan_text import best_text


def print_sweep(sweep: QuerySweep, console: Console) -> None:
    """Print what was swept, the table, the conclusion, and what it rests on."""
    console.print(Text(title(sweep), style="bold"), soft_wrap=True)
    print_grid(grid(sweep), console)
    console.print(Text(f"\n{sentence(sweep)}"), soft_wrap=True)
    console.print(Text(basis(sweep), style="dim"), soft_wrap=True)


def title(sweep: QuerySweep) -> str:
    """Say what was swept, in one line."""
    return (
        f"{sweep.dataset}, {sweep.method}, {sweep.way}-way {sweep.shot}-shot, suite "
        f"{sweep.suite}, {_seeds(sweep)}, {100 * sweep.level:.8g} % open intervals "
        f"[release {sweep.release}]"
    )


def grid(sweep: QuerySweep) -> Grid:
    """Lay out one row a Q: tasks, accuracy, observed and modelled half-width, cost."""
    columns = ("Q", "tasks", "accuracy", "open ± observed", "± model", "cost", "from – to")
    rows = tuple(_cells(row, sweep.choice) for row in sweep.rows)
    return Grid("", columns, frozenset(columns), rows)


def sentence(sweep: QuerySweep) -> str:
    """Say the conclusion: Q*, its interval, and the costs of the usual Q."""
    choice = sweep.choice
    costs = [choice.cost_of(q) for q in USUAL if q in choice.tried]
    usual = ", ".join(f"{_percent(c.cost)} at Q = {c.query} ({_from_to(c)})" for c in costs)
    missing = [q for q in USUAL if q not in choice.tried]
    none = f"; no interval at Q = {listing(missing)}" if missing else ""
    return f"{best_text(choice)}; wider than at Q*: {usual or 'unknown'}{none}."


def basis(sweep: QuerySweep) -> str:
    """Say what is minimised, and what the numbers rest on."""
    model, parts = sweep.model, sweep.estimate.parts
    tasks = [row.tasks for row in sweep.rows if row.accuracy is not None]
    how = "and as wide as those of a single task set, however many seeds (--parts 20 may be better)"
    if parts:
        how = f"from leaving out each of {parts} parts of the images"
    return (
        f"Q* minimises {CRITERION}, at {100 * sweep.level:.8g} %; the mean's true deviation given "
        "the classes is least at a larger Q, and over new classes hardly depends on it. "
        f"α = {model.alpha:.4g}, w = {model.w:.4g} from {_seeds(sweep)}, "
        f"{sweep.estimate.sets} task sets, {min(tasks):.4g} to {max(tasks):.4g} tasks a set. "
        f"Intervals are about new images of these classes, {how}."
    )


def csv_text(sweep: QuerySweep) -> str:
    """Write one row a Q."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = ("query", "tasks", "accuracy", "observed", "observed_error", "model")
    writer.writerow([*names, "cost", "cost_low", "cost_high"])
    for row in sweep.rows:
        cost = _cost(row.query, sweep.choice)
        values = [*(getattr(row, name) for name in names), cost.cost, cost.low, cost.high]
        writer.writerow(["" if value is None else repr(value) for value in values])
    return out.getvalue()


def json_text(sweep: QuerySweep) -> str:
    """Write everything; None is undetermined."""
    model = {"beta": sweep.model.beta, "gamma": sweep.model.gamma}
    content = {
        "schema": OUTPUT_SCHEMA,
        **asdict(sweep),
        "model": {**asdict(sweep.model), **model},
        "alpha_interval": sweep.estimate.alpha_interval(sweep.level),
        "w_interval": sweep.estimate.w_interval(sweep.level),
        "criterion": CRITERION,
        "sentence": sentence(sweep),
        "basis": basis(sweep),
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _cells(row: SweepRow, choice: QueryChoice) -> tuple[str, ...]:
    observed = "" if row.observed is None else f"{row.observed:.2f}"
    if row.observed is not None and row.observed_error is not None:
        observed += f" ({row.observed_error:.2f})"
    cost = _cost(row.query, choice)
    return (
        str(row.query),
        f"{row.tasks:.1f}",
        "" if row.accuracy is None else f"{row.accuracy:.2f}",
        observed,
        "" if row.model is None else f"{row.model:.2f}",
        "" if row.query not in choice.tried else _percent(cost.cost),
        "" if row.query not in choice.tried else _from_to(cost),
    )


def _cost(query: int, choice: QueryChoice) -> Cost:
    """Return the cost of a Q, unknown where it has no interval."""
    return choice.cost_of(query) if query in choice.tried else Cost(query, None, None, None)


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.1f} %"


def _from_to(cost: Cost) -> str:
    return f"{_percent(cost.low)} to {_percent(cost.high)}"


def _seeds(sweep: QuerySweep) -> str:
    return f"{sweep.seeds} seed{'s' if sweep.seeds != 1 else ''}"
