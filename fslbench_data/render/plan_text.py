"""A plan as tables with sentences, CSV and JSON."""

from __future__ import annotations

from functools import partial
from math import isfinite
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec.structs import asdict
from rich.console import Console
from rich.text import Text

from analysis_sql.interval_kinds import ADDITIONAL_KINDS
from analysis_sql.planning.leave_one_out_plan import PlannedWidth, UnitsForHalf
from analysis_sql.planning.planned_runs import PlannedRuns, WithRuns
from analysis_sql.planning.planning import CLOSED_TASKS, MAX_TASKS
from analysis_sql.planning.query_size import CRITERION, QueryChoice
from analysis_sql.planning.variance_budget import Shares
from benchmark_spec.errors import listing
from fslbench_data.render.console import print_table
from fslbench_data.render.interval_text import UNBOUND_NOTE, capital, one_model_text
from fslbench_data.render.table import Column, Table, csv_text, json_text, right
from fslbench_data.scoring.planning import POOLED, DatasetPlan, Plan, PooledSetPlan

SetPlan = DatasetPlan | PooledSetPlan


def print_plan(plan: Plan, console: Console, *, details: bool = False) -> None:
    """Print a table and its sentences for each set, then notes and the signature.

    With `details` they have symbols and the parts of a pilot's variances.
    """

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style=style))

    for each in plan.sets:
        say(title(each, plan), "bold")
        say(pilot_text(each, plan.level if details else None))
        print_table(table(each), console, heading=12)
        of_runs = runs_text(each.pilot.runs, *each.with_runs(plan.level))
        for line in (*sentences(each, details=details), *of_runs):
            say(line)
        say("")
    for note in notes(plan, details=details):
        say(note, "dim")
    say(plan.signature.short, "dim")


def title(each: SetPlan, plan: Plan) -> str:
    """Say what is planned."""
    pilot = each.pilot
    what = pilot.name if pilot.versus else f"accuracy of {pilot.name}"
    if isinstance(each, DatasetPlan):
        size = f"{each.classes} classes, {each.images:,} images"
        shape = f"{plan.way}-way {plan.shot}-shot"
    else:
        variances, shape = each.pilot.variances, str(pilot.info.protocol)
        size = f"{variances.sizes.size} classes, {each.units:,} {variances.unit}"
    return f"{pilot.info.dataset} ({size}), {shape}, suite {plan.suite}: {what}"


def pilot_text(each: SetPlan, level: float | None) -> str:
    """Say what the pilot found; with a level, the parts of its variance, too."""
    pilot = each.pilot
    mean = f"mean {pilot.mean:+z.2f}" if pilot.versus else f"mean {pilot.mean:.2f}"
    found = ""
    if isinstance(each, DatasetPlan):
        estimate = each.pilot.estimate
        tasks = estimate.tasks
        if level is not None:
            alpha, w = estimate.intervals(level)
            found = (
                f"; α = {estimate.alpha:z.4f} ({alpha[0]:z.4f} to {alpha[1]:z.4f}), "
                f"w = {estimate.w:z.4f} ({w[0]:z.4f} to {w[1]:z.4f}), "
                f"σ_b = {100 * each.pilot.components.classes**0.5:.2f} points a class"
            )
    else:
        variances = each.pilot.variances
        tasks = variances.tasks
        found = f"; {variances.unit} are in {variances.appearances:.1f} of them on average"
    return f"pilot: {pilot.info}, {tasks} tasks, {mean}{found}"


