"""The text of a log of one's own tasks: tables, notes and a sentence for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from analysis_sql.comparisons import Comparison, Verdict
from analysis_sql.interval_kinds import ABOUT
from analysis_sql.intervals.intervals import Interval
from benchmark_spec.errors import listing
from benchmark_spec.protocol import EPISODES, IntervalKind
from benchmark_spec.version import __version__
from fslbench_data.render.draws_text import MEAN
from fslbench_data.render.draws_text import tables as draw_tables
from fslbench_data.render.interval_text import (
    AT_MOST,
    QUERIES_HINT,
    by_queries_text,
    by_reason,
    capital,
    one_model_text,
    percent,
    runs_hint,
    runs_word,
    sentences,
    several_runs_text,
    ties_text,
    verdict_column,
    verdict_of,
    width_text,
)
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.own_release import DrawFacts, LogFacts
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import Score
from fslbench_data.scoring.task_set_report import TaskSetReport

if TYPE_CHECKING:
    from rich.console import Console

USUAL = "± usual"
UNCORRECTED = "Verdicts: each comparison alone."
MOST_NAMED = 6


def print_log(report: Report, log: LogFacts, console: Console) -> None:
    """Print methods, as many pairs as fit, and what they mean on one screen."""
    from fslbench_data.render.console import print_screen

    signature = report.signature.short
    if isinstance(log, DrawFacts):
        tables = draw_tables(report, log)
        return print_screen(tables, console, signature=signature, heading=len(MEAN))
    last = sentence(report, log)
    return print_screen(_tables(report, log), console, notes(report, log), last, signature)


def log_paper(report: Report, log: LogFacts, form: str = "") -> tuple[list[Table], str, list[str]]:
    """Return the content of Markdown and LaTeX: tables, the signature, notes and the sentence."""
    if isinstance(log, DrawFacts):
        return draw_tables(report, log, form), str(report.signature), []
    level = percent(report.signature.level)
    title = f"Differences, method minus versus: ± half-width of paired {level} intervals; better, "
    title += "worse: significant; ns: no significant difference"
    return (
        _tables(report, log, title),
        str(report.signature),
        [*notes(report, log), sentence(report, log)],
    )


def _tables(report: Report, log: LogFacts, title: str = "") -> list[Table]:
    """Return a table of methods and one of pairs, of this title, for each task set."""
    tables = []
    for each in report.sets:
        tables.append(_methods(each, log))
        if len(each.comparisons):
            ties = ties_text(each.ties, 3) if each.ties else ""
            beside = (f"{UNCORRECTED} {ties}".strip(),) if len(each.comparisons) > 1 else ()
            tables.append(Table(title, _pair_columns(each, log), each.comparisons, beside))
    return tables


def notes(report: Report, log: LogFacts) -> list[str]:
    """Return what weakens the intervals, what the columns mean, and what is missing."""
    seen = f"{log.images + (log.unseen if log.sizes_known else 0):,.0f} images"
    if log.sizes_known:
        seen += f", {log.unseen:,.0f} of them in no task" if log.unseen else ", all seen"
    else:
        seen += " seen" if all(map(_is_open, report.sets)) else " seen, taken for all"
    about = [f"± {_about(log, kind)}: {text}" for kind, text in estimands(report, log).items()]
    if not all(map(_is_open, report.sets)):
        about.insert(0, f"{USUAL}: other tasks of the same images, as papers print it")
    hint = runs_hint(score.method for score in report.scores)
    lines = [f"Beware: {text}." for text in (*log.warnings, *([hint] if hint else ()))]
    lines += _notes_of_methods(report.scores, log)
    for each in report.sets:
        missing = by_reason(each.units.missing, partial(_about, log)).items()
        lines += [f"No interval for {listing(kinds)}: {reason}." for reason, kinds in missing]
        bounded = each.units.bounded.items()
        lines += [f"{AT_MOST} for {_about(log, kind)}: {reason}." for kind, reason in bounded]
    drawn = f"Drawn from {log.classes} classes, {seen}. Percentage points"
    lines.append(f"{drawn}. {'; '.join(about)}.")
    if any(len(each.comparisons) for each in report.sets):
        lines[-1] += " better, worse: significant; ns: no significant difference."
    if not log.roles:
        lines.append(
            "Which images are support and which query was not logged; that all are there is "
            "taken on trust (support_ids and query_ids say it)."
        )
    reused = [score for each in report.sets if not _is_open(each) for score in each.scores]
    if any(score.by_queries is False and not score.run_spread for score in reused):
        lines.append(
            f"{QUERIES_HINT}, with --inductive, where no answer depends on the task's other "
            "queries, and the column correct (1 or 0 for each of query_ids)."
        )
    return [*dict.fromkeys(lines)]


def _notes_of_methods(scores: Sequence[Score], log: LogFacts) -> list[str]:
    """Say which methods have several training runs or one, and which intervals use queries."""
    several = dict.fromkeys(f"{score.method} {score.runs}" for score in scores if score.runs > 1)
    single = dict.fromkeys(score.method for score in scores if score.of_one_model)
    known = dict.fromkeys(score.method for score in scores if score.by_queries)
    n_others = sum(not score.by_queries for score in scores)
    return sentences(
        several_runs_text(scores, [*several], MOST_NAMED, f" (column {log.run_column})"),
        one_model_text([*single], hint=" (nothing trained: --no-training)"),
        by_queries_text([*known], len(known) + n_others),
    )


def sentence(report: Report, log: LogFacts) -> str:
    """Return one sentence to paste in a paper."""
    parts = []
    for each in report.sets:
        means = [_mean_text(score, each) for score in _best_first(each)[:MOST_NAMED]]
        if len(each.scores) > MOST_NAMED:
            means.append(f"and {len(each.scores) - MOST_NAMED} more")
        protocol = each.scored.protocol
        parts.append(
            f"over {each.scored.n_tasks:,} random tasks of {_upto(each)}{protocol.way} of the "
            f"{log.classes} classes, {_upto(each)}{protocol.per_class} images of each, "
            f"mean accuracy: {', '.join(means)}"
        )
        if len(each.comparisons) == 1:
            pair, kinds = each.comparisons[0], each.displayed_kinds
            if any(pair.intervals[kind].difference.halfwidth for kind in kinds):
                size = f"{pair.difference.mean:+z.2f} ± "
                size += _widths([_pair_width(kind, pair) for kind in kinds])
                parts.append(f"{pair.method} minus {pair.versus}: {size} points, paired by task")
    first, *others = dict.fromkeys(_about(log, kind) for kind in estimands(report, log))
    brackets = f" (in brackets: for {' and '.join(others)})" if others else ""
    bounded = dict.fromkeys(kind for each in report.sets for kind in each.units.bounded)
    if any(each.units.groups for each in report.sets):
        brackets += ", a group of images counting as one"
    if bounded:
        brackets += f", at most for {' and '.join(_about(log, kind) for kind in bounded)}"
    level = percent(report.signature.level)
    by = ", from which queries were right," if all(s.by_queries for s in report.scores) else ""
    n_open = sum(map(_is_open, report.sets))
    kind = "" if n_open else "leave-one-out "
    allow = "which allow for tasks that reuse images"
    if n_open:
        allow = "of tasks that share no image, classes weighted by their number of tasks"
    if 0 < n_open < len(report.sets):
        allow = "which allow for tasks that reuse images, where they do"
    return (
        f"For a paper: {capital('; '.join(parts))}; {level} {kind}intervals{by} for {first}"
        f"{brackets}, {allow}{_of_runs(report.scores)} (FSLBench {__version__})."
    )


def _of_runs(scores: Sequence[Score]) -> str:
    """Say in a paper's sentence which runs the intervals count, and which methods have one."""
    numbers = {score.method: score.runs for score in scores if score.runs > 1}
    single = [*dict.fromkeys(score.method for score in scores if score.of_one_model)]
    text = ""
    if numbers:
        text = f"runs: {listing([f'{name} {n}' for name, n in numbers.items()], MOST_NAMED)}"
        if {*numbers} == {score.method for score in scores} and len({*numbers.values()}) == 1:
            text = f"{next(iter(numbers.values()))} runs of each method"
        doing = "training" if runs_word(scores) == "training runs" else "running"
        text = f" and for {doing} anew ({text})"
    if single:
        names, verb = listing(single, MOST_NAMED), "is one trained model"
        if len(single) > 1 and {*single} == {score.method for score in scores}:
            names = "each method"
        elif len(single) > 1:
            verb = "are one trained model each"
        text += f"; {names} {verb}"
    return text


