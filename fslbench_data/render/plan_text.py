"""A plan as tables with sentences, CSV and JSON."""

from __future__ import annotations

from functools import partial
from math import isfinite
from operator import attrgetter
from typing import Any

from msgspec.structs import asdict, astuple, replace
from rich.console import Console

from analysis_sql.interval_kinds import ADDITIONAL_KINDS
from analysis_sql.planning.leave_one_out_plan import PlannedWidth, UnitsForHalf
from analysis_sql.planning.planned_runs import PlannedRuns, WithRuns
from analysis_sql.planning.planning import CLOSED_TASKS, MAX_TASKS, Planned
from analysis_sql.planning.query_size import CRITERION, QueryChoice
from analysis_sql.planning.variance_budget import Shares
from benchmark_spec.errors import listing
from benchmark_spec.protocol import OWN
from fslbench_data.render.console import page, print_table, say
from fslbench_data.render.interval_text import (
    UNBOUND_NOTE,
    fixed,
    one_model_text,
    percent,
    sentences,
)
from fslbench_data.render.table import Column, Table, csv_of_rows, json_text, right
from fslbench_data.scoring.planning import POOLED, OpenPlan, Plan, SetPlan

_KINDS = ("open", "class_aware")


def plan_text(plan: Plan) -> str:
    """Write a plan as the terminal shows it."""
    with page() as (console, text):
        print_plan(plan, console)
    return text()


def print_plan(plan: Plan, console: Console, *, details: bool = False) -> None:
    """Print a table with sentences for each data set, then notes and the signature.

    With `details` they have symbols and the components of the pilot's variance.
    """
    for each in plan.sets:
        title, pilot = heading(each, plan, details=details)
        say(console, title, "bold")
        say(console, pilot)
        print_table(table(each), console, heading=12)
        of_runs = runs_content(each, plan.level)["sentences"]
        for line in (*below(each, details=details), *of_runs, ""):
            say(console, line)
    for note in (*notes(plan, details=details), plan.signature.short):
        say(console, note, "dim")


def heading(set_plan: SetPlan, plan: Plan, *, details: bool) -> tuple[str, str]:
    """Return what is planned, and what the pilot found; `details` adds its variance components."""
    pilot = set_plan.pilot
    what = pilot.name if pilot.versus else f"accuracy of {pilot.name}"
    mean = f"mean {pilot.mean:{'+' if pilot.versus else ''}z.2f}"
    if isinstance(set_plan, OpenPlan):
        size = f"{set_plan.classes} classes, {set_plan.images:,} images"
        shape, tasks, found = f"{plan.way}-way {plan.shot}-shot", set_plan.estimate.tasks, ""
        if details:
            alpha, w = set_plan.estimate.intervals(plan.level)
            found = (
                f"; α = {set_plan.estimate.alpha:z.4f} ({alpha[0]:z.4f} to {alpha[1]:z.4f}), "
                f"w = {set_plan.estimate.w:z.4f} ({w[0]:z.4f} to {w[1]:z.4f}), "
                f"σ_b = {100 * set_plan.components.classes**0.5:.2f} points a class"
            )
    else:
        variances = set_plan.variances
        size = f"{variances.sizes.size} classes, {set_plan.units:,} {variances.unit}"
        shape, tasks = str(pilot.info.protocol), variances.tasks
        found = f"; each {variances.unit.removesuffix('s')} is in {variances.appearances:.1f} of "
        found += "them on average"
    suite = "" if of_log(set_plan) else f", suite {plan.suite}"
    title = f"{pilot.info.dataset} ({size}), {shape}{suite}: {what}"
    return title, f"pilot: {pilot.info}, {tasks} tasks, {mean}{found}"


def of_log(set_plan: SetPlan) -> bool:
    """Return whether the pilot is a log, whose tasks are of no suite."""
    return set_plan.pilot.info.name.suite == OWN.name


