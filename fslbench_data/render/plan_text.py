"""A plan as tables with sentences, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from math import isfinite
from typing import Any

from rich.console import Console
from rich.text import Text

from analysis_sql.interval_kinds import ESTIMANDS
from analysis_sql.planning.class_sequences import MAX_TASKS
from analysis_sql.planning.planning import CLOSED_TASKS, Planned
from analysis_sql.planning.query_choice import CRITERION, QueryChoice
from analysis_sql.planning.variance_budget import Shares
from benchmark_spec.version import OUTPUT_SCHEMA
from fslbench_data.render.console import print_grid
from fslbench_data.render.grid import Grid
from fslbench_data.render.report_grids import UNBOUND_NOTE
from fslbench_data.scoring.planning import DatasetPlan, Plan

ABOUT = ("dataset", "method", "versus", "pilot", "suite", "way", "shot", "query", "tasks")
SHARES = ("share", "open_share")
WIDTHS = ("closed", "open", "class_aware")
DETECTABLE = ("detectable_open", "detectable_class_aware")
RANGES = ("range_open", "range_class_aware")
ENDS = tuple(f"{name}_{end}" for name in DETECTABLE for end in ("low", "high"))


def print_plan(found: Plan, console: Console) -> None:
    """Print the signature, then for each data set a table and its sentences, then notes."""
    console.print(Text(str(found.signature), style="dim"), soft_wrap=True)
    for each in found.sets:
        console.print(Text(f"\n{title(each, found)}", style="bold"), soft_wrap=True)
        console.print(Text(pilot_text(each, found.level)), soft_wrap=True)
        print_grid(grid(each), console)
        for line in (budget_text(each), choice_text(each)):
            console.print(Text(line), soft_wrap=True)
    for note in notes(found):
        console.print(Text(f"\n{note}", style="dim"), soft_wrap=True)


def title(each: DatasetPlan, found: Plan) -> str:
    """What is planned."""
    what = f"{each.pilot.name}" if each.pilot.versus else f"accuracy of {each.pilot.name}"
    return (
        f"{each.dataset} ({each.classes} classes, {each.images:,} images), {found.way}-way "
        f"{found.shot}-shot, suite {found.suite}: {what}"
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


def grid(each: DatasetPlan) -> Grid:
    """One row a Q."""
    columns = ["Q", "tasks", "closed ±", "open ±", "class-aware ±"]
    if each.pilot.versus:
        columns += ["detectable, open", "detectable, class-aware"]
    rows = tuple(
        (
            str(row.query),
            f"{row.mean_tasks:.1f}",
            *("" if v is None else f"{v:.2f}" for v in _values(row, WIDTHS)),
            *(_detectable(row) if each.pilot.versus else ()),
        )
        for row in each.rows
    )
    return Grid("", tuple(columns), frozenset(columns), rows)


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


def notes(found: Plan) -> list[str]:
    """What the columns mean."""
    level = f"{100 * found.level:.8g} %"
    detectable = (
        f" detectable: the smallest true difference that the interval excludes 0 for "
        f"{100 * found.power:.8g} % of the time; smaller ones are more likely missed. In brackets: "
        f"the range that the pilot leaves, which holds the true one for about {level} of pilots."
        if any(each.pilot.versus for each in found.sets)
        else " Detectable differences need a second method: --versus."
    )
    kinds = "; ".join(
        f"{kind}{f' at {CLOSED_TASKS} tasks' if kind == 'closed' else ''}: {about}"
        for kind, about in ESTIMANDS.items()
    )
    return [
        *([UNBOUND_NOTE] if found.signature.unbound else []),
        f"Half-widths expected of {level} intervals, percentage points. {kinds}.{detectable} "
        "All but the ranges take the pilot's estimates for the truth, however few its tasks are; "
        "the parts add up to the variance between the pilot's tasks; α and w are squared "
        f"fractions. At most {MAX_TASKS} tasks. Intervals of α, w and Q* are by a jackknife over "
        "the pilot's tasks, about new images of its classes.",
    ]


def csv_text(found: Plan) -> str:
    """The signature as a line beginning with ``#``, and one row a data set and Q."""
    out = io.StringIO()
    out.write(f"# {found.signature}\n")
    writer = csv.writer(out, lineterminator="\n")
    parts = ("classes", "images", "queries")
    writer.writerow(
        (
            *ABOUT,
            *WIDTHS,
            *DETECTABLE,
            *ENDS,
            *(f"{s}_{p}" for s in SHARES for p in parts),
            "level",
            "power",
        )
    )
    for each in found.sets:
        pilot = each.pilot
        about = [each.dataset, pilot.method, pilot.versus, str(pilot.info.name)]
        for row in each.rows:
            shares = [getattr(s, p) for s in (row.budget, row.open_budget) for p in parts]
            numbers = _values(row, (*WIDTHS, *DETECTABLE))
            ends = [end for between in _values(row, RANGES) for end in between or (None, None)]
            values = [row.mean_tasks, *numbers, *ends, *shares]
            writer.writerow(
                (
                    *(*about, found.suite, found.way, found.shot, row.query),
                    *("" if v is None or not isfinite(v) else repr(v) for v in values),
                    *(repr(found.level), repr(found.power)),
                )
            )
    return out.getvalue()


def json_text(found: Plan) -> str:
    """Everything; null is undetermined, or not estimable."""
    content = {
        "schema": OUTPUT_SCHEMA,
        "signature": str(found.signature),
        "suite": found.suite,
        "way": found.way,
        "shot": found.shot,
        "level": found.level,
        "power": found.power,
        "closed_tasks": CLOSED_TASKS,
        "criterion": CRITERION,
        "datasets": [_content(each, found) for each in found.sets],
        "notes": notes(found),
    }
    return json.dumps(_plain(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _content(each: DatasetPlan, found: Plan) -> dict[str, Any]:
    pilot = each.pilot
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
            "estimate": asdict(pilot.estimate),
            "alpha_interval": pilot.estimate.alpha_interval(found.level),
            "w_interval": pilot.estimate.w_interval(found.level),
        },
        "rows": [asdict(row) for row in each.rows],
        "choice": asdict(each.choice),
        "budget": budget_text(each),
        "sentence": choice_text(each),
    }


def _values(row: Planned, names: tuple[str, ...]) -> list[Any]:
    return [getattr(row, name) for name in names]


def _detectable(row: Planned) -> list[str]:
    """Both detectable differences, with the range that the pilot leaves in brackets."""
    found = []
    for value, between in zip(_values(row, DETECTABLE), _values(row, RANGES), strict=True):
        shown = "" if value is None else f"{value:.2f}"
        found.append(shown + (f" ({between[0]:.2f} to {between[1]:.2f})" if between else ""))
    return found


def _shares(shares: Shares) -> str:
    if not isfinite(shares.classes):
        return "unknown"
    parts = ((shares.classes, "classes"), (shares.images, "images"), (shares.queries, "queries"))
    return ", ".join(f"{100 * share:.0f} % {name}" for share, name in parts)


def _plain(value: Any) -> Any:
    """The same for JSON, which has no number for what is none."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


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
