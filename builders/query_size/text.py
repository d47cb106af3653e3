"""A sweep of the number of queries as a table, a sentence, CSV and JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from operator import attrgetter

from rich.console import Console
from rich.text import Text

from analysis_sql.planning.query_size import CRITERION, Cost, QueryChoice
from benchmark_spec.errors import listing
from builders.query_size.sweep import USUAL, QuerySweep, SweepRow
from fslbench_data.render.console import print_table
from fslbench_data.render.plan_text import best_text
from fslbench_data.render.table import Column, Table, csv_text, json_text, right


def print_sweep(sweep: QuerySweep, console: Console) -> None:
    """Print what was swept, the table, the conclusion, and what it rests on."""
    choice = sweep.choice
    title = (
        f"{sweep.dataset}, {sweep.method}, {sweep.way}-way {sweep.shot}-shot, suite "
        f"{sweep.suite}, {_seeds(sweep.seeds)}, {100 * sweep.level:.8g} % open intervals "
        f"[{sweep.origin}]"
    )

    def of_tried(row: SweepRow, text: Callable[[Cost], str]) -> str | None:
        return text(choice.cost_of(row.query)) if row.query in choice.tried else None

    columns = (
        right("Q", lambda row: row.query),
        right("tasks", lambda row: f"{row.tasks:.1f}"),
        right("accuracy", lambda row: _two_digits(row.accuracy)),
        right("open ± observed", _observed),
        right("± model", lambda row: _two_digits(row.model)),
        right("cost", lambda row: of_tried(row, lambda cost: _percent(cost.cost))),
        right("from – to", lambda row: of_tried(row, _from_to)),
    )
    console.print(Text(title, style="bold"), soft_wrap=True)
    print_table(Table("", columns, sweep.rows), console)
    console.print(Text(f"\n{sentence(sweep)}"), soft_wrap=True)
    console.print(Text(basis(sweep), style="dim"), soft_wrap=True)


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
        f"α = {model.alpha:.4g}, w = {model.w:.4g} from {_seeds(sweep.estimate.seeds)}, "
        f"{sweep.estimate.sets} task sets, {min(tasks):.4g} to {max(tasks):.4g} tasks a set. "
        f"Intervals are about new images of these classes, {how}."
    )


def sweep_csv(sweep: QuerySweep) -> str:
    """Write one row a Q."""
    names = ("query", "tasks", "accuracy", "observed", "observed_error", "model")
    columns = [Column(name, attrgetter(name)) for name in names]
    for name in ("cost", "low", "high"):
        cost = partial(_part_of_cost, sweep.choice, name)
        columns.append(Column("cost" if name == "cost" else f"cost_{name}", cost))
    return csv_text(Table("", tuple(columns), sweep.rows))


def sweep_json(sweep: QuerySweep) -> str:
    """Write everything; None is undetermined."""
    model = {"beta": sweep.model.beta, "gamma": sweep.model.gamma}
    content = {
        **asdict(sweep),
        "model": {**asdict(sweep.model), **model},
        "alpha_interval": sweep.estimate.alpha_interval(sweep.level),
        "w_interval": sweep.estimate.w_interval(sweep.level),
        "criterion": CRITERION,
        "sentence": sentence(sweep),
        "basis": basis(sweep),
    }
    return json_text(content)


def _observed(row: SweepRow) -> str | None:
    error = "" if row.observed_error is None else f" ({row.observed_error:.2f})"
    return None if row.observed is None else f"{row.observed:.2f}{error}"


def _two_digits(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _part_of_cost(choice: QueryChoice, name: str, row: SweepRow) -> float | None:
    """Return a number of the cost of a Q, unknown where it has no interval."""
    return getattr(choice.cost_of(row.query), name) if row.query in choice.tried else None


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.1f} %"


def _from_to(cost: Cost) -> str:
    return f"{_percent(cost.low)} to {_percent(cost.high)}"


def _seeds(number: int) -> str:
    return f"{number} seed{'s' if number != 1 else ''}"