def below(set_plan: SetPlan, *, details: bool = True) -> list[str]:
    """Return the sentences below the table, except those on training runs."""
    if isinstance(set_plan, OpenPlan):
        row, choice = set_plan.reference_row, set_plan.choice
        best = "not determined by this pilot"
        if choice.best is not None:
            best = f"{_query(choice.best, choice)} ({percent(choice.level)} CI: {_range(choice)})"
        shares = _shares(row.budget)
        if row.class_share is not None:
            low, high = (f"{100 * share:.0f}" for share in row.class_share)
            shares += f" (classes: likely {low} to {high} %)"
        measured = "difference" if set_plan.pilot.versus else "accuracy"
        lines = [
            f"best queries per class for this {measured}: {best}",
            f"variance shares at {row.query} queries per class: {shares}",
        ]
        if details:
            chosen = best_text(choice)
            if choice.best is None:
                chosen = "the pilot's tasks differ no more than the luck of queries makes them"
            lines += [
                f"of the open interval's squared width: {_shares(row.open_budget)}",
                f"{chosen}; recommended is what minimises {CRITERION}",
            ]
        return lines
    variances, lines = set_plan.variances, []
    if set_plan.usual is not None and not of_log(set_plan):
        sizes = f" (B0 = {set_plan.noiseless:,}, B1 = {set_plan.stable:,})" if details else ""
        lines.append(f"a pooled set has {set_plan.usual:,} tasks{sizes}")
    apart = " (as if runs did not differ)" if set_plan.pilot.runs.variance else ""
    needed = "; ".join(_half(units, variances.unit) for units in set_plan.half)
    lines.append(f"to halve ± of unlimited tasks{apart}: {needed}")
    for kind, why in variances.why.items():
        if details or kind != "superclasses":
            lines.append(f"no interval for new {kind}: {why}")
    return lines


def _range(choice: QueryChoice) -> str:
    """Write the ends of an interval of queries: ``4 or more``, ``4 to 9``."""
    if choice.low is None:
        return "undetermined"
    low = 1 if choice.low == choice.tried[0] else choice.low  # fewer were not tried
    if choice.high is None or (choice.more and choice.high == choice.tried[-1]):
        return f"{low} or more"
    return f"{low}" if low == choice.high else f"{low} to {choice.high}"


def table(set_plan: SetPlan) -> Table:
    """Return a table with a row per Q, or per number of tasks and kind of interval.

    Only the difference of two methods has columns of detectable differences.
    """
    if isinstance(set_plan, OpenPlan):
        columns = [
            right("queries per class", lambda row: row.query),
            right("tasks", lambda row: f"{row.mean_tasks:.1f}"),
            right("usual ±", lambda row: fixed(row.closed)),
            right("new images ±", lambda row: fixed(row.open)),
            right("new classes ±", lambda row: fixed(row.class_aware)),
            right("detectable, new images", partial(_detectable, "open")),
            right("detectable, new classes", partial(_detectable, "class_aware")),
        ]
    else:
        tasks = right("tasks", lambda row: "unlimited" if row.tasks is None else f"{row.tasks:,}")
        columns = [
            replace(tasks, once=attrgetter("tasks")),
            Column("about", lambda row: ADDITIONAL_KINDS[row.kind].about),
            right("±", lambda row: fixed(row.halfwidth)),
            right("detectable", lambda row: fixed(row.detectable)),
            right("from tasks", lambda row: _share(row.monte_carlo_share)),
            Column("", _mark),
        ]
    kept = (c for c in columns if set_plan.pilot.versus or not c.heading.startswith("detectable"))
    return Table("", tuple(kept), set_plan.rows)


def _detectable(kind: str, row: Planned) -> str:
    """Return the difference that intervals of a kind detect, and its range in brackets."""
    text, ends = fixed(getattr(row, f"detectable_{kind}")), getattr(row, f"range_{kind}")
    return f"{text} ({ends[0]:z.2f} to {ends[1]:z.2f})" if ends else text


def _mark(row: PlannedWidth) -> str:
    """Return why a row has no interval, or what makes its half-width uncertain or wide."""
    if row.why:
        return row.why
    if row.uncertain:
        return "uncertain: few pilot tasks"
    return "widened: few tasks" if row.widened else ""


def _half(units: UnitsForHalf, unit: str) -> str:
    about = ADDITIONAL_KINDS[units.kind].about
    if units.needed is None:
        return f"for {about} more than this pilot can tell"
    of_images = units.kind == "images"
    which, where = (unit, "of these classes") if of_images else (units.kind, "like these")
    return f"for {about} {units.needed:,} {which} {where} instead of {units.units:,}"