def estimands(report: Report, log: LogFacts) -> dict[IntervalKind, str]:
    """Return the estimand of each kind of interval in full."""
    grouped = all(each.units.groups for each in report.sets)
    texts: dict[IntervalKind, str] = {
        "images": f"new {'groups of images' if grouped else 'images'} of these classes, classes "
        "weighted equally",
        "open": "new images of these classes, classes weighted by their number of tasks",
    }
    own = {"new classes": ", with images of their own"}
    own["new superclasses"] = ", with classes of their own"
    kinds = dict.fromkeys(kind for each in report.sets for kind in each.displayed_kinds)
    return {k: texts.get(k) or f"{_about(log, k)}{own.get(ABOUT[k], '')}" for k in kinds}


def _about(log: LogFacts, kind: IntervalKind) -> str:
    of_known = log.superclasses and ABOUT[kind] == "new classes"
    return f"{ABOUT[kind]}{' of these superclasses' if of_known else ''}"


def _best_first(task_set: TaskSetReport) -> Sequence[Score]:
    """Return scores by descending mean if they are more than are named, else in the log's order."""
    if len(task_set.scores) <= MOST_NAMED:
        return task_set.scores
    return sorted(task_set.scores, key=lambda score: -score.accuracy.mean)


def _is_open(task_set: TaskSetReport) -> bool:
    """Return whether no image is in two tasks."""
    return task_set.interval_kind == "open"


