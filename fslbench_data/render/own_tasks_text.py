"""What a researcher's own random tasks show, as tables with sentences."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis_sql.comparison.verdicts import Verdict
from analysis_sql.leave_one_out.design import LEFT_OUT, LeftOut
from benchmark_spec.errors import listing
from benchmark_spec.version import __version__
from fslbench_data.render.interval_text import VERDICT_STYLES, capital, one_model_text
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.own_report import Estimate, OwnTasks, OwnTaskSet

if TYPE_CHECKING:
    from rich.console import Console

LEGEND = "+ better, - worse, 0 not told apart, = identical on every task, ? nothing can be said"
LINES_BESIDE = 24
"""Lines of a screen that stand around the table of pairs."""
MOST_NAMED = 6


def about(report: OwnTasks, kind: LeftOut) -> str:
    """Return what one kind of interval is about."""
    if kind == "classes" and report.superclasses:
        return "new classes of these superclasses"
    return f"new {kind}"


def estimands(report: OwnTasks) -> dict[LeftOut, str]:
    """Return the same at length, by kind."""
    units = {group.unit for group in report.sets}
    units_left_out = "groups of images" if units == {"groups"} else "images"
    texts: dict[LeftOut, str] = {
        "images": f"new {units_left_out} of these classes, classes weighted equally",
        "classes": f"{about(report, 'classes')}, with images of their own",
        "superclasses": "new superclasses, with classes of their own",
    }
    return {kind: texts[kind] for kind in _kinds(report)}


def print_own_tasks(report: OwnTasks, console: Console) -> None:
    """Print on one screen: methods, as many pairs as fit, and what they mean."""
    from rich.text import Text

    from fslbench_data.render.console import print_table, screenful

    console.print(Text(report.signature, style="dim"), soft_wrap=True)
    for group in report.sets:
        console.print()
        methods = method_table(report, group)
        print_table(methods, console)
        shown = max(5, console.height - LINES_BESIDE - min(len(group.methods), screenful(console)))
        number = len(group.methods) * (len(group.methods) - 1) // 2
        if number:
            console.print()
            some = Table("", pair_columns(report, group), list(islice(group.pairs(), shown)))
            print_table(some, console, whole=True, left=max(0, number - shown))
    for note in notes(report):
        console.print(Text(f"\n{note}", style="dim"), soft_wrap=True)
    console.print(Text(f"\n{sentence(report)}"), soft_wrap=True)


def tables(report: OwnTasks) -> list[Table]:
    """Return the tables of every group of methods, for Markdown and LaTeX."""
    made = []
    for group in report.sets:
        made.append(method_table(report, group))
        if len(group.methods) > 1:
            made.append(Table("Differences", pair_columns(report, group), group.pairs()))
    return made


def title(report: OwnTasks, group: OwnTaskSet) -> str:
    """Return T, level and kind of the intervals."""
    return (
        f"{group.tasks:,} tasks of {group.way} classes and {group.per_class} images of each, "
        f"reused: {100 * report.level:.8g} % leave-one-out intervals"
    )


def method_table(report: OwnTasks, group: OwnTaskSet) -> Table:
    """Return one row a method, a half-width for each kind."""
    columns = [
        Column("method", lambda row: row.method),
        right("mean", lambda row: f"{row.mean:.2f}"),
        *(right(f"± {about(report, kind)}", partial(_width, kind)) for kind in group.kinds),
    ]
    return Table(title(report, group), tuple(columns), group.means)


def pair_columns(report: OwnTasks, group: OwnTaskSet) -> tuple[Column, ...]:
    """Return the columns of paired differences, a half-width and a verdict for each kind."""
    columns = [
        Column("method", lambda row: row.method, once=lambda row: row.method),
        Column("versus", lambda row: row.versus),
        right("difference", lambda row: f"{row.mean:+.2f}"),
    ]
    for kind in group.kinds:
        columns += [
            right("±", partial(_width, kind)),
            Column(about(report, kind), partial(_verdict, kind), "center", style=_style),
        ]
    return tuple(columns)


def notes(report: OwnTasks) -> list[str]:
    """Return what the columns mean, what is missing, and what weakens it."""
    kinds = "; ".join(f"± {about(report, k)}: {text}" for k, text in estimands(report).items())
    seen = f"{report.images:,} images"
    if report.sizes_known:
        seen += f" and {report.unseen:,.0f} that no task shows" if report.unseen else ", all seen"
    else:
        seen += " seen, taken for all"
    told = [f"Drawn from {report.classes} classes, {seen}. Percentage points. {kinds}. {LEGEND}."]
    if not report.roles:
        told.append(
            "Which images are support and which query was not logged; that all are there is "
            "taken on trust (support_ids and query_ids say it)."
        )
    for group in report.sets:
        told += [*_runs(report, group), *_missing(report, group), *_wide(group)]
    return [*dict.fromkeys(told), *(f"Beware: {text}." for text in report.warnings)]


def _runs(report: OwnTasks, group: OwnTaskSet) -> list[str]:
    """Which methods have several training runs, and which one."""
    several = [f"{name} {n}" for name, n in zip(group.methods, group.runs, strict=True) if n > 1]
    single = [name for name, n in zip(group.methods, group.runs, strict=True) if n == 1]
    single = [] if report.trained is False else single
    said = []
    if several:
        said.append(
            f"Training runs (column {report.run_column}), counted in ± and verdicts: "
            f"{listing(several, MOST_NAMED)}."
        )
    if single:
        said.append(f"{capital(one_model_text(single, MOST_NAMED))}.")
    return said


def _missing(report: OwnTasks, group: OwnTaskSet) -> list[str]:
    """Which kinds of interval there are not, and why."""
    kinds: list[LeftOut] = [k for k in group.why if k != "superclasses" or report.superclasses]
    missing = [
        f"No interval for {listing([about(report, k) for k in kinds if group.why[k] == reason])}: "
        f"{reason}."
        for reason in dict.fromkeys(group.why[kind] for kind in kinds)
    ]
    return missing + [
        f"± {about(report, kind)} is at most so much, by a bound: {reason}."
        for kind, reason in group.bounded.items()
    ]


def _wide(group: OwnTaskSet) -> list[str]:
    """How many intervals would be narrower with more tasks of the same images."""
    number = sum(int(np.triu(getattr(group.result, kind).widened).sum()) for kind in group.kinds)
    if not number:
        return []
    plural = "s are" if number > 1 else " is"
    return [f"{number} interval{plural} wide because the tasks are few: log more of them."]


def sentence(report: OwnTasks) -> str:
    """Return one sentence to paste in a paper."""
    if not _kinds(report):
        return "These tasks give no interval, and so no mean to report."
    parts = []
    for group in report.sets:
        named = [_mean_text(estimate) for estimate in group.means[:MOST_NAMED]]
        named += [f"and {len(group.methods) - MOST_NAMED} more"][: len(group.methods) > MOST_NAMED]
        parts.append(
            f"over {group.tasks:,} random tasks of {group.way} of the {report.classes} classes, "
            f"{group.per_class} images of each, the mean is {', '.join(named)}"
        )
    text = "; ".join(parts)
    first, *others = [about(report, kind) for kind in _kinds(report)]
    brackets = f" (in brackets: for {' and '.join(others)})" if others else ""
    return (
        f"For a paper: {text[0].upper()}{text[1:]}; {100 * report.level:.8g} % leave-one-out "
        f"intervals for {first}{brackets}, which allow for tasks that reuse images (FSLBench "
        f"{__version__})."
    )


def _kinds(report: OwnTasks) -> list[LeftOut]:
    return [kind for kind in LEFT_OUT if any(kind in group.kinds for group in report.sets)]


def _width(kind: LeftOut, estimate: Estimate) -> str:
    """Two decimals, or two significant digits where these would round to nothing."""
    halfwidth = estimate.widths[kind].halfwidth
    if halfwidth is None:
        return "?"
    return f"{halfwidth:.2f}" if halfwidth >= 0.005 or not halfwidth else f"{halfwidth:.2g}"


def _mean_text(estimate: Estimate) -> str:
    """Return a method's mean with all half-widths, those after the first in brackets."""
    if all(width.halfwidth is None for width in estimate.widths.values()):
        return (
            f"{estimate.method} {estimate.mean:.2f} % on every task, which leaves nothing to tell"
        )
    first, *others = [_width(kind, estimate) for kind in estimate.widths]
    brackets = f" ({', '.join(others)})" if others else ""
    return f"{estimate.method} {estimate.mean:.2f} ± {first}{brackets} %"


def _verdict(kind: LeftOut, estimate: Estimate) -> Verdict:
    return estimate.verdict(kind)


def _style(verdict: Any) -> str:
    return VERDICT_STYLES.get(verdict, "")
