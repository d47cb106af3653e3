"""A sweep of the number of queries as a table, a sentence, CSV and JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter

from msgspec.structs import asdict
from rich.console import Console
from rich.text import Text

from analysis_sql.planning.query_size import COMPARISON_CRITERION, CRITERION, Cost, QueryChoice
from benchmark_spec.errors import listing, many
from builders.query_size.sweep import USUAL, QuerySweep, SweepRow
from fslbench_data.render.console import print_table
from fslbench_data.render.interval_text import percent
from fslbench_data.render.plan_text import best_text, range_text
from fslbench_data.render.table import Column, Table, csv_text, json_text, right


def print_sweep(sweep: QuerySweep, console: Console) -> None:
    """Print the title, the table, the conclusion and its basis."""
    title = (
        f"{sweep.dataset}, {sweep.method}, {sweep.way}-way {sweep.shot}-shot, suite "
        f"{sweep.suite}, {many(sweep.seeds, 'seed')}, {percent(sweep.level)} open intervals "
        f"[{sweep.origin}]"
    )

    columns = [
        right("Q", lambda row: row.query),
        right("tasks", lambda row: f"{row.tasks:.1f}"),
        right("accuracy", lambda row: _observed(row.accuracy)),
        right("open ± observed", lambda row: _observed(row.observed, row.observed_error)),
        right("± model", lambda row: _observed(row.model)),
        right("cost", partial(_cost, sweep.choice, lambda cost: _percent(cost.cost))),
        right("from – to", partial(_cost, sweep.choice, _from_to)),
    ]
    if by := sweep.comparisons:
        columns += [
            right("differences ±", lambda row: _observed(row.difference, row.difference_error)),
            right("their cost", partial(_cost, by, lambda cost: _percent(cost.cost))),
            right("from – to", partial(_cost, by, _from_to)),
        ]
    console.print(Text(title, style="bold"), soft_wrap=True)
    print_table(Table("", tuple(columns), sweep.rows), console)
    console.print(Text(f"\n{sentence(sweep)}"), soft_wrap=True)
    if sweep.comparisons:
        console.print(Text(comparison_sentence(sweep, sweep.comparisons)), soft_wrap=True)
    console.print(Text(basis(sweep), style="dim"), soft_wrap=True)


def sentence(sweep: QuerySweep) -> str:
    """Return the conclusion as a sentence: Q*, its interval, and the costs of the usual Q."""
    return f"{best_text(sweep.choice)}; wider than at Q*: {_usual(sweep.choice)}."


def comparison_sentence(sweep: QuerySweep, choice: QueryChoice) -> str:
    """Return the same for comparisons, with the names of the pairs."""
    pairs = ", ".join(" - ".join(pair) for pair in sweep.pairs)
    return (
        f"For comparisons ({pairs}): {range_text(choice)}; wider than at each pair's own best, on "
        f"average: {_usual(choice)}. It minimises {COMPARISON_CRITERION}."
    )


def _usual(choice: QueryChoice) -> str:
    """Return the costs of the usual Q."""
    costs = {query: choice.cost_of(query) for query in USUAL}
    usual = ", ".join(
        f"{_percent(c.cost)} at Q = {q} ({_from_to(c)})" for q, c in costs.items() if c is not None
    )
    missing = [query for query, cost in costs.items() if cost is None]
    none = f"; no interval at Q = {listing(missing)}" if missing else ""
    return f"{usual or 'unknown'}{none}"


def basis(sweep: QuerySweep) -> str:
    """Say what is minimised, and what the estimates are based on."""
    model = sweep.model
    tasks = [row.tasks for row in sweep.rows if row.accuracy is not None]
    return (
        f"Q* minimises {CRITERION}, at {percent(sweep.level)}; the mean's true deviation given "
        "the classes is least at a larger Q, and over new classes hardly depends on it. "
        f"α = {model.alpha:.4g}, w = {model.w:.4g} from {many(sweep.estimate.seeds, 'seed')}, "
        f"{sweep.estimate.sets} task sets, {min(tasks):.4g} to {max(tasks):.4g} tasks a set. "
        "Intervals are about new images of these classes, and as wide as those of a single task "
        "set, however many seeds."
    )


def sweep_csv(sweep: QuerySweep) -> str:
    """Write a row per Q as CSV."""
    names = ("query", "tasks", "accuracy", "observed", "observed_error", "model")
    columns = [Column(name, attrgetter(name)) for name in names]
    columns += _cost_columns(sweep.choice, "cost")
    if sweep.comparisons:
        more = ("difference", "difference_error")
        columns += [Column(name, attrgetter(name)) for name in more]
        columns += _cost_columns(sweep.comparisons, "difference_cost")
    return csv_text(Table("", tuple(columns), sweep.rows))


def _cost_columns(choice: QueryChoice, name: str) -> list[Column]:
    """Make the columns of a cost and its interval."""
    parts = {name: "cost", f"{name}_low": "low", f"{name}_high": "high"}
    return [Column(name, partial(_cost, choice, attrgetter(part))) for name, part in parts.items()]


def _cost(choice: QueryChoice, value: Callable[[Cost], object], row: SweepRow) -> object:
    """Return a value of the cost of a Q, or None if it has no interval."""
    cost = choice.cost_of(row.query)
    return None if cost is None else value(cost)


def sweep_json(sweep: QuerySweep) -> str:
    """Write a sweep as JSON; null is undetermined."""
    alpha, w = sweep.estimate.intervals(sweep.level)
    model = {"beta": sweep.model.beta, "gamma": sweep.model.gamma}
    content = {
        **vars(sweep),
        "model": asdict(sweep.model) | model,
        "alpha_interval": alpha,
        "w_interval": w,
        "pairs": [
            {"methods": pair, "alpha": fit.alpha, "w": fit.w} for pair, fit in sweep.pairs.items()
        ],
        "criterion": CRITERION,
        "sentence": sentence(sweep),
        "basis": basis(sweep),
    }
    return json_text(content)


def _observed(width: float | None, error: float | None = None) -> str | None:
    bracket = "" if error is None else f" ({error:.2f})"
    return None if width is None else f"{width:.2f}{bracket}"


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.1f} %"


def _from_to(cost: Cost) -> str:
    return f"{_percent(cost.low)} to {_percent(cost.high)}"
