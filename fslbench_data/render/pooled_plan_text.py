"""A plan of sets that reuse images, as tables with sentences, CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from analysis_sql.interval_kinds import BESIDE
from analysis_sql.planning.leave_one_out_plan import PlannedWidth, UnitsForHalf
from analysis_sql.planning.planned_runs import WithRuns
from analysis_sql.planning.planning import CLOSED_TASKS
from fslbench_data.render.console import print_table
from fslbench_data.render.interval_text import UNBOUND_NOTE
from fslbench_data.render.plan_text import plain, runs_columns, runs_content, runs_text
from fslbench_data.render.table import Column, Table, csv_text, json_text, right
from fslbench_data.scoring.pooled_planning import SUITE, PooledPlan, PooledSetPlan


def print_pooled_plan(plan: PooledPlan, console: Console) -> None:
    """Print the signature, then for each task set a table and its sentences, then notes."""
    console.print(Text(str(plan.signature), style="dim"), soft_wrap=True)
    for each in plan.sets:
        console.print(Text(f"\n{title(each)}", style="bold"), soft_wrap=True)
        console.print(Text(pilot_text(each)), soft_wrap=True)
        print_table(table(each), console)
        for line in (*sentences(each), *runs_text(each.runs, *_with_runs(each, plan.level))):
            console.print(Text(line), soft_wrap=True)
    for note in notes(plan):
        console.print(Text(f"\n{note}", style="dim"), soft_wrap=True)


def title(each: PooledSetPlan) -> str:
    """What is planned."""
    pilot = each.pilot
    what = each.name if each.versus else f"accuracy of {each.name}"
    return (
        f"{each.info.dataset} ({pilot.sizes.size} classes, {_units(each):,} {each.unit}), "
        f"{each.info.protocol}, suite {SUITE}: {what}"
    )


def pilot_text(each: PooledSetPlan) -> str:
    """What the pilot is."""
    mean = f"mean {each.mean:+.2f}" if each.versus else f"mean {each.mean:.2f}"
    return (
        f"pilot: {each.info}, {each.pilot.tasks} tasks, {mean}; {each.unit} are in "
        f"{each.pilot.appearances:.1f} of them on average"
    )


def table(each: PooledSetPlan) -> Table:
    """Return one row a number of tasks and kind of interval."""
    columns = [
        Column("tasks", _tasks, "right", once=lambda row: row.tasks),
        Column("about", lambda row: BESIDE[row.kind].about),
        right("±", lambda row: _digits(row.halfwidth)),
        right("detectable", lambda row: _digits(row.detectable)),
        right(
            "of it tasks",
            lambda row: (
                "" if row.monte_carlo_share is None else f"{100 * row.monte_carlo_share:.0f} %"
            ),
        ),
        Column("", lambda row: row.why or ("widened: few tasks" if row.widened else "")),
    ]
    return Table(
        "", tuple(columns if each.versus else [*columns[:3], *columns[4:]]), each.plan.rows
    )


def sentences(each: PooledSetPlan) -> list[str]:
    """What half the narrowest width takes, and why a kind is absent."""
    lines = []
    if each.usual is not None:
        lines.append(
            f"B0 = {each.noiseless:,} tasks, B1 = {each.stable:,}; a pooled set has {each.usual:,}."
        )
    parts = [_half(each, one) for one in each.plan.half]
    aside = ", if runs did not differ," if each.runs.terms[0] else ""
    lines.append(f"Half the width of endless tasks takes{aside} {'; '.join(parts)}.")
    lost = [BESIDE[kind].about for kind, part in each.pilot.parts.items() if part.variance == 0]
    if lost:
        lines.append(
            f"The pilot does not tell what {' and '.join(lost)} vary by from noise: their "
            "intervals may be wider than planned. More tasks would tell."
        )
    lines += [f"No interval for new {kind}: {why}." for kind, why in each.pilot.why.items()]
    return lines


def _with_runs(each: PooledSetPlan, level: float) -> tuple[WithRuns | None, str]:
    """What training runs do to the interval for new images of the usual number of tasks."""
    tasks = each.usual or CLOSED_TASKS
    of_tasks = {row.tasks: row.of_tasks for row in each.plan.rows if row.kind == "images"}
    width, least = of_tasks.get(tasks), of_tasks.get(None)
    told = None if width is None else each.runs.of(width, level, least or 0.0)
    return told, f"the interval for new images of {tasks:,} tasks"


def _half(each: PooledSetPlan, one: UnitsForHalf) -> str:
    about = BESIDE[one.kind].about
    if one.needed is None:
        return f"for {about} more than this pilot can tell"
    which = each.unit if one.kind == "images" else one.kind
    where = "of these classes" if one.kind == "images" else "like these"
    return f"for {about} {one.needed:,} {which} {where} instead of {one.units:,}"


def notes(plan: PooledPlan) -> list[str]:
    """What the columns mean."""
    level = f"{100 * plan.level:.8g} %"
    paired = any(one.versus for one in plan.sets)
    kinds = {row.kind: None for one in plan.sets for row in one.plan.rows}
    about = "; ".join(BESIDE[kind].estimand for kind in kinds)
    detectable = (
        "detectable: the smallest true difference that the interval excludes 0 for "
        f"{100 * plan.power:.8g} % of the time."
        if paired
        else "Detectable differences need a second method: --versus."
    )
    return [
        *([UNBOUND_NOTE] if plan.signature.unbound else []),
        *(f"left out: {reason}" for reason in plan.left_out),
        f"Half-widths expected of {level} intervals that leave one out, percentage points, for "
        f"tasks drawn as the pilot's: {about}. {detectable} of it tasks: the part of the variance "
        "that more tasks of the same images take away; endless tasks are the narrowest that the "
        "images allow. Everything takes the pilot's estimates for the truth, however few its "
        "tasks are.",
    ]


class _Line(NamedTuple):
    plan: PooledPlan
    set: PooledSetPlan
    row: PlannedWidth


def pooled_plan_csv(plan: PooledPlan) -> str:
    """Write one row a number of tasks and kind; `tasks` is empty for endless ones."""
    cells = {
        "dataset": lambda line: line.set.info.dataset,
        "method": lambda line: line.set.method,
        "versus": lambda line: line.set.versus,
        "pilot": lambda line: str(line.set.info.name),
        "suite": lambda _: SUITE,
        "way": lambda line: line.plan.way,
        "shot": lambda line: line.plan.shot,
        "query": lambda line: line.set.info.protocol.query,
        "tasks": lambda line: line.row.tasks,
        "kind": lambda line: line.row.kind,
        "halfwidth": lambda line: line.row.halfwidth,
        "detectable": lambda line: line.row.detectable,
        "monte_carlo_share": lambda line: line.row.monte_carlo_share,
        "widened": lambda line: line.row.widened,
        "why": lambda line: line.row.why,
        "level": lambda line: line.plan.level,
        "power": lambda line: line.plan.power,
        "of_tasks": lambda line: line.row.of_tasks,
    }
    columns = tuple(Column(name, cell) for name, cell in cells.items())
    columns += runs_columns(lambda line: line.set.runs)
    return csv_text(Table("", columns, _lines(plan)), str(plan.signature))


def _lines(plan: PooledPlan) -> Iterator[_Line]:
    return (_Line(plan, each, row) for each in plan.sets for row in each.plan.rows)


def pooled_plan_json(plan: PooledPlan) -> str:
    """Write everything; null is endless tasks, or what cannot be said."""
    content = {
        "signature": str(plan.signature),
        "suite": SUITE,
        "way": plan.way,
        "shot": plan.shot,
        "level": plan.level,
        "power": plan.power,
        "datasets": [_content(each, plan.level) for each in plan.sets],
        "notes": notes(plan),
    }
    return json_text(plain(content))


def _content(each: PooledSetPlan, level: float) -> dict[str, Any]:
    return {
        "dataset": each.info.dataset,
        "query": each.info.protocol.query,
        "classes": each.pilot.sizes.size,
        "units": _units(each),
        "unit": each.unit,
        "pilot": {
            "task_set": str(each.info.name),
            "fingerprint": each.info.fingerprint,
            "method": each.method,
            "versus": each.versus,
            "mean": each.mean,
            "tasks": each.pilot.tasks,
            "appearances": each.pilot.appearances,
        },
        "noiseless_tasks": each.noiseless,
        "stable_tasks": each.stable,
        "pooled_tasks": each.usual,
        "rows": [asdict(row) for row in each.plan.rows],
        "half": [asdict(one) for one in each.plan.half],
        "sentences": sentences(each),
        "runs": runs_content(each.runs, *_with_runs(each, level)),
    }


def _units(each: PooledSetPlan) -> int:
    return int(each.pilot.sizes.sum())


def _tasks(row: PlannedWidth) -> str:
    return "endless" if row.tasks is None else f"{row.tasks:,}"


def _digits(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
