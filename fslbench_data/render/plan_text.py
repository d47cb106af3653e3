"""A plan as tables with sentences, CSV and JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from math import isfinite
from operator import attrgetter
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from analysis_sql.class_aware.pairs import KIND
from analysis_sql.interval_kinds import ESTIMANDS
from analysis_sql.planning.class_sequences import MAX_TASKS
from analysis_sql.planning.planned_runs import PlannedRuns, WithRuns
from analysis_sql.planning.planning import CLOSED_TASKS, Planned
from analysis_sql.planning.query_choice import CRITERION, QueryChoice
from analysis_sql.planning.variance_budget import Shares
from benchmark_spec.errors import listing
from fslbench_data.render.console import print_table
from fslbench_data.render.interval_text import UNBOUND_NOTE, capital, one_model_text
from fslbench_data.render.table import Column, Table, csv_text, json_text, right
from fslbench_data.scoring.planning import DatasetPlan, Plan


def print_plan(plan: Plan, console: Console) -> None:
    """Print the signature, then for each data set a table and its sentences, then notes."""
    console.print(Text(str(plan.signature), style="dim"), soft_wrap=True)
    for each in plan.sets:
        console.print(Text(f"\n{title(each, plan)}", style="bold"), soft_wrap=True)
        console.print(Text(pilot_text(each, plan.level)), soft_wrap=True)
        print_table(table(each), console)
        told = runs_text(each.pilot.runs, *_with_runs(each, plan.level))
        for line in (budget_text(each), choice_text(each), *told):
            console.print(Text(line), soft_wrap=True)
    for note in notes(plan):
        console.print(Text(f"\n{note}", style="dim"), soft_wrap=True)


def title(each: DatasetPlan, plan: Plan) -> str:
    """What is planned."""
    what = f"{each.pilot.name}" if each.pilot.versus else f"accuracy of {each.pilot.name}"
    return (
        f"{each.dataset} ({each.classes} classes, {each.images:,} images), {plan.way}-way "
        f"{plan.shot}-shot, suite {plan.suite}: {what}"
    )


def pilot_text(each: DatasetPlan, level: float) -> str:
    """What the pilot found, with intervals."""
    pilot, estimate = each.pilot, each.pilot.estimate
    mean = f"mean {pilot.mean:+.2f}" if pilot.versus else f"mean {pilot.mean:.2f}"
    alpha, w = estimate.alpha_interval(level), estimate.w_interval(level)
    return (
        f"pilot: {pilot.info}, {estimate.tasks} tasks, {mean}; "
        f"α = {estimate.alpha:.4f} ({alpha[0]:.4f} to {alpha[1]:.4f}), "
        f"w = {estimate.w:.4f} ({w[0]:.4f} to {w[1]:.4f}), "
        f"σ_b = {100 * pilot.components.classes**0.5:.2f} points a class"
    )


def table(each: DatasetPlan) -> Table:
    """Return one row a Q; detectable differences with the range that the pilot leaves."""
    columns = [
        right("Q", lambda row: row.query),
        right("tasks", lambda row: f"{row.mean_tasks:.1f}"),
        right("closed ±", lambda row: _two_digits(row.closed)),
        right("open ±", lambda row: _two_digits(row.open)),
        right("class-aware ±", lambda row: _two_digits(row.class_aware)),
        right("detectable, open", lambda row: _two_digits(row.detectable_open, row.range_open)),
        right(
            "detectable, class-aware",
            lambda row: _two_digits(row.detectable_class_aware, row.range_class_aware),
        ),
    ]
    return Table("", tuple(columns if each.pilot.versus else columns[:-2]), each.rows)


def budget_text(each: DatasetPlan) -> str:
    """What the widths at one Q come from."""
    row = each.shown
    likely = ""
    if row.class_share is not None:
        low, high = (f"{100 * share:.0f} %" for share in row.class_share)
        likely = f" (point estimates; the pilot leaves {low} to {high} for classes likely)"
    return (
        f"Budget at Q = {row.query}: over new classes, of the mean's variance "
        f"{_shares(row.budget)}{likely}; of the open interval's squared width "
        f"{_shares(row.open_budget)}."
    )


def choice_text(each: DatasetPlan) -> str:
    """Q*, its interval, and what it minimises."""
    if each.choice.best is None:
        return (
            "Q* is undetermined: the pilot's tasks differ no more than the luck of their queries "
            f"makes them (its estimate of α is not above 0). It would minimise {CRITERION}."
        )
    return f"{best_text(each.choice)}. It minimises {CRITERION}."


def _with_runs(each: DatasetPlan, level: float) -> tuple[WithRuns | None, str]:
    """What training runs do to the open interval at one Q, and what it is called."""
    row = each.shown
    told = None if row.open_of_tasks is None else each.pilot.runs.of(row.open_of_tasks, level)
    return told, f"the open interval at Q = {row.query}"


def runs_text(runs: PlannedRuns, told: WithRuns | None, about: str) -> list[str]:
    """What training runs do to a half-width, what more of them would, and which are unknown."""
    lines = []
    if told is not None:
        of_each = zip(runs.methods, runs.numbers, runs.spreads, strict=True)
        planned = listing([f"{n} of {name}" for name, n, spread in of_each if spread is not None])
        more = "; ".join(f"with {n} runs ± {width:.2f}" for n, width in told.more)
        lines.append(
            f"Training runs: {planned}. They differ by so much that training anew adds a standard "
            f"error of {runs.terms[0] ** 0.5:.2f} points: {about} is ± {told.halfwidth:.2f}, and "
            f"would be ± {told.of_tasks:.2f} if runs did not differ. More tasks alone make it "
            f"± {told.tasks_alone:.2f} at the narrowest{f'; as many tasks {more}' if more else ''}."
        )
    if single := one_model_text(runs.of_one_model):
        lines.append(f"{capital(single)}. The plan leaves out what other runs would differ by.")
    return lines


def runs_content(runs: PlannedRuns, told: WithRuns | None, about: str) -> dict[str, Any]:
    """The same for machines; nothing of a half-width where no two runs differ."""
    widths = dict.fromkeys(("halfwidth", "of_tasks", "tasks_alone")) | {"more": []}
    if told is not None:
        more = [{"runs": n, "halfwidth": width} for n, width in told.more]
        widths = {**asdict(told), "more": more}
    return {
        "methods": list(runs.methods),
        "pilot": list(runs.runs),
        "planned": list(runs.numbers),
        "spreads": list(runs.spreads),
        "run_error": runs.error,
        "of_one_model": list(runs.of_one_model),
        **widths,
        "sentences": runs_text(runs, told, about),
    }


def runs_columns(of: Callable[[Any], PlannedRuns]) -> tuple[Column, ...]:
    """Columns of CSV: how many runs are planned of each method, and what they add."""
    return (
        Column("runs", lambda line: of(line).numbers[0]),
        Column("versus_runs", lambda line: (of(line).numbers[1:] or (None,))[0]),
        Column("run_error", lambda line: of(line).error),
    )


def notes(plan: Plan) -> list[str]:
    """What the columns mean."""
    level = f"{100 * plan.level:.8g} %"
    detectable = (
        f" detectable: the smallest true difference that the interval excludes 0 for "
        f"{100 * plan.power:.8g} % of the time; smaller ones are more likely missed. In brackets: "
        f"the range that the pilot leaves, which holds the true one for about {level} of pilots."
        if any(each.pilot.versus for each in plan.sets)
        else " Detectable differences need a second method: --versus."
    )
    kinds = "; ".join(
        f"{kind}{f' at {CLOSED_TASKS} tasks' if kind == 'closed' else ''}: {about}"
        for kind, about in ESTIMANDS.items()
        if kind in ("closed", "open", KIND)
    )
    return [
        *([UNBOUND_NOTE] if plan.signature.unbound else []),
        f"Half-widths expected of {level} intervals, percentage points. {kinds}.{detectable} "
        "All but the ranges take the pilot's estimates for the truth, however few its tasks are; "
        "the parts add up to the variance between the pilot's tasks; α and w are squared "
        f"fractions. At most {MAX_TASKS} tasks. Intervals of α, w and Q* are by a jackknife over "
        "the pilot's tasks, about new images of its classes.",
    ]


class _Line(NamedTuple):
    plan: Plan
    set: DatasetPlan
    row: Planned


def plan_csv(plan: Plan) -> str:
    """Write one row a data set and Q, after the signature as a line beginning with ``#``."""
    kinds, parts = ("open", "class_aware"), ("classes", "images", "queries")
    paths = {
        "dataset": "set.dataset",
        "method": "set.pilot.method",
        "versus": "set.pilot.versus",
        "pilot": "set.pilot.info.name",
        **{name: f"plan.{name}" for name in ("suite", "way", "shot")},
        "query": "row.query",
        "tasks": "row.mean_tasks",
        **{name: f"row.{name}" for name in ("closed", *kinds)},
        **{f"detectable_{kind}": f"row.detectable_{kind}" for kind in kinds},
        **{f"detectable_{kind}_{end}": f"row.range_{kind}" for kind in kinds for end in _ENDS},
        **{f"share_{part}": f"row.budget.{part}" for part in parts},
        **{f"open_share_{part}": f"row.open_budget.{part}" for part in parts},
        "level": "plan.level",
        "power": "plan.power",
        **{f"{kind}_of_tasks": f"row.{kind}_of_tasks" for kind in kinds},
    }
    columns = tuple(Column(name, partial(_value, name, path)) for name, path in paths.items())
    columns += runs_columns(attrgetter("set.pilot.runs"))
    lines = (_Line(plan, each, row) for each in plan.sets for row in each.rows)
    return csv_text(Table("", columns, lines), str(plan.signature))


