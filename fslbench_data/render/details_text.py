"""All comparisons of a report: a table for each task set, on the terminal and for papers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import attrgetter

import numpy as np
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from analysis_sql.comparisons import Comparison, Verdict, conclusive
from analysis_sql.intervals.intervals import ABOVE, INDEPENDENT_TASKS, Saturation
from analysis_sql.multiple_comparisons import Evidence
from benchmark_spec.errors import listing, many
from fslbench_data.render.console import print_table, say
from fslbench_data.render.interval_text import (
    CLAIMS,
    STOPPED_NOTE,
    TRANSDUCTIVE_NOTE,
    UNBOUND_NOTE,
    by_queries_text,
    difference_text,
    ended,
    labels,
    missing_text,
    one_model_text,
    percent,
    plus_minus,
    set_title,
    stopped_text,
    ties_text,
    unseen_text,
    verdict_column,
    verdict_of,
    with_bracket,
)
from fslbench_data.render.table import Column, Table, right
from fslbench_data.scoring.report import Report
from fslbench_data.scoring.scores import PREFIX, Score
from fslbench_data.scoring.task_set_report import TaskSetReport

LEGEND = (
    "better, worse: significant, each comparison alone; ns: no significant difference; "
    "identical: the same counts on every task; n/a: nothing can be concluded."
)
OVERLAP, OVERLAP_CLOSED = "intervals overlap?", "usual intervals overlap?"
OVERLAP_NOTE = f"{OVERLAP} the two methods' own intervals: no if one mean is better or worse."
CLOSED_NOTE = f"{OVERLAP_CLOSED} the same on tasks that reuse images, as papers print it."
FIXED_LINES = 15
"""Lines of a task set besides its comparisons, which take two each."""
MOST_REASONS = 1000
"""Comparisons that are searched for reasons why nothing is concluded, at most."""
MOST_METHODS = 3
"""Methods with a sentence on the power of their tasks, at most."""


def details_paper(report: Report) -> tuple[list[Table], str, list[str]]:
    """Return the content of Markdown and LaTeX: the tables, the signature, and the legend."""
    unbound = [UNBOUND_NOTE] if report.signature.unbound else []
    tables = [
        replace(
            _table(each, len(each.comparisons) or len(each.scores), paper=True),
            title=f"{each.scored}: {_about(each, ' (')})",
            notes=(*_notes(each, each.scores), *unbound),
        )
        for each in report.sets
    ]
    return tables, str(report.signature), [*_legend(report)]


def print_details(report: Report, console: Console) -> None:
    """Print a table with notes for each task set, then the legend."""
    limit = max(5, (console.height - FIXED_LINES) // 2)
    for each in report.sets:
        say(console, str(each.scored), "bold")
        say(console, _about(each, ": "))
        print_table(_table(each, limit), console, whole=True, heading=8)
        more = (len(each.comparisons) or len(each.scores)) - limit
        if more > 0:
            what = many(more, "more comparison" if each.comparisons else "more method")
            text = f"… {what}: --format csv or json gives all, --against chooses"
            say(console, text, "yellow")
        for note in _notes(each, each.scores[:limit]):
            say(console, note, "dim")
        for text in _evidence(each, limit):
            say(console, text)
        console.print()
    unbound = [UNBOUND_NOTE] if report.signature.unbound else []
    for note in (*unbound, *_legend(report)):
        say(console, note, "dim")
    console.print(Text(report.signature.short, style="dim"), soft_wrap=True)


def _about(task_set: TaskSetReport, before: str) -> str:
    return set_title(
        task_set.scored, task_set.units, task_set.level, task_set.displayed_kinds, before
    )


def _table(task_set: TaskSetReport, limit: int, *, paper: bool = False) -> Table:
    """Return the first comparisons of a task set, or its accuracies if nothing is compared.

    A `paper` has no column with the other method's accuracy.
    """
    label = labels(task_set.scores)
    if not task_set.requested.any():
        of_methods = (
            Column("method", lambda score: label[score.method]),
            right(
                "accuracy", lambda score: with_bracket(score.intervals, task_set.displayed_kinds)
            ),
            right("tasks", lambda score: f"{score.accuracy.tasks} of {task_set.scored.n_tasks}"),
        )
        return Table("", of_methods, task_set.scores[:limit])
    once = attrgetter("method", "mean")
    columns = [
        Column("method", lambda c: label[c.method], once=once),
        Column("accuracy", lambda c: plus_minus(c.mean), "right", once=once, optional=1),
        Column("versus", lambda c: label[c.versus]),
    ]
    if not paper:
        accuracy = right("its accuracy", lambda c: plus_minus(c.versus_mean))
        columns.append(replace(accuracy, optional=2))
    columns.append(right("difference", difference_text))
    if (np.asarray(task_set.pairs.tasks)[task_set.requested] != task_set.scored.n_tasks).any():
        columns.append(right("tasks", lambda c: c.difference.tasks))
    columns += [
        verdict_column(CLAIMS[kind], partial(verdict_of, kind=kind))
        for kind in task_set.displayed_kinds
    ]
    columns.append(_overlap(OVERLAP, attrgetter("verdict_direct")))
    if task_set.leaves_out:
        columns.append(
            verdict_column(
                CLAIMS["closed"],
                lambda c: c.verdict if c.interval_kind == "closed" else c.verdict_closed,
            )
        )
    elif _has_usual(task_set):
        columns.append(_overlap(OVERLAP_CLOSED, attrgetter("verdict_closed")))
    return Table("", tuple(columns), [c.displayed for c in task_set.comparisons[:limit]])


def _overlap(name: str, verdict: Callable[[Comparison], Verdict | None]) -> Column:
    """Return a column that says whether the intervals of two methods overlap."""
    words = {None: None, Verdict.BETTER: "no, better", Verdict.WORSE: "no, worse"}
    words[Verdict.NOT_ESTIMABLE] = "n/a"
    return Column(name, lambda c: words.get(verdict(c), "yes"), optional=3)


def _has_usual(task_set: TaskSetReport) -> bool:
    """Return whether a task set also has usual intervals, which are of tasks that reuse images."""
    return task_set.interval_kind != "closed" and task_set.has_closed


def _legend(report: Report) -> Iterator[str]:
    """Say what the columns of comparisons and the marks of methods mean."""
    if any(each.requested.any() for each in report.sets):
        closed = f" {CLOSED_NOTE}" if any(map(_has_usual, report.sets)) else ""
        yield f"{LEGEND} {OVERLAP_NOTE}{closed}"
    if any(task_set.has_exact_test for task_set in report.sets):
        yield f"sign-flip test: {INDEPENDENT_TASKS}."
    if any(score.transductive for score in report.scores):
        yield TRANSDUCTIVE_NOTE
    if any(score.stopped for score in report.scores):
        yield STOPPED_NOTE


def _notes(task_set: TaskSetReport, scores: Sequence[Score]) -> Iterator[str]:
    """Say what a reader of one table must know of its methods and intervals."""
    for s in scores:
        if s.run_spread is not None:
            counted = "not counted" if [*s.intervals] == ["closed"] else "counted"
            yield (
                f"{s.method}: {s.runs} runs, standard deviation between them {s.run_spread:.2f}, "
                f"{counted} in intervals and verdicts."
            )
    known = [s.method for s in task_set.scores if s.by_queries]
    single = one_model_text([s.method for s in scores if s.of_one_model])
    yield from ended(single, by_queries_text(known, len(task_set.scores)))
    yield from stopped_text(scores)
    if answered := [f"{s.method} answers {s.accuracy.tasks}" for s in scores if s.prefix]:
        yield (
            f"{listing(answered, 4)} of {task_set.scored.n_tasks} tasks, {PREFIX}: a partial "
            "submission, whose tasks may have been chosen after seeing results; intervals are "
            "shown without a verdict (n/a)."
        )
    pairs_by_reason: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for c in islice(task_set.comparisons, MOST_REASONS):
        pairs_by_reason[c.reason].append((c.method, c.versus))
    pairs_by_reason.pop("", None)
    for reason, pairs in pairs_by_reason.items():
        common = next((name for name in pairs[0] if all(name in pair for pair in pairs)), "")
        others = [" and ".join(name for name in pair if name != common) for pair in pairs]
        common = f"{common} and " if common else ""
        yield f"nothing is concluded about {common}{listing(others, 4)}: {reason}."
    for s in scores:
        if s.near_perfect is not None:
            yield (
                f"{s.method}, above {ABOVE:g} %, where ± covers too little: "
                f"{s.near_perfect.low:.2f} to {s.near_perfect.high:.2f} (exact bounds of "
                f"{s.near_perfect.effective:.0f} effective queries, "
                f"{percent(s.near_perfect.level)})."
            )
    yield from missing_text(task_set.units)
    if task_set.design is not None and task_set.requested.any():
        yield unseen_text(task_set.design.classes, task_set.level)


def _evidence(task_set: TaskSetReport, limit: int) -> Iterator[str]:
    """Say which methods may be the best, and what the tasks could have shown."""
    if task_set.ties is not None and task_set.displayed_kinds[0] != "closed":
        yield ties_text(task_set.ties)
    rows = np.flatnonzero(task_set.requested.any(axis=1)).tolist()[:MOST_METHODS]
    faultless = [
        f"{s.method} makes no error on {s.faultless.tasks} tasks: it may on up to "
        f"{_bounds(s.faultless)}."
        for s in task_set.scores[:limit]
        if s.faultless is not None
    ]
    for row in rows:
        comparisons, evidence = task_set.comparisons_of(row), task_set.evidence_of(row)
        if task_set.interval_kind == "open" and (text := power_text(comparisons, evidence)):
            yield f"{task_set.methods[row]}: {text}"
        faultless += [
            f"{c.method} and {c.versus} are alike on {e.identical.tasks} tasks: they may differ on "
            f"up to {_bounds(e.identical)}."
            for c, e in zip(comparisons, evidence, strict=True)
            if e.identical is not None
        ]
    yield from faultless[:MOST_METHODS]


def _bounds(saturation: Saturation) -> str:
    """Write the bounds that results without an error, or without a difference, leave open."""
    return (
        f"{saturation.bound:.2g} % of others, and on {saturation.new_classes_bound:.2g} % of those "
        f"with new classes ({percent(saturation.level)})"
    )


def power_text(comparisons: Sequence[Comparison], evidence: Sequence[Evidence]) -> str:
    """Say what difference these tasks can detect; few tasks have exact p-values, too."""
    detectable = sorted(e.detectable for e in evidence if e.detectable is not None)
    texts = []
    if detectable and detectable[0] > 100:
        texts.append("no possible difference would be found 4 times in 5.")
    elif detectable:
        size, largest = f"{detectable[0]:.1f}", detectable[-1]
        if f"{largest:.1f}" != size:
            size += f" to {largest:.1f}" if largest <= 100 else " or far more"
        texts.append(f"a true difference of {size} points, on new images, is found 4 times in 5.")
    exact = [
        (c, e.p_sign_flip)
        for c, e in zip(comparisons, evidence, strict=True)
        if e.p_sign_flip is not None and c.verdict is not Verdict.IDENTICAL
    ]
    if exact:
        p_values = listing([f"{c.versus} {p:.2g}" for c, p in exact], 6)
        texts.append(f"Few tasks; sign-flip test, p: {p_values}.")
        level = exact[0][0].difference.level
        claimed = [(c, p) for c, p in exact if c.verdict in (Verdict.BETTER, Verdict.WORSE)]
        if unconfirmed := [c.versus for c, p in claimed if not conclusive(p, level)]:
            texts.append(f"It does not confirm the verdict on {listing(unconfirmed, 4)}.")
    return " ".join(texts)