def runs_content(set_plan: SetPlan, level: float) -> dict[str, Any]:
    """Return what training runs add to a half-width, and what more runs would change.

    Half-widths are None if no two runs differ.
    """
    runs, width, least = set_plan.pilot.runs, None, None
    if isinstance(set_plan, OpenPlan):
        row = set_plan.reference_row
        width, about = row.open_of_tasks, f"the open interval at Q = {row.query}"
    else:
        tasks = set_plan.usual or CLOSED_TASKS
        of_tasks = {row.tasks: row.of_tasks for row in set_plan.rows if row.kind == "images"}
        width, least = of_tasks.get(tasks), of_tasks.get(None)
        about = f"the interval for new images of {tasks:,} tasks"
    added = None if width is None else runs.widths(width, level, least or 0.0)
    widths: dict[str, Any] = dict.fromkeys(WithRuns.__struct_fields__)
    widths |= {} if added is None else asdict(added)
    return {
        "methods": runs.methods,
        "pilot": runs.runs,
        "planned": runs.numbers,
        "spreads": runs.spreads,
        "run_error": runs.error,
        "of_one_model": runs.of_one_model,
        **widths,
        "more": [{"runs": n, "halfwidth": halfwidth} for n, halfwidth in widths["more"] or ()],
        "sentences": _of_runs(runs, added, about),
    }


def _of_runs(runs: PlannedRuns, added: WithRuns | None, about: str) -> list[str]:
    lines = []
    if added is not None:
        by_method = zip(runs.methods, runs.numbers, runs.spreads, strict=True)
        planned = listing([f"{n} of {name}" for name, n, spread in by_method if spread is not None])
        more = "; ".join(f"with {n} runs ± {width:.2f}" for n, width in added.more)
        what, doing = ("Training runs", "training") if runs.trained else ("Runs", "running")
        lines.append(
            f"{what}: {planned}. They differ by so much that {doing} anew adds a standard error of "
            f"{runs.variance**0.5:.2f} points: {about} is ± {added.halfwidth:.2f}, and would be "
            f"± {added.of_tasks:.2f} if runs did not differ. More tasks alone make it "
            f"± {added.tasks_alone:.2f} at the narrowest"
            f"{f'; as many tasks {more}' if more else ''}."
        )
    more = " The plan leaves out what other runs would differ by."
    return [*lines, *(text + more for text in sentences(one_model_text(runs.of_one_model)))]


def notes(plan: Plan, *, details: bool = True) -> list[str]:
    """Say what the columns mean, with `details` also what ranges and components are."""
    level, power = percent(plan.level), percent(plan.power)
    of_pairs = any(each.pilot.versus for each in plan.sets)
    texts = [f"Expected half-widths of {level} intervals, percentage points."]
    if plan.suite == POOLED:
        texts.append(
            "from tasks: the part of the variance that more tasks of the same images take away."
            " New images: planned from whole tasks; score gives less where it knows which queries"
            " were right."
        )
    else:
        texts.append(f"usual: as papers print it, {CLOSED_TASKS} tasks.")
    texts.append(
        f"detectable: the smallest true difference that is significant {power} of the time."
        if of_pairs
        else "Detectable differences need a second method: --versus."
    )
    more = "" if details or plan.suite == POOLED else " (--details)"
    texts.append(f"The pilot's estimates are taken for the truth{more}.")
    if details and plan.suite != POOLED:
        texts.append(
            "In brackets: the range that the pilot leaves, which holds the true one for about "
            f"{level} of pilots. The parts add up to the variance between the pilot's tasks; α "
            f"and w are squared fractions. At most {MAX_TASKS} tasks. Intervals of α, w and Q* are "
            "by a jackknife over the pilot's tasks, about new images of its classes."
        )
    unbound = [UNBOUND_NOTE] if plan.signature.unbound else []
    return [*unbound, *(f"left out: {reason}" for reason in plan.left_out), " ".join(texts)]


def plan_csv(plan: Plan) -> str:
    """Write a row per data set and Q, or number of tasks and kind, after the signature."""
    lines = [_line(plan, each, row) for each in plan.sets for row in each.rows]
    return csv_of_rows(lines[0], map(dict.values, lines), str(plan.signature))