def sentences(each: SetPlan, *, details: bool = True) -> list[str]:
    """Return the sentences below the table, but for training runs."""
    if isinstance(each, DatasetPlan):
        row, choice = each.reference_row, each.choice
        best = "not determined by this pilot"
        if choice.best is not None:
            best = (
                f"{_query(choice.best, choice)} ({100 * choice.level:.8g} % CI: {_range(choice)})"
            )
        shares = _shares(row.budget)
        if row.class_share is not None:
            low, high = (f"{100 * share:.0f}" for share in row.class_share)
            shares += f" (classes: likely {low} to {high} %)"
        lines = [
            f"recommended queries per class: {best}",
            f"variance shares at {row.query} queries per class: {shares}",
        ]
        if details:
            of_width = f"of the open interval's squared width: {_shares(row.open_budget)}"
            chosen = best_text(choice)
            if choice.best is None:
                chosen = "the pilot's tasks differ no more than the luck of queries makes them"
            lines += [of_width, f"{chosen}; recommended is what minimises {CRITERION}"]
        return lines
    variances, lines = each.pilot.variances, []
    if each.usual is not None:
        sizes = f" (B0 = {each.noiseless:,}, B1 = {each.stable:,})" if details else ""
        lines.append(f"a pooled set has {each.usual:,} tasks{sizes}")
    apart = " (as if runs did not differ)" if each.pilot.runs.variance else ""
    needed = "; ".join(_half(one, variances.unit) for one in each.half)
    lines.append(f"to halve ± of endless tasks{apart}: {needed}")
    if details:
        lines += [f"no interval for new {kind}: {why}" for kind, why in variances.why.items()]
    return lines


def _range(choice: QueryChoice) -> str:
    """Write the ends of an interval of queries: ``4 or more``, ``4 to 9``."""
    if choice.low is None:
        return "undetermined"
    if choice.high is None or (choice.more and choice.high == choice.tried[-1]):
        return f"{choice.low} or more"
    return f"{choice.low}" if choice.low == choice.high else f"{choice.low} to {choice.high}"


def table(each: SetPlan) -> Table:
    """Return one row a Q, or a number of tasks and kind; detectable differences of two methods."""
    if isinstance(each, DatasetPlan):
        columns = [
            right("queries per class", lambda row: row.query),
            right("tasks", lambda row: f"{row.mean_tasks:.1f}"),
            right("usual ±", lambda row: _two_digits(row.closed)),
            right("new images ±", lambda row: _two_digits(row.open)),
            right("new classes ±", lambda row: _two_digits(row.class_aware)),
            right(
                "detectable, new images",
                lambda row: _two_digits(row.detectable_open, row.range_open),
            ),
            right(
                "detectable, new classes",
                lambda row: _two_digits(row.detectable_class_aware, row.range_class_aware),
            ),
        ]
    else:
        columns = [
            Column(
                "tasks",
                lambda row: "no end" if row.tasks is None else f"{row.tasks:,}",
                "right",
                once=lambda row: row.tasks,
            ),
            Column("about", lambda row: ADDITIONAL_KINDS[row.kind].about),
            right("±", lambda row: _two_digits(row.halfwidth)),
            right("detectable", lambda row: _two_digits(row.detectable)),
            right("of it tasks", lambda row: _percent(row.monte_carlo_share)),
            Column("", _mark),
        ]
    kept = (c for c in columns if each.pilot.versus or not c.heading.startswith("detectable"))
    return Table("", tuple(kept), each.rows)


def _mark(row: PlannedWidth) -> str:
    """Return why a row has no interval, or what its half-width suffers from."""
    few = "uncertain: few pilot tasks" if row.uncertain else "widened: few tasks"
    return row.why or (few if row.uncertain or row.widened else "")


def _half(one: UnitsForHalf, unit: str) -> str:
    about = ADDITIONAL_KINDS[one.kind].about
    if one.needed is None:
        return f"for {about} more than this pilot can tell"
    of_images = one.kind == "images"
    which, where = (unit, "of these classes") if of_images else (one.kind, "like these")
    return f"for {about} {one.needed:,} {which} {where} instead of {one.units:,}"