def _methods(task_set: TaskSetReport, log: LogFacts) -> Table:
    """Return a table with a row per method and a half-width for each kind."""
    protocol, upto = task_set.scored.protocol, _upto(task_set)

    def width(kind: IntervalKind, score: Score) -> str:
        return _width(score.intervals[kind])

    columns = [
        Column("method", lambda score: score.method),
        right("mean", lambda score: f"{score.accuracy.mean:.2f}"),
    ]
    if not _is_open(task_set):
        columns.append(right(USUAL, partial(width, task_set.interval_kind)))
    kinds = task_set.displayed_kinds
    columns += [right(f"± {_about(log, kind)}", partial(width, kind)) for kind in kinds]
    how = ("none in two tasks", "") if _is_open(task_set) else ("reused", " leave-one-out")
    title = (
        f"{task_set.scored.n_tasks:,} tasks of {upto}{protocol.way} classes and "
        f"{upto}{protocol.per_class} images of each, {how[0]}: {percent(task_set.level)}{how[1]} "
        "intervals"
    )
    return Table(title, tuple(columns), _best_first(task_set))


def _pair_columns(task_set: TaskSetReport, log: LogFacts) -> tuple[Column, ...]:
    """Return the columns of paired differences, a half-width and a verdict for each kind."""
    columns = [
        Column("method", lambda c: c.method, once=lambda c: c.method),
        Column("versus", lambda c: c.versus),
        right("difference", lambda c: f"{c.difference.mean:+z.2f}"),
    ]
    for i, kind in enumerate(task_set.displayed_kinds):
        columns += [
            replace(right("±", partial(_pair_width, kind)), optional=int(i > 0)),
            verdict_column(_about(log, kind), partial(verdict_of, kind=kind)),
        ]
    return tuple(columns)


def _upto(task_set: TaskSetReport) -> str:
    """Return the words before a number of ways or shots, which may vary over tasks."""
    return "up to " if task_set.scored.name.suite == EPISODES.name else ""


def _pair_width(kind: IntervalKind, comparison: Comparison) -> str:
    identical = comparison.verdict is Verdict.IDENTICAL
    return "0.00" if identical else _width(comparison.intervals[kind].difference)


def _width(interval: Interval) -> str:
    """Return a half-width, or ``?`` if neither tasks nor runs differ."""
    unknown = interval.halfwidth is None or (interval.constant and not interval.halfwidth)
    return "?" if unknown else width_text(interval.halfwidth or 0.0)


def _mean_text(score: Score, task_set: TaskSetReport) -> str:
    """Return a method's mean with all half-widths, those after the first in brackets."""
    mean = f"{score.method} {score.accuracy.mean:.2f}"
    if not any(score.intervals[kind].halfwidth for kind in task_set.displayed_kinds):
        return f"{mean} % on every task, which leaves nothing to tell"
    return f"{mean} ± {_widths([_width(score.intervals[k]) for k in task_set.displayed_kinds])} %"


def _widths(texts: Sequence[str]) -> str:
    """Return half-widths, those after the first in brackets."""
    first, *others = texts
    return first + (f" ({', '.join(others)})" if others else "")