def _line(plan: Plan, set_plan: SetPlan, row: Any) -> dict[str, object]:
    """Return a row's values by column; those that are not finite become None."""
    pilot, runs = set_plan.pilot, set_plan.pilot.runs
    if isinstance(set_plan, OpenPlan):
        values = {"query": row.query, "tasks": row.mean_tasks}
        values |= {name: getattr(row, name) for name in ("closed", *_KINDS)}
        values |= {f"detectable_{kind}": getattr(row, f"detectable_{kind}") for kind in _KINDS}
        for kind in _KINDS:
            low, high = getattr(row, f"range_{kind}") or (None, None)
            values |= {f"detectable_{kind}_low": low, f"detectable_{kind}_high": high}
        values |= {f"share_{part}": share for part, share in asdict(row.budget).items()}
        values |= {f"open_share_{part}": share for part, share in asdict(row.open_budget).items()}
        later = {f"{kind}_of_tasks": getattr(row, f"{kind}_of_tasks") for kind in _KINDS}
    else:
        values = {"query": pilot.info.protocol.query, **asdict(row)}
        later = {name: values.pop(name) for name in ("of_tasks", "uncertain")}
    line = {
        "dataset": pilot.info.dataset,
        "method": pilot.method,
        "versus": pilot.versus,
        "pilot": pilot.info.name,
        "suite": plan.suite,
        "way": plan.way,
        "shot": plan.shot,
        **values,
        "level": plan.level,
        "power": plan.power,
        **later,
        "runs": runs.numbers[0],  # planned of each method
        "versus_runs": (*runs.numbers, None)[1],
        "run_error": runs.error,
    }
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in line.items()
    }


def plan_json(plan: Plan) -> str:
    """Write a plan as JSON; null is undetermined, not estimable, or unlimited tasks."""
    of_queries = {"closed_tasks": CLOSED_TASKS, "criterion": CRITERION}
    content = {
        "signature": str(plan.signature),
        **{name: getattr(plan, name) for name in ("suite", "way", "shot", "level", "power")},
        **({} if plan.suite == POOLED else of_queries),
        "datasets": [_content(each, plan.level) for each in plan.sets],
        "notes": notes(plan),
    }
    return json_text(content)


def _content(set_plan: SetPlan, level: float) -> dict[str, Any]:
    pilot = set_plan.pilot
    of_pilot = {
        "task_set": str(pilot.info.name),
        "fingerprint": pilot.info.fingerprint,
        "method": pilot.method,
        "versus": pilot.versus,
        "mean": pilot.mean,
    }
    if isinstance(set_plan, OpenPlan):
        alpha, w = set_plan.estimate.intervals(level)
        of_pilot |= {"components": set_plan.components, "estimate": set_plan.estimate}
        of_pilot |= {"alpha_interval": alpha, "w_interval": w}
        size: dict[str, Any] = {"classes": set_plan.classes, "images": set_plan.images}
        values: dict[str, Any] = {"rows": set_plan.rows, "choice": set_plan.choice}
    else:
        variances = set_plan.variances
        of_pilot |= {"tasks": variances.tasks, "appearances": variances.appearances}
        size = {
            "query": pilot.info.protocol.query,
            "classes": variances.sizes.size,
            "units": set_plan.units,
            "unit": variances.unit,
        }
        values = {
            "noiseless_tasks": set_plan.noiseless,
            "stable_tasks": set_plan.stable,
            "pooled_tasks": set_plan.usual,
            "rows": set_plan.rows,
            "half": set_plan.half,
        }
    return {
        "dataset": pilot.info.dataset,
        **size,
        "pilot": of_pilot,
        **values,
        "sentences": below(set_plan),
        "runs": runs_content(set_plan, level),
    }


def _share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _shares(shares: Shares) -> str:
    if not isfinite(shares.classes):
        return "unknown"
    return ", ".join(f"{_share(share)} {name}" for name, share in asdict(shares).items())


def best_text(choice: QueryChoice) -> str:
    """Return Q* and its large-sample value sqrt(β/α), with their intervals."""
    value, low, high = (fixed(n, 1, "undetermined") for n in astuple(choice.root))
    return f"{range_text(choice)}; sqrt(β/α) = {value} ({low} to {high})"


def range_text(choice: QueryChoice) -> str:
    """Return Q* and its interval."""
    best, low, high = (_query(n, choice) for n in (choice.best, choice.low, choice.high))
    return f"Q* = {best}, {percent(choice.level)} interval {low} to {high}"


def _query(query: int | None, choice: QueryChoice) -> str:
    if query is None:
        return "undetermined"
    if query == choice.tried[0] > 1:
        return f"{query} or fewer" if len(choice.tried) > 1 else f"unknown from {query} alone"
    return f"{query} or more" if choice.more and query == choice.tried[-1] else str(query)