def runs_text(runs: PlannedRuns, with_runs: WithRuns | None, about: str) -> list[str]:
    """Return what training runs add to a half-width, what more would do, and which are unknown."""
    lines = []
    if with_runs is not None:
        of_each = zip(runs.methods, runs.numbers, runs.spreads, strict=True)
        planned = listing([f"{n} of {name}" for name, n, spread in of_each if spread is not None])
        more = "; ".join(f"with {n} runs ± {width:.2f}" for n, width in with_runs.more)
        name, doing = ("Training runs", "training") if runs.trained else ("Runs", "running")
        lines.append(
            f"{name}: {planned}. They differ by so much that {doing} anew adds a standard error of "
            f"{runs.variance**0.5:.2f} points: {about} is ± {with_runs.halfwidth:.2f}, and "
            f"would be ± {with_runs.of_tasks:.2f} if runs did not differ. More tasks alone "
            f"make it ± {with_runs.tasks_alone:.2f} at the narrowest"
            f"{f'; as many tasks {more}' if more else ''}."
        )
    if single := one_model_text(runs.of_one_model):
        lines.append(f"{capital(single)}. The plan leaves out what other runs would differ by.")
    return lines


def runs_content(runs: PlannedRuns, with_runs: WithRuns | None, about: str) -> dict[str, Any]:
    """Return the same for machines; nothing of a half-width where no two runs differ."""
    widths = dict.fromkeys(("halfwidth", "of_tasks", "tasks_alone")) | {"more": []}
    if with_runs is not None:
        more = [{"runs": n, "halfwidth": width} for n, width in with_runs.more]
        widths = {**asdict(with_runs), "more": more}
    return {
        "methods": list(runs.methods),
        "pilot": list(runs.runs),
        "planned": list(runs.numbers),
        "spreads": list(runs.spreads),
        "run_error": runs.error,
        "of_one_model": list(runs.of_one_model),
        **widths,
        "sentences": runs_text(runs, with_runs, about),
    }