_ENDS = ("low", "high")


def _value(name: str, path: str, line: _Line) -> object:
    """Return what a line has at a path, of a range one end; None for what is no number."""
    value = plain(attrgetter(path)(line))
    return value[_ENDS.index(name.rpartition("_")[2])] if isinstance(value, list) else value


def plan_json(plan: Plan) -> str:
    """Write everything; null is undetermined, or not estimable."""
    content = {
        "signature": str(plan.signature),
        "suite": plan.suite,
        "way": plan.way,
        "shot": plan.shot,
        "level": plan.level,
        "power": plan.power,
        "closed_tasks": CLOSED_TASKS,
        "criterion": CRITERION,
        "datasets": [_content(each, plan.level) for each in plan.sets],
        "notes": notes(plan),
    }
    return json_text(plain(content))


def _content(each: DatasetPlan, level: float) -> dict[str, Any]:
    pilot, estimate = each.pilot, each.pilot.estimate
    return {
        "dataset": each.dataset,
        "classes": each.classes,
        "images": each.images,
        "pilot": {
            "task_set": str(pilot.info.name),
            "fingerprint": pilot.info.fingerprint,
            "method": pilot.method,
            "versus": pilot.versus,
            "mean": pilot.mean,
            "components": asdict(pilot.components),
            "estimate": asdict(estimate),
            "alpha_interval": estimate.alpha_interval(level),
            "w_interval": estimate.w_interval(level),
        },
        "rows": [asdict(row) for row in each.rows],
        "choice": asdict(each.choice),
        "budget": budget_text(each),
        "sentence": choice_text(each),
        "runs": runs_content(pilot.runs, *_with_runs(each, level)),
    }


def _two_digits(value: float | None, between: tuple[float, float] | None = None) -> str:
    """Return a number with two digits, and a range in brackets behind it."""
    shown = "" if value is None else f"{value:.2f}"
    return shown + (f" ({between[0]:.2f} to {between[1]:.2f})" if between else "")


def _shares(shares: Shares) -> str:
    if not isfinite(shares.classes):
        return "unknown"
    parts = ((shares.classes, "classes"), (shares.images, "images"), (shares.queries, "queries"))
    return ", ".join(f"{100 * share:.0f} % {name}" for share, name in parts)


def plain(value: Any) -> Any:
    """Return the same for machines: None for what is no number."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


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
