"""Ladders as tables: the scores of each step, and the gaps between steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis_sql.bias.spurious_bias import Contrast
from benchmark_spec.errors import listing
from fslbench_data.render.grid import Grid
from fslbench_data.render.interval_text import plus_minus
from fslbench_data.scoring.bias import BiasReport
from fslbench_data.scoring.bias_report import LadderReport, PairBias, Ranking
from fslbench_data.scoring.scores import PREFIX

SCORES = ("T", "accuracy", "wAcc", "independent", "equal", "excess")
GAPS = ("accuracy lost", "wAcc lost", "excess gained")
DIFFERENCES = ("accuracy", "wAcc", "excess")
CORRELATION = "Spearman"
NOTES = (
    "wAcc: accuracy of a task's worst class, mean over tasks. independent: what it would be for "
    "classes of the mean accuracy, independent of each other. equal: for equally hard classes, "
    "given how many queries of each task are right. excess: equal minus wAcc; an unlucky support "
    "set makes one too, so compare steps, never one excess alone. Nothing with one query a class.",
    "lost, gained: from one step to the other, paired over the same classes.",
    "Spearman: correlation of the methods' ranking, bootstrap interval over tasks in brackets.",
)


def bias_grids(report: BiasReport) -> list[Grid]:
    """Two tables for each ladder."""
    grids = [grid for each in report.ladders for grid in _of(each, report.signature.level)]
    if report.agreement:
        grids.append(_ranked("Ladders compared: how alike methods are ranked", report.agreement))
    return grids


def _ranked(title: str, rankings: Sequence[Ranking]) -> Grid:
    return Grid(
        title=title,
        columns=("by", "and by", "methods", "T", CORRELATION),
        right=frozenset(("methods", "T", CORRELATION)),
        rows=tuple(_ranking(each) for each in rankings),
    )


def _of(ladder: LadderReport, level: float) -> Iterator[Grid]:
    about = "new images of these classes" if ladder.kind == "open" else "new tasks of these images"
    title = f"{ladder.dataset}/{ladder.name}"
    left_out = (
        (f"Not shown, without counts of one run by class: {', '.join(ladder.left_out)}.",)
        if ladder.left_out
        else ()
    )
    if ladder.prefixes:
        shown = f"Nothing is concluded about {listing(ladder.prefixes, 10)}: {PREFIX}."
        left_out = (*left_out, shown)
    yield Grid(
        title=f"{title}: {100 * level:.8g} % {ladder.kind} intervals ({about})",
        columns=("method", "step", *SCORES),
        right=frozenset(SCORES),
        rows=tuple(
            (
                each.method,
                step,
                str(found.accuracy.tasks),
                plus_minus(found.accuracy),
                plus_minus(found.worst),
                f"{found.independent:.2f}",
                "" if found.equal is None else f"{found.equal:.2f}",
                "" if found.excess is None else plus_minus(found.excess),
            )
            for each in ladder.methods
            for step, found in each.steps.items()
        ),
        notes=left_out,
    )
    yield Grid(
        title=f"{title}: from step to step",
        columns=("method", "from", "to", *GAPS),
        right=frozenset(GAPS),
        rows=tuple(
            (
                each.method,
                before,
                after,
                plus_minus(found.accuracy, signed=True),
                plus_minus(found.worst, signed=True),
                "" if found.excess is None else plus_minus(found.excess, signed=True),
            )
            for each in ladder.methods
            for before, after, found in each.gaps
        ),
    )
    if ladder.pairs:
        yield Grid(
            title=f"{title}: methods compared",
            columns=("method", "versus", "on", *DIFFERENCES),
            right=frozenset(DIFFERENCES),
            rows=tuple(row for pair in ladder.pairs for row in _pair(pair)),
        )
    if ladder.rankings:
        yield _ranked(f"{title}: how alike methods are ranked", ladder.rankings)


def _pair(pair: PairBias) -> Iterator[tuple[str, ...]]:
    rows: list[tuple[str, Contrast]] = [*pair.steps.items()]
    if pair.lost is not None:
        rows.append(("lost, first to last", pair.lost))
    for on, found in rows:
        yield (
            pair.method,
            pair.versus,
            on,
            plus_minus(found.accuracy, signed=True),
            plus_minus(found.worst, signed=True),
            "" if found.excess is None else plus_minus(found.excess, signed=True),
        )


def _ranking(each: Ranking) -> tuple[str, ...]:
    found = each.found
    text = "none: one metric is the same for all" if found.value is None else f"{found.value:.2f}"
    if found.low is not None and found.high is not None:
        text += f" ({found.low:.2f} to {found.high:.2f})"
    same = found.tasks == found.other_tasks
    tasks = str(found.tasks) if same else f"{found.tasks}, {found.other_tasks}"
    return each.first, each.second, str(found.methods), tasks, text