def notes(plan: Plan, *, details: bool = True) -> list[str]:
    """Say what the columns mean, and with `details` what ranges and parts are."""
    level, power = f"{100 * plan.level:.8g} %", f"{100 * plan.power:.8g} %"
    of_pairs = any(each.pilot.versus for each in plan.sets)
    texts = [f"Expected half-widths of {level} intervals, percentage points."]
    if plan.suite == POOLED:
        texts.append(
            "of it tasks: the part of the variance that more tasks of the same images take away."
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


class _Line(NamedTuple):
    plan: Plan
    set: SetPlan
    row: Any


_KINDS, _PARTS, _ENDS = ("open", "class_aware"), ("classes", "images", "queries"), ("low", "high")
_BEFORE = {
    "dataset": "set.pilot.info.dataset",
    "method": "set.pilot.method",
    "versus": "set.pilot.versus",
    "pilot": "set.pilot.info.name",
    **{name: f"plan.{name}" for name in ("suite", "way", "shot")},
}
_AFTER = {"level": "plan.level", "power": "plan.power"}
_OPEN = {
    **_BEFORE,
    "query": "row.query",
    "tasks": "row.mean_tasks",
    **{name: f"row.{name}" for name in ("closed", *_KINDS)},
    **{f"detectable_{kind}": f"row.detectable_{kind}" for kind in _KINDS},
    **{f"detectable_{kind}_{end}": f"row.range_{kind}" for kind in _KINDS for end in _ENDS},
    **{f"share_{part}": f"row.budget.{part}" for part in _PARTS},
    **{f"open_share_{part}": f"row.open_budget.{part}" for part in _PARTS},
    **_AFTER,
    **{f"{kind}_of_tasks": f"row.{kind}_of_tasks" for kind in _KINDS},
}
_OF_ROW = ("tasks", "kind", "halfwidth", "detectable", "monte_carlo_share", "widened", "why")
_POOLED = {
    **_BEFORE,
    "query": "set.pilot.info.protocol.query",
    **{name: f"row.{name}" for name in _OF_ROW},
    **_AFTER,
    "of_tasks": "row.of_tasks",
    "uncertain": "row.uncertain",
}
"""Columns of CSV, and where a line has their values."""


def plan_csv(plan: Plan) -> str:
    """Write one row a data set and Q, or number of tasks and kind, after the signature."""
    paths = _POOLED if plan.suite == POOLED else _OPEN
    columns = tuple(Column(name, partial(_value, name, path)) for name, path in paths.items())
    columns += (  # runs that are planned of each method, and what they add
        Column("runs", lambda line: line.set.pilot.runs.numbers[0]),
        Column("versus_runs", lambda line: (line.set.pilot.runs.numbers[1:] or (None,))[0]),
        Column("run_error", attrgetter("set.pilot.runs.error")),
    )
    lines = (_Line(plan, each, row) for each in plan.sets for row in each.rows)
    return csv_text(Table("", columns, lines), str(plan.signature))


def _value(name: str, path: str, line: _Line) -> object:
    """Return what a line has at a path, of a range one end; None for what is no number."""
    value = attrgetter(path)(line)
    if isinstance(value, tuple):
        value = value[_ENDS.index(name.rpartition("_")[2])]
    return None if isinstance(value, float) and not isfinite(value) else value


def plan_json(plan: Plan) -> str:
    """Write everything; null is undetermined, not estimable, or endless tasks."""
    of_queries = {"closed_tasks": CLOSED_TASKS, "criterion": CRITERION}
    content = {
        "signature": str(plan.signature),
        **{name: getattr(plan, name) for name in ("suite", "way", "shot", "level", "power")},
        **({} if plan.suite == POOLED else of_queries),
        "datasets": [_content(each, plan.level) for each in plan.sets],
        "notes": notes(plan),
    }
    return json_text(content)


def _content(each: SetPlan, level: float) -> dict[str, Any]:
    pilot = each.pilot
    known = {
        "task_set": str(pilot.info.name),
        "fingerprint": pilot.info.fingerprint,
        "method": pilot.method,
        "versus": pilot.versus,
        "mean": pilot.mean,
    }
    rows = [asdict(row) for row in each.rows]
    runs = runs_content(pilot.runs, *each.with_runs(level))
    if isinstance(each, DatasetPlan):
        estimate = each.pilot.estimate
        return {
            "dataset": each.dataset,
            "classes": each.classes,
            "images": each.images,
            "pilot": {
                **known,
                "components": asdict(each.pilot.components),
                "estimate": asdict(estimate),
                "alpha_interval": estimate.intervals(level)[0],
                "w_interval": estimate.intervals(level)[1],
            },
            "rows": rows,
            "choice": asdict(each.choice),
            "sentences": sentences(each),
            "runs": runs,
        }
    variances = each.pilot.variances
    return {
        "dataset": pilot.info.dataset,
        "query": pilot.info.protocol.query,
        "classes": variances.sizes.size,
        "units": each.units,
        "unit": variances.unit,
        "pilot": {**known, "tasks": variances.tasks, "appearances": variances.appearances},
        "noiseless_tasks": each.noiseless,
        "stable_tasks": each.stable,
        "pooled_tasks": each.usual,
        "rows": rows,
        "half": [asdict(one) for one in each.half],
        "sentences": sentences(each),
        "runs": runs,
    }


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _two_digits(value: float | None, between: tuple[float, float] | None = None) -> str:
    """Return a number with two digits, and a range in brackets behind it."""
    text = "" if value is None else f"{value:z.2f}"
    return text + (f" ({between[0]:z.2f} to {between[1]:z.2f})" if between else "")


def _shares(shares: Shares) -> str:
    if not isfinite(shares.classes):
        return "unknown"
    parts = ((shares.classes, "classes"), (shares.images, "images"), (shares.queries, "queries"))
    return ", ".join(f"{100 * share:.0f} % {name}" for share, name in parts)


def best_text(choice: QueryChoice) -> str:
    """Return Q* and its large-sample value with their intervals."""
    root = choice.root
    return (
        f"{range_text(choice)}; "
        f"sqrt(β/α) = {_number(root.value)} ({_number(root.low)} to {_number(root.high)})"
    )


def range_text(choice: QueryChoice) -> str:
    """Return Q* and its interval."""
    return (
        f"Q* = {_query(choice.best, choice)}, {100 * choice.level:.8g} % interval "
        f"{_query(choice.low, choice)} to {_query(choice.high, choice)}"
    )


def _query(query: int | None, choice: QueryChoice) -> str:
    if query is None:
        return "undetermined"
    return f"{query} or more" if choice.more and query == choice.tried[-1] else str(query)


def _number(value: float | None) -> str:
    return "undetermined" if value is None else f"{value:.1f}"
